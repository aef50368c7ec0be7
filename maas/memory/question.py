"""A question as recall sees it: whom it names, when it was, what kind of word would answer it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from maas.memory.dates import Band, read_dates

_WHEN = re.compile(
    r"\b(?:when|how long|(?:what|which) (?:date|day|week|month|year|time)|когда|как давно|как долго|сколько времени|"
    r"какого числа|во сколько|в как(?:ом|ой) (?:году|месяце|день))\b"
)
_HOW_MANY = re.compile(r"\b(?:how (?:many|much|often|old)|сколько|скольк\w+|как часто)\b")
_TOLD = (
    r"(?:advi[cs]e|suggest|recommend|propose|tell|told|say|said|explain|answer|repl(?:y|ied)|mention|writ|wrote|offer|"
    r"remind|совет|рекоменд|предл[ао][гж]|говор|сказал|объясн|ответ|писал|упомина|подсказ|напомин)"
)
_YOUR_WORDS = re.compile(
    rf"\b(?:you|ты|вы)\b(?:\W+\w+){{0,2}}?\W+{_TOLD}|\b(?:your|твой|твоя|твои|твоё|твое|ваш|ваша|ваши)\W+{_TOLD}|"
    rf"\b{_TOLD}\w*\W+(?:ты|вы)\b"
)
_TIME, _NUMBER = "#time", "#number"  # what maas_index marks a turn with


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read once. `hints` are the marks of turns of which its answer would bear one."""

    text: str
    words: frozenset[str]
    dates: tuple[Band, ...]
    hints: tuple[str, ...]
    wants_own_words: bool

    def names(self, speaker: str | None) -> bool:
        """Whether the question names this speaker, by any part of the name."""
        return speaker is not None and not self.words.isdisjoint(speaker.casefold().split())


def read_question(text: str, now: datetime, zone: tzinfo = UTC) -> Question:
    """Read a question that is asked at `now`; its dates are days of `zone`."""
    flat = text[:4000].casefold()
    asks_when, asks_how_many = bool(_WHEN.search(flat)), bool(_HOW_MANY.search(flat))
    return Question(
        text=text,
        words=frozenset(re.findall(r"\w+", flat)),
        dates=read_dates(flat, now, zone),
        hints=(_TIME,) * asks_when + (_NUMBER,) * asks_how_many,
        wants_own_words=bool(_YOUR_WORDS.search(flat)),
    )
