"""The turns that may answer a question, out of Postgres: of a small memory all, of a large one rarest term first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from asyncpg import Range

from maas.memory import spelling
from maas.memory.question import Question, read_question
from maas.memory.ranking import Evidence, Turn, weigh
from maas.memory.reach import Reach
from shared.db import Database

WHOLE = 2000  # turns of a user up to which a search reads them all
RARE = 600  # turns that the rare terms of a question may stand in together, in a larger memory
MOST_WORDS = 16  # of a question, that are looked at for slips


async def gather(
    db: Database,
    user_id: UUID,
    text: str,
    reach: Reach,
    meaning: Mapping[UUID, float],
    *,
    is_full: bool = False,
) -> Evidence | None:
    """Everything that `rank` needs; None when memory knows nothing of what the question asks for.

    `meaning` (0 to 1) names turns that count whatever their words. With `is_full` all turns are ranked, not only
    those near a term, if the memory is not a large one.
    """
    asked = await db.row("question_terms", user_id, text)
    assert asked is not None
    question = read_question(text, reach.now)
    if not (asked["terms"] or meaning or question.dates):
        return None
    counted = asked["counted"] if (asked["counted"] or 0) > WHOLE else None
    memory = _Memory(db, user_id, question, reach, counted, list(meaning), is_full)
    terms = list(asked["terms"] or [])
    rows, frequency = await memory.read(terms, asked["df"] or [])
    names = await _lexemes_of(db, {row["speaker"] for row in rows if question.names(row["speaker"])})
    meant = await memory.repair([one for one, df in zip(terms, frequency, strict=True) if not df and one not in names])
    if meant:
        known = dict(zip(terms, frequency, strict=True))
        terms = list(dict.fromkeys(meant.get(term, term) for term in terms))
        rows, frequency = await memory.read(terms, [known.get(term) for term in terms])
    if not (any(frequency) or meaning or question.dates):
        return None
    weight = weigh(frequency, counted or asked["turns"])
    others = [0.0 if term in names else one for term, one in zip(terms, weight, strict=True)]
    weight = others if any(others) else weight  # who is named stands in the question, not in what was said
    return Evidence(question, [Turn._make(row) for row in rows], weight, frequency, meaning, reach)


class _Memory:
    """One user's turns as one question sees them. `counted` is how many there are of a large memory, else None."""

    def __init__(
        self,
        db: Database,
        user_id: UUID,
        question: Question,
        reach: Reach,
        counted: int | None,
        meant: list[UUID],
        is_full: bool,
    ) -> None:
        self._db = db
        self._user_id = user_id
        self._question = question
        self._reach = reach
        self._counted = counted
        self._meant = meant
        self._is_full = is_full
        self._times = [Range(band.start, band.end) for band in question.dates if band.worth == 1.0] or None

    async def read(self, terms: list[str], df: Sequence[int | None]) -> tuple[list[Any], list[int]]:
        """Rows of the turns, and in how many turns each term stands; a term without a df is taken for a rare one."""
        bounds, ids = self._reach.bounds, None
        if self._counted is not None:
            guess = [1 if turns is None else turns for turns in df]
            weight = weigh(guess, self._counted)
            found = await self._db.rows(
                "rare_turns",
                self._user_id,
                terms,
                *bounds,
                _rarest(terms, guess),
                weight,
                self._meant,
                self._times,
            )
            ids = [row["id"] for row in found]
        rows = await self._db.rows(
            "rank_turns", self._user_id, terms, *bounds, self._question.hints, list(self._question.stems), self._meant,
            self._times, ids, self._is_full,
        )  # fmt: skip
        held = [sum(row["mask"] >> bit & 1 for row in rows) for bit in range(len(terms))]
        return rows, [max(seen, turns or 0) for seen, turns in zip(held, df, strict=True)]

    async def repair(self, terms: Sequence[str]) -> dict[str, str]:
        """For terms that the user never said, those that were probably meant."""
        long = sorted(filter(spelling.is_repairable, self._question.words), key=len, reverse=True)[:MOST_WORDS]
        suspects = [(word, stem) for word, stem in zip(long, await self._stems(long), strict=True) if stem in terms]
        swaps = [(stem, swapped) for word, stem in suspects for swapped in spelling.swaps(word)]
        unknown: dict[str, set[str]] = {stem: set() for _, stem in suspects}
        for (stem, _), other in zip(swaps, await self._stems([swapped for _, swapped in swaps]), strict=True):
            unknown[stem].add(other)
        if not unknown:
            return {}
        beginnings = sorted({one for term in unknown for one in spelling.beginnings(term)})
        longest = max(map(len, unknown)) + 1
        rows = await self._db.rows("known_lexemes", self._user_id, beginnings, longest, self._counted is not None)
        return spelling.repair(unknown, {row["term"]: row["turns"] for row in rows})

    async def _stems(self, words: Sequence[str]) -> list[str]:
        rows = await self._db.rows("stems", words) if words else []
        return [row["lexeme"] or "" for row in rows]


def _rarest(terms: Sequence[str], df: Sequence[int]) -> list[str]:
    """The rarest terms that stand in at most RARE turns together; the rarest one in any case."""
    chosen: list[str] = []
    room = RARE
    for turns, term in sorted(zip(df, terms, strict=True)):
        room -= turns
        if chosen and room < 0:
            break
        chosen.append(term)
    return chosen


_names: dict[str, frozenset[str]] = {}


async def _lexemes_of(db: Database, names: set[str]) -> frozenset[str]:
    """The lexemes of names; asked of Postgres once."""
    if not names:
        return frozenset()
    words = " ".join(sorted(names))
    found = _names.get(words)
    if found is None:
        if len(_names) > 10_000:
            _names.clear()
        found = _names[words] = frozenset(await db.value("lexemes", words))
    return found
