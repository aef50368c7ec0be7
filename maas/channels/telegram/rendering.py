"""Texts as Telegram shows them: Markdown becomes a text with entities, in parts that fit into messages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from telegramify_markdown import convert, richify, split_entities

from maas.channels.telegram.client import MAX_RICH_CHARS, MAX_TEXT_UNITS, Keyboard, RichText, utf16_length
from maas.channels.telegram.phrases import Language, say
from maas.tools.waiting_actions import Call, cut_values, describe_call
from shared.text import clean, shorten

MAX_MARKDOWN_CHARS = 200_000
MAX_PARTS = 30
PLACEHOLDER = RichText("…")


def render(markdown: str) -> list[RichText]:
    """The messages that show a text; none for a blank one. They end at the end of a line where that is possible."""
    text, entities = convert(clean(markdown)[:MAX_MARKDOWN_CHARS])
    parts = [
        RichText(part, tuple(one.to_dict() for one in marks))
        for part, marks in split_entities(text.strip("\n"), entities, MAX_TEXT_UNITS)
    ]
    return [part for part in parts if part.text.strip()][:MAX_PARTS]


def render_rich(markdown: str) -> RichText | None:
    """The rich message that shows a text; None for one that is blank or too long."""
    html = richify(clean(markdown)[:MAX_MARKDOWN_CHARS]).html or ""
    return RichText("", html=html) if 0 < len(html) <= MAX_RICH_CHARS and markdown.strip() else None


def plain(text: str) -> RichText:
    """A text without entities, for one that Telegram does not accept with them."""
    return RichText(text[:MAX_TEXT_UNITS] if utf16_length(text) <= MAX_TEXT_UNITS else text[: MAX_TEXT_UNITS // 2])


def describe_action(language: Language, action: Call, outcome: str | None = None) -> RichText:
    """A tool call that waits for approval, or what became of it; stored text cannot imitate our own.

    Values that are too long for a line stand whole below; what does not fit into a message ends with "…".
    """
    heading = say(language, "approval") if outcome is None else outcome
    shown, *more = render("\n".join([f"**{heading}**", "", *describe_call(action, language)]))
    text = f"{shown.text}\n\n"
    values = ["…"] if more else cut_values(action["arguments"], language)
    room = MAX_TEXT_UNITS - utf16_length(text)
    whole = clean("\n\n".join(values))
    if utf16_length(whole) > room:
        whole = shorten(whole, room // 2)  # a character takes at most two units
    if not whole or room < 2:
        return shown
    pre = {"type": "pre", "offset": utf16_length(text), "length": utf16_length(whole)}
    return RichText(text + whole, (*shown.entities, pre))


def hash_of(content: RichText, keyboard: Keyboard) -> str:
    """The same for the same content and buttons."""
    return hashlib.sha256(json.dumps([content.to_json(), _rows(keyboard)]).encode()).hexdigest()[:32]


def _rows(keyboard: Keyboard) -> Sequence[Sequence[Sequence[str]]]:
    return [[list(button) for button in row] for row in keyboard]
