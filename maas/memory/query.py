"""The query of a search: its filters, what its words ask for, and the repair of misspelt words.

Filters say which messages a search may return, and which age of message it prefers. Misspelt words are replaced by
words that the user has used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

from rapidfuzz.distance import OSA

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
_TIME_MARK, _NUMBER_MARK = "#time", "#number"  # lexemes that maas_index_text adds to a message with a time or a number
MIN_REPAIRED_CHARS = 5


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

    def prefers(self, at: datetime) -> bool:
        """Return whether a message of that time is in the preferred scope."""
        return self.scope is not None and scope_of(at, self.now) == self.scope


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


def is_repairable(word: str) -> bool:
    """Return whether a word is long enough to be repaired; a number never is."""
    return len(word) >= MIN_REPAIRED_CHARS and word.isalpha()


def swaps(word: str) -> set[str]:
    """Return the words that differ from this one by two neighbouring letters in the other order."""
    pairs = range(len(word) - 1)
    return {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs} - {word}


def likely_prefixes(term: str) -> set[str]:
    """Return the two letters that the word meant may begin with, if one of the first letters is wrong or swapped."""
    candidates = (term[:2], term[1] + term[0], term[0] + term[2:3], term[1:3])
    return {prefix for prefix in candidates if len(prefix) == 2}


def count_lexemes(vectors: Iterable[str], prefixes: Iterable[str], max_chars: int) -> dict[str, int]:
    """Count, in tsvectors printed by Postgres, the lexemes that begin with a prefix and have at most `max_chars`."""
    any_prefix = "|".join(map(re.escape, prefixes))
    return Counter(re.findall(rf"'((?:{any_prefix})[^']{{0,{max_chars - 2}}})'", " ".join(vectors)))


def repair_terms(terms: Mapping[str, Iterable[str]], known: Mapping[str, int]) -> dict[str, str]:
    """Return for each term the nearest known lexeme: two letters swapped, or one letter wrong, missing or added.

    `terms` maps each term to the lexemes of its word with two letters swapped, since a stemmer cuts a misspelt word
    elsewhere. `known` maps lexemes to how often the user used them; of several near ones the most frequent is chosen.
    """
    repaired: dict[str, str] = {}
    for term, swapped in terms.items():
        near = [word for word in swapped if word in known]
        if is_repairable(term):
            near += [word for word in known if OSA.distance(term, word, score_cutoff=1) == 1]
        if near:
            repaired[term] = max(near, key=lambda word: (known[word], word))
    return repaired
