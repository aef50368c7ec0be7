"""Memories as clients of mem0 see them: each message of a user is one, and keeps its id when it is corrected.

The words of a message are never rewritten: its memory reads as its newest correction, and all versions stay readable
until it is forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from maas import queries
from maas.memory.corrections import correct
from maas.memory.erase import forget_memory
from shared.db import Database
from shared.errors import MaasError

ENTITIES = ("agent_id", "app_id", "run_id")
MAX_LISTED = 5000  # of the newest memories of a user, among which a list filters
MAX_FORGOTTEN = 2000  # by one call
FORGET_WAIT_S = 5.0  # for the runs that still archive what is to be forgotten
FORGET_POLL_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True)
class ClientMemory:
    """What filters know of a memory.

    `entities` are the ids of the agent, application and session that it was added with, by `agent_id`, `app_id` and
    `run_id`; `metadata` is what the client added. `created_at` is when it was said, `updated_at` when it was corrected.
    `categories` are the tags of the summary that it is in; `text` is None where it was not read.
    """

    id: UUID
    created_at: datetime
    updated_at: datetime
    entities: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None
    categories: tuple[str, ...] = ()
    text: str | None = None

    @classmethod
    def from_row(cls, row: queries.ClientMemoriesRow | queries.ClientMemoryTextsRow) -> ClientMemory:
        """Return the value of a row; members of `client` that are not of the expected type count as missing."""
        client = row["client"] if isinstance(row["client"], dict) else {}  # an import may bring any JSON
        entities = {name: value for name in ENTITIES if isinstance(value := client.get(name), str)}
        metadata = client.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else None
        tags = tuple(row["tags"] or ())
        return cls(row["id"], row["created_at"], row["updated_at"], entities, metadata, tags, row["memory"])


@dataclass(frozen=True, slots=True)
class ClientMemoryText:
    """A memory and its text, which is that of its newest correction.

    `asked` is the id by which it was read: its own, or that of a correction of it. Without `is_message` it is a fact, a
    summary or a message of the assistant, which is read like a memory and cannot be updated.
    """

    memory: ClientMemory
    text: str
    asked: UUID
    is_message: bool = True


@dataclass(frozen=True, slots=True)
class Version:
    """What a memory said from `created_at` on; the first is the message itself, the others are its corrections."""

    id: UUID
    text: str
    created_at: datetime


async def list_client_memories(db: Database, user_id: UUID, *, with_words: bool = False) -> list[ClientMemory]:
    """The newest MAX_LISTED memories of a user, newest first; texts and categories are read `with_words` only."""
    rows = await db.rows(queries.client_memories, user_id, MAX_LISTED, with_words)
    return [ClientMemory.from_row(row) for row in rows]


async def read_client_memories(db: Database, user_id: UUID, ids: Sequence[UUID]) -> list[ClientMemoryText]:
    """The memories of these messages and corrections in their order, each once; what is no memory is left out."""
    if not ids:
        return []
    rows = {row["asked"]: row for row in await db.rows(queries.client_memory_texts, user_id, list(ids))}
    known: dict[UUID, ClientMemoryText] = {}
    for one in ids:
        if (row := rows.get(one)) is not None:
            known.setdefault(row["id"], ClientMemoryText(ClientMemory.from_row(row), row["memory"], one))
    return list(known.values())


async def read_versions(db: Database, user_id: UUID, memory_id: UUID) -> list[Version]:
    """What a memory said, the oldest version first."""
    rows = await db.rows(queries.client_memory_versions, user_id, memory_id)
    return [Version(row["id"], row["memory"], row["created_at"]) for row in rows]


async def update_client_memory(
    db: Database, user_id: UUID, known: ClientMemoryText, text: str | None, metadata: Mapping[str, Any] | None
) -> None:
    """Correct the text of a memory, replace its metadata, or both; None leaves them. Raises MaasError('not_found')."""
    if text is not None and text != known.text:
        await correct(db, user_id, known.memory.id, text)
    if metadata is not None and not await db.value(
        queries.set_client_metadata, user_id, known.memory.id, dict(metadata)
    ):
        raise MaasError("not_found", f"there is no memory {known.memory.id}")


async def forget_client_memories(
    db: Database, long_db: Database, user_id: UUID, ids: Sequence[UUID], actor: str
) -> None:
    """Forget memories, each with all its versions, one after the other.

    What is being archived is waited for, FORGET_WAIT_S seconds in all. Raises MaasError('in_use') when that was too
    short: what stands before it in the list is forgotten then. Memories that are gone already are left out.
    """
    deadline = asyncio.get_running_loop().time() + FORGET_WAIT_S
    for memory_id in ids:
        versions = [one.id for one in await read_versions(db, user_id, memory_id)] or [memory_id]
        for one in reversed(versions):  # the message last: without it its corrections would not be found again
            await _forget(long_db, user_id, one, actor, deadline)


async def _forget(db: Database, user_id: UUID, memory_id: UUID, actor: str, deadline: float) -> None:
    while True:
        try:
            await forget_memory(db, memory_id, user_id, actor)
        except MaasError as error:
            if error.code == "not_found":
                return
            if error.code != "in_use" or asyncio.get_running_loop().time() >= deadline:
                raise
            await asyncio.sleep(FORGET_POLL_INTERVAL_S)
        else:
            return
