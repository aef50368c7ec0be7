"""The answer of a run, with what it has cost, as compatible APIs report it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID

from maas import queries
from maas.engine.states import Status
from maas.memory.health import MemoryState
from maas.runs.submit import not_found
from shared import tokens
from shared.db import Database


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """Tokens of one answer. `is_estimated`: no model reported them, so they are counted in payload and answer."""

    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer of a run, or how far the run has come. `is_cut`: the answer reached the limit of tokens."""

    run_id: UUID
    status: Status
    assistant: str
    conversation_id: UUID | None
    created_at: datetime
    answer: str
    is_cut: bool
    error_code: str | None
    error_message: str | None
    sources: tuple[dict[str, Any], ...]
    degraded: tuple[str, ...]
    limited: Literal["budget", "stopped"] | None
    memory: MemoryState
    memory_reasons: tuple[str, ...]
    actions: tuple[dict[str, Any], ...]
    usage: AnswerUsage


async def read_answer(db: Database, run_id: UUID) -> RunAnswer:
    """The answer of the present try. Raises MaasError('not_found')."""
    row = await db.row(queries.completion, run_id)
    if row is None:
        raise not_found(run_id)
    return RunAnswer(
        run_id,
        Status(row["status"]),
        row["assistant"],
        row["conversation_id"],
        row["created_at"],
        row["final_answer"] or "",
        row["finish"] == "length",
        row["error_code"],
        row["error_message"],
        tuple(row["sources"] or ()),
        tuple(row["degraded"]),
        row["limited"],
        cast(MemoryState, row["memory"]),
        tuple(row["memory_reasons"]),
        tuple(row["actions"] or ()),
        _usage(row),
    )


def _usage(row: queries.CompletionRow) -> AnswerUsage:
    if row["tokens_in"] or row["tokens_out"]:
        return AnswerUsage(row["tokens_in"], row["tokens_out"], row["tokens_cached"])
    payload, answer = row["final_context_payload"] or row["user_query"], row["final_answer"] or ""
    return AnswerUsage(tokens.count(payload), tokens.count(answer), is_estimated=True)
