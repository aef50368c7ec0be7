"""Text on its way into prompts, Postgres and terminals: escaping, cleaning, cutting, splitting into sentences."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import ParamSpec, TypeVar
from uuid import UUID

P = ParamSpec("P")
Result = TypeVar("Result")

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CHARACTERS = {entity: char for char, entity in _ENTITIES.items()}
_ANY_ENTITY = re.compile("&(?:amp|lt|gt);")
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")
# Letters and marks by category that show nothing: fillers, the Braille blank, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_END = re.compile(r"""(?:(?<![.!?…])[.!?…]++["'»”’)\]]*+(?=\s)|[。！？]+[」』”）]*)\s*|\n\s*""")
_NO_END = re.compile(
    r"(?:^|[\s(«\"“])(?:[A-ZА-ЯЁ]|т|г|гг|в|вв|н|ул|д|кв|стр|рис|см|ср|др|пр|проф|акад|им|руб|коп|тыс|млн|млрд|т\.\s?[едпкн]|"
    r"и\s(?:т\.\s?[дп]|др|пр)|mr|mrs|ms|dr|prof|sr|jr|st|no|vs|etc|e\.g|i\.e|approx|fig|vol|inc|ltd|u\.s)\.$",
    re.IGNORECASE,
)
MAX_ABBREVIATION_CHARS = 16
MAX_INLINE_CHARS = 8000  # takes some milliseconds at most, less than what a thread may add under load
# C0, DEL, C1, bidirectional controls, the two separators that some terminals take for line ends, lone surrogates.
_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff"
_STEERING_IN_TEXT = re.compile(f"[{_STEERING}]")
_STEERING_IN_LINE = re.compile(f"[\t\n{_STEERING}]")
_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put `values` into the `{names}` of `template` in one pass: inserted text is not searched for names.

    Only the names in `values` are replaced, so literal JSON braces and unknown `{names}` stay as they are.
    """
    if not values:
        return template
    names = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
    return re.sub(r"\{(" + names + r")\}", lambda match: values[match[1]], template)


def escape(text: str) -> str:
    """Escape `text` for the inside of a tag fence; `unescape` restores it exactly."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Undo one `escape`."""
    return _ANY_ENTITY.sub(lambda match: _CHARACTERS[match[0]], text)


def defuse(text: str) -> str:
    """Escape angle brackets only: for text that may be escaped already, such as a model's rewrite. Idempotent."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def clean(text: str) -> str:
    """Remove control characters except newline and tab, and what Postgres refuses: NUL and lone surrogates."""
    return _REFUSED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_blank(text: str) -> bool:
    """Return whether `text` shows nothing: only whitespace, control, zero-width and filler characters."""
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
    while end and is_joined(text, end):
        end -= 1
    return room[:end].rstrip(" \t\n,;:") + "…"


def is_joined(text: str, index: int) -> bool:
    """Return whether the character at `index`, not the first, is shown as a part of the one before it."""
    char = text[index]
    return (
        char == "\u200d"
        or text[index - 1] == "\u200d"
        or bool(unicodedata.combining(char))
        or "\ufe00" <= char <= "\ufe0f"
        or "🏻" <= char <= "🏿"
    )


def sentences(text: str) -> list[str]:
    """Split Russian or English text into sentences; a line break ends one, an abbreviation does not."""
    ends = [*sentence_ends(text), len(text)]
    pieces = (text[start:end].strip() for start, end in pairwise([0, *ends]))
    return [piece for piece in pieces if piece]


def sentence_ends(text: str) -> Iterator[int]:
    """Yield where a sentence or a line of `text` ends: the index after it and the white space that follows."""
    start = 0
    for match in _END.finditer(text):
        end = match.start() + len(match[0].rstrip())
        ending = text[max(start, end - MAX_ABBREVIATION_CHARS) : end]  # the whole sentence each time would be quadratic
        if "\n" not in match[0] and _goes_on(ending, text[match.end() : match.end() + 1]):
            continue
        start = match.end()
        yield start


def _goes_on(ending: str, following: str) -> bool:
    """Return whether the sentence goes on: after an abbreviation, or after a quotation before a small letter."""
    if ending[-1] in "\"'»”’)]":
        return following.islower()
    return ending[-1] == "." and ending[-2:] != ".." and (following.islower() or bool(_NO_END.search(ending)))


def visible(text: str) -> str:
    r"""Escape what would steer a terminal in text of several lines: ESC shows as `\x1b`; newlines and tabs stay."""
    return _STEERING_IN_TEXT.sub(_escaped, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    r"""Escape what would steer a terminal in text of one line; a newline shows as `\n`."""
    return _STEERING_IN_LINE.sub(_escaped, text)


def visible_json(text: str) -> str:
    """Escape what would steer a terminal in JSON text; its value stays the same."""
    return _STEERING_IN_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _ESCAPES.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def as_uuid(text: str) -> UUID | None:
    """The id that a text is; None for another text."""
    try:
        return UUID(text)
    except ValueError:
        return None


async def offload(chars: int, work: Callable[P, Result], *args: P.args, **options: P.kwargs) -> Result:
    """Call `work`, in a thread if its text is longer than MAX_INLINE_CHARS, so that the event loop is not held up."""
    if chars <= MAX_INLINE_CHARS:
        return work(*args, **options)
    return await asyncio.to_thread(work, *args, **options)
