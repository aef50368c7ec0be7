"""The query of a search: its filters, and what its words ask for.

Filters say which messages a search may return, and which age of message it prefers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

from maas.memory.dates import Band, read_dates

Scope = Literal["hot", "warm", "cold"]
HOT_AGE = timedelta(days=3)
WARM_AGE = timedelta(days=14)
MAX_SEQ = 2**63 - 1
MAX_TIME = datetime(9999, 12, 31, tzinfo=UTC)
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
_WORD = re.compile(r"(\w+)(?:['’]s\b)?")
_TIME_MARK, _NUMBER_MARK = "#time", "#number"  # lexemes that maas_index_text adds to a message with a time or a number


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts a search to some messages of a user; without arguments it admits all of them.

    `before_seq` excludes requests with this or a higher `seq`, the order of the user's requests. `as_of` excludes what
    was not yet known at that moment. `since` (inclusive) and `until` (exclusive) bound the time of a message. `tags`
    requires a message whose summary has at least one of them. `scope` ranks messages of that age higher, counted from
    `as_of` or from now, and excludes none. `zone` is the time zone of days, in the query and in printed lines.
    """

    before_seq: int = MAX_SEQ
    as_of: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: Sequence[str] | None = None
    scope: Scope | None = None
    zone: tzinfo = UTC

    @property
    def now(self) -> datetime:
        """The moment from which relative dates and scopes are counted."""
        return self.as_of or datetime.now(UTC)

    def spans(self, at: datetime) -> bool:
        """Return whether a message of this time is within the bounds."""
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)

    @property
    def query_args(self) -> tuple[int, datetime, datetime | None, datetime | None, list[str] | None]:
        """Arguments of the named queries, in their order: before_seq, known at, since, until, tags."""
        return (
            self.before_seq,
            self.as_of or MAX_TIME,
            self.since,
            self.until,
            list(self.tags) if self.tags else None,
        )


NO_FILTER = SearchFilter()


def scope_of(at: datetime, now: datetime) -> Scope:
    """Return hot for an age of up to 3 days, warm for up to 14, and cold beyond."""
    age = now - at
    return "hot" if age <= HOT_AGE else "warm" if age <= WARM_AGE else "cold"


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

    def without_names(self, speakers: Iterable[str | None]) -> str:
        """Return the text without the names of these speakers; all of it if nothing else is left."""
        named = {part for one in speakers if one is not None and self.names(one) for part in one.casefold().split()}
        named &= self.words
        if not named:
            return self.text
        without = _WORD.sub(lambda word: "" if word[1].casefold() in named else word[0], self.text)
        return without.strip() or self.text


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
