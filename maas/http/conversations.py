"""/v1/conversations: the dialogues of users with assistants."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool, model_validator
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.conversations import (
    SPOKEN_ROLES,
    MessageRole,
    Mode,
    change_conversation,
    clear_conversation,
    create_conversation,
    find_message,
    list_conversations,
    list_messages,
    read_conversation,
)
from maas.http.authorize import principal_of, read_body, read_user, user_of
from maas.http.memory_schemas import Forgotten
from maas.http.request_input import (
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_bool,
    to_search_text,
    write_cursor,
)
from maas.http.run_schemas import RunState
from maas.http.runs import read_states
from maas.http.schemas import (
    AssistantName,
    QueryText,
    RequestBody,
    Schema,
    json_response,
    only_field,
)
from maas.http.state import app_state
from maas.memory.erase import forget_conversation

SOURCE = "http"  # of requests to POST /v1/runs


class NewConversation(RequestBody):
    user_id: UUID
    assistant: AssistantName = "mentor"
    mode: Mode | None = Field(None, description="By default the assistant's own mode.")
    is_remembered: StrictBool = Field(
        True, description="False: a temporary conversation, of which nothing is recalled or summarized later."
    )


class ConversationChange(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"anyOf": [only_field(name) for name in ("mode", "title", "is_pinned", "is_archived")]}
    )

    mode: Mode | None = None
    title: Annotated[QueryText, Field(max_length=200)] | None = None
    is_pinned: StrictBool | None = Field(None, description="Whether lists show it before the others.")
    is_archived: StrictBool | None = Field(
        None, description="Whether it is archived; what was said in it stays remembered."
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("send mode, title, is_pinned or is_archived")
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
    is_pinned: bool
    is_archived: bool
    is_remembered: bool = Field(description="False: a temporary conversation; nothing of it is recalled later.")
    created_at: datetime


class ConversationSummary(Schema):
    id: UUID
    user_id: UUID
    assistant: str
    title: str | None
    source: Literal["telegram", "web"]
    mode: Mode
    is_processing: bool
    is_pinned: bool
    is_archived: bool
    is_remembered: bool
    created_at: datetime
    updated_at: datetime = Field(description="When its last message was written.")


class ConversationPage(Schema):
    results: list[ConversationSummary]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class AssistantChoice(Schema):
    name: str
    title: str
    description: str | None
    voice: str | None = Field(description="The voice in which a front end that speaks should read its answers.")


class AssistantList(Schema):
    results: list[AssistantChoice]


class OpenedConversation(Conversation):
    request_id: UUID | None = Field(description="The run in which the assistant speaks first, if it does.")
    poll_url: str | None


class ConversationMessage(Schema):
    id: UUID
    run_id: UUID | None
    role: MessageRole
    content: str
    actions: list[dict[str, Any]] | None = Field(
        description="What the answer proposes: {id, tool, arguments, fingerprint}, and the writes that were made for "
        "it: {tool, arguments, status, verification}."
    )
    agent: str | None
    tool_calls: list[dict[str, Any]] | None = Field(description="Of role `tool`: the call, [{id, name, arguments}].")
    tool_call_id: str | None
    tool_name: str | None
    tool_result: Any = Field(description="What the call returned, without secrets and phone numbers, cut to 8 kB.")
    tokens_used: int | None = Field(description="Of an answer: all model calls of its run. Of a tool call: its round.")
    attachment_ids: list[UUID] = Field(description="Images that came with the query or were generated for the answer.")
    action_id: UUID | None = Field(
        description="Of role `user`: the approved action whose execution this stands for; nobody wrote these words."
    )
    created_at: datetime


class MessagePage(Schema):
    results: list[ConversationMessage]
    runs: list[RunState] | None = Field(description="With `runs`: the runs that the messages are of, each once.")
    next: str | None = Field(description="Send it as `before` to get the next page, of earlier messages.")
    previous: str | None = Field(description="Send it as `after` to get the later messages; null at the end.")


class ForgottenConversation(Forgotten):
    messages: int = Field(description="Messages that the conversation showed.")
    images: int = Field(description="Deleted images that no other request has.")
    schedules: int = Field(description="Deleted schedules, which would have gone on with it.")


class ClearResult(Schema):
    messages: int = Field(description="The number of messages that were removed.")


async def post_conversation(request: Request) -> Response:
    """Open a conversation; the assistant writes the first message if it has one.

    A run with a new `conversation_id` opens a conversation, too, in which the user writes first.
    """
    body = await read_body(request, NewConversation)
    state = app_state(request)
    limit = state.submissions.queue_limit
    row = await create_conversation(
        state.db, body.user_id, body.assistant, body.mode, limit, is_remembered=body.is_remembered
    )
    poll_url = f"/v1/runs/{row['request_id']}" if row["request_id"] else None
    return json_response(OpenedConversation(**row, poll_url=poll_url), 201)


async def get_conversations(request: Request) -> Response:
    """List the conversations of a user, newest activity first, behind those that are pinned."""
    user_id, limit = read_user(request), read_limit(request)
    are_archived: bool = read_parameter(request, "archived", to_bool, False)
    text: str | None = read_parameter(request, "q", to_search_text)
    state = app_state(request)
    async with state.shares.reads.hold(user_id) if text else nullcontext():
        rows = await list_conversations(
            state.reads, user_id, read_cursor(request), limit, text, are_archived=are_archived
        )
    summaries = [ConversationSummary(**row) for row in rows]
    return json_response(ConversationPage(results=summaries, next=write_cursor(rows, limit, "updated_at")))


async def get_assistants(request: Request) -> Response:
    """List the assistants that a request may name."""
    rows = await app_state(request).reads.rows(queries.assistants_to_choose, SOURCE)
    return json_response(AssistantList(results=[AssistantChoice(**row) for row in rows]))


async def get_conversation(request: Request) -> Response:
    """Return a conversation, and whether an answer in it is being processed."""
    row = await read_conversation(app_state(request).reads, read_id(request, "conversation"))
    return json_response(Conversation(**row))


async def patch_conversation(request: Request) -> Response:
    """Rename, pin or archive a conversation, or change its mode, which applies from the next request on."""
    conversation_id = read_id(request, "conversation")
    body = await read_body(request, ConversationChange)
    row = await change_conversation(app_state(request).db, conversation_id, **body.model_dump())
    return json_response(Conversation(**row))


async def delete_conversation(request: Request) -> Response:
    """Delete a conversation with its requests, and forget what was said in it.

    With it go its messages and images, all summaries and facts that rest on them, and the answers elsewhere that repeat
    them.
    """
    conversation_id = read_id(request, "conversation")
    is_doubtful_too = read_parameter(request, "doubtful", to_bool, False)
    is_preview = read_parameter(request, "preview", to_bool, False)
    state, actor = app_state(request), principal_of(request).name
    async with state.shares.deletions.hold(user_of(request)):
        counts = await forget_conversation(
            state.long_db, conversation_id, actor, is_doubtful_too=is_doubtful_too, is_preview=is_preview
        )
    return json_response(ForgottenConversation(**counts))


async def post_clear(request: Request) -> Response:
    """Remove the messages of a conversation; the user's memory keeps them."""
    messages = await clear_conversation(app_state(request).db, read_id(request, "conversation"))
    return json_response(ClearResult(messages=messages))


