"""/v1/conversations: the dialogues of users; a message in one is a run that names it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from maas.conversations.conversations import (
    Mode,
    change_conversation,
    clear_conversation,
    create_conversation,
    list_messages,
    read_conversation,
)
from maas.http.auth.authorize import read_body
from maas.http.request_input import read_cursor, read_id, read_limit, write_cursor
from maas.http.schemas import AssistantName, QueryText, RequestBody, Schema, json_response, only_field
from maas.http.state import app_state


class NewConversation(RequestBody):
    user_id: UUID
    assistant: AssistantName = "mentor"
    mode: Mode | None = Field(None, description="By default the assistant's own mode.")


class ConversationChange(RequestBody):
    model_config = ConfigDict(json_schema_extra={"anyOf": [only_field("mode"), only_field("title")]})

    mode: Mode | None = None
    title: Annotated[QueryText, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.mode is None and self.title is None:
            raise ValueError("send mode or title")
        return self


class Conversation(Schema):
    id: UUID
    user_id: UUID
    assistant: str
    title: str | None = Field(description="The beginning of the first message, unless a title was set.")
    source: Literal["telegram", "web"]
    mode: Mode
    rolling_summary: str = Field(
        description="A summary of what precedes the last ten messages, and of those among them that are too long."
    )
    last_agent: str | None
    last_domain: str | None
    is_processing: bool = Field(description="Whether a run or an action of this conversation is unfinished.")
    created_at: datetime


class OpenedConversation(Conversation):
    request_id: UUID | None = Field(description="The run in which the assistant speaks first, if it does.")
    poll_url: str | None


class ConversationMessage(Schema):
    id: UUID
    run_id: UUID | None
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    actions: list[dict[str, Any]] | None = Field(description="Actions that the answer proposes.")
    agent: str | None
    attachment_ids: list[UUID] = Field(description="Images that came with the query or were generated for the answer.")
    created_at: datetime


class MessagePage(Schema):
    results: list[ConversationMessage]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class ClearResult(Schema):
    messages: int = Field(description="The number of messages that were removed.")


async def post_conversation(request: Request) -> Response:
    """Open a conversation; the assistant writes the first message if it has one.

    A run with a new `conversation_id` opens a conversation, too, in which the user writes first.
    """
    body = await read_body(request, NewConversation)
    state = app_state(request)
    limit = state.submissions.queue_limit
    row = await create_conversation(state.db, body.user_id, body.assistant, body.mode, limit)
    poll_url = f"/v1/runs/{row['request_id']}" if row["request_id"] else None
    return json_response(OpenedConversation(**row, poll_url=poll_url), 201)


async def get_conversation(request: Request) -> Response:
    """Return a conversation, and whether an answer in it is being processed."""
    row = await read_conversation(app_state(request).db, read_id(request, "conversation"))
    return json_response(Conversation(**row))


async def patch_conversation(request: Request) -> Response:
    """Change the mode or the title of a conversation; the mode applies from the next request on."""
    conversation_id = read_id(request, "conversation")
    body = await read_body(request, ConversationChange)
    row = await change_conversation(app_state(request).db, conversation_id, body.mode, body.title)
    return json_response(Conversation(**row))


async def post_clear(request: Request) -> Response:
    """Remove the messages of a conversation; the user's memory keeps them."""
    messages = await clear_conversation(app_state(request).db, read_id(request, "conversation"))
    return json_response(ClearResult(messages=messages))


async def get_messages(request: Request) -> Response:
    """List the messages of a conversation, newest first."""
    limit = read_limit(request)
    rows = await list_messages(app_state(request).db, read_id(request, "conversation"), read_cursor(request), limit)
    messages = [ConversationMessage(**row) for row in rows]
    return json_response(MessagePage(results=messages, next=write_cursor(rows, limit)))
