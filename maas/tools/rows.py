"""JSON that is too long, cut by rows: what is kept is whole, and how much was left out is counted.

Rows are the items of a list, or the members of an object that are all of one form. Neither a row nor a number is ever
cut in the middle; a text is cut between two words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from maas.memory.recent_messages import fair_share
from shared.json import is_too_deep, parse_json

MIN_TABLE_ROWS = 5  # members of one form that make an object a table
MAX_NAMED_ARGUMENTS = 6
MAX_NAMED_PARTS = 6  # of what was left out, the longest ones
DATA = "data"
MAX_WORD_CHARS = 80
_MIN_BYTES = 24  # of a member that is cut rather than left out
_NOTE_BYTES = 300  # of what a result says of its own cut
_NUMBER = "0123456789.,"
_ELLIPSIS = "…"
_WORD_END = re.compile(r"\n|(?<!\d)\s|\s(?!\d)")
LeftOut = dict[str, dict[str, int]]


def size(value: Any) -> int:
    """The length of its JSON in bytes."""
    return len(compact(value).encode())


def compact(value: Any, *, is_sorted: bool = False) -> str:
    """JSON without blanks, which would cost a model a fifth more tokens."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=is_sorted)


def fit_rows(value: Any, limit: int) -> tuple[Any, LeftOut]:
    """`value` within `limit` bytes of JSON, and what was left out, by the names that lead to it: `orders`.

    Each entry says how many `rows` or `characters` are missing, and `of` how many. None in place of a value that cannot
    be cut so far.
    """
    left_out: LeftOut = {}
    if size(value) <= limit:
        return value, left_out
    fitted = value if is_too_deep(value) else _cut(value, limit, (), left_out)
    if size(fitted) > limit:
        return None, {DATA: {"rows": _rows(value), "of": _rows(value)}}
    most = sorted(left_out, key=lambda name: -max(left_out[name].values()))[:MAX_NAMED_PARTS]
    return fitted, {name: one for name, one in left_out.items() if name in most}


def fit_members(value: Mapping[str, Any], limits: Mapping[str, int]) -> tuple[dict[str, Any], LeftOut]:
    """An object whose members have at most `limits` bytes of JSON, by their names, and what was left out of them."""
    fitted = dict(value)
    left_out: LeftOut = {}
    for name, limit in limits.items():
        fitted[name], missing = fit_rows(value[name], limit)
        left_out |= {name if part == DATA else f"{name}.{part}": one for part, one in missing.items()}
    return fitted, left_out


def left_out_meta(left_out: LeftOut) -> dict[str, Any]:
    """`_meta` of a result from whose data this was left out; empty where nothing was."""
    return {"_meta": {"cut": [DATA], "left_out": left_out}} if left_out else {}


def merged(earlier: Mapping[str, Mapping[str, int]], later: LeftOut) -> LeftOut:
    """What two cuts, one after the other, have left out together."""
    whole: LeftOut = {name: dict(one) for name, one in earlier.items()}
    for name, one in later.items():
        before = whole.get(name, {})
        whole[name] = {unit: number + (before.get(unit, 0)) for unit, number in one.items() if unit != "of"}
        whole[name]["of"] = before.get("of", one["of"])
    return whole


def how_to_see_the_rest(name: str, parameters: Mapping[str, Any] | None) -> str:
    """The sentence for a model that is shown a part: what it must not say, and how to ask for what it was not shown.

    `parameters` is the schema of the tool `name`; None where it is not known.
    """
    known = "Rows that are left out are unknown: name no sum, number or extreme of all rows unless it stands here."
    properties = list((parameters or {}).get("properties", {}))
    if parameters is None or properties:
        shown = properties[:MAX_NAMED_ARGUMENTS]
        by = f" ({', '.join(shown)})" if shown else ""
        return f"{known} For the rest call {name} again with other arguments{by}."
    return f"{known} {name} has no arguments to ask for the rest: say that it is missing."


