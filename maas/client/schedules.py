"""Operations on schedules: requests that the server sends by the clock."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from .calls import ApiCall, Operation
from .operations import parse_id
from .users import UserId, Users, required_user

CatchUp = Literal["none", "last", "all"]


class Schedule(TypedDict):
    """A schedule: what is asked, when, and when it is next. `error`: why nothing was sent for the latest time."""

    id: str
    user_id: str
    query: str
    cron: str
    timezone: str
    assistant: str
    conversation_id: str | None
    catch_up: CatchUp
    next_at: str | None
    last_at: str | None
    paused_at: str | None
    error: str | None
    created_at: str


def add_schedule(
    users: Users,
    query: str,
    cron: str,
    *,
    user_id: UserId,
    timezone: str | None = None,
    assistant: str = "mentor",
    conversation_id: UserId | None = None,
    catch_up: CatchUp = "last",
) -> Operation[Schedule]:
    """Have a request sent at the times of a cron expression, in `timezone` or that of the user.

    `catch_up` says what is sent for times that passed while no orchestrator ran: nothing, the last one, or all, at most
    100. Raises InvalidRequest, Forbidden beyond the quota.
    """
    body: dict[str, Any] = {
        "user_id": str((yield from users.get_or_create(required_user(user_id)))),
        "query": query,
        "cron": cron,
        "timezone": timezone,
        "assistant": assistant,
        "conversation_id": None if conversation_id is None else str(parse_id(conversation_id)),
        "catch_up": catch_up,
    }
    row: Schedule = (yield ApiCall(method="POST", path="/v1/schedules", body=body, is_repeatable=False)).json
    return row


def schedules(users: Users, *, user_id: UserId) -> Operation[list[Schedule]]:
    """The schedules of a user, the oldest first; nothing for an unknown user."""
    user = yield from users.find(required_user(user_id))
    if user is None:
        return []
    reply = (yield ApiCall(method="GET", path="/v1/schedules", params={"user_id": str(user)})).json
    rows: list[Schedule] = reply["results"]
    return rows


def change_schedule(
    users: Users,
    schedule_id: UserId,
    *,
    query: str | None = None,
    cron: str | None = None,
    timezone: str | None = None,
    catch_up: CatchUp | None = None,
    paused: bool | None = None,
) -> Operation[Schedule]:
    """Change what is not None; times that pass during a pause are not caught up. Raises NotFound, InvalidRequest."""
    body = {"query": query, "cron": cron, "timezone": timezone, "catch_up": catch_up, "paused": paused}
    call = ApiCall(method="PATCH", path=f"/v1/schedules/{parse_id(schedule_id)}", body=body)
    row: Schedule = (yield call).json
    return row


def delete_schedule(users: Users, schedule_id: UserId) -> Operation[None]:
    """Delete a schedule; requests that it has sent stay. Raises NotFound."""
    yield ApiCall(method="DELETE", path=f"/v1/schedules/{parse_id(schedule_id)}", done_code="not_found")
