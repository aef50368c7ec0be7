"""Conversations: dialogues of a user with an assistant, with mode, title and messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple
from uuid import UUID

from maas import queries
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable

Mode = Literal["auto", "plan", "ask"]


class MessageRole(StrEnum):
    """The role of a message; the SQL has the same values."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"  # one tool call and its result


SPOKEN_ROLES = (MessageRole.USER, MessageRole.ASSISTANT, MessageRole.SYSTEM)
Place = tuple[datetime, UUID]  # of a message among those of its conversation: created_at and id


class MessageSlice(NamedTuple):
    """Messages that stand together, newest first; whether there may be earlier ones, and there are later ones."""

    rows: list[queries.ListMessagesRow]
    has_earlier: bool
    has_later: bool


async def create_conversation(
    db: Database,
    user_id: UUID,
    assistant: str,
    mode: Mode | None,
    queue_limit: int | None = None,
    *,
    is_remembered: bool = True,
) -> dict[str, Any]:
    """Open a conversation; without `mode`, in the mode of its assistant.

    `request_id` of the result is the run in which the assistant speaks first, if it does. Nothing that is said in a
    conversation with `is_remembered` false is remembered.

    Raises MaasError: `unknown_assistant`, `queue_full`.
    """
    row = await db.row(queries.create_conversation, user_id, assistant, mode, queue_limit, is_remembered)
    assert row is not None
    match row["verdict"]:
        case "unknown_assistant":
            raise await unknown_assistant(db, assistant)
        case "queue_full":
            raise queue_full(queue_limit, ": wait for one and send this again")
    return {**await read_conversation(db, row["id"]), "request_id": row["run_id"]}


async def open_chat_conversation(
    db: Database, chat_id: str, user_id: UUID, assistant: str, ad_account: str | None
) -> UUID:
    """The conversation of a private chat of Telegram with an assistant; a new one if there is none.

    Its tools work on `ad_account`, if that is given, from now on. Raises MaasError('unknown_assistant').
    """
    conversation_id: UUID | None = await db.value(queries.chat_conversation, chat_id, user_id, assistant, ad_account)
    if conversation_id is None:
        raise await unknown_assistant(db, assistant)
    return conversation_id


async def read_conversation(db: Database, conversation_id: UUID) -> queries.ConversationRow:
    """The row, and whether a run of it is in flight. Raises MaasError('not_found')."""
    row = await db.row(queries.conversation, conversation_id)
    if row is None:
        raise not_found(conversation_id)
    return row


async def list_conversations(
    db: Database,
    user_id: UUID,
    before: tuple[datetime, UUID] | None,
    limit: int,
    text: str | None = None,
    *,
    are_archived: bool = False,
) -> list[queries.ListConversationsRow]:
    """Conversations of a user: pinned ones, then those with the newest message first.

    `before` is updated_at and id of the last one of the previous page. `text`: every word of it, or its beginning, is
    in the title or in a message that the conversation shows. Those that are archived are listed with `are_archived`,
    without the others.
    """
    at, last = before or (None, None)
    return await db.rows(queries.list_conversations, user_id, at, last, limit, text, are_archived)


async def change_conversation(
    db: Database,
    conversation_id: UUID,
    mode: Mode | None = None,
    title: str | None = None,
    is_pinned: bool | None = None,
    is_archived: bool | None = None,
) -> queries.ConversationRow:
    """Set what is not None. Raises MaasError('not_found')."""
    await db.value(queries.change_conversation, conversation_id, mode, title, is_pinned, is_archived)
    return await read_conversation(db, conversation_id)


async def clear_conversation(db: Database, conversation_id: UUID) -> int:
    """Remove the messages, but no memory; returns how many there were. Raises MaasError('not_found')."""
    cleared: int | None = await db.value(queries.clear_conversation, conversation_id)
    if cleared is None:
        raise not_found(conversation_id)
    return cleared


async def find_message(
    db: Database, conversation_id: UUID, of: UUID, roles: Sequence[MessageRole] = SPOKEN_ROLES
) -> Place:
    """The place of a message, or of the first one that a run wrote. Raises MaasError('not_found')."""
    row = await db.row(queries.message_place, conversation_id, of, list(roles))
    if row is None:
        await read_conversation(db, conversation_id)
        raise MaasError("not_found", f"around: this conversation has no message {of}, and none of a run with this id")
    return row["created_at"], row["id"]


async def list_messages(
    db: Database,
    conversation_id: UUID,
    place: Place | None,
    earlier: int,
    later: int = 0,
    *,
    is_around: bool = False,
    roles: Sequence[MessageRole] = SPOKEN_ROLES,
) -> MessageSlice:
    """So many messages before and after a place, without a place before the end; newest first.

    With `is_around` also the message at the place itself. Raises MaasError('not_found').
    """
    at, last = place or (None, None)
    found = await db.rows(queries.list_messages, conversation_id, at, last, earlier, list(roles), later + 1, is_around)
    if not found:
        await read_conversation(db, conversation_id)
    places = [(row["created_at"], row["id"]) for row in found]
    has_later = place is not None and sum(one > place for one in places) > later
    has_earlier = sum(place is None or one < place for one in places) >= earlier
    return MessageSlice(found[has_later:], has_earlier, has_later)


async def unknown_assistant(db: Database, assistant: str) -> MaasError:
    """The error for an assistant that is not active, with the reason if it could not be configured."""
    rows = await db.rows(queries.inactive_assistants, assistant) if is_storable(assistant) else []
    reason = f": {rows[0]['inactive_reason']}" if rows else ""
    return MaasError("unknown_assistant", f"assistant: there is no active assistant {assistant[:80]!r}{reason}")


def not_found(conversation_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no conversation {conversation_id}")


def queue_full(limit: int | None, advice: str, unfinished: int | None = None, retry_after: int = 5) -> MaasError:
    """The error for a user who has too many unfinished runs; `advice` follows the count. `retry_after` in seconds."""
    details = {"unfinished": unfinished, "limit": limit, "retry_after": retry_after}
    count = limit if unfinished is None else unfinished
    return MaasError(
        "queue_full",
        f"{count} requests of this user are not finished yet{advice}",
        {name: value for name, value in details.items() if value is not None},
    )
