"""What is stored of a call of a pass-through model: its cost always, the exchange once it has ended in text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import structlog

from maas import queries
from maas.engine.drafts import Payload
from maas.passthrough.memory import MemoryBlock
from maas.passthrough.models import ProviderModel
from maas.passthrough.replies import ProviderReply
from shared import tokens
from shared.db import CONNECTION_LOST, Database
from shared.errors import Backoff, MaasError
from shared.json import json_parts

MAX_QUESTION_BYTES = 65_536  # of what is remembered; the provider gets all of it
REPLACE_WITHIN_S = 3600.0  # the same question again, after the same messages: another answer to it
MAX_ATTEMPTS, FIRST_BACKOFF_S, MAX_BACKOFF_S = 5, 0.2, 2.0  # of writing, while the database is away
MAX_COUNTED_CHARS = 50_000  # of one text; tokens of a longer one, such as a picture, are a quarter of its length
ASSISTANT = "passthrough"  # in rows of exchanges and of their conversations
UNASKED = "(a request without a text of the user)"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a pass-through model, from the moment at which it was sent.

    `key` is the same when the question is asked again, None where nothing is remembered. `is_remembered`: whether the
    client wants it to be. `sent`: the messages that the provider got.
    """

    user_id: UUID
    caller: str
    model: ProviderModel
    question: str
    key: str | None
    memory: MemoryBlock
    sent: Sequence[Any]
    conversation_id: UUID | None = None
    metadata: Mapping[str, Any] | None = None
    is_remembered: bool = True
    id: UUID = field(default_factory=uuid4)
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _started: float = field(default_factory=time.monotonic)

    async def store(self, db: Database, reply: ProviderReply, failure: MaasError | None) -> dict[str, Any]:
        """Store what came of it; return `remembered` and `replaced`. A failure is logged: the answer is there."""
        is_turn = failure is None and reply.ends_turn and self.question != ""
        verdict = await self._write(db, self._row(reply, failure, is_turn))
        is_remembered = is_turn and self.is_remembered and verdict is not None
        return {"remembered": is_remembered, "replaced": verdict == "replaced"}

    async def _write(self, db: Database, row: Mapping[str, Any]) -> str | None:
        """Write the row once, also when the database is away for a moment; None if it could not be written."""
        backoff, attempts_left = Backoff(FIRST_BACKOFF_S, MAX_BACKOFF_S), MAX_ATTEMPTS
        while True:
            attempts_left -= 1
            try:
                verdict: str = await db.value(queries.store_exchange, self.user_id, row)
                return verdict
            except CONNECTION_LOST as error:
                if not attempts_left:
                    log.error("exchange_not_stored", run_id=self.id, cause=repr(error))
                    return None
            except (MaasError, asyncpg.PostgresError) as error:
                log.error("exchange_not_stored", run_id=self.id, cause=repr(error))
                return None
            await asyncio.sleep(backoff.next_s())

    def _row(self, reply: ProviderReply, failure: MaasError | None, is_turn: bool) -> dict[str, Any]:
        question = _cut(self.question, MAX_QUESTION_BYTES)
        return {
            "id": str(self.id),
            "kind": "ask" if is_turn else "call",
            "query": question or UNASKED,
            "answer": reply.text.strip() if is_turn else None,
            "caller": self.caller,
            "key": _stored_key(self.key) if is_turn and self.key is not None else None,
            "conversation_id": str(self.conversation_id) if is_turn and self.conversation_id else None,
            "metadata": {**(self.metadata or {}), "model": f"{self.model.provider}:{self.model.model}"},
            "is_remembered": self.is_remembered,
            "payload": Payload("", self.memory.text, question).render(),
            "sources": list(self.memory.sources),
            "reasons": list(self.memory.reasons),
            "began": self.began_at.isoformat(),
            "code": failure.code if failure else None,
            "message": failure.message if failure else None,
            "calls": [self._call(reply, failure)],
            "replace_within": REPLACE_WITHIN_S,
        }

    def _call(self, reply: ProviderReply, failure: MaasError | None) -> dict[str, Any]:
        tokens_in = _estimate(self.sent) if reply.tokens_in is None else reply.tokens_in
        tokens_out = tokens.count(reply.text) if reply.tokens_out is None else reply.tokens_out
        is_counted = failure is None or reply.text != ""
        return {
            "run_id": str(self.id),
            "attempt": 0,
            "stage": "passthrough",
            "round": 0,
            "provider": self.model.provider,
            "model": self.model.model[:200],
            "role_name": "passthrough",
            "prompt_version": 0,
            "reply": reply.text,
            "calls": reply.calls or None,
            "finish": reply.finish[:20] or ("error" if failure else "stop"),
            "attempts": 1,
            "tokens_in": tokens_in if is_counted else 0,
            "tokens_out": tokens_out if is_counted else 0,
            "cached": reply.tokens_cached,
            "images": 0,
            "ms": round((time.monotonic() - self._started) * 1000, 2),
            "error": str(failure) if failure else None,
        }


async def logs_to_replace(db: Database, user_id: UUID, caller: str, key: str) -> frozenset[UUID]:
    """The messages of the exchange that one with this key would replace."""
    rows = await db.rows(queries.logs_of_exchange, user_id, caller, _stored_key(key))
    return frozenset(row["id"] for row in rows)


async def check_conversation(db: Database, conversation_id: UUID, user_id: UUID) -> None:
    """Raises MaasError: `not_found` for a conversation of another user, `conflict` for one with an assistant."""
    row = await db.row(queries.conversation_party, conversation_id)
    if row is not None and row["user_id"] != user_id:
        raise MaasError("not_found", f"there is no conversation {conversation_id}")
    if row is not None and row["assistant"] != ASSISTANT:
        message = f"conversation {conversation_id} is one with the assistant {row['assistant']}; take another id"
        raise MaasError("conflict", message)


def _stored_key(key: str) -> str:
    return f"exchange:{key}"


def left_out_of_memory(question: str) -> int:
    """How many characters of a question are not remembered, because it is too long."""
    return len(question) - len(_cut(question, MAX_QUESTION_BYTES))


def _estimate(messages: Sequence[Any]) -> int:
    """Tokens of messages, where the provider does not count them."""
    texts = [part for part in json_parts(messages) if isinstance(part, str)]
    return sum(tokens.count(text) if len(text) <= MAX_COUNTED_CHARS else len(text) // 4 for text in texts)


def _cut(text: str, max_bytes: int) -> str:
    raw = text.encode()
    return text if len(raw) <= max_bytes else raw[:max_bytes].decode(errors="ignore")
