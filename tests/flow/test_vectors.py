"""Vectors, from a turn to what a search may add for it: filled in, found, rebuilt, gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from maas import queries
from maas.memory.embeddings import PAGE_SIZE, READ_SIZE, BackfillTaken, EmbeddingBackfill, open_query_embedder
from maas.memory.memory_reader import FULL_READ_MESSAGES
from maas.memory.query import NO_FILTER, SearchFilter, parse_query
from maas.memory.search import gather_evidence, search
from maas.memory.similarity import MeaningReader
from maas.memory.term_counts import count_due_terms
from maas.model_registry import open_embedder
from maas.settings import Settings, load_settings
from shared.db import Database, open_database
from shared.models import Embedder, ModelError
from shared.models.calls import QueryEmbedder
from shared.models.openai import OpenAIEmbedder
from tests.embedding_server import EmbeddingServer
from tests.http_server import HTTPServer
from tests.sql.engine import insert

Connection = psycopg.Connection[DictRow]
BATCH = OpenAIEmbedder.batch
DISTANT = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with HTTPServer(threaded=True) as http:
        server = EmbeddingServer(http)
        yield server
        server.held.set()


@pytest.fixture
async def db(database: str) -> AsyncIterator[Database]:
    async with open_database(database, 4, "test") as db:
        yield db


class Vectors:
    """What a process has that is configured for vectors."""

    def __init__(self, db: Database, server: EmbeddingServer) -> None:
        self._db = db
        self._server = server
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Vectors:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def settings(self, model: str) -> Settings:
        return load_settings(
            embedding_model=f"openai:{model}", openai_base_url=self._server.url, retry_delay=0.01, attempt_timeout=5
        )

    def embedder(self, model: str = "words") -> Embedder:
        embedder = open_embedder(self.settings(model))
        assert embedder is not None
        return embedder

    def backfill(self, model: str = "words") -> EmbeddingBackfill:
        embedder = self.embedder(model)
        self._stack.push_async_callback(embedder.close)
        return EmbeddingBackfill(self._db, embedder, self.settings(model).models)

    async def questions(self, model: str = "words", timeout: float = 5.0) -> QueryEmbedder:
        found = await self._stack.enter_async_context(open_query_embedder(self._db, self.embedder(model), timeout))
        assert found is not None
        return found


@pytest.fixture
async def vectors(db: Database, server: EmbeddingServer) -> AsyncIterator[Vectors]:
    async with Vectors(db, server) as vectors:
        yield vectors


def say(connection: Connection, user: UUID, *texts: str, at: datetime | None = None) -> list[UUID]:
    """Import turns; the ids of their logs."""
    turns = [{"role": "user", "content": text, "at": at.isoformat() if at else None} for text in texts]
    row = connection.execute("select run_id from maas_import(%s, 'test', %s)", (user, Jsonb(turns))).fetchone()
    assert row is not None
    logs = connection.execute("select id from raw_logs where run_id = %s order by turn_no", (row["run_id"],)).fetchall()
    return [log["id"] for log in logs]


async def fill(backfill: EmbeddingBackfill) -> None:
    while await backfill.step():
        pass
    await backfill.release()


async def nearness(
    db: Database, questions: QueryEmbedder | None, user: UUID, text: str, speakers: Sequence[str] = ()
) -> dict[UUID, float]:
    """The cosines of the user's messages that have vectors, nearest first."""
    query = parse_query(text, DISTANT)
    found = await MeaningReader(db, questions, user, query, NO_FILTER).cosines(speakers)
    if found is None:
        return {}
    pairs = zip(found.ids.tolist(), found.values.tolist(), strict=True)
    return {UUID(bytes=one): cosine for one, cosine in sorted(pairs, key=lambda pair: -pair[1])}


def count(connection: Connection, where: str = "true") -> int:
    row = connection.execute(f"select count(*) as n from embeddings where {where}".encode()).fetchone()
    assert row is not None
    return int(row["n"])


