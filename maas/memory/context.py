"""Lines of memory for a prompt: the best search results within a token budget, and the recent messages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from itertools import chain
from typing import Self
from uuid import UUID

from maas.memory.dates import local
from maas.memory.excerpts import asks_again, excerpt, question_stems
from maas.memory.origins import mark_of, merged
from maas.memory.query import NO_FILTER, SearchFilter
from maas.memory.ranking import Evidence
from maas.memory.search import Hit, gather_evidence, search
from maas.memory.statements import Statements, is_fuller, replaces, says_change
from shared import tokens
from shared.db import Database
from shared.models.calls import QueryEmbedder
from shared.text import escape, offload, one_line

MIN_LINE_TOKENS = 12  # the search is limited to as many messages as would fit if each line were this short
MAX_SEARCHED_MESSAGES = 500
# A search result takes at most one of so many equal parts of the room that is left, at four characters a token; but a
# text that is short enough is whole: one of 600 characters if it is the best, of 400 if it is the tenth after that.
ROOM_SHARES, CHARS_PER_SHARED_TOKEN = 16, 4
MIN_WHOLE_CHARS, MORE_WHOLE_CHARS, HALF_RANK = 200, 400, 10
MIN_EXCERPT_CHARS = 300
LONG_CHARS = 1000  # a text of more characters takes longer to excerpt than to escape and count
MAX_NOTED_CHARS = 200  # of a message that is known to hold no longer; a longer one says more than a fact
NOTHING_OUTDATED: Mapping[UUID, str] = {}
MAX_CHANGES = 16  # statements of a context that are looked at for what they replace
ASSISTANTS = frozenset({"assistant", "ai", "bot"})
CHARS_PER_TOKEN = 4.6
FENCE_OPEN, FENCE_CLOSE = "<memory>", "</memory>"
GAP = " …"  # between messages in one line


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """Lines for a prompt, their text escaped, and the search hits that they show: of some lines several.

    `reasons`: why memory was incomplete. `hits_of_lines` are the hits that stand behind each line.
    """

    lines: tuple[str, ...]
    hits: tuple[Hit, ...]
    reasons: frozenset[str] = frozenset()
    hits_of_lines: tuple[tuple[Hit, ...], ...] = ()

    @property
    def fenced(self) -> str:
        """The lines within a <memory> fence; empty when there are none."""
        return "\n".join((FENCE_OPEN, *self.lines, FENCE_CLOSE)) if self.lines else ""


async def build_context(
    db: Database,
    user_id: UUID,
    query: str,
    max_tokens: int,
    *,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    exclude: Collection[UUID] = (),
    only: Collection[UUID] | None = None,
    is_full: bool = False,
    evidence: Evidence | None = None,
    outdated: Mapping[UUID, str] = NOTHING_OUTDATED,
    by_day: bool = False,
) -> MemoryContext:
    """Search memory and return what fits into `max_tokens` tokens, without the messages in `exclude`.

    With `only` these messages are returned alone, and what corrects them.
    With `is_full` the remaining room is filled with messages that do not match, unless the memory is a large one.
    `evidence` is that of the same query, if it was gathered before. Earlier copies of the query are no evidence.
    `outdated` and `by_day`: see `fill_budget`.
    """
    limit = min(max_tokens // MIN_LINE_TOKENS + len(exclude) + 1, MAX_SEARCHED_MESSAGES)
    if evidence is None:
        evidence = await gather_evidence(db, user_id, query, filters, query_embedder, is_full=is_full)
    hits = await search(db, user_id, query, limit=limit, filters=filters, evidence=evidence)
    if only is not None:
        corrections = {hit.correction.valid_id for hit in hits if hit.id in only}
        hits = [hit for hit in hits if hit.id in only or hit.id in corrections]
    shown = [hit for hit in hits if hit.id not in exclude and not asks_again(query, hit.text)]
    long_chars = sum(len(hit.text) for hit in shown if len(hit.text) > LONG_CHARS)
    context = await offload(long_chars, fill_budget, shown, max_tokens, query, filters.zone, outdated, by_day)
    return replace(context, reasons=evidence.reasons)


def fill_budget(
    hits: Sequence[Hit],
    max_tokens: int,
    question: str = "",
    zone: tzinfo = UTC,
    outdated: Mapping[UUID, str] = NOTHING_OUTDATED,
    by_day: bool = False,
) -> MemoryContext:
    """Return lines of the best hits that fit, the best first. A line that does not fit is left out.

    A long text is an excerpt that fits `question`. What one speaker says twice is one line with its dates. A statement
    that a later one replaces, or that the user has corrected, stands behind that and says so. `outdated` are notes on
    messages that are known to hold no longer. With `by_day` all messages of a speaker on one day are one line, in the
    order of time, where the best of them stands: more messages have room if each day is named once.
    """
    about = question_stems(question)
    lines: list[_Line] = []
    ids = frozenset(hit.id for hit in hits)
    statements = Statements()
    room = _Room(max_tokens - _rounded_cost(f"{FENCE_OPEN}\n{FENCE_CLOSE}\n"), by_day)
    for hit in hits:
        if room.tokens < MIN_LINE_TOKENS:
            break
        max_chars = _excerpt_chars(hit.text, len(lines), room.tokens)
        if min(len(hit.text), max_chars, MIN_EXCERPT_CHARS) > room.tokens * CHARS_PER_TOKEN:
            continue
        if _lacks_correction(hit, lines, ids):
            continue
        number = statements.find(hit.speaker, hit.text)
        if number is None:
            text = excerpt(hit.text, about, max_chars)
            line = _Line.of((hit,), hit, text, frozenset([_day(hit, zone)]))
        else:
            line = lines[number]
            said, text = line.said, line.text
            if said.text != hit.text and _is_better(hit, said):
                said, text = hit, excerpt(hit.text, about, max(max_chars, len(text)))
            line = _Line.of((*line.hits, hit), said, text, line.days | {_day(hit, zone)})
        if not room.take(line, None if number is None else lines[number]):
            continue
        if number is None:
            statements.add(len(lines), hit.speaker, hit.text)
            lines.append(line)
        else:
            lines[number] = line
    return _context(_mark_replaced(lines, max_tokens, zone, outdated, by_day), by_day)


def _excerpt_chars(text: str, rank: int, room: int) -> int:
    """Return how much of a text is shown: a share of the room, but a short text whole, if it is not far behind."""
    whole = MIN_WHOLE_CHARS + MORE_WHOLE_CHARS * HALF_RANK // (rank + HALF_RANK)
    return max(room * CHARS_PER_SHARED_TOKEN // ROOM_SHARES, whole if len(text) <= whole else MIN_EXCERPT_CHARS)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a context: the hits that say the same on some days, and what is shown of the one that is quoted.

    `head` says when and who, `body` is the escaped text; a line with a note on what it says stands by itself.
    """

    hits: tuple[Hit, ...]
    said: Hit
    text: str
    days: frozenset[str]
    head: str
    body: str
    has_note: bool

    @classmethod
    def of(cls, hits: tuple[Hit, ...], said: Hit, text: str, days: frozenset[str], note: str = "") -> Self:
        """Date the text by the last two days, or by the last one and a note such as `replaced 2026-05-01`."""
        when = ", ".join(sorted(days, reverse=True)[:2]) + (f" and {len(days) - 2} more" if len(days) > 2 else "")
        if note:
            when = f"{max(days)}, {note}"
        if mark := mark_of(merged(hit.origins for hit in hits)):
            when = f"{when}, {mark}"
        return cls(hits, said, text, days, f"- [{when}] {escape(one_line(said.speaker))}:", escape(text), bool(note))


