"""/v1/actions: tool calls that wait for the decision of their user."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.conversations.actions import ActionStatus, Decision, decide_action, edit_action, list_actions, read_action
from maas.http.auth.authorize import principal_of, read_body, read_user
from maas.http.request_input import read_cursor, read_id, read_limit, read_parameter, write_cursor
from maas.http.schemas import JsonObject, RequestBody, Schema, json_response
from maas.http.state import app_state


class ActionDecision(RequestBody):
    user_id: UUID


class ActionEdit(RequestBody):
    user_id: UUID
    arguments: JsonObject


class Action(Schema):
    """A tool call that a run has proposed."""

    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID = Field(description="The run that proposed it.")
    place: int = Field(description="The position of the call in that run, from 1.")
    tool: str
    arguments: dict[str, Any]
    effect: Literal["read", "write", "dangerous"]
    assistant: str | None
    status: ActionStatus
    created_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    action_run_id: UUID | None = Field(description="The run that executes it and reports the outcome.")
    poll_url: str | None = Field(description="The path of that run.")
    result: dict[str, Any] | None


class ActionPage(Schema):
    results: list[Action]
    next: str | None = Field(description="Send it as `before` to get the next page.")


async def get_actions(request: Request) -> Response:
    """List the actions of a user, newest first; with `run_id` all those of one run, in the order of its calls."""
    user_id = read_user(request)
    limit = read_limit(request)
    run_id: UUID | None = read_parameter(request, "run_id", UUID)
    rows = await list_actions(
        app_state(request).db,
        user_id,
        status=read_parameter(request, "status", ActionStatus),
        conversation_id=read_parameter(request, "conversation_id", UUID),
        run_id=run_id,
        before=read_cursor(request),
        limit=limit,
    )
    cursor = None if run_id else write_cursor(rows, limit)
    return json_response(ActionPage(results=[_to_action(row) for row in rows], next=cursor))


async def get_action(request: Request) -> Response:
    """Return the status of an action, and its result when it was executed."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    return json_response(_to_action(await read_action(app_state(request).db, read_id(request, "action"), user_id)))


async def patch_action(request: Request) -> Response:
    """Change the arguments of an action that is not decided yet."""
    action_id = read_id(request, "action")
    body = await read_body(request, ActionEdit)
    return json_response(_to_action(await edit_action(app_state(request).db, action_id, body.user_id, body.arguments)))


async def post_approve(request: Request) -> Response:
    """Approve an action; a run executes it once and reports the outcome."""
    return await _decide(request, "approve")


async def post_reject(request: Request) -> Response:
    """Reject an action; it is never executed."""
    return await _decide(request, "reject")


async def _decide(request: Request, decision: Decision) -> Response:
    action_id = read_id(request, "action")
    body = await read_body(request, ActionDecision)
    state, actor = app_state(request), principal_of(request).name
    row = await decide_action(state.db, action_id, body.user_id, decision, actor, state.submissions.queue_limit)
    return json_response(_to_action(row))


def _to_action(row: dict[str, Any]) -> Action:
    run_id = row["action_run_id"]
    fields = {name: row[name] for name in Action.model_fields if name in row}
    return Action(assistant=row["agent"], poll_url=f"/v1/runs/{run_id}" if run_id else None, **fields)