async def test_near_turns_are_found(connection: Connection, db: Database, vectors: Vectors, user: UUID) -> None:
    cat, dog, _ = say(connection, user, "my cat is called Rex", "the dog barks", "nothing of interest")
    await fill(vectors.backfill())
    found = await nearness(db, await vectors.questions(), user, "how is the cat called")
    assert list(found)[:2] == [cat, dog]
    exact = await nearness(db, await vectors.questions(), user, "the dog barks")
    assert next(iter(exact)) == dog
    hits = await search(db, user, "Wie heißt the gatto?", query_embedder=await vectors.questions())
    assert [hit.id for hit in hits] == [dog]  # none shares a term with the question, and one is near
    assert await search(db, user, "Wie heißt the gatto?") == []
    later = SearchFilter(since=DISTANT + timedelta(days=9000))
    assert await search(db, user, "gatto", query_embedder=await vectors.questions(), filters=later) == []


async def test_others_are_never_found(connection: Connection, db: Database, vectors: Vectors, user: UUID) -> None:
    mine = say(connection, user, "the sea is blue")
    say(connection, uuid4(), "my cat is called Rex", "my cat is called Rex")
    await fill(vectors.backfill())
    assert count(connection) == 3
    questions = await vectors.questions()
    assert list(await nearness(db, questions, user, "my cat is called Rex")) == mine
    assert await nearness(db, questions, uuid4(), "my cat is called Rex") == {}