async def get_messages(request: Request) -> Response:
    """List the messages of a conversation, newest first; tool calls only with `role=tool`.

    The newest ones; with `before` and `after` those on that side of another page; with `around` a message amid its
    neighbours.
    """
    limit = read_limit(request)
    role: MessageRole | None = read_parameter(request, "role", MessageRole)
    roles = SPOKEN_ROLES if role is None else (role,)
    conversation_id = read_id(request, "conversation")
    before, after = read_cursor(request), read_cursor(request, "after")
    around: UUID | None = read_parameter(request, "around", UUID)
    db = app_state(request).reads
    place, earlier, later = before, limit, 0
    if around is not None:
        place = await find_message(db, conversation_id, around, roles)
        earlier, later = (limit - 1) // 2, limit // 2
    elif after is not None:
        place, earlier, later = after, 0, limit
    rows, has_earlier, has_later = await list_messages(
        db, conversation_id, place, earlier, later, is_around=around is not None, roles=roles
    )
    runs = None
    if read_parameter(request, "runs", to_bool, False):
        ids = dict.fromkeys(row["run_id"] for row in rows if row["run_id"] is not None)
        runs = await read_states(db, list(ids))
    return json_response(
        MessagePage(
            results=[_to_message(row) for row in rows],
            runs=runs,
            next=write_cursor(rows[-1:], 1) if has_earlier else None,
            previous=write_cursor(rows[:1], 1) if has_later else None,
        )
    )


def _to_message(row: queries.ListMessagesRow) -> ConversationMessage:
    return ConversationMessage(
        id=row["id"],
        run_id=row["run_id"],
        role=MessageRole(row["role"]),
        content=row["content"],
        actions=row["actions"],
        agent=row["agent"],
        tool_calls=row["tool_calls"],
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
        tool_result=row["tool_result"],
        tokens_used=row["tokens_used"],
        attachment_ids=row["attachment_ids"],
        action_id=row["action_id"],
        created_at=row["created_at"],
    )
