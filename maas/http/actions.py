"""/v1/actions: tool calls that wait for a word of their user."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from maas.http.access import caller, read_user
from maas.http.bodies import Action, ActionDecision, ActionEdit, ActionPage
from maas.http.parameters import read_cursor, read_id, read_limit, read_parameter, write_cursor
from maas.http.reading import read_body
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.pipeline.actions import ActionStatus, Decision, decide_action, edit_action, list_actions, read_action


async def get_actions(request: Request) -> Response:
    """The actions of a user, newest first; those of one run are its plan, in the order of its calls."""
    user_id = read_user(request)
    limit = read_limit(request)
    run_id: UUID | None = read_parameter(request, "run_id", UUID)
    rows = await list_actions(
        rooms(request).db,
        user_id,
        status=read_parameter(request, "status", ActionStatus),
        conversation_id=read_parameter(request, "conversation_id", UUID),
        run_id=run_id,
        before=read_cursor(request),
        limit=limit,
    )
    return send(ActionPage(results=[_action(row) for row in rows], next=None if run_id else write_cursor(rows, limit)))


async def get_action(request: Request) -> Response:
    """Where an action stands, and what came of it."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    return send(_action(await read_action(rooms(request).db, read_id(request, "action"), user_id)))


async def patch_action(request: Request) -> Response:
    """Other arguments for a call that waits."""
    action_id = read_id(request, "action")
    body = await read_body(request, ActionEdit)
    return send(_action(await edit_action(rooms(request).db, action_id, body.user_id, body.arguments)))


async def post_approve(request: Request) -> Response:
    """Let it happen, once: a run executes it and tells what came of it."""
    return await _decide(request, "approve")


async def post_reject(request: Request) -> Response:
    """It never happens."""
    return await _decide(request, "reject")


async def _decide(request: Request, decision: Decision) -> Response:
    action_id = read_id(request, "action")
    body = await read_body(request, ActionDecision)
    parts = rooms(request)
    limit = parts.submissions.queue_limit
    return send(_action(await decide_action(parts.db, action_id, body.user_id, decision, caller(request).name, limit)))


def _action(row: dict[str, Any]) -> Action:
    run_id = row["action_run_id"]
    fields = {name: row[name] for name in Action.model_fields if name in row}
    return Action(assistant=row["agent"], poll_url=f"/v1/runs/{run_id}" if run_id else None, **fields)