def _rows(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else 1


def _cut(value: Any, limit: int, path: tuple[str, ...], left_out: LeftOut) -> Any:
    """The value within `limit` bytes, or as short as it can be."""
    if not value or size(value) <= limit:
        return value
    if isinstance(value, str):
        return _cut_text(value, limit, path, left_out)
    if isinstance(value, list):
        return _cut_list(value, limit, path, left_out)
    if isinstance(value, dict):
        return _cut_dict(value, limit, path, left_out)
    return value


def _cut_list(value: list[Any], limit: int, path: tuple[str, ...], left_out: LeftOut) -> list[Any]:
    sizes = [size(one) + 1 for one in value]
    if all(map(_is_body, value)):
        share = fair_share(sizes, limit - 1)
        return [one if own <= share else _cut_body(one, share - 1) for one, own in zip(value, sizes, strict=True)]
    largest = max(range(len(value)), key=sizes.__getitem__)
    room = limit - 1 - (sum(sizes) - sizes[largest])
    if sizes[largest] > limit // 2 and room > _MIN_BYTES and isinstance(value[largest], list | dict | str):
        fitted = _cut(value[largest], room - 1, (*path, str(largest)), left_out)
        return [*value[:largest], fitted, *value[largest + 1 :]]
    if kept := _prefix(sizes, limit - 1):
        _note(left_out, path, len(value) - kept, len(value))
        return value[:kept]
    found: LeftOut = {}
    first = _cut(value[0], limit - 2, (*path, "0"), found)
    if size(first) > limit - 2:
        _note(left_out, path, len(value), len(value))
        return []
    left_out.update(found)
    _note(left_out, path, len(value) - 1, len(value))
    return [first]


def _cut_dict(value: dict[str, Any], limit: int, path: tuple[str, ...], left_out: LeftOut) -> dict[str, Any]:
    if _is_body(value):
        return _cut_body(value, limit)
    sizes = {name: size({name: one}) - 1 for name, one in value.items()}
    if not _is_table(value):
        share = fair_share(list(sizes.values()), limit - 1)
        room = {name: share - (own - size(value[name])) for name, own in sizes.items()}
        if all(own <= share or room[name] >= _MIN_BYTES for name, own in sizes.items()):
            found: LeftOut = {}
            fitted = {
                name: one if sizes[name] <= share else _cut(one, room[name], (*path, name), found)
                for name, one in value.items()
            }
            if size(fitted) <= limit:
                left_out.update(found)
                return fitted
    kept = _prefix(list(sizes.values()), limit - 1)
    _note(left_out, path, len(value) - kept, len(value))
    return dict(list(value.items())[:kept])


def _is_body(value: Any) -> bool:
    """Whether it is the result of a call within that of another."""
    return isinstance(value, dict) and isinstance(value.get("success"), bool) and DATA in value


def _is_table(value: dict[str, Any]) -> bool:
    first, *_ = value.values()
    rows = [one for one in value.values() if isinstance(one, dict) and isinstance(first, dict)]
    return len(rows) == len(value) >= MIN_TABLE_ROWS and all(one.keys() == first.keys() for one in rows)


def _cut_body(body: dict[str, Any], limit: int) -> dict[str, Any]:
    """A result within that of another call: its data alone are cut, and it says so itself."""
    found_meta = body.get("_meta")
    meta: dict[str, Any] = found_meta if isinstance(found_meta, dict) else {}
    left = limit - size(body | {DATA: None}) - _NOTE_BYTES
    data, found = fit_rows(body[DATA], max(left, 0))
    noted = {"cut": [DATA], "left_out": merged(meta.get("left_out", {}), found)}
    rest = meta.get("rest") or how_to_see_the_rest(str(meta.get("tool") or "the tool"), None)
    return body | {DATA: data, "_meta": meta | noted | {"rest": rest}}


def _cut_text(text: str, limit: int, path: tuple[str, ...], left_out: LeftOut) -> str:
    """A text that is JSON stays JSON, any other ends after a word."""
    if (short := _cut_json(text, limit, path, left_out)) is not None:
        return short
    end = len(text)
    while end > 0 and (counted := size(text[:end] + _ELLIPSIS)) > limit:
        end = _word_end(text, max(min(end * limit // counted, end - 1), 0))
    _note(left_out, path, len(text) - end, len(text), "characters")
    return text[:end] + _ELLIPSIS


def _cut_json(text: str, limit: int, path: tuple[str, ...], left_out: LeftOut) -> str | None:
    """The JSON of a text with fewer rows; None for a text that is no JSON, or none of whose rows fits."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    if is_too_deep(value):
        return None
    shown = limit
    while shown > _MIN_BYTES:
        found: LeftOut = {}
        short = compact(_cut(value, shown, path, found))
        if size(short) <= limit:
            left_out.update(found)
            return short
        shown = shown * 4 // 5
    return None


def _word_end(text: str, end: int) -> int:
    """The last place before `end` that is between two words, if one is near, and in any case within no number."""
    near = max(end - MAX_WORD_CHARS, 0)
    last = max((one.start() for one in _WORD_END.finditer(text, near, end)), default=None)
    if last is not None:
        return last
    while 0 < end < len(text) and text[end - 1] in _NUMBER and text[end] in _NUMBER:
        end -= 1
    return end


def _note(left_out: LeftOut, path: tuple[str, ...], missing: int, of: int, unit: str = "rows") -> None:
    if missing:
        left_out[".".join(path) or DATA] = {unit: missing, "of": of}


def _prefix(sizes: Sequence[int], limit: int) -> int:
    """How many of the first items fit together."""
    for index, one in enumerate(sizes):
        limit -= one
        if limit < 0:
            return index
    return len(sizes)
