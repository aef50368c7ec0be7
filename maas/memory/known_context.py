"""The context of a client that calls its own model: the best evidence, then what is known of the user."""

from __future__ import annotations

from dataclasses import dataclass
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
) -> KnownContext:
    """The context for a query in `max_tokens` tokens; what is known takes at most `facts_tokens` of them."""
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
    )
    return KnownContext(known, said, round(_confidence(evidence, known), 3))


def may_answer(evidence: Evidence, known: Known) -> bool:
    """Whether something in memory may answer the query of this evidence; true of a request for general knowledge."""
    return form_of(evidence.query.text) == "general" or _confidence(evidence, known) >= UNLIKELY


def _confidence(evidence: Evidence, known: Known) -> float:
    said = confidence(evidence, rank(evidence, limit=MAX_RANKED))
    return max(said, known.confidence(len(evidence.terms)))