async def test_names_are_not_compared(
    connection: Connection, db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    """A speaker's name stands in the question, not in what the speaker says, and in what others say to the speaker."""
    turns = [
        {"role": "user", "content": "I paint", "speaker": "Melanie", "external_id": "by"},
        {"role": "user", "content": "Oh Melanie, paint", "speaker": "Caroline", "external_id": "to"},
    ]
    connection.execute("select maas_import(%s, 'test', %s)", (user, Jsonb(turns)))
    await fill(vectors.backfill())
    found = await nearness(
        db, await vectors.questions(), user, "what does Melanie’s brush paint", ["Melanie", "Caroline"]
    )
    rows = connection.execute("select id, external_id from raw_logs").fetchall()
    names = {row["id"]: row["external_id"] for row in rows}
    assert [names[log] for log in found] == ["by", "to"]
    assert server.texts == ["I paint", "Oh Melanie, paint", "what does  brush paint"]


async def test_as_of(connection: Connection, db: Database, vectors: Vectors, user: UUID) -> None:
    old = say(connection, user, "cat one", "cat two", at=DISTANT)
    say(connection, user, "cat three")
    await fill(vectors.backfill())
    questions = await vectors.questions()
    past = SearchFilter(as_of=DISTANT + timedelta(days=1))
    assert {hit.id for hit in await search(db, user, "cat", query_embedder=questions, filters=past)} == set(old)
    assert len(await search(db, user, "cat", query_embedder=questions)) == 3


async def test_a_large_memory_is_compared_as_a_whole(
    connection: Connection, db: Database, vectors: Vectors, user: UUID
) -> None:
    """What shares no word with the question is found among thousands, and weighed as in a small memory."""
    (meant,) = say(connection, user, "gatto")
    say(connection, user, *(f"turn {n}" for n in range(FULL_READ_MESSAGES)))
    await count_due_terms(db)
    await fill(vectors.backfill())
    evidence = await gather_evidence(db, user, "gatti gatto?", NO_FILTER, await vectors.questions())
    assert evidence.similarity is not None
    assert evidence.candidates.ids[evidence.similarity.own.argmax()].tobytes() == meant.bytes
    assert evidence.similarity.own.max() > 5
    assert len(evidence.candidates) < FULL_READ_MESSAGES


async def test_batches_and_pages(connection: Connection, vectors: Vectors, server: EmbeddingServer, user: UUID) -> None:
    """More than a page; each turn once, in batches, whatever is imported and asked in the meantime."""
    say(connection, user, *(f"turn {n}" for n in range(PAGE_SIZE + 10)))
    backfill = vectors.backfill()
    assert await backfill.step()
    assert count(connection) >= PAGE_SIZE
    say(connection, user, "said in the meantime")
    insert(connection, user, "asked in the meantime")
    await fill(backfill)
    assert len(server.texts) == len(set(server.texts)) == PAGE_SIZE + 12 == count(connection, "embedding is not null")
    assert max(server.batches) == BATCH
    row = connection.execute("select * from embedding_fills").fetchone()
    assert row is not None
    assert (row["model"], row["turns"], row["refused"]) == ("openai:words", PAGE_SIZE + 12, 0)
    assert row["tokens"] == sum(map(len, server.texts))


async def test_it_goes_on_where_it_stopped(
    connection: Connection, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    say(connection, user, *(f"turn {n}" for n in range(3 * BATCH)))
    server.status = 503
    first = vectors.backfill()
    with pytest.raises(ModelError):
        await first.step()
    assert count(connection) == 0
    server.status = 200
    await first.release()
    await fill(vectors.backfill())
    assert count(connection) == len(server.texts) == 3 * BATCH


async def test_what_was_slow_to_commit_is_not_missed(
    connection: Connection, database: str, vectors: Vectors, user: UUID
) -> None:
    backfill = vectors.backfill()
    with psycopg.connect(database) as slow:
        slow.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'slow')", (user,))
        (began,) = slow.execute("select now()").fetchone() or ()
        say(connection, user, "quick")
        await fill(backfill)
        assert count(connection) == 1
        row = connection.execute("select since from embedding_fills").fetchone()
        assert row is not None
        assert row["since"] <= began - timedelta(minutes=1)
        slow.commit()
    await fill(backfill)
    assert count(connection) == 2


async def test_one_process_fills(connection: Connection, vectors: Vectors, user: UUID) -> None:
    say(connection, user, "a turn")
    first, second = vectors.backfill(), vectors.backfill()
    await first.lease()
    with pytest.raises(BackfillTaken):
        await second.step()
    await first.release()
    await fill(second)
    assert count(connection) == 1
    connection.execute("update embedding_fills set leased_until = now() - interval '1 second'")
    await first.lease()
    with pytest.raises(BackfillTaken):
        await second.step()


async def test_another_model(
    connection: Connection, db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    """What an earlier model made is not compared with a question of the new one."""
    (log,) = say(connection, user, "the cat")
    await fill(vectors.backfill("old"))
    new = await vectors.questions("new")
    assert await nearness(db, new, user, "the cat") == {}
    await fill(vectors.backfill("new"))
    assert list(await nearness(db, new, user, "the cat")) == [log]
    assert list(await nearness(db, await vectors.questions("old"), user, "the cat")) == [log]
    assert count(connection) == 2


async def test_vectors_of_another_length_are_passed_over(
    connection: Connection, db: Database, vectors: Vectors, user: UUID
) -> None:
    """A server that changed its model behind the same name."""
    old, new = say(connection, user, "the cat", "the cat again")
    await fill(vectors.backfill())
    connection.execute("update embeddings set embedding = '[1,2,3]' where log_id = %s", (old,))
    assert list(await nearness(db, await vectors.questions(), user, "the cat")) == [new]


async def test_vectors_go_with_their_turns(connection: Connection, db: Database, vectors: Vectors, user: UUID) -> None:
    gone, stays = say(connection, user, "the cat", "the dog")
    await fill(vectors.backfill())
    connection.execute("delete from raw_logs where id = %s", (gone,))
    assert count(connection) == 1
    assert list(await nearness(db, await vectors.questions(), user, "the cat")) == [stays]


async def test_a_late_vector_of_an_erased_turn_is_not_written(
    connection: Connection, database: str, db: Database, user: UUID
) -> None:
    """Whether the erasure is over or still under way."""
    first, second, stays = say(connection, user, "one", "two", "three")
    connection.execute("delete from raw_logs where id = %s", (first,))
    with psycopg.connect(database) as eraser:
        eraser.execute("delete from raw_logs where id = %s", (second,))
        write = asyncio.create_task(
            db.value(queries.write_embeddings, "m", [first, second, stays], [1.0, 0.0, 0.0, 1.0, 3.0, 4.0], 0)
        )
        while not connection.execute("select from pg_locks where not granted").fetchall():
            await asyncio.sleep(0.01)
        eraser.commit()
    assert await asyncio.wait_for(write, 10) == 1
    rows = connection.execute("select log_id, embedding::text from embeddings").fetchall()
    assert [row["log_id"] for row in rows] == [stays]
    assert [round(float(x), 2) for x in rows[0]["embedding"].strip("[]").split(",")] == [0.6, 0.8]


async def test_a_text_that_is_refused_holds_up_nobody(
    connection: Connection, db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    server.refused = "poison"
    bad, good, blank = say(connection, user, "this is poison", "this is fine", "\u200b \u2060")
    await fill(vectors.backfill())
    calls = server.calls
    assert count(connection, "embedding is not null") == 1
    assert count(connection, "embedding is null") == 2
    await fill(vectors.backfill())
    assert server.calls == calls
    found = await nearness(db, await vectors.questions(), user, "this is fine")
    assert list(found) == [good]
    assert bad not in found and blank not in found


async def test_what_was_said_just_now_goes_before_an_import(
    connection: Connection, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    say(connection, user, *(f"imported {n}" for n in range(200)))
    connection.execute("update raw_logs set created_at = created_at - interval '1 hour'")
    backfill = vectors.backfill()
    filling = asyncio.create_task(fill(backfill))
    while not server.texts:
        await asyncio.sleep(0)
    say(connection, user, "just now")
    await filling
    assert len(server.texts) == len(set(server.texts)) == 201
    assert server.texts.index("just now") <= 2 * READ_SIZE


async def test_a_provider_that_refuses_all_spoils_nothing(
    connection: Connection, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    server.status = 400
    say(connection, user, "one", "two")
    backfill = vectors.backfill()
    with pytest.raises(ModelError):
        await backfill.step()
    assert count(connection) == 0
    server.status = 200
    await fill(backfill)
    assert count(connection, "embedding is not null") == 2


async def test_no_question_is_asked_of_a_provider_that_is_down(
    connection: Connection, db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    """One warning, no result, and no waiting each time; afterwards as before."""
    now = 0.0
    (log,) = say(connection, user, "the cat")
    await fill(vectors.backfill())
    questions = QueryEmbedder(vectors.embedder(), 5.0, clock=lambda: now)
    server.status, before = 503, server.calls
    with capture_logs() as logs:
        for n in range(5):
            assert await nearness(db, questions, user, f"the cat {n}") == {}
        assert server.calls == before + 1
        now = 5.1
        assert await nearness(db, questions, user, "the cat") == {}
        assert server.calls == before + 2
        server.status, now = 200, 16.0
        assert list(await nearness(db, questions, user, "the cat")) == [log]
    assert [entry["event"] for entry in logs] == ["model_unavailable", "model_recovered"]


async def test_many_failures_at_once_are_one(
    db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    now = 0.0
    questions = QueryEmbedder(vectors.embedder(), 5.0, clock=lambda: now)
    server.status = 503
    await asyncio.gather(*(nearness(db, questions, user, f"the cat {n}") for n in range(10)))
    server.status, before, now = 200, server.calls, 5.1
    await nearness(db, questions, user, "the cat")
    assert server.calls == before + 1


async def test_a_question_that_is_refused_silences_nobody(
    connection: Connection, db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    (log,) = say(connection, user, "the cat")
    await fill(vectors.backfill())
    questions = await vectors.questions()
    server.refused = "poison"
    assert await nearness(db, questions, user, "poison") == {}
    assert list(await nearness(db, questions, user, "the cat" + " cat" * 100_000)) == [log]
    assert len(server.texts[-1]) == 2000


async def test_a_slow_provider_is_not_waited_for(
    connection: Connection, db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    say(connection, user, "the cat")
    await fill(vectors.backfill())
    server.held.clear()
    questions = await vectors.questions(timeout=0.2)
    async with asyncio.timeout(2):
        assert await nearness(db, questions, user, "the cat") == {}


async def test_a_slow_database_is_not_waited_for(
    connection: Connection, database: str, db: Database, vectors: Vectors, user: UUID
) -> None:
    (log,) = say(connection, user, "the cat")
    await fill(vectors.backfill())
    questions = await vectors.questions(timeout=0.5)
    assert list(await nearness(db, questions, user, "the cat")) == [log]
    with psycopg.connect(database) as other:
        other.execute("lock embeddings in access exclusive mode")
        async with asyncio.timeout(5):
            assert await nearness(db, questions, user, "the cat") == {}
    assert list(await nearness(db, questions, user, "the cat")) == [log]


async def test_the_same_question_is_embedded_once(
    db: Database, vectors: Vectors, server: EmbeddingServer, user: UUID
) -> None:
    questions = await vectors.questions()
    for _ in range(3):
        await nearness(db, questions, user, "the cat")
    assert server.calls == 1


async def test_without_a_model_nothing_is_asked(db: Database, user: UUID) -> None:
    async with open_query_embedder(db, None, 1.0) as questions:
        assert questions is None
        assert await nearness(db, questions, user, "the cat") == {}
