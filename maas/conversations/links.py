"""Links by which anybody may read a conversation as it was when they were made."""

from __future__ import annotations

import hashlib
import secrets
from uuid import UUID

from maas import queries
from maas.conversations import not_found
from shared.db import Database
from shared.errors import MaasError

TOKEN_BYTES = 16
PAGE_SIZE = 100  # messages


async def create_link(
    db: Database, conversation_id: UUID, days: int, has_evidence: bool, actor: str
) -> tuple[UUID, str]:
    """Make a link that lasts for so many days; return its id, and its token, which is stored nowhere.

    Raises MaasError: `not_found`, `quota_exceeded`.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    row = await db.row(queries.share_conversation, conversation_id, _hash(token), days, has_evidence, actor)
    assert row is not None
    if row["verdict"] == "not_found":
        raise not_found(conversation_id)
    if row["verdict"] == "too_many":
        raise MaasError("quota_exceeded", "this user has 100 links to conversations: revoke some first")
    return row["id"], token


async def list_links(db: Database, user_id: UUID, conversation_id: UUID | None) -> list[queries.ListLinksRow]:
    """The links of a user, or of one conversation, that lead somewhere, newest first."""
    return await db.rows(queries.list_links, user_id, conversation_id)


async def revoke_link(db: Database, link_id: UUID, actor: str) -> None:
    """Make a link lead nowhere. Raises MaasError('not_found')."""
    if not await db.value(queries.revoke_link, link_id, actor):
        raise MaasError("not_found", f"there is no link {link_id}")


async def read_shared(
    db: Database, token: str, days: int, after: int
) -> tuple[queries.OpenLinkRow, list[queries.SharedMessagesRow]]:
    """The conversation of a token, and its messages behind the first `after`, at most PAGE_SIZE, oldest first.

    `days` is how long links last now. Raises MaasError('not_found').
    """
    link = await db.row(queries.open_link, _hash(token), days)
    if link is None:
        raise MaasError("not_found", "this link was revoked or has expired")
    owner = (link["conversation_id"], link["user_id"], link["created_at"])
    rows = await db.rows(queries.shared_messages, *owner, after, PAGE_SIZE, link["has_evidence"])
    return link, rows


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
