"""Operations on actions: tool calls that an assistant proposes, and the decision of their user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict
from uuid import UUID

from .calls import ApiCall, Operation, read_pages
from .operations import parse_id
from .results import InvalidRequest
from .users import UserId, Users, owner_of, required_user

ActionStatus: TypeAlias = Literal[
    "pending", "approved", "rejected", "expired", "executing", "done", "failed", "in_doubt"
]

Decision: TypeAlias = Literal["approve", "reject"]


class Action(TypedDict):
    """A tool call that the run `run_id` has proposed, until when it can be decided, and its result.

    `parameters` is the JSON Schema of the arguments; `title` and `reason` say what it does and what an approval lets
    happen, in English (`en`) and Russian (`ru`), `object` and `changes` to what, and which values it changes.
    `fingerprint` is what a decision is on: tool, its version, arguments. `action_run_id` is the run that executes it.
    """

    id: str
    user_id: str
    conversation_id: str | None
    run_id: str
    place: int
    tool: str
    arguments: dict[str, Any]
    parameters: dict[str, Any] | None
    title: dict[str, str] | str | None
    reason: dict[str, str] | str | None
    object: str | None
    changes: list[dict[str, Any]]
    effect: Literal["read", "write", "dangerous"]
    fingerprint: str
    assistant: str | None
    agent: str | None
    status: ActionStatus
    created_at: str
    expires_at: str
    decided_by: str | None
    decided_at: str | None
    action_run_id: str | None
    poll_url: str | None
    result: dict[str, Any] | None


def actions(
    users: Users,
    *,
    user_id: UserId,
    status: ActionStatus | None = None,
    conversation_id: UserId | None = None,
    request_id: UserId | None = None,
    limit: int = 100,
) -> Operation[list[Action]]:
    """The actions of a user, newest first, at most `limit`; those of one `request_id` in the order of its calls."""
    user = yield from users.find(required_user(user_id))
    if user is None:
        return []
    params = {"user_id": str(user)} | ({} if status is None else {"status": status})
    for name, value in (("conversation_id", conversation_id), ("run_id", request_id)):
        params |= {} if value is None else {name: str(parse_id(value))}
    rows: list[Any] = yield from read_pages("/v1/actions", params, limit)
    return rows


def get_action(users: Users, action_id: UserId, *, user_id: UserId | None = None) -> Operation[Action]:
    """The status of an action, and its result once it was executed. Raises NotFound, also if not of `user_id`."""
    path, params = f"/v1/actions/{parse_id(action_id)}", {}
    if user_id is not None:
        params = {"user_id": str((yield from owner_of(users, user_id, f"action {action_id}")))}
    reply: Action = (yield ApiCall(method="GET", path=path, params=params)).json
    return reply


def edit_action(users: Users, action_id: UserId, arguments: Mapping[str, Any], *, user_id: UserId) -> Operation[Action]:
    """Change the arguments of an action that is not decided yet, and so its fingerprint.

    Raises NotFound; InvalidRequest with the codes `already_decided`, `expired` or for arguments that do not fit.
    """
    path = f"/v1/actions/{parse_id(action_id)}"
    user = yield from owner_of(users, user_id, f"action {action_id}")
    body = {"user_id": str(user), "arguments": dict(arguments)}
    reply: Action = (yield ApiCall(method="PATCH", path=path, body=body)).json
    return reply


def approve(users: Users, action_id: UserId, *, user_id: UserId, fingerprint: str | None = None) -> Operation[Action]:
    """Approve an action: `wait(action["action_run_id"])` returns what came of it; it is executed once.

    With the `fingerprint` of the action that the user saw, one that was changed since is not approved. Raises NotFound;
    InvalidRequest with the codes `changed`, `already_decided` and `expired`.
    """
    return (yield from _decide(users, action_id, "approve", user_id, fingerprint))


def reject(users: Users, action_id: UserId, *, user_id: UserId, fingerprint: str | None = None) -> Operation[Action]:
    """Reject an action: it is never executed. Raises as `approve` does."""
    return (yield from _decide(users, action_id, "reject", user_id, fingerprint))


def decide(users: Users, actions: Sequence[Action], decision: Decision, *, user_id: UserId) -> Operation[list[Action]]:
    """Approve or reject several actions, each as it stands here: all of them, or none. Raises as `approve` does."""
    user = yield from owner_of(users, user_id, "one of these actions")
    shown = [{"id": one["id"], "fingerprint": one["fingerprint"]} for one in actions]
    body = {"user_id": str(user), "decision": decision, "actions": shown}
    reply = yield ApiCall(method="POST", path="/v1/actions/decide", body=body, done_code="already_decided")
    if reply.content:
        rows: list[Action] = reply.json["results"]
        return rows
    decided = []
    for one in actions:
        decided.append((yield from _as_decided(users, one["id"], decision, user)))
    return decided


def _decide(
    users: Users, action_id: UserId, decision: Decision, user_id: UserId, fingerprint: str | None
) -> Operation[Action]:
    path = f"/v1/actions/{parse_id(action_id)}/{decision}"
    user = yield from owner_of(users, user_id, f"action {action_id}")
    body = {"user_id": str(user)} | ({} if fingerprint is None else {"fingerprint": fingerprint})
    reply = yield ApiCall(method="POST", path=path, body=body, done_code="already_decided")
    if reply.content:
        decided: Action = reply.json
        return decided
    return (yield from _as_decided(users, action_id, decision, user))


def _as_decided(users: Users, action_id: UserId, decision: Decision, user: UUID) -> Operation[Action]:
    action = yield from get_action(users, action_id, user_id=user)
    if (action["status"] == "rejected") != (decision == "reject"):  # meanwhile, somebody decided otherwise
        message, details = f"action {action_id} is {action['status']} already", {"status": action["status"]}
        raise InvalidRequest("already_decided", message, details, 409)
    return action
