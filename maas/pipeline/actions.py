"""Pending actions from the client's side: listed, edited, approved or rejected by the user whose they are."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

import asyncpg

from maas.pipeline.parameters import check_arguments
from shared.db import Database
from shared.errors import MaasError

Decision = Literal["approve", "reject"]


class ActionStatus(StrEnum):
    """Where an action is; the same words stand in sql/migrations."""

    PENDING = "pending"  # -> approved, rejected, expired
    APPROVED = "approved"  # -> executing
    REJECTED = "rejected"
    EXPIRED = "expired"
    EXECUTING = "executing"  # -> done, failed, in_doubt
    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


async def list_actions(
    db: Database,
    user_id: UUID,
    *,
    status: ActionStatus | None = None,
    conversation_id: UUID | None = None,
    run_id: UUID | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """Actions, newest first; those of one run are a plan: all of them, in the order of its calls."""
    word = str(status) if status else None
    if run_id is not None:
        return [dict(row) for row in await db.rows("plan", user_id, run_id, word, conversation_id)]
    rows = await db.rows("list_actions", user_id, word, conversation_id, *(before or (None, None)), limit)
    return [dict(row) for row in rows]


async def read_action(db: Database, action_id: UUID, user_id: UUID | None = None) -> dict[str, Any]:
    """The action as it stands now. Raises MaasError('not_found'), also when it is not `user_id`'s."""
    row = await db.row("action", action_id, user_id)
    if row is None:
        raise not_found(action_id)
    return dict(row)


async def decide_action(
    db: Database, action_id: UUID, user_id: UUID, decision: Decision, by: str, queue_limit: int | None = None
) -> dict[str, Any]:
    """Approve or reject, once; the action as it stands then, with the run that executes an approved one.

    Raises MaasError: `not_found`, `already_decided` and `expired` with the `status` now, `queue_full`, or
    `unknown_assistant` when the one that asked is not active any more.
    """
    try:
        row = await db.row("decide_action", action_id, user_id, decision, by, queue_limit)
    except asyncpg.ForeignKeyViolationError as error:
        raise MaasError("unknown_assistant", str(error)) from error
    assert row is not None
    if row["verdict"] == "queue_full":
        raise MaasError(
            "queue_full",
            f"{queue_limit} requests of this user are not finished yet: nothing was decided; wait for one and send "
            "this again",
            {"limit": queue_limit, "retry_after": 5},
        )
    _refuse(row["verdict"], row["status"], action_id)
    return await read_action(db, action_id, user_id)


async def edit_action(db: Database, action_id: UUID, user_id: UUID, arguments: dict[str, Any]) -> dict[str, Any]:
    """Other arguments for a pending call; the action then.

    Raises MaasError: `invalid_request` for what the tool does not take, `conflict` when the tool is not what it was,
    `not_found`, `already_decided` and `expired`.
    """
    action = await read_action(db, action_id, user_id)
    if action["status"] == ActionStatus.PENDING:
        tool = await db.row("tool_parameters", action["tool"])
        if tool is None or tool["version"] != action["tool_version"]:
            raise MaasError("conflict", f"{action['tool']} has changed since it was proposed: reject it and ask again")
        check_arguments(arguments, tool["parameters"])
    row = await db.row("edit_action", action_id, user_id, arguments)
    assert row is not None
    _refuse(row["verdict"], row["status"], action_id)
    return await read_action(db, action_id, user_id)


def _refuse(verdict: str, status: str | None, action_id: UUID) -> None:
    match verdict:
        case "not_found":
            raise not_found(action_id)
        case "expired":
            message = f"action {action_id} has expired; ask for it again"
            raise MaasError("expired", message, {"status": status})
        case "already_decided":
            raise MaasError("already_decided", f"action {action_id} is {status} already", {"status": status})


def not_found(action_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no action {action_id} of this user")
