"""What files brought of conversations elsewhere, read as it was said there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from maas import queries
from shared.db import Database
from shared.errors import MaasError


@dataclass(frozen=True, slots=True)
class Near:
    """Which messages: at most `limit` around one, else after one, else before one; without any, the last ones."""

    limit: int
    around: UUID | None = None
    after: UUID | None = None
    before: UUID | None = None


@dataclass(frozen=True, slots=True)
class MessageSlice:
    """Neighbouring messages, oldest first, and whether there are others before and after them."""

    rows: list[queries.ImportedMessagesRow]
    has_earlier: bool
    has_later: bool


async def list_conversations(
    db: Database, user_id: UUID, before: tuple[datetime, UUID] | None, limit: int
) -> list[queries.ImportedConversationsRow]:
    """List the conversations that files brought to a user; `before` is the cursor: last_at and id of the last one."""
    at, last = before or (None, None)
    return await db.rows(queries.imported_conversations, user_id, at, last, limit)


async def list_messages(db: Database, user_id: UUID, conversation: str, near: Near) -> MessageSlice:
    """List messages of one of these conversations; none, if the user has no such conversation.

    Raises MaasError: `not_found`, if it has not the message that was asked for.
    """
    place: UUID | None
    if near.around is not None:
        place, earlier, later = near.around, (near.limit - 1) // 2, near.limit // 2
    elif near.after is not None:
        place, earlier, later = near.after, 0, near.limit
    else:
        place, earlier, later = near.before, near.limit, 0
    is_around = near.around is not None
    rows = await db.rows(queries.imported_messages, user_id, conversation, place, earlier + 1, later + 1, is_around)
    at = next((number for number, row in enumerate(rows) if row["is_earlier"] is False), len(rows))
    if is_around and all(row["id"] != place for row in rows):
        raise MaasError("not_found", f"no file brought a message {place} of this conversation")
    has_earlier, has_later = at > earlier, len(rows) - at - is_around > later
    return MessageSlice(rows[has_earlier : len(rows) - has_later], has_earlier, has_later)