class _Room:
    """The tokens that are left; with `by_day` only the first of the messages with one head pays for it."""

    def __init__(self, tokens_: int, by_day: bool) -> None:
        self.tokens = tokens_
        self._by_day = by_day
        self._heads: Counter[str] = Counter()

    def take(self, line: _Line, instead: _Line | None) -> bool:
        """Take the room of a line, in place of another if that is shown already; return whether there is enough."""
        room = self.tokens
        if instead is not None:
            self._heads[instead.head] -= 1
            room += self._cost(instead) - self._by_day  # with or without the head, which is rounded with either
        room -= self._cost(line)
        is_enough = room >= 0
        if is_enough:
            self.tokens = room
        shown = line if is_enough else instead
        if shown is not None:
            self._heads[shown.head] += 1
        return is_enough

    def _cost(self, line: _Line) -> int:
        is_more = self._by_day and self._heads[line.head] > 0
        return _rounded_cost(f"{GAP} {line.body}" if is_more else f"{line.head} {line.body}\n")


def _is_better(hit: Hit, said: Hit) -> bool:
    """Return whether a hit is quoted instead of another that says the same: the fuller one, else the newer one."""
    if is_fuller(hit.text, said.text) or is_fuller(said.text, hit.text):
        return is_fuller(hit.text, said.text)
    return hit.occurred_at > said.occurred_at


