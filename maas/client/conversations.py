"""Operations on the dialogues of a user with assistants."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from .calls import ApiCall, Operation, read_pages
from .operations import Mode, parse_id
from .users import UserId, Users, required_user

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]


class ConversationSummary(TypedDict):
    """A dialogue of a user with an assistant; `updated_at` is when its last message was written."""

    id: str
    user_id: str
    assistant: str
    title: str | None
    source: Literal["telegram", "web"]
    mode: Mode
    is_processing: bool
    created_at: str
    updated_at: str


class Conversation(TypedDict):
    """A dialogue; `rolling_summary` is of what precedes its last messages, `is_processing`: an answer is on its way."""

    id: str
    user_id: str
    assistant: str
    title: str | None
    source: Literal["telegram", "web"]
    mode: Mode
    rolling_summary: str
    last_agent: str | None
    last_domain: str | None
    is_processing: bool
    created_at: str


class OpenedConversation(Conversation):
    """A new dialogue, and the run in which its assistant speaks first, if it does."""

    request_id: str | None
    poll_url: str | None


class ConversationMessage(TypedDict):
    """A message of a dialogue; `actions` are what an answer proposes, `tool_...` belong to the role `tool`."""

    id: str
    run_id: str | None
    role: Role
    content: str
    actions: list[dict[str, Any]] | None
    agent: str | None
    tool_calls: list[dict[str, Any]] | None
    tool_call_id: str | None
    tool_name: str | None
    tool_result: Any
    tokens_used: int | None
    attachment_ids: list[str]
    action_id: str | None
    created_at: str


def open_conversation(
    users: Users, *, user_id: UserId, assistant: str = "mentor", mode: Mode | None = None
) -> Operation[OpenedConversation]:
    """Open a conversation; the assistant writes the first message if it has one: `wait(request_id)` waits for it.

    Nothing is sent twice: after Unavailable, `conversations` says whether it was opened. Raises InvalidRequest.
    """
    user = yield from users.get_or_create(required_user(user_id))
    body = {"user_id": str(user), "assistant": assistant} | ({} if mode is None else {"mode": mode})
    call = ApiCall(method="POST", path="/v1/conversations", body=body, is_repeatable=False)
    reply: OpenedConversation = (yield call).json
    return reply


def conversations(users: Users, *, user_id: UserId, limit: int = 100) -> Operation[list[ConversationSummary]]:
    """The conversations of a user, newest activity first, at most `limit`; none for an unknown user."""
    user = yield from users.find(required_user(user_id))
    if user is None:
        return []
    rows: list[Any] = yield from read_pages("/v1/conversations", {"user_id": str(user)}, limit)
    return rows


def get_conversation(users: Users, conversation_id: UserId) -> Operation[Conversation]:
    """One conversation by its id. Raises NotFound."""
    reply: Conversation = (yield ApiCall(method="GET", path=_path(conversation_id))).json
    return reply


def change_conversation(
    users: Users, conversation_id: UserId, *, mode: Mode | None = None, title: str | None = None
) -> Operation[Conversation]:
    """Change the mode, from the next request on, or the title. Raises NotFound, InvalidRequest."""
    body = {name: value for name, value in (("mode", mode), ("title", title)) if value is not None}
    reply: Conversation = (yield ApiCall(method="PATCH", path=_path(conversation_id), body=body)).json
    return reply


def clear_conversation(users: Users, conversation_id: UserId) -> Operation[int]:
    """Remove the messages of a conversation and return their number; memory keeps them. Raises NotFound."""
    return int((yield ApiCall(method="POST", path=f"{_path(conversation_id)}/clear")).json["messages"])


def messages(
    users: Users, conversation_id: UserId, *, role: Role | None = None, limit: int = 100
) -> Operation[list[ConversationMessage]]:
    """The messages of a conversation, newest first, at most `limit`; tool calls with `role="tool"` only.

    Raises NotFound.
    """
    params = {} if role is None else {"role": role}
    rows: list[Any] = yield from read_pages(f"{_path(conversation_id)}/messages", params, limit)
    return rows


def _path(conversation_id: UserId) -> str:
    return f"/v1/conversations/{parse_id(conversation_id)}"
