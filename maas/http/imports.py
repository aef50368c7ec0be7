"""What files brought of conversations elsewhere: their list, and the messages of one, as they were said there."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.request_input import (
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_storable_text,
    write_cursor,
)
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from maas.memory.imported import Near, list_conversations, list_messages
from maas.memory.search import role_of
from shared.errors import MaasError


class ImportedDialogue(Schema):
    conversation: str = Field(description="Its id at its source; a calendar day where the source has none.")
    title: str | None = Field(description="Its title at its source; null: it has none.")
    beginning: str = Field(description="The beginning of its first message, at most 200 characters.")
    messages: int = Field(ge=1)
    since: datetime = Field(description="When its first message was said.")
    last_at: datetime = Field(description="When its last message was said.")


class ImportedDialoguePage(Schema):
    results: list[ImportedDialogue] = Field(description="The one that was said last is first.")
    next: str | None = Field(description="Send it as `before`; null: there are no more.")


class ImportedDialogueMessage(Schema):
    id: UUID = Field(description="Its id in memory, as sources of memories name it.")
    run_id: UUID = Field(description="The request that imported it.")
    role: Literal["user", "assistant"]
    speaker: str | None
    content: str
    occurred_at: datetime


class ImportedDialogueMessages(Schema):
    title: str | None = Field(description="The title of the conversation at its source.")
    results: list[ImportedDialogueMessage] = Field(description="In the order in which they were said.")
    before: UUID | None = Field(description="Send it as `before` for what was said before; null: nothing was.")
    after: UUID | None = Field(description="Send it as `after` for what was said after; null: nothing was.")


async def get_imported_conversations(request: Request) -> Response:
    """List the conversations that files brought."""
    user_id, limit = read_id(request, "user"), read_limit(request)
    state = app_state(request)
    async with state.shares.reads.hold(user_id):
        rows = await list_conversations(state.reads, user_id, read_cursor(request), limit)
    results = [
        ImportedDialogue(
            conversation=row["conversation"],
            title=row["title"],
            beginning=row["beginning"],
            messages=row["messages"],
            since=row["since"],
            last_at=row["last_at"],
        )
        for row in rows
    ]
    return json_response(ImportedDialoguePage(results=results, next=write_cursor(rows, limit, "last_at")))


async def get_imported_messages(request: Request) -> Response:
    """List messages of a conversation that a file brought: the last ones, those beside one, or those around it."""
    user_id, limit = read_id(request, "user"), read_limit(request)
    conversation = read_parameter(request, "conversation", to_storable_text)
    if conversation is None:
        raise MaasError("bad_parameter", "conversation: must be sent")
    near = Near(
        limit,
        around=read_parameter(request, "around", UUID),
        after=read_parameter(request, "after", UUID),
        before=read_parameter(request, "before", UUID),
    )
    state = app_state(request)
    async with state.shares.reads.hold(user_id):
        found = await list_messages(state.reads, user_id, conversation, near)
    return json_response(
        ImportedDialogueMessages(
            title=next((row["title"] for row in found.rows if row["title"]), None),
            results=[_to_message(row) for row in found.rows],
            before=found.rows[0]["id"] if found.has_earlier else None,
            after=found.rows[-1]["id"] if found.has_later else None,
        )
    )


def _to_message(row: queries.ImportedMessagesRow) -> ImportedDialogueMessage:
    return ImportedDialogueMessage(
        id=row["id"],
        run_id=row["run_id"],
        role=role_of(row["message_type"]),
        speaker=row["speaker"],
        content=row["content"],
        occurred_at=row["occurred_at"],
    )
