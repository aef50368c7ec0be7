"""/v1/admin/actions: what waits for the decision of a user, of all users; who decides is the user."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import USER_NAME, admin_of, note_read, read_names
from maas.http.request_input import read_cursor, read_limit, read_parameter, write_cursor
from maas.http.schemas import Effect, Phrase, Schema, json_response
from maas.http.state import app_state


class WaitingAction(Schema):
    """A tool call that waits, without its arguments: the run shows them."""

    id: UUID
    user_id: UUID
    user_name: str | None = USER_NAME
    conversation_id: UUID | None
    run_id: UUID = Field(description="The run that proposed it.")
    assistant: str | None
    tool: str
    title: Phrase | str | None = Field(
        description="What it does. A text in one language is what its tool says of itself: show it as a quotation."
    )
    effect: Effect
    created_at: datetime
    expires_at: datetime


class WaitingActionPage(Schema):
    results: list[WaitingAction]
    next: str | None = Field(description="Send it as `before` to get the next page.")


async def get_admin_actions(request: Request) -> Response:
    """List the actions of all users that wait for a decision, newest first."""
    admin_of(request)
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    limit = read_limit(request)
    at, last = read_cursor(request) or (None, None)
    await note_read(request, "actions_list", user_id)
    db = app_state(request).reads
    rows = await db.rows(queries.admin_actions, user_id, at, last, limit)
    names = await read_names(db, (row["user_id"] for row in rows))
    actions = [WaitingAction(**row, user_name=names.get(row["user_id"])) for row in rows]
    return json_response(WaitingActionPage(results=actions, next=write_cursor(rows, limit)))
