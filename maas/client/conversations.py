"""Operations on the dialogues of a user with assistants."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from .calls import ApiCall, Operation, read_pages
from .operations import delete_unused, parse_id
from .runs import Mode
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
    is_pinned: bool
    is_archived: bool
    is_remembered: bool
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
    is_pinned: bool
    is_archived: bool
    is_remembered: bool
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


class ForgottenConversation(TypedDict):
    """What was deleted with a conversation, or would be: how many of each; the answers elsewhere that repeat it.

    `doubtful` are the newest of the `doubtful_runs` answers that were given its memory and may repeat it.
    """

    logs: int
    answers: int
    records: int
    facts: int
    reopened: int
    repeating: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]
    doubtful_runs: int
    messages: int
    images: int
    schedules: int


def open_conversation(
    users: Users, *, user_id: UserId, assistant: str = "mentor", mode: Mode | None = None, is_remembered: bool = True
) -> Operation[OpenedConversation]:
    """Open a conversation; the assistant writes the first message if it has one: `wait(request_id)` waits for it.

    With `is_remembered=False` it is temporary: nothing that is said in it is recalled or summarized later.

    Nothing is sent twice: after Unavailable, `conversations` says whether it was opened. Raises InvalidRequest.
    """
    user = yield from users.get_or_create(required_user(user_id))
    body = {"user_id": str(user), "assistant": assistant, "is_remembered": is_remembered}
    body |= {} if mode is None else {"mode": mode}
    call = ApiCall(method="POST", path="/v1/conversations", body=body, is_repeatable=False)
    reply: OpenedConversation = (yield call).json
    return reply


def conversations(
    users: Users, *, user_id: UserId, q: str | None = None, limit: int = 100, archived: bool = False
) -> Operation[list[ConversationSummary]]:
    """The conversations of a user, pinned ones, then newest activity first, at most `limit`; none for an unknown user.

    With `q` those whose title and messages have its words. Those that are archived are listed with `archived`, without
    the others.
    """
    user = yield from users.find(required_user(user_id))
    if user is None:
        return []
    params = {"user_id": str(user)} | ({} if q is None else {"q": q}) | ({"archived": "true"} if archived else {})
    rows: list[Any] = yield from read_pages("/v1/conversations", params, limit)
    return rows


def get_conversation(users: Users, conversation_id: UserId) -> Operation[Conversation]:
    """One conversation by its id. Raises NotFound."""
    reply: Conversation = (yield ApiCall(method="GET", path=_path(conversation_id))).json
    return reply


def change_conversation(
    users: Users,
    conversation_id: UserId,
    *,
    mode: Mode | None = None,
    title: str | None = None,
    is_pinned: bool | None = None,
    is_archived: bool | None = None,
) -> Operation[Conversation]:
    """Change the mode, from the next request on, the title, or where lists show it. Raises NotFound, InvalidRequest."""
    changes = {"mode": mode, "title": title, "is_pinned": is_pinned, "is_archived": is_archived}
    body = {name: value for name, value in changes.items() if value is not None}
    reply: Conversation = (yield ApiCall(method="PATCH", path=_path(conversation_id), body=body)).json
    return reply


def delete_conversation(
    users: Users, conversation_id: UserId, *, doubtful: bool = False, preview: bool = False
) -> Operation[ForgottenConversation]:
    """Delete a conversation and forget what was said in it; with `preview` only say what would go.

    With `doubtful` the answers go, too, that were given its memory and may repeat it. Raises NotFound. If a summary
    of it is being written, retries for 30 s, then raises InvalidRequest with the code `in_use`.
    """
    params = {name: "true" for name, is_set in (("doubtful", doubtful), ("preview", preview)) if is_set}
    counts: Any = yield from delete_unused(_path(conversation_id), params)
    receipt: ForgottenConversation = counts
    return receipt


class ConversationLink(TypedDict):
    """A link by which anybody may read a conversation as it was when the link was made."""

    id: str
    conversation_id: str
    title: str | None
    has_evidence: bool
    created_at: str
    expires_at: str


class CreatedLink(ConversationLink):
    """A new link; the page reads its token from /ui/shared#TOKEN. It is shown this once."""

    token: str


def share_conversation(
    users: Users, conversation_id: UserId, *, days: int | None = None, evidence: bool = True
) -> Operation[CreatedLink]:
    """Make a link by which anybody may read a conversation for so many days, by default as long as the server allows.

    With `evidence` it shows the memories that the answers cite, too. Nothing is sent twice. Raises NotFound, Forbidden,
    InvalidRequest, with the code `links_off` where an operator allows none.
    """
    body: dict[str, Any] = {"evidence": evidence} | ({} if days is None else {"days": days})
    call = ApiCall(method="POST", path=f"{_path(conversation_id)}/links", body=body, is_repeatable=False)
    reply: CreatedLink = (yield call).json
    return reply


def links(users: Users, *, user_id: UserId, conversation_id: UserId | None = None) -> Operation[list[ConversationLink]]:
    """The links of a user, or to one conversation, that lead somewhere, newest first; none for an unknown user."""
    user = yield from users.find(required_user(user_id))
    if user is None:
        return []
    params = {"user_id": str(user)}
    params |= {} if conversation_id is None else {"conversation_id": str(parse_id(conversation_id))}
    rows: list[ConversationLink] = (yield ApiCall(method="GET", path="/v1/links", params=params)).json["results"]
    return rows


def revoke_link(users: Users, link_id: UserId) -> Operation[None]:
    """Make a link lead nowhere from now on. Raises NotFound."""
    yield ApiCall(method="DELETE", path=f"/v1/links/{parse_id(link_id)}", done_code="not_found")


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
