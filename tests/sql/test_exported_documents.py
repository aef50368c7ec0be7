"""A user's documents move along with an export; a file that names those of others changes nothing of theirs."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.knowledge.chunks import Chunk
from maas.knowledge.documents import remove, store
from maas.knowledge.search import search_knowledge
from maas.memory.transfer.export import write_export
from maas.memory.transfer.import_ import ImportResult, import_file
from shared.db import Database
from shared.errors import MaasError

Connection = psycopg.Connection[DictRow]
Lines = list[dict[str, Any]]
BREAD, BIKE = "Sourdough rests for twelve hours in the pantry.", "The bicycle stands in the cellar, its lock is red."
MALICE = "The safe opens with zero."


async def add(db: Database, user: UUID | None, name: str, *texts: str) -> UUID:
    fields = {
        "name": name,
        "media_type": "text/plain",
        "sha256": "a" * 64,
        "bytes": 40,
        "pages": 3,
        "summary": "what it is about",
        "track_id": "track-1",
        "status": "processed",
    }
    chunks = [Chunk("Top > Sub «ё»", number, 10 * number, text) for number, text in enumerate(texts, 1)]
    return await store(db, user, fields, chunks)


async def exported(db: Database, user: UUID) -> Lines:
    out = BytesIO()
    await write_export(db, user, out, "test")
    return [json.loads(line) for line in out.getvalue().splitlines()]


async def put(db: Database, user: UUID, lines: Lines, *, is_operator: bool = False) -> ImportResult:
    file = BytesIO(b"\n".join(json.dumps(line).encode() for line in lines))
    return await import_file(db, user, file, "export", "test", is_operator=is_operator)


async def found(db: Database, user: UUID, words: str) -> list[str]:
    return [one.text for one in (await search_knowledge(db, user, words)).passages]


def stored(connection: Connection, user: UUID | None) -> list[list[DictRow]]:
    """All that is there of the documents of a user, but for when it was changed."""
    queries = (
        "select to_jsonb(d) - 'updated_at' as row from knowledge_documents d where user_id is not distinct from %s",
        "select to_jsonb(c) as row from knowledge_chunks c where user_id is not distinct from %s",
        "select to_jsonb(t) as row from knowledge_terms t where user_id is not distinct from %s and chunks <> 0",
    )
    return [
        sorted(connection.execute(query.encode(), (user,)).fetchall(), key=lambda one: json.dumps(one["row"]))
        for query in queries
    ]


async def test_nothing_is_lost(db: Database, connection: Connection) -> None:
    """As they were, under the same ids; a second import adds nothing."""
    user, other = uuid4(), uuid4()
    await add(db, None, "everybodys.txt", "Everybody knows the sourdough.")
    documents = [await add(db, user, "bread.txt", BREAD, BIKE), await add(db, user, "bike.txt", BIKE)]
    lines, before = await exported(db, user), stored(connection, user)
    assert [line["type"] for line in lines[1:]] == ["document"] * 2 + ["passage"] * 3
    for document in documents:
        await remove(db, user, document)
    assert (await put(db, user, lines, is_operator=True)).others == 5
    assert stored(connection, user) == before
    assert (await put(db, user, lines, is_operator=True)).others == 0
    assert (await put(db, other, lines)).others == 5 and (await put(db, other, lines)).others == 0
    assert stored(connection, user) == before
    assert await found(db, other, "where is the bicycle?") == [BIKE, BIKE]
    ids = connection.execute("select id from knowledge_documents where user_id = %s", (other,)).fetchall()
    assert not {row["id"] for row in ids} & set(documents)


async def test_what_was_read_since_stays(db: Database, connection: Connection) -> None:
    """Of a document that is there under this name or this id no passage comes from the file."""
    user, other = uuid4(), uuid4()
    await add(db, user, "bread.txt", BREAD, BIKE)
    lines = await exported(db, user)
    await add(db, user, "bread.txt", "Rye needs no rest.")  # keeps its id
    await add(db, other, "bread.txt", "Rye needs a night.")
    for one in (user, other):
        before = stored(connection, one)
        assert (await put(db, one, lines, is_operator=True)).others == 0
        assert stored(connection, one) == before


@pytest.mark.parametrize("is_everybodys", [False, True])
async def test_a_file_reaches_nobody_else(db: Database, connection: Connection, is_everybodys: bool) -> None:
    thief, owner = uuid4(), None if is_everybodys else uuid4()
    theirs = await add(db, owner, "safe.txt", BREAD)
    before = stored(connection, owner)
    for user in (thief, owner or thief):
        mine = await add(db, thief, "mine.txt", BIKE)
        header, document, passage = await exported(db, thief)
        header, document = header | {"user_id": str(user)}, document | {"id": str(theirs), "name": "b.txt"}
        passage |= {"document_id": str(theirs), "text": MALICE, "number": 2}
        for lines in ([header, passage], [header, document, passage]):
            await put(db, thief, lines, is_operator=True)
        assert stored(connection, owner) == before
        if owner is not None:
            assert await found(db, owner, "what opens the safe?") == []
        await remove(db, thief, mine)
        connection.execute("delete from knowledge_documents where user_id = %s", (thief,))


async def test_the_quota_does_not_believe_the_file(db: Database, connection: Connection) -> None:
    user = uuid4()
    await add(db, user, "bread.txt", BREAD)
    header, document, passage = await exported(db, user)
    connection.execute("update engine_settings set value = '2000' where key = 'user_document_bytes'")
    document |= {"bytes": 0}
    passages = [passage | {"number": number, "text": "x" * 2000} for number in range(1, 202)]
    with pytest.raises(MaasError) as caught:
        await put(db, uuid4(), [header, document, *passages])
    assert caught.value.code == "quota_exceeded"
    assert connection.execute("select from knowledge_documents").rowcount == 1


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("document", {"name": ""}),
        ("document", {"sha256": "../x"}),
        ("document", {"bytes": -1}),
        ("document", {"track_id": "a b"}),
        ("document", {"status": "failed"}),
        ("passage", {"number": 0}),
        ("passage", {"text": "x" * 2001}),
        ("passage", {"user_id": str(uuid4())}),
    ],
)
async def test_bad_lines_are_refused(db: Database, connection: Connection, kind: str, columns: dict[str, Any]) -> None:
    user = uuid4()
    await add(db, user, "bread.txt", BREAD)
    lines = [line | (columns if line.get("type") == kind else {}) for line in await exported(db, user)]
    with pytest.raises(MaasError, match="line ") as caught:
        await put(db, uuid4(), lines)
    assert caught.value.code == "bad_import"
    assert connection.execute("select from knowledge_documents").rowcount == 1
