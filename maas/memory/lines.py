"""JSON of a file, one piece of it in memory at a time; whatever is wrong names its place."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, BinaryIO, NamedTuple

from shared.errors import MaasError
from shared.pictures import in_turn

LINE_BYTES = 32 * 1024 * 1024  # an image of 20 MiB, as base64
PIECE = 4 * 1024 * 1024  # bytes of any other line, characters of an element
SIGNS = 500_000  # of JSON's own in a piece: each value in memory takes ten times the space of its text
LARGE_BYTES = 1024 * 1024  # pieces of more are read in turn
CHUNK_BYTES = 64 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")


class Line(NamedTuple):
    """One object of a file; `where` names the file and the line."""

    where: str
    number: int
    body: dict[str, Any]


def bad(where: str, message: str) -> MaasError:
    return MaasError("bad_import", f"{where}: {message}")


def read_lines(file: BinaryIO, name: str) -> Iterator[Line]:
    """Every line that is not blank. Raises MaasError('bad_import')."""
    for number in count(1):
        where = f"{name}, line {number}"
        raw = file.readline(LARGE_BYTES + 1)
        if not raw:
            return
        if len(raw) > LARGE_BYTES:
            body = in_turn(partial(_read_large, file, raw, where)).result()
        elif raw.strip():
            body = read_json(raw, where)
        else:
            continue
        if not isinstance(body, dict):
            raise bad(where, "must be an object {role, content, at}")
        yield Line(where, number, body)


def _read_large(file: BinaryIO, start: bytes, where: str) -> Any:
    raw = start + file.readline(LINE_BYTES + 1 - len(start))
    if len(raw) > LINE_BYTES:
        raise bad(where, f"exceeds {LINE_BYTES // 1024 // 1024} MiB")
    if len(raw) > PIECE and not (raw.isascii() and b"\\" not in raw):
        raise bad(where, f"exceeds {PIECE // 1024 // 1024} MiB, which only the line of an image may")
    return read_json(raw, where)


def read_json(raw: bytes, where: str) -> Any:
    """A JSON value, with or without a byte order mark. Raises MaasError('bad_import')."""
    try:
        text = raw.decode("utf-8-sig")
        _check_signs(text, where)
        return _JSON.decode(text)
    except UnicodeDecodeError as error:
        raise bad(where, f"not UTF-8 (byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        raise bad(where, f"not JSON: {error}"[:300]) from error


def read_items(file: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    """Every element of the JSON array that a file is, counted from 1. Raises MaasError('bad_import')."""
    window = _Window(file, name)
    window.skip("[", name)
    for number in count(1):
        where = f"{name}, item {number}"
        if window.next_is("]"):
            break
        if number > 1:
            window.skip(",", where)
        yield number, window.item(where)
    window.skip("]", name)
    if window.next_is(""):
        return
    raise bad(name, "not JSON: there is more after the array")


class _Window:
    """The part of a file that is in memory as text; it grows as far as one element does."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._is_end = False

    def next_is(self, sign: str) -> bool:
        """Whether `sign` comes next, after white space; "" is the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or self._is_end:
                return self._text[self._at : self._at + 1] == sign
            self._read(CHUNK_BYTES)

    def skip(self, sign: str, where: str) -> None:
        if not self.next_is(sign):
            raise bad(where, f"not JSON: {sign!r} is missing")
        self._at += 1

    def item(self, where: str) -> Any:
        """The value that comes next."""
        self.next_is("")
        while True:
            length = len(self._text) - self._at
            try:
                _check_signs(self._text, where)
                work = partial(_JSON.raw_decode, self._text, self._at)
                value, self._at = in_turn(work).result() if length > LARGE_BYTES else work()
            except RecursionError as error:
                raise bad(where, f"not JSON: {error}") from error
            except ValueError as error:  # it may go on beyond what is read
                if self._is_end:
                    raise bad(where, f"not JSON: {error}"[:300]) from error
                if length >= PIECE:
                    raise bad(where, f"exceeds {PIECE // 1024 // 1024} Mi characters") from error
                self._read(max(min(length, PIECE - length), CHUNK_BYTES))
            else:
                return value

    def _read(self, size: int) -> None:
        raw = self._file.read(size)
        self._is_end = not raw
        try:
            text = self._decoder.decode(raw, final=self._is_end)
        except UnicodeDecodeError as error:
            raise bad(self._name, f"not UTF-8 (near byte {self._file.tell() - len(raw) + error.start})") from error
        self._text = self._text[self._at :] + text
        self._at = 0


def _check_signs(text: str, where: str) -> None:
    if len(text) > SIGNS and sum(map(text.count, ",:[{")) > SIGNS:
        raise bad(where, f"holds more than {SIGNS} values")


def first_line(file: BinaryIO) -> bytes:
    """The beginning of the first line that is not blank; the file stands at its start again."""
    file.seek(0)
    raw = b"\n"
    while raw and not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raw = file.readline(4096)
    file.seek(0)
    return raw.lstrip(b"\xef\xbb\xbf \t\r\n")


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_refuse)
