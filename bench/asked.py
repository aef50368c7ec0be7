"""A question that names its evidence, asked of the memory of its conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from bench.boosts import Boost, boosted
from bench.conversations import Question
from bench.recall import LIMIT
from bench.scoring import Score, score, share
from maas import queries
from maas.memory.context import build_context
from maas.memory.query import SearchFilter
from maas.memory.ranking import RankedMessage, Weights, rank
from maas.memory.search import gather_evidence
from shared.db import Database
from shared.models.calls import QueryEmbedder

NO_BOOSTS: Mapping[str, Boost] = {}


@dataclass(frozen=True, slots=True)
class Asked:
    """`homes` is the session of each turn of the conversation; without `query_embedder` only words count."""

    db: Database
    user_id: UUID
    question: Question
    homes: Mapping[str, str]
    query_embedder: QueryEmbedder | None = None

    @property
    def filters(self) -> SearchFilter:
        """What was known when it was asked."""
        return SearchFilter(as_of=self.question.asked_at)

    async def scores(
        self, text: str, weightings: Mapping[str, Weights], boosts: Mapping[str, Boost] = NO_BOOSTS
    ) -> dict[str, Score]:
        """The score of each ranking of what the text, which stands for the question's own, gathers once."""
        evidence = await gather_evidence(self.db, self.user_id, text, self.filters, self.query_embedder)
        rankings = {name: rank(evidence, one, LIMIT) for name, one in weightings.items()}
        rankings |= {name: boosted(evidence, one, LIMIT) for name, one in boosts.items()}
        names = await self._names(one for ranking in rankings.values() for one in ranking)
        return {
            name: score([names[one.id] for one in ranking], self.question, self.homes)
            for name, ranking in rankings.items()
        }

    async def shown(self, budget: int) -> float:
        """The share of the evidence that a context of so many tokens shows."""
        text = self.question.text
        found = await build_context(
            self.db,
            self.user_id,
            text,
            budget,
            filters=self.filters,
            query_embedder=self.query_embedder,
            is_full=True,
            by_day=True,
        )
        return share(self.question.evidence, [hit.external_id or "" for hit in found.hits])

    async def _names(self, ranked: Iterable[RankedMessage]) -> dict[UUID, str]:
        ids = {one.id for one in ranked}
        rows = await self.db.rows(queries.sources, self.user_id, list(ids))
        return {row["id"]: row["external_id"] or "" for row in rows}
