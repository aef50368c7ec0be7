"""JSON lines of a file, each with its place; whatever is wrong names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, BinaryIO, NamedTuple

from shared.errors import MaasError

LINE_BYTES = 32 * 1024 * 1024  # an image of 20 MiB, as base64


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
        raw = file.readline(LINE_BYTES + 1)
        if not raw:
            return
        if len(raw) > LINE_BYTES:
            raise bad(where, f"exceeds {LINE_BYTES // 1024 // 1024} MiB")
        if not raw.strip():
            continue
        body = read_json(raw, where)
        if not isinstance(body, dict):
            raise bad(where, "must be an object {role, content, at}")
        yield Line(where, number, body)


def read_json(raw: bytes, where: str) -> Any:
    """A JSON value, with or without a byte order mark. Raises MaasError('bad_import')."""
    try:
        return _JSON.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise bad(where, f"not UTF-8 (byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        raise bad(where, f"not JSON: {error}"[:300]) from error


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
