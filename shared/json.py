"""JSON from outside: strict parsing, limits of depth and of what Postgres can hold, changing every text of a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from shared.text import clean

MAX_JSON_DEPTH = 100
MAX_JSON_STARTS = 64  # opening braces that are tried in a model's reply
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def parse_json(text: str | bytes, *, unique_names: bool = False) -> Any:
    """Parse one JSON value; bytes are UTF-8.

    Raises ValueError for anything else, for NaN and Infinity, for nesting beyond the parser's limit, and with
    `unique_names` for an object that holds a name twice; UnicodeDecodeError, a ValueError, for bytes that are no UTF-8.
    """
    try:
        return json_decoder(unique_names=unique_names).decode(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("the value is nested too deeply") from error


@cache
def json_decoder(*, unique_names: bool = False, raw_breaks: bool = False) -> json.JSONDecoder:
    """Return the decoder behind `parse_json`, for callers that need `raw_decode`; it may raise RecursionError.

    `raw_breaks` accepts unescaped line breaks in strings, as models write them, but no number too large for a float.
    """
    return json.JSONDecoder(
        parse_constant=_refuse,
        parse_float=_finite if raw_breaks else None,
        object_pairs_hook=_unique if unique_names else None,
        strict=not raw_breaks,
    )


def json_object(text: str) -> dict[str, Any] | None:
    """Return the longest JSON object in a model's reply, or None; prose, code fences and thoughts are skipped.

    Raw line breaks within strings are accepted, NaN and infinities are not. Its texts are cleaned by `text.clean`.
    """
    if text.lstrip().startswith("<think>"):
        text = text.rpartition("</think>")[2]
    decoder = json_decoder(raw_breaks=True)
    best: dict[str, Any] | None = None
    longest = 0
    position = text.find("{")
    for _ in range(MAX_JSON_STARTS):
        if position < 0:
            break
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if end - position > longest and isinstance(value, dict):
                best, longest = value, end - position
        position = text.find("{", end)
    return map_texts(best, clean) if best is not None else None


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a JSON value with `change` applied to every string in it, names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(name)): map_texts(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(one, change) for one in value]
    return value


def json_parts(value: object) -> Iterator[object]:
    """Yield the value and every name, element and member in it, in no particular order, without recursion."""
    stack = [value]
    while stack:
        one = stack.pop()
        yield one
        if isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            stack += one


def is_too_deep(value: object, levels: int = MAX_JSON_DEPTH) -> bool:
    """Return whether a JSON value nests objects and arrays deeper than `levels`."""
    level: list[Any] = [value]
    for _ in range(levels + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return False
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def is_storable(value: object, levels: int = MAX_JSON_DEPTH) -> bool:
    """Return whether Postgres can hold a JSON value: no NUL, lone surrogate, infinity or NaN, and not too deep."""
    return not is_too_deep(value, levels) and not any(
        (isinstance(one, str) and _UNSTORABLE.search(one)) or (isinstance(one, float) and not math.isfinite(one))
        for one in json_parts(value)
    )


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # A proxy that checked the body on its way may have read the other of the two values.
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return whole
