"""Facts of a user as they are stored: what is true now, what was, and what a person decided about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from typing import Literal, cast, get_args
from uuid import UUID

from maas import queries
from maas.memory.dates import local
from maas.memory.fact_questions import FactQuestion
from maas.memory.origins import Origin, foreign, mark_of
from maas.memory.query import SearchFilter
from shared import tokens
from shared.db import Database
from shared.errors import MaasError
from shared.text import escape, one_line

FoundKind = Literal["identity", "relation", "preference", "plan", "event", "state", "possession", "question"]
Kind = Literal[FoundKind, "profile", "note"]
State = Literal["true", "uncertain", "replaced", "ended", "corrected", "wrong", "unused"]
Verdict = Literal["wrong", "ended", "unused", "pinned", "free"]
MAX_FACT_CHARS, MAX_NAME_CHARS = 500, 100  # of what a person writes
HEADING = "What is known:"
HELD: tuple[State, ...] = ("true", "uncertain")
NEWEST = 40  # facts that a card may show although they share no word with the question
MAX_FOUND = 3  # among the results of a search
KINDS_FIRST = ("identity", "profile", "relation", "state")  # what a card shows first of these
ASKED = 0.95  # confidence in a fact that says what a question asks for
MOST = 0.7  # of the words of a question: two of three may only ask for a name


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a subject, when it was said first and last, and whether it holds.

    `since` is the day when it was replaced, ended, or became uncertain. `replaces` and `replaced_by` are the facts
    before and after it. `raw_log_ids` are its messages. Where a search found it, `matches` is how many words of the
    question it shares, `period` the week in which it was said last, and `is_asked` that it says what is asked for.
    """

    id: UUID
    statement: str
    subject: str
    attribute: str
    kind: Kind
    said_by: str
    said_at: datetime
    last_said_at: datetime
    true_from: date | None
    true_until: date | None
    raw_log_ids: tuple[UUID, ...]
    origin: str
    origins: tuple[Origin, ...]
    created_at: datetime
    state: State
    since: date | None
    replaced_by: UUID | None
    replaces: UUID | None
    is_pinned: bool
    matches: int = 0
    period: str = ""
    is_asked: bool = False

    @classmethod
    def from_row(cls, row: queries.FindFactsRow | queries.ListFactsRow | queries.SearchFactsRow) -> Fact:
        """Return the value of a row; what a search adds is not set."""
        return cls(
            id=row["id"],
            statement=row["statement"],
            subject=row["subject"],
            attribute=row["attribute"],
            kind=cast(Kind, row["kind"]),
            said_by=row["said_by"],
            said_at=row["said_at"],
            last_said_at=row["last_said_at"],
            true_from=row["true_from"],
            true_until=row["true_until"],
            raw_log_ids=tuple(row["raw_log_ids"]),
            origin=row["origin"],
            origins=Origin.from_json(row["origins"]),
            created_at=row["created_at"],
            state=cast(State, row["state"]),
            since=row["since"],
            replaced_by=row["replaced_by"],
            replaces=row["replaces"],
            is_pinned=row["is_pinned"],
        )


async def find_facts(
    db: Database, user_id: UUID, question: str, as_of: datetime | None = None, newest: int = NEWEST
) -> list[Fact]:
    """The facts that a prompt about `question` may show, replaced ones too: without order."""
    asked = FactQuestion.of(question)
    rows = await db.rows(queries.find_facts, user_id, question, as_of, newest, sorted(asked.attributes))
    found = [replace(Fact.from_row(row), matches=row["matches"]) for row in rows]
    return [replace(one, is_asked=asked.asks_for(one.subject, one.attribute, one.kind)) for one in found]


async def list_facts(
    db: Database,
    user_id: UUID,
    limit: int,
    *,
    as_of: datetime | None = None,
    states: Sequence[State] | None = None,
    subject: str | None = None,
    before: tuple[datetime, UUID] | None = None,
) -> list[Fact]:
    """The facts of a user, newest first."""
    at, fact_id = before or (None, None)
    wanted = None if states is None else list(states)
    rows = await db.rows(queries.list_facts, user_id, as_of, wanted, subject, at, fact_id, limit)
    return [Fact.from_row(row) for row in rows]


async def search_facts(db: Database, user_id: UUID, question: str, filters: SearchFilter) -> list[Fact]:
    """The facts that hold and have at least half of the words of a question, those with most of them first.

    A fact has no tags: none is found where a message must have some.
    """
    if filters.tags:
        return []
    args = (user_id, question, filters.as_of, filters.since, filters.until, MAX_FOUND)
    rows = await db.rows(queries.search_facts, *args)
    return [replace(Fact.from_row(row), matches=row["matches"], period=row["period"]) for row in rows]


def to_states(text: str) -> tuple[State, ...] | None:
    """The states that a word names; None: all. Raises ValueError."""
    if text == "all":
        return None
    known = [one for one in get_args(State) if one == text]
    if not known:
        raise ValueError(f"must be all, or one of {', '.join(get_args(State))}")
    return tuple(known)


async def decide_fact(db: Database, user_id: UUID, fact_id: UUID, verdict: Verdict, actor: str) -> None:
    """Note what a person decided about a statement; whoever says it again changes nothing.

    Raises MaasError('not_found').
    """
    assert verdict in get_args(Verdict)
    if not await db.value(queries.decide_fact, user_id, fact_id, verdict, actor):
        raise _unknown(fact_id)


