"""Answers with what they cost, and who answers: for clients that know runs as chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from maas.pipeline.states import Status
from maas.pipeline.submissions import not_found
from shared import tokens
from shared.db import Database
from shared.text import is_storable

SOURCE = "openai"


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one answer; `is_estimated`: no model counted them, we did, in what it was told and said."""

    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """Where a run is, as far as its answer goes."""

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
    actions: tuple[dict[str, Any], ...]
    spent: Spent


async def read_completion(db: Database, run_id: UUID) -> Completion:
    """The present try of a run. Raises MaasError('not_found')."""
    row = await db.row("completion", run_id)
    if row is None:
        raise not_found(run_id)
    return Completion(
        run_id, Status(row["status"]), row["assistant"], row["conversation_id"], row["created_at"],
        row["final_answer"] or "", row["finish"] == "length", row["error_code"], row["error_message"],
        tuple(row["sources"] or ()), tuple(row["degraded"]), tuple(row["actions"] or ()), _spent(row),
    )  # fmt: skip


async def find_assistants(db: Database, name: str | None = None) -> dict[str, datetime]:
    """Who answers here, with the time of the last change: all by name, or the one that is named, if it is there."""
    if not is_storable(name):
        return {}
    return {row["name"]: row["updated_at"] for row in await db.rows("answering_assistants", SOURCE, name)}


def _spent(row: Mapping[str, Any]) -> Spent:
    if row["tokens_in"] or row["tokens_out"]:
        return Spent(row["tokens_in"], row["tokens_out"], row["tokens_cached"])
    told, said = row["final_context_payload"] or row["user_query"], row["final_answer"] or ""
    return Spent(tokens.count(told), tokens.count(said), is_estimated=True)
