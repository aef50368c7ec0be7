"""Text on its way into prompts, fences and Postgres, and JSON on its way out of a model's prose."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CHARACTERS = {entity: char for char, entity in _ENTITIES.items()}
_ANY_ENTITY = re.compile("&(?:amp|lt|gt);")
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Letters and marks by category that nevertheless show nothing: fillers, the Braille blank, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_END = re.compile(r"""(?:(?<![.!?…])[.!?…]++["'»”’)\]]*+(?=\s)|[。！？]+[」』”）]*)\s*|\n\s*""")
_NO_END = re.compile(
    r"(?:^|[\s(«\"“])(?:[A-ZА-ЯЁ]|т|г|гг|в|вв|н|ул|д|кв|стр|рис|см|ср|др|пр|проф|акад|им|руб|коп|тыс|млн|млрд|т\.\s?[едпкн]|"
    r"и\s(?:т\.\s?[дп]|др|пр)|mr|mrs|ms|dr|prof|sr|jr|st|no|vs|etc|e\.g|i\.e|approx|fig|vol|inc|ltd|u\.s)\.$",
    re.IGNORECASE,
)
_LONGEST_ENDING = 16  # of what no sentence ends with
_JSON_ATTEMPTS = 64
JSON_LEVELS = 100


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put `values` into the `{names}` of `template`, once: what was inserted is never looked at again.

    Only the names in `values` are replaced, so literal JSON braces and unknown `{names}` stay as they are.
    """
    if not values:
        return template
    names = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
    return re.sub(r"\{(" + names + r")\}", lambda match: values[match[1]], template)


def escape(text: str) -> str:
    """Make `text` harmless inside a tag fence; `unescape` gives it back exactly."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Undo `escape`, one level."""
    return _ANY_ENTITY.sub(lambda match: _CHARACTERS[match[0]], text)


def defuse(text: str) -> str:
    """Escape the angle brackets only: for text that may be escaped already, such as a model's rewrite. Idempotent."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def clean(text: str) -> str:
    """Drop what Postgres text and jsonb refuse (NUL, lone surrogates) and control characters but newline and tab."""
    return _REFUSED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_too_deep(value: object, levels: int = JSON_LEVELS) -> bool:
    """Whether a JSON value nests objects and arrays deeper than that, so that some reader would give up on it."""
    level: list[Any] = [value]
    for _ in range(levels + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return False
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def is_storable(value: object, levels: int = JSON_LEVELS) -> bool:
    """Whether a JSON value can be kept and read again: no NUL, no lone surrogate, nothing infinite, not too deep."""
    if is_too_deep(value, levels):
        return False
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str) and _UNSTORABLE.search(one):
            return False
        if isinstance(one, float) and not math.isfinite(one):
            return False
        if isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            stack += one
    return True


def is_blank(text: str) -> bool:
    """Whether nothing of `text` can be seen: whitespace, control, zero-width and filler characters only."""
    return all(
        char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Cs") or _INVISIBLE.match(char) for char in text
    )


def one_line(text: str) -> str:
    """Join the words of `text` by single spaces."""
    return " ".join(text.split())


def shorten(text: str, chars: int) -> str:
    """Cut `text` to at most `chars` characters, at a sentence end in the second half or else at a word, and add …"""
    if len(text) <= chars:
        return text
    if chars < 2:
        return "…"[:chars]
    room = text[: chars - 1]
    ends = [match.start() for match in re.finditer(r"(?<=[.!?…。！？])(?=\s)", room) if match.start() >= chars // 2]
    if ends and ends[-1] < chars - 2:
        return room[: ends[-1]] + " …"
    if not text[chars - 1].isspace():
        head = re.sub(r"\s\S*$", "", room)
        if len(head) < len(room) and len(head) >= chars // 3:
            room = head
    end = len(room)
    while end and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return room[:end].rstrip(" \t\n,;:") + "…"


def excerpt(text: str, about: str, chars: int) -> str:
    """What `text` says about a question, in at most `chars` characters: its sentences that share most words with it.

    Words count as the same when their first five letters are. The sentences keep their order; gaps show as ….
    """
    if len(text) <= chars:
        return text
    asked = {word[:5] for word in re.findall(r"\w{3,}", about.casefold())}
    parts = sentences(text)
    shared = [len(asked & {word[:5] for word in re.findall(r"\w{3,}", part.casefold())}) for part in parts]
    kept: set[int] = set()
    room = chars
    for place in sorted(range(len(parts)), key=lambda place: (-shared[place], place)):
        if len(parts[place]) + 3 > room:
            continue
        kept.add(place)
        room -= len(parts[place]) + 3
    if not kept:
        return shorten(text, chars)
    pieces = [("" if place and place - 1 in kept else "… " * bool(place)) + parts[place] for place in sorted(kept)]
    return " ".join(pieces)


def _joins(char: str) -> bool:
    """Whether `char` belongs to the sign before it."""
    return bool(unicodedata.combining(char)) or char == "\u200d" or "\ufe00" <= char <= "\ufe0f" or "🏻" <= char <= "🏿"


def sentences(text: str) -> list[str]:
    """Split Russian or English text into sentences; lines are sentences of their own, abbreviations end none."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        said = match.start() + len(match[0].rstrip())
        ending = text[max(start, said - _LONGEST_ENDING) : said]  # all of it each time would be quadratic
        if "\n" not in match[0] and _goes_on(ending, text[match.end() : match.end() + 1]):
            continue
        if piece := text[start : match.end()].strip():
            found.append(piece)
            start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _goes_on(ending: str, following: str) -> bool:
    """Whether the sentence with that ending goes on: after an abbreviation, a quotation with a small letter behind."""
    if ending[-1] in "\"'»”’)]":
        return following.islower()
    return ending[-1] == "." and ending[-2:] != ".." and (following.islower() or bool(_NO_END.search(ending)))


def json_object(text: str) -> dict[str, Any] | None:
    """Find the JSON object in a model's reply, whatever prose or code fence stands around it; the longest wins.

    Raw line breaks within strings pass; NaN and infinities do not; strings come out `clean`. None when there is none.
    """
    if text.lstrip().startswith("<think>"):
        text = text.rpartition("</think>")[2]
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_float=_finite)
    best: dict[str, Any] | None = None
    longest = 0
    position = text.find("{")
    for _ in range(_JSON_ATTEMPTS):
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
    return _clean_json(best) if best is not None else None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _refuse(digits)


def _clean_json(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _clean_json(item) for key, item in value.items()}
    return value
