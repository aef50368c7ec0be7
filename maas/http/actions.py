"""/v1/actions: tool calls that await the decision of their user."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.conversations.actions import (
    ActionStatus,
    Decision,
    decide_action,
    decide_actions,
    list_actions,
    read_action,
)
from maas.http.action_edits import edit
from maas.http.authorize import principal_of, read_body, read_user
from maas.http.request_input import read_cursor, read_id, read_limit, read_parameter, write_cursor
from maas.http.schemas import Effect, JsonObject, Phrase, RequestBody, Schema, json_response
from maas.http.state import app_state

MAX_DECIDED = 100  # at once
Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class ActionDecision(RequestBody):
    user_id: UUID
    fingerprint: Fingerprint | None = Field(
        None, description="Of the action as it was shown; with another one nothing is decided: 409 `changed`."
    )


class ShownAction(RequestBody):
    id: UUID
    fingerprint: Fingerprint = Field(description="Of the action as it was shown.")


class ActionDecisions(RequestBody):
    user_id: UUID
    decision: Decision
    actions: Annotated[list[ShownAction], Field(min_length=1, max_length=MAX_DECIDED)]


class ActionEdit(RequestBody):
    user_id: UUID
    arguments: JsonObject


class ActionChange(Schema):
    name: Phrase
    old: Any
    new: Any


class Action(Schema):
    """A tool call that a run has proposed."""

    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID = Field(description="The run that proposed it.")
    place: int = Field(description="The position of the call in that run, from 1.")
    tool: str
    arguments: dict[str, Any] = Field(description="In the order of the tool's schema.")
    parameters: dict[str, Any] | None = Field(
        description="The JSON Schema of the arguments; null if the tool has changed since: then they cannot be edited."
    )
    title: Phrase | str | None = Field(
        description="What it does. A text in one language is what its tool says of itself: show it as a quotation."
    )
    reason: Phrase | str | None = Field(description="What an approval lets happen.")
    object: str | None = Field(description="The name of what it is done to, looked up again after an edit.")
    changes: list[ActionChange] = Field(description="The values that it changes, looked up again after an edit.")
    effect: Effect
    fingerprint: str = Field(
        description="A hash of what a decision is about: the tool, its version, the arguments. An edit changes it."
    )
    assistant: str | None
    agent: str | None = Field(description="The agent that proposed it, else the domain of the tool.")
    status: ActionStatus
    created_at: datetime
    expires_at: datetime
    decided_by: str | None = Field(
        description="A caller's name; `words`: a yes or no that the user typed; `replaced`: its question was asked "
        "again, so it was withdrawn."
    )
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
        app_state(request).reads,
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
    return json_response(_to_action(await read_action(app_state(request).reads, read_id(request, "action"), user_id)))


async def patch_action(request: Request) -> Response:
    """Change the arguments of an action that is not decided yet.

    Where its tool looks up what it would do, that is done at once: the action says what the new arguments would
    change, as it does of those that were proposed, and arguments that cannot work are refused.
    """
    action_id = read_id(request, "action")
    body = await read_body(request, ActionEdit)
    row, _ = await edit(app_state(request), action_id, body.user_id, body.arguments, principal_of(request).name)
    return json_response(_to_action(row))


async def post_approve(request: Request) -> Response:
    """Approve an action; a run executes it once and reports the outcome."""
    return await _decide(request, "approve")


async def post_reject(request: Request) -> Response:
    """Reject an action; it is never executed."""
    return await _decide(request, "reject")


async def post_decisions(request: Request) -> Response:
    """Approve or reject several actions at once, each as it was shown: all of them, or none."""
    body = await read_body(request, ActionDecisions)
    state, actor = app_state(request), principal_of(request).name
    shown = list({one.id: (one.id, one.fingerprint) for one in body.actions}.values())
    rows = await decide_actions(state.db, shown, body.user_id, body.decision, actor, state.submissions.queue_limit)
    return json_response(ActionPage(results=[_to_action(row) for row in rows], next=None))


async def _decide(request: Request, decision: Decision) -> Response:
    action_id = read_id(request, "action")
    body = await read_body(request, ActionDecision)
    state, actor = app_state(request), principal_of(request).name
    row = await decide_action(
        state.db, action_id, body.user_id, decision, actor, state.submissions.queue_limit, body.fingerprint
    )
    return json_response(_to_action(row))


def _to_action(row: queries.ActionRow) -> Action:
    run_id, wording, parameters = row["action_run_id"], row["wording"], row["parameters"]
    names: list[str] = row["argument_names"] or []
    if parameters is not None:
        parameters = parameters | {"properties": _in_order(parameters.get("properties", {}), names)}
    return Action(
        id=row["id"],
        user_id=row["user_id"],
        conversation_id=row["conversation_id"],
        run_id=row["run_id"],
        place=row["place"],
        tool=row["tool"],
        arguments=_in_order(row["arguments"], names),
        parameters=parameters,
        title=wording.get("title") or None,
        reason=wording.get("reason") or None,
        object=wording.get("object") or None,
        changes=[ActionChange(name=name, old=old, new=new) for name, old, new in wording.get("changes") or ()],
        effect=row["effect"],
        fingerprint=row["fingerprint"],
        assistant=row["assistant"],
        agent=row["agent"],
        status=ActionStatus(row["status"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        action_run_id=run_id,
        poll_url=f"/v1/runs/{run_id}" if run_id else None,
        result=row["result"],
    )


def _in_order(values: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The values by name, those of `names` first and in their order."""
    return {name: values[name] for name in names if name in values} | values