def _day(hit: Hit, zone: tzinfo) -> str:
    return f"{local(hit.occurred_at, zone):%Y-%m-%d}"


def _context(lines: Sequence[_Line], by_day: bool) -> MemoryContext:
    groups: dict[object, list[_Line]] = {}
    for number, line in enumerate(lines):
        groups.setdefault(line.head if by_day and not line.has_note else number, []).append(line)
    hits_of_lines = tuple(tuple(hit for line in group for hit in line.hits) for group in groups.values())
    hits = tuple(chain.from_iterable(hits_of_lines))
    return MemoryContext(tuple(map(_joined, groups.values())), hits, hits_of_lines=hits_of_lines)


def _joined(lines: Sequence[_Line]) -> str:
    """Return one line of lines with the same head, in the order of time."""
    line = lines[0].head
    for number, one in enumerate(sorted(lines, key=lambda one: one.said.occurred_at)):
        line += f"{GAP if number and not line.endswith(GAP) else ''} {one.body}"
    return line


def _mark_replaced(
    lines: list[_Line], max_tokens: int, zone: tzinfo, outdated: Mapping[UUID, str], by_day: bool
) -> list[_Line]:
    """Mark lines whose statement a later one replaces, and put the later one first; the last lines make room."""
    changes = [line.said for line in lines if says_change(line.said.text) and not _is_assistant(line.said)]
    result = [_with_note(line, outdated) for line in lines]
    replaced: set[UUID] = set()
    for change in sorted(changes[:MAX_CHANGES], key=lambda hit: hit.occurred_at):
        places = [
            place
            for place, line in enumerate(result)
            if line.said.occurred_at < change.occurred_at
            and line.said.speaker == change.speaker
            and line.said.id not in replaced
            and replaces(change.text, line.said.text)
        ]
        if not places:
            continue
        for place in places:
            replaced.add(result[place].said.id)
            line = result[place]
            result[place] = _Line.of(line.hits, line.said, line.text, line.days, f"replaced {_day(change, zone)}")
        own = next(place for place, line in enumerate(result) if line.said.id == change.id)
        result.insert(min(places[0], own), result.pop(own))
    is_longer = _mark_corrected(result, zone) or bool(replaced) or bool(outdated)
    while is_longer and _rounded_cost(_context(result, by_day).fenced) > max_tokens:
        result.pop()
    return result


def _with_note(line: _Line, outdated: Mapping[UUID, str]) -> _Line:
    """Return a short line with the note on what it says, if nothing of it holds."""
    notes = [outdated.get(hit.id) for hit in line.hits]
    if len(line.said.text) > MAX_NOTED_CHARS or not all(notes):
        return line
    return _Line.of(line.hits, line.said, line.text, line.days, notes[0] or "")


def _lacks_correction(hit: Hit, lines: Sequence[_Line], ids: Collection[UUID]) -> bool:
    """Return whether a hit is corrected by another of these hits that had no room."""
    valid_id = hit.correction.valid_id
    return valid_id in ids and all(one.id != valid_id for line in lines for one in line.hits)


def _mark_corrected(lines: list[_Line], zone: tzinfo) -> bool:
    """Mark lines that the user has corrected, and put the correction first; return whether there are any.

    What the speaker has said again since the correction is valid.
    """
    is_marked = False
    for line in list(lines):
        correction = next((hit.correction for hit in line.hits if hit.correction.is_own), None)
        if correction is None or correction.valid_from is None or correction.valid_id is None:
            continue
        since = correction.valid_from
        if any(hit.occurred_at >= since and not hit.correction.is_own for hit in line.hits):
            continue
        place = lines.index(line)
        lines[place] = _Line.of(line.hits, line.said, line.text, line.days, f"replaced {local(since, zone):%Y-%m-%d}")
        own = next((n for n, one in enumerate(lines) if any(hit.id == correction.valid_id for hit in one.hits)), place)
        lines.insert(min(place, own), lines.pop(own))
        is_marked = True
    return is_marked


def _is_assistant(hit: Hit) -> bool:
    return hit.speaker.casefold() in ASSISTANTS


def _rounded_cost(text: str) -> int:
    """Return an upper bound of the tokens of a text for any model: those counted, or one for every 4.6 characters."""
    return max(tokens.count(text), math.ceil(len(text) / CHARS_PER_TOKEN))
