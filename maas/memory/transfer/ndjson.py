"""Reading of NDJSON and JSON arrays one value at a time, within bounds of memory; errors name the line or the item."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, BinaryIO, NamedTuple

from shared.errors import MaasError
from shared.images import submit_in_order
from shared.json import json_decoder, parse_json

MAX_IMAGE_LINE_BYTES = 32 * 1024 * 1024  # an image of 20 MiB in base64
MAX_VALUE_SIZE = 4 * 1024 * 1024  # bytes of any other line, characters of an array's item
# Commas, colons and brackets of one value, strings apart: in memory it takes ten times the space of its text.
MAX_JSON_SIGNS = 500_000
LARGE_BYTES = 1024 * 1024  # of values longer than this, the process parses one at a time
CHUNK_BYTES = 64 * 1024
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # possessive; the last one may be incomplete
_SPACE = re.compile(r"[ \t\r\n]*")


class JsonLine(NamedTuple):
    """A line of an NDJSON file; `where` names the file and the line in error messages."""

    where: str
    number: int
    body: dict[str, Any]


def import_error(where: str, message: str) -> MaasError:
    """Return the error for a file that cannot be imported."""
    return MaasError("bad_import", f"{where}: {message}")


def read_lines(file: BinaryIO, name: str) -> Iterator[JsonLine]:
    """Yield every line that is not blank. Raises MaasError('bad_import')."""
    for number in count(1):
        where = f"{name}, line {number}"
        raw = file.readline(LARGE_BYTES + 1)
        if not raw:
            return
        if len(raw) > LARGE_BYTES:
            body = submit_in_order(partial(_read_large, file, raw, where)).result()
        elif raw.strip():
            body = _parse(raw, where)
        else:
            continue
        if not isinstance(body, dict):
            raise import_error(where, "must be an object {role, content, at}")
        yield JsonLine(where, number, body)


def _read_large(file: BinaryIO, start: bytes, where: str) -> Any:
    raw = start + file.readline(MAX_IMAGE_LINE_BYTES + 1 - len(start))
    if len(raw) > MAX_IMAGE_LINE_BYTES:
        raise import_error(where, f"exceeds {MAX_IMAGE_LINE_BYTES // 1024 // 1024} MiB")
    if len(raw) > MAX_VALUE_SIZE and not (raw.isascii() and b"\\" not in raw):
        raise import_error(where, f"exceeds {MAX_VALUE_SIZE // 1024 // 1024} MiB, which only the line of an image may")
    return _parse(raw, where)


def _parse(raw: bytes, where: str) -> Any:
    """Parse one JSON value, with or without a byte order mark."""
    try:
        text = raw.decode("utf-8-sig")
        _check_signs(text, where)
        return parse_json(text)
    except UnicodeDecodeError as error:
        raise import_error(where, f"not UTF-8 (byte {error.start})") from error
    except ValueError as error:
        raise import_error(where, f"not JSON: {error}"[:300]) from error


def read_items(file: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    """Yield the items of a file that is one JSON array, numbered from 1. Raises MaasError('bad_import')."""
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
    raise import_error(name, "not JSON: there is more after the array")


def read_value(file: BinaryIO, name: str) -> Any:
    """Return the one JSON value of a file. Raises MaasError('bad_import')."""
    window = _Window(file, name)
    value = window.item(name)
    if window.next_is(""):
        return value
    raise import_error(name, "not JSON: there is more after the object")


class _Window:
    """The part of a file that is in memory as text; it holds at most one item and the chunk after it."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._is_end = False

    def next_is(self, sign: str) -> bool:
        """Return whether `sign` comes next, after white space; "" stands for the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or self._is_end:
                return self._text[self._at : self._at + 1] == sign
            self._read(CHUNK_BYTES)

    def skip(self, sign: str, where: str) -> None:
        """Move past `sign`. Raises MaasError('bad_import') when something else comes next."""
        if not self.next_is(sign):
            raise import_error(where, f"not JSON: {sign!r} is missing")
        self._at += 1

    def item(self, where: str) -> Any:
        """Parse the next value and move past it. Raises MaasError('bad_import')."""
        self.next_is("")
        while True:
            length = len(self._text) - self._at
            try:
                _check_signs(self._text, where)
                work = partial(json_decoder().raw_decode, self._text, self._at)
                value, self._at = submit_in_order(work).result() if length > LARGE_BYTES else work()
            except RecursionError as error:
                raise import_error(where, f"not JSON: {error}") from error
            except ValueError as error:  # or the value is not in memory as a whole yet
                if self._is_end:
                    raise import_error(where, f"not JSON: {error}"[:300]) from error
                if length >= MAX_VALUE_SIZE:
                    raise import_error(where, f"exceeds {MAX_VALUE_SIZE // 1024 // 1024} Mi characters") from error
                self._read(max(min(length, MAX_VALUE_SIZE - length), CHUNK_BYTES))
            else:
                return value

    def _read(self, size: int) -> None:
        raw = self._file.read(size)
        self._is_end = not raw
        try:
            text = self._decoder.decode(raw, final=self._is_end)
        except UnicodeDecodeError as error:
            position = self._file.tell() - len(raw) + error.start
            raise import_error(self._name, f"not UTF-8 (near byte {position})") from error
        self._text = self._text[self._at :] + text
        self._at = 0


def _check_signs(text: str, where: str) -> None:
    if _has_many_signs(text) and _has_many_signs(_STRING.sub("", text)):
        raise import_error(where, f"holds more than {MAX_JSON_SIGNS} values")


def _has_many_signs(text: str) -> bool:
    return len(text) > MAX_JSON_SIGNS and sum(map(text.count, ",:[{")) > MAX_JSON_SIGNS


def first_line(file: BinaryIO) -> bytes:
    """Return the beginning of the first line that is not blank, and rewind the file."""
    file.seek(0)
    raw = b"\n"
    while raw and not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raw = file.readline(4096)
    file.seek(0)
    return raw.lstrip(b"\xef\xbb\xbf \t\r\n")
