"""Documents of a LightRAG server, for the users whom the operator lets read all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TypeVar
from uuid import UUID

import httpx2

from maas.assistants.corporate.knowledge import (
    FoundPassage,
    KnowledgeAnswer,
    KnowledgeData,
    KnowledgeQuery,
    KnowledgeState,
    Reference,
    TrackedDocument,
)
from maas.assistants.corporate.lightrag_client import (
    LIGHTRAG_LIMITS,
    STATE_LIMITS,
    LightragClient,
    LightragReference,
)
from maas.assistants.corporate.settings import EVERYBODY
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.errors import MaasError
from shared.vendors import VendorError
from shared.vendors.service import Limits

OF_A_BUSY_SERVER = ("rate_limited", "timeout")
MAYBE_BUSY = ("unavailable", "unreachable", "bad_reply")
T = TypeVar("T")


class KnowledgeBusy(MaasError):
    """The server has too much to do for this question."""

    def __init__(self, cause: str) -> None:
        super().__init__("busy", cause)


class LightragBackend:
    """One server at `url`. It does not know our users: all who may ask it read the same documents."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        users: tuple[str, ...],
        limits: Limits = LIGHTRAG_LIMITS,
        state_limits: Limits = STATE_LIMITS,
    ) -> None:
        self._url, self._api_key, self._users = url, api_key, frozenset(users)
        self._limits, self._state_limits = limits, state_limits
        self._opened: httpx2.AsyncClient | None = None

    def is_open_to(self, user_id: UUID) -> bool:
        """Whether this user may read what the server holds."""
        return EVERYBODY in self._users or str(user_id) in self._users

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.aclose()

    async def query(self, user_id: UUID, question: KnowledgeQuery) -> KnowledgeAnswer:
        """Raises VendorError, KnowledgeBusy."""
        answer = await self._ask(self._client.query, question)
        references = tuple(map(_reference, answer.references or ()))
        if not answer.is_generated:
            return KnowledgeAnswer("", (), False, 0)
        return KnowledgeAnswer(
            answer.response, references, True, None if answer.references is None else len(references)
        )

    async def query_data(self, user_id: UUID, question: KnowledgeQuery) -> KnowledgeData:
        """Raises VendorError, KnowledgeBusy."""
        data = await self._ask(self._client.query_data, question)
        passages = tuple(FoundPassage(Reference(one.reference_id, one.file_path), one.content) for one in data.chunks)
        hits = max(len(data.chunks), len(data.references))
        found = hits or max(len(data.entities), len(data.relations))
        references = tuple(map(_reference, data.references)) if question.include_references else ()
        return KnowledgeData(
            passages, references, found, tuple(map(asdict, data.entities)), tuple(map(asdict, data.relations))
        )

    async def track_status(self, user_id: UUID, track_id: str) -> list[TrackedDocument]:
        """Raises VendorError."""
        return [
            TrackedDocument(one.file_path, one.status, one.error, one.chunks, one.created_at, one.updated_at)
            for one in await self._client.track_status(track_id)
        ]

    async def pipeline_status(self, user_id: UUID) -> KnowledgeState:
        """Raises VendorError. The counts are those of the job that runs or ran last."""
        state = await self._client.pipeline_status()
        counts = {"documents": state.documents, "steps_done": state.step, "steps": state.steps}
        return KnowledgeState(state.is_busy, counts, state.message or state.job)

    async def _ask(self, call: Callable[..., Awaitable[T]], question: KnowledgeQuery) -> T:
        """Ask, and find out whether a failure is one of too much work."""
        try:
            return await call(question.query, question.mode, question.top_k, question.include_references)
        except VendorError as error:
            if error.code in OF_A_BUSY_SERVER or (error.code in MAYBE_BUSY and await self._is_busy()):
                raise KnowledgeBusy(error.message) from error
            raise

    async def _is_busy(self) -> bool:
        try:
            return (await self._client.pipeline_status()).is_busy
        except VendorError:
            return False

    @property
    def _client(self) -> LightragClient:
        if self._opened is None:
            self._opened = open_bounded(MAX_VENDOR_REPLY_BYTES)
        return LightragClient(self._opened, self._url, self._api_key, self._limits, self._state_limits)


def _reference(one: LightragReference) -> Reference:
    return Reference(one.reference_id, one.file_path)
