"""Chunks: sections cut into pieces of about two hundred words, at paragraphs, else at sentences, else at words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maas.knowledge.outline import Section

TARGET_CHARS = 1200
MAX_CHARS = 2000
SEPARATOR = " > "
MAX_HEADING_CHARS = 500
SUMMARY_CHARS = 4000
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_SENTENCE = re.compile(r"(?<=[.!?…])\s")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. `position` is that of its first character in the text of the document."""

    heading: str
    page: int | None
    position: int
    text: str


def cut(sections: Sequence[Section]) -> list[Chunk]:
    """The chunks of a document, in order; a heading is repeated in every chunk below it."""
    chunks: list[Chunk] = []
    begin = 0
    for section in sections:
        heading = SEPARATOR.join(section.headings)[:MAX_HEADING_CHARS]
        for start, end in _spans(section.text):
            text = section.text[start:end].strip()
            if text:
                chunks.append(Chunk(heading, section.page, begin + start, text))
        begin += len(section.text) + 2
    return chunks


def summary(sections: Sequence[Section]) -> str:
    """What a document is about, made by rule: its headings, then the beginning of its first section."""
    headings = dict.fromkeys(heading for section in sections for heading in section.headings)
    opening = sections[0].text[:500] if sections else ""
    return "\n".join([*headings, opening])[:SUMMARY_CHARS]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where chunks begin and end: whole pieces as long as they fit."""
    start = end = 0
    for _, piece_end in _pieces(text):
        if end > start and piece_end - start > TARGET_CHARS:
            yield start, end
            start = end
        end = piece_end
    if end > start:
        yield start, end


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs of at most MAX_CHARS; longer ones in sentences, and those cut between words."""
    for start, end in _split(text, 0, len(text), _PARAGRAPH):
        if end - start <= MAX_CHARS:
            yield start, end
            continue
        for first, last in _split(text, start, end, _SENTENCE):
            while last - first > MAX_CHARS:
                space = text.rfind(" ", first + TARGET_CHARS // 2, first + MAX_CHARS)
                middle = space + 1 if space > 0 else first + MAX_CHARS
                yield first, middle
                first = middle
            yield first, last


def _split(text: str, start: int, end: int, boundary: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for match in boundary.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    if end > start:
        yield start, end
