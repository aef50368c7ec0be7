"""/v1/conversations and /v1/actions: the dialogues of users, and tool calls that await their decision."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator
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
from maas.conversations.actions import ActionStatus, Decision, decide_action, edit_action, list_actions, read_action
from maas.http.auth.authorize import principal_of, read_body, read_user
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
    JsonObject,
    Phrase,
    QueryText,
    RequestBody,
    Schema,
    json_response,
    only_field,
)
from maas.http.state import app_state

SOURCE = "http"  # of requests to POST /v1/runs


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


class ConversationSummary(Schema):
    id: UUID
    user_id: UUID
    assistant: str
    title: str | None
    source: Literal["telegram", "web"]
    mode: Mode
    is_processing: bool
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


async def get_conversations(request: Request) -> Response:
    """List the conversations of a user, newest activity first."""
    user_id, limit = read_user(request), read_limit(request)
    text: str | None = read_parameter(request, "q", to_search_text)
    state = app_state(request)
    async with state.shares.reads.hold(user_id) if text else nullcontext():
        rows = await list_conversations(state.reads, user_id, read_cursor(request), limit, text)
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
            results=[ConversationMessage(**row) for row in rows],
            runs=runs,
            next=write_cursor(rows[-1:], 1) if has_earlier else None,
            previous=write_cursor(rows[:1], 1) if has_later else None,
        )
    )


class ActionDecision(RequestBody):
    user_id: UUID
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = Field(
        None, description="Of the action as it was shown; with another one nothing is decided: 409 `changed`."
    )


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
    object: str | None = Field(description="The name of what it is done to; an edit of the arguments takes it away.")
    changes: list[ActionChange] = Field(description="The values that it changes; an edit takes them away.")
    effect: Literal["read", "write", "dangerous"]
    fingerprint: str = Field(description="What a decision is on: tool, its version, arguments. An edit changes it.")
    assistant: str | None
    agent: str | None = Field(description="The agent that proposed it, else the domain of the tool.")
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
    row = await decide_action(
        state.db, action_id, body.user_id, decision, actor, state.submissions.queue_limit, body.fingerprint
    )
    return json_response(_to_action(row))


def _to_action(row: dict[str, Any]) -> Action:
    run_id, wording, parameters = row["action_run_id"], row["wording"], row["parameters"]
    names: list[str] = row["argument_names"] or []
    if parameters is not None:
        parameters = parameters | {"properties": _in_order(parameters.get("properties", {}), names)}
    fields = {name: row[name] for name in Action.model_fields if name in row}
    fields |= {name: wording.get(name) or None for name in ("title", "reason", "object")}
    fields |= {"arguments": _in_order(row["arguments"], names), "parameters": parameters}
    changes = [ActionChange(name=name, old=old, new=new) for name, old, new in wording.get("changes") or ()]
    return Action(poll_url=f"/v1/runs/{run_id}" if run_id else None, changes=changes, **fields)


def _in_order(values: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The values by name, those of `names` first and in their order."""
    return {name: values[name] for name in names if name in values} | values
