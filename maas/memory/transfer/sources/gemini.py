"""My Activity of Gemini Apps, from Google Takeout as JSON: what was asked, and the answers as HTML.

Takeout has no conversations and no ids; an entry is known by its time. The newest comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "Gemini"
VERBS = ("Prompted with: ", "Asked Gemini: ", "Asked Bard: ", "Prompted ", "Asked ", "Said ", "Branched ", "Answered ")
BLOCKS = frozenset(("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote"))


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is an entry of the activity."""
    names = [item.get("header"), *(item.get("products") or [])] if isinstance(item.get("products", []), list) else []
    return "title" in item and "time" in item and any("Gemini" in str(one) or "Bard" in str(one) for one in names)


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the question and its last answer, which takes the place of those before it."""
    title, at = item["title"], item["time"]
    verb = next((verb for verb in VERBS if title.startswith(verb)), None)
    if verb is None:
        yield LeftOut("activities that are no questions")
        return
    if files := [*_listed(item.get("attachedFiles")), *_listed(item.get("imageFile"))]:
        yield LeftOut("attached files", len(files))
    day = str(at)[:10]
    yield Draft("user", title.removeprefix(verb), f"{at} question", at, day)
    answers = [_text(one["html"]) for one in _listed(item.get("safeHtmlItem"))]
    if len(answers) > 1:
        yield LeftOut("answers that were written again", len(answers) - 1)
    if answers:
        yield Draft("assistant", answers[-1], f"{at} answer", at, day)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


class _Text(HTMLParser):
    """The text of HTML, a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in ("script", "style")
        if tag in BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0
        if tag in BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def _text(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    parser.close()
    return "\n".join(line for line in map(str.strip, "".join(parser.pieces).splitlines()) if line)
