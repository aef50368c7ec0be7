"""A parsed search query: its words, the dates it names, and what kind of answer it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from maas.memory.dates import Band, read_dates

MAX_PARSED_CHARS = 4000
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|(?:what|which) (?:date|day|week|month|year|time)|когда|как давно|как долго|сколько времени|"
    r"какого числа|во сколько|в как(?:ом|ой) (?:году|месяце|день))\b"
)
_ASKS_HOW_MANY = re.compile(r"\b(?:how (?:many|much|often|old)|сколько|скольк\w+|как часто)\b")
_SPEECH = (
    r"(?:advi[cs]e|suggest|recommend|propose|tell|told|say|said|explain|answer|repl(?:y|ied)|mention|writ|wrote|offer|"
    r"remind|совет|рекоменд|предл[ао][гж]|говор|сказал|объясн|ответ|писал|упомина|подсказ|напомин)"
)
_ASKS_ASSISTANT = re.compile(
    rf"\b(?:you|ты|вы)\b(?:\W+\w+){{0,2}}?\W+{_SPEECH}|\b(?:your|твой|твоя|твои|твоё|твое|ваш|ваша|ваши)\W+{_SPEECH}|"
    rf"\b{_SPEECH}\w*\W+(?:ты|вы)\b"
)
_TIME_MARK, _NUMBER_MARK = "#time", "#number"  # lexemes that maas_index_text adds to a message with a time or a number


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What ranking needs to know of a query, besides its terms.

    `words` are casefolded. `hints` are the lexemes by which `maas_index_text` marks messages that may hold the answer.
    `asks_assistant` is true where the query asks for something that the assistant itself said.
    """

    text: str
    words: frozenset[str]
    dates: tuple[Band, ...]
    hints: tuple[str, ...]
    asks_assistant: bool

    def names(self, speaker: str | None) -> bool:
        """Return whether the query contains any part of the speaker's name."""
        return speaker is not None and not self.words.isdisjoint(speaker.casefold().split())


def parse_query(text: str, now: datetime, zone: tzinfo = UTC) -> ParsedQuery:
    """Parse a query asked at `now`; its dates are days of `zone`. Only the first 4000 characters are read."""
    folded = text[:MAX_PARSED_CHARS].casefold()
    asks_when, asks_how_many = bool(_ASKS_WHEN.search(folded)), bool(_ASKS_HOW_MANY.search(folded))
    return ParsedQuery(
        text=text,
        words=frozenset(re.findall(r"\w+", folded)),
        dates=read_dates(folded, now, zone),
        hints=(_TIME_MARK,) * asks_when + (_NUMBER_MARK,) * asks_how_many,
        asks_assistant=bool(_ASKS_ASSISTANT.search(folded)),
    )