async def correct_fact(
    db: Database, user_id: UUID, fact_id: UUID, text: str, source: str, actor: str
) -> tuple[UUID, UUID]:
    """Add a statement of the person that says what is right instead; return its run and the new fact.

    Raises MaasError('not_found').
    """
    row = await db.row(queries.correct_fact, user_id, fact_id, text, source, actor)
    if row is None:
        raise _unknown(fact_id)
    return row["run_id"], row["fact_id"]


async def merge_names(db: Database, user_id: UUID, name: str, same_as: str) -> int:
    """Say that two names are one subject; return how many facts the first name has."""
    return int(await db.value(queries.merge_fact_names, user_id, name, same_as))


def _unknown(fact_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no fact {fact_id}")


@dataclass(frozen=True, slots=True)
class Known:
    """What a prompt shows of what is known, and notes on messages that hold no longer: `replaced 2026-05-01`.

    `unused` are messages of which a person wants nothing used.
    """

    lines: tuple[CardLine, ...] = ()
    outdated: Mapping[UUID, str] = field(default_factory=dict)
    unused: frozenset[UUID] = frozenset()

    def confidence(self, terms: int) -> float:
        """How likely a line answers a question of so many terms: it says what is asked for, or has most of them."""
        if any(one.fact.is_asked for one in self.lines):
            return ASKED
        share = max((min(one.fact.matches / terms, 1.0) for one in self.lines), default=0.0) if terms else 0.0
        return share if share >= MOST else share / 4

    def besides(self, shown: Collection[UUID]) -> tuple[CardLine, ...]:
        """The lines that say more than these messages; a fact that holds and always did stands there already."""
        return tuple(
            one
            for one in self.lines
            if one.says_more or one.fact.is_pinned or not any(log in shown for log in one.fact.raw_log_ids)
        )


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of a card and its fact; `says_more`: that it is uncertain, has ended, or what it was before."""

    line: str
    fact: Fact
    says_more: bool = False


async def read_known(
    db: Database, user_id: UUID, question: str, max_tokens: int, zone: tzinfo, as_of: datetime | None = None
) -> Known:
    """What is known of a user as a prompt about `question` shows it, in at most so many tokens; see `card`."""
    if max_tokens <= 0:
        return Known()
    facts = await find_facts(db, user_id, question, as_of)
    outdated = {one: _note(fact) for fact in facts if fact.state not in ("true", "unused") for one in fact.raw_log_ids}
    held, unused = _messages(facts, "true"), _messages(facts, "unused")
    notes = {one: note for one, note in outdated.items() if one not in held}
    return Known(tuple(card(facts, max_tokens, zone)), notes, unused - held - outdated.keys())


def _messages(facts: Sequence[Fact], state: State) -> frozenset[UUID]:
    return frozenset(one for fact in facts if fact.state == state for one in fact.raw_log_ids)


def _note(fact: Fact) -> str:
    if fact.state == "uncertain":
        return f"uncertain since {fact.since}"
    return f"{'replaced' if fact.state == 'corrected' else fact.state} {fact.since or ''}".strip()


def card(facts: Sequence[Fact], max_tokens: int, zone: tzinfo) -> list[CardLine]:
    """What is known, in lines that fit: pinned facts, those that share words with the question, then the newest.

    A line says since when it is uncertain, what it was before, or that it has ended. What a person called wrong or
    wants unused is never shown.
    """
    known = {fact.id: fact for fact in facts}
    lines: list[CardLine] = []
    room = max_tokens - tokens.count(HEADING + "\n")
    for fact in sorted(filter(_is_shown, facts), key=_rank):
        former = known.get(fact.replaces) if fact.replaces is not None else None
        line = _line(fact, former if former is not None and former.state in ("replaced", "ended") else None, zone)
        cost = tokens.count(line + "\n")
        if cost <= room:
            room -= cost
            lines.append(CardLine(line, fact, former is not None or fact.state != "true"))
    return lines


def _is_shown(fact: Fact) -> bool:
    """Whether a card may show a fact: while it holds, or when it ended without a statement that says so."""
    return fact.state in HELD or (fact.state == "ended" and fact.replaced_by is None and fact.matches > 0)


def _rank(fact: Fact) -> tuple[bool, bool, int, bool, float]:
    return (
        not fact.is_pinned,
        not fact.is_asked,
        -fact.matches,
        fact.kind not in KINDS_FIRST,
        -fact.last_said_at.timestamp(),
    )


def _line(fact: Fact, former: Fact | None, zone: tzinfo) -> str:
    when = [_day(fact.last_said_at, zone)]
    if fact.state != "true":
        when.append(_note(fact))
    if mark := mark_of(foreign(fact.origins)):
        when.append(mark)
    before = ""
    if former is not None:
        before = f" (before, said {_day(former.last_said_at, zone)}: {escape(one_line(former.statement))})"
    return f"- [{', '.join(when)}] {escape(one_line(fact.said_by))}: {escape(one_line(fact.statement))}{before}"


def _day(at: datetime, zone: tzinfo) -> str:
    return f"{local(at, zone):%Y-%m-%d}"
