"""The context of a client that calls its own model: the best evidence, then what is known of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self
from uuid import UUID

from maas.memory.context import FENCE_CLOSE, FENCE_OPEN, MemoryContext, build_context
from maas.memory.facts import HEADING, CardLine, Known, read_known
from maas.memory.query import NO_FILTER, SearchFilter
from maas.memory.ranking import Evidence, rank
from maas.memory.relevance import FOUND, UNLIKELY, confidence, form_of
from maas.memory.search import gather_evidence
from shared import tokens
from shared.db import Database
from shared.models.calls import QueryEmbedder

MAX_RANKED = 50  # messages that are looked at for an answer
FACTS_SHARE = 4  # what is known takes at most this part of a context


@dataclass(frozen=True, slots=True)
class KnownContext:
    """What was said and what is known, in lines for a prompt; `confidence`: how likely it holds the answer, 0 to 1."""

    known: Known
    said: MemoryContext
    confidence: float

    @property
    def is_found(self) -> bool:
        """Whether something in it answers the query."""
        return self.confidence >= FOUND

    @property
    def facts(self) -> tuple[CardLine, ...]:
        """What is known besides what was said."""
        return self.known.besides({hit.id for hit in self.said.hits})

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of what was said, then those of the facts under their heading."""
        facts = [one.line for one in self.facts]
        return (*self.said.lines, HEADING, *facts) if facts else self.said.lines

    @property
    def fenced(self) -> str:
        """The lines within a <memory> fence; empty when there are none."""
        return "\n".join((FENCE_OPEN, *self.lines, FENCE_CLOSE)) if self.lines else ""


async def build_known_context(
    db: Database,
    user_id: UUID,
    query: str,
    max_tokens: int,
    facts_tokens: int,
    *,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    by_day: bool = False,
) -> KnownContext:
    """The context for a query in `max_tokens` tokens; what is known takes at most `facts_tokens` of them.

    `by_day`: see `fill_budget`.
    """
    limit = min(facts_tokens, max_tokens // FACTS_SHARE)
    evidence = await gather_evidence(db, user_id, query, filters, query_embedder, is_full=True)
    known = await read_known(db, user_id, query, limit, filters.zone, filters.as_of)
    said = await build_context(
        db,
        user_id,
        query,
        max_tokens - sum(tokens.count(f"{line}\n") for line in (HEADING, *(one.line for one in known.lines))),
        filters=filters,
        exclude=known.unused,
        is_full=True,
        evidence=evidence,
        outdated=known.outdated,
        by_day=by_day,
    )
    return KnownContext(known, said, round(_confidence(evidence, known), 3))


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search came to: how many messages it looked through, and how likely one of them, or a fact, answers the
    query, 0 to 1; None where the query asks nothing that memory may know."""

    messages: int
    confidence: float | None

    @classmethod
    def of(cls, evidence: Evidence, known: Known, *, is_question: bool) -> Self:
        """Return what the search for the query of this evidence came to."""
        is_asked = is_question and form_of(evidence.query.text) != "general"
        return cls(evidence.size, _confidence(evidence, known) if is_asked else None)

    @property
    def found(self) -> Literal["yes", "perhaps", "no"] | None:
        """Whether something answers the query."""
        if self.confidence is None:
            return None
        return "yes" if self.confidence >= FOUND else "perhaps" if self.confidence >= UNLIKELY else "no"

    def to_json(self) -> dict[str, Any]:
        """Return the value as it is stored with a run."""
        confidence = None if self.confidence is None else round(self.confidence, 3)
        return {"messages": self.messages, "confidence": confidence, "found": self.found}


def _confidence(evidence: Evidence, known: Known) -> float:
    said = confidence(evidence, rank(evidence, limit=MAX_RANKED))
    return max(said, known.confidence(len(evidence.terms)))
