"""The turns that may answer a question, out of Postgres: of a small memory all, of a large one rarest term first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from asyncpg import Range

from maas.memory import spelling
from maas.memory.question import Question, read_question
from maas.memory.ranking import Evidence, Turn, weigh
from maas.memory.reach import END_OF_TIME, Reach
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
    asked = await db.row("question_terms", user_id, text, reach.as_of or END_OF_TIME)
    assert asked is not None
    question = read_question(text, reach.now, reach.zone)
    if not (asked["terms"] or meaning or question.dates):
        return None
    terms, named = list(asked["terms"] or []), frozenset(asked["named"] or [])
    counted = asked["turns"] if asked["is_counted"] and asked["turns"] > WHOLE else None
    memory = _Memory(db, user_id, question, reach, counted, named, list(meaning), is_full)
    turns, frequency = await memory.read(terms, asked["df"] or [])
    meant = await memory.repair([one for one, df in zip(terms, frequency, strict=True) if not df and one not in named])
    if meant:
        known = dict(zip(terms, frequency, strict=True))
        terms = list(dict.fromkeys(meant.get(term, term) for term in terms))
        turns, frequency = await memory.read(terms, [known.get(term) for term in terms])
    if not (any(frequency) or meaning or question.dates):
        return None
    weight = weigh(frequency, asked["turns"])
    others = [0.0 if term in named else one for term, one in zip(terms, weight, strict=True)]
    weight = others if any(others) else weight  # who is named stands in the question, not in what was said
    return Evidence(question, turns, weight, frequency, meaning, reach)


class _Memory:
    """One user's turns as one question sees them. `counted` is how many there are of a large memory, else None."""

    def __init__(
        self,
        db: Database,
        user_id: UUID,
        question: Question,
        reach: Reach,
        counted: int | None,
        named: frozenset[str],
        meant: list[UUID],
        is_full: bool,
    ) -> None:
        self._db = db
        self._user_id = user_id
        self._question = question
        self._reach = reach
        self._counted = counted
        self._named = named
        self._meant = meant
        self._is_full = is_full
        self._times = [Range(band.start, band.end) for band in question.dates if band.worth == 1.0] or None

    async def read(self, terms: list[str], df: Sequence[int | None]) -> tuple[list[Turn], list[int]]:
        """The turns, and in how many turns each term stands; a term without a df is taken for a rare one."""
        ids = None
        if self._counted is not None:
            guess = [1 if turns is None else turns for turns in df]
            weight = weigh(guess, self._counted)
            found = await self._db.rows(
                "rare_turns",
                self._user_id,
                terms,
                *self._reach.bounds,
                _rarest(terms, guess),
                weight,
                self._meant,
                self._times,
            )
            ids = [row["id"] for row in found]
        ignored = sum(1 << bit for bit, term in enumerate(terms) if term in self._named)
        turns = await self._rank(terms, ids, ignored)
        if ignored and not any(turn.mask & ~ignored for turn in turns):
            turns = await self._rank(terms, ids, 0)  # nothing but the name is known
        masks = Counter(turn.mask for turn in turns).items()
        held = [sum(number for mask, number in masks if mask >> bit & 1) for bit in range(len(terms))]
        return turns, [max(seen, counted or 0) for seen, counted in zip(held, df, strict=True)]

    async def _rank(self, terms: list[str], ids: list[UUID] | None, ignored: int) -> list[Turn]:
        rows = await self._db.rows(
            "rank_turns", self._user_id, terms, *self._reach.bounds, list(self._question.hints), self._meant,
            self._times, ids, self._is_full, ignored,
        )  # fmt: skip
        return [Turn._make(row) for row in rows]

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
        return spelling.repair(unknown, await self._known(beginnings, longest))

    async def _known(self, beginnings: list[str], longest: int) -> dict[str, int]:
        """The lexemes of the user that begin so, and how often they were said."""
        if self._counted is None:
            rows = await self._db.rows("said_lexemes", self._user_id)
            return spelling.count_lexemes((row["lexemes"] for row in rows), beginnings, longest)
        rows = await self._db.rows("counted_lexemes", self._user_id, beginnings, longest)
        return {row["term"]: row["turns"] for row in rows}

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
