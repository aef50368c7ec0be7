"""Earlier runs once more: as new requests, or on trial from a stage on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from maas import queries
from maas.runs.client_context import ClientContext
from maas.runs.submit import TRACEPARENT, Submission, not_found
from shared.db import Database
from shared.errors import MaasError

TrialStage = Literal["analyzer", "assembler", "final_responder"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried on a run: from which stage on, and the prompt text and the model of that stage; None: today's.

    `role` is the row of the prompt, where it is not that of the stage in the language of the assistant.
    """

    stage: TrialStage = "final_responder"
    text: str | None = None
    model: str | None = None
    role: str | None = None


async def insert_trial(db: Database, run_id: UUID, trial: Trial, actor: str) -> UUID:
    """Insert a run of kind `trial`. Raises MaasError: `not_found`, `not_replayable`."""
    row = await db.row(queries.insert_trial, run_id, trial.role, trial.text, actor, trial.stage, trial.model)
    assert row is not None
    match row["verdict"]:
        case "not_found":
            raise not_found(run_id)
        case "not_replayable":
            message = f"has nothing to begin with at {trial.stage}; take a finished question of an active assistant"
            raise MaasError("not_replayable", f"run {run_id} {message}")
        case "other_role":
            message = f"did not use the prompt {trial.role} for its answer; try FinalResponder or its assistant's role"
            raise MaasError("not_replayable", f"run {run_id} {message}")
    assert row["id"] is not None
    return row["id"]


async def check_replaced(
    db: Database, user_id: UUID, run_id: UUID, conversation_id: UUID | None, caller: str, key: str | None
) -> None:
    """Check that a request of this caller with this key may replace a run: a question of its conversation.

    Raises MaasError: `not_found` for a run of another user or conversation, `conflict`.
    """
    row = await db.row(queries.question_to_replace, user_id, run_id, conversation_id, caller, key)
    if row is None:
        raise MaasError("not_found", f"replaces: there is no question {run_id} in this conversation")
    if row["is_left"]:
        raise MaasError(
            "conflict", f"replaces: run {run_id} has left its conversation: another question took its place"
        )
    if not row["all_over"]:
        raise MaasError("conflict", f"replaces: run {run_id} or one after it is not finished; wait for it or cancel it")
    if row["acted_since"]:
        raise MaasError("conflict", f"replaces: an action was executed after run {run_id}; that cannot be asked away")


async def same_request(db: Database, run_id: UUID, caller: str, idempotency_key: str | None) -> Submission:
    """The request of a finished run, to be submitted anew. Raises MaasError: `not_found`, `not_replayable`."""
    row = await db.row(queries.request_of_run, run_id)
    if row is None:
        raise not_found(run_id)
    if not row["is_finished"]:
        raise MaasError("not_replayable", f"run {run_id} is not a finished question; only those can be sent again")
    metadata = {name: value for name, value in (row["metadata"] or {}).items() if name != TRACEPARENT}
    return Submission(
        user_id=row["user_id"],
        query=row["user_query"],
        assistant=row["assistant"],
        conversation_id=row["conversation_id"],
        metadata=metadata or None,
        caller=caller,
        idempotency_key=idempotency_key,
        attachment_ids=tuple(row["attachment_ids"]),
        mode=row["mode"],
        context=ClientContext.from_json(row["client_context"]),
        is_remembered=row["is_remembered"],
        attributes=row["attributes"],
    )
