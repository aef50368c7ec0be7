"""The language of a dialogue, in which our own sentences, questions and buttons are."""

from __future__ import annotations

import re
from typing import Literal
from uuid import UUID

from maas import queries
from shared.db import Database

Language = Literal["auto", "ru", "en"]
Spoken = Literal["ru", "en"]
ENOUGH_WORDS = 3  # Latin words that make a message English; fewer may be a name in a Russian dialogue
_CYRILLIC = re.compile("[А-Яа-яЁё]")
_LATIN = re.compile("[A-Za-z]")
_SIGNS = ".,;:!?…()[]\"'«»“”-"
MAX_READ_CHARS = 2000


async def dialogue_language(db: Database, run_id: UUID, language: Language, text: str) -> Spoken:
    """Resolve `auto`: the language of `text`, else of what the user said before, else the one that the client states.

    A message is Russian by any Cyrillic letter, and English by a few Latin words. A command, an emoji, 3D or a name
    leaves the dialogue in its language.
    """
    if language != "auto":
        return language
    if (spoken := _spoken(text, ENOUGH_WORDS)) is not None:
        return spoken
    row = await db.row(queries.dialogue, run_id)
    said: list[str] = row["said"] if row is not None else []
    for least in (ENOUGH_WORDS, 1):
        for message in said:
            if (spoken := _spoken(message, least)) is not None:
                return spoken
    if row is not None and row["language_code"]:
        return "ru" if row["language_code"].lower().startswith("ru") else "en"
    return "en"


def is_russian(text: str) -> bool:
    """Whether a text has a Cyrillic letter."""
    return _CYRILLIC.search(text) is not None


def language_of(text: str) -> Spoken:
    """The language of most letters of a text, which may name things in the other."""
    cyrillic = len(_CYRILLIC.findall(text))
    return "ru" if cyrillic > len(_LATIN.findall(text)) else "en"


def _spoken(text: str, least: int) -> Spoken | None:
    """Return the language of a message, None if it has no Cyrillic letter and fewer than `least` Latin words."""
    if is_russian(text):
        return "ru"
    words = (word.strip(_SIGNS) for word in text[:MAX_READ_CHARS].split())
    return "en" if sum(word.isascii() and word.isalpha() for word in words) >= least else None
