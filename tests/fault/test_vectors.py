"""Vectors in whole processes: what they need may be missing or break, and nobody's answer waits for them."""

from __future__ import annotations

import json
import re
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from maas.plugins import sql_folders
from maas.prompting.prompts import seed_prompts
from shared.migrate import migrate
from shared.postgres import EmbeddedPostgres
from tests.conftest import SQL_FOLDER
from tests.embedding_server import EmbeddingServer
from tests.http_server import HTTPServer
from tests.polling import poll
from tests.stack import Stack, maas


@pytest.fixture
def embedder() -> Iterator[EmbeddingServer]:
    with HTTPServer(threaded=True) as http:
        server = EmbeddingServer(http)
        yield server
        server.held.set()


@pytest.fixture
def plain(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Stack]:
    """A database whose owner may not make the extension `vector`, migrated by that owner."""
    name = f"plain_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login password 'plain'").format(sql.Identifier(name)))
        admin.execute(sql.SQL("create database {0} owner {0}").format(sql.Identifier(name)))
        dsn = make_conninfo(postgres.dsn, dbname=name, user=name, password="plain")
        parts = psycopg.conninfo.conninfo_to_dict(dsn)
        url = f"postgresql://{name}:plain@{parts['host']}:{parts['port']}/{name}"
        migrate(url, SQL_FOLDER, sql_folders())
        seed_prompts(url)
        with Stack(url, tmp_path) as stack:
            yield stack
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
        admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def embedded(stack: Stack, model: str = "openai:words") -> int:
    return len(stack.rows("select from embeddings where model = %s and embedding is not null", model))


def events(stack: Stack, name: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in stack.log().splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("event") == name]


def test_every_word_gets_a_vector_in_the_background(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    stack.start_server(**embedder.settings())
    stack.start_orchestrator(**embedder.settings())
    first = stack.ask(user, "My cat is called Rex.")
    stack.wait_archived(first)
    poll(lambda: embedded(stack) == 2, what="question and answer have vectors")
    second = stack.ask(user, "What is my cat called?")
    assert "Rex" in str(stack.answer(second)["final_answer"])
    poll(lambda: embedded(stack) == 4, what="so have the next ones")


def test_a_provider_that_is_down_delays_nobody(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    """Answers as ever and one warning; when it is back, what is missing is made up for."""
    embedder.status = 503
    stack.start_server(**embedder.settings())
    stack.start_orchestrator(**embedder.settings())
    for n in range(3):
        run_id = stack.ask(user, f"My cat number {n} is called Rex.")
        assert stack.answer(run_id)["status"] == "COMPLETED"
        stack.wait_archived(run_id)
    poll(lambda: events(stack, "embedding_down"), what="it is noticed")
    calls = embedder.calls
    poll(lambda: embedder.calls > calls, what="it is asked again")
    assert len(events(stack, "embedding_down")) == 1
    assert embedded(stack) == 0
    embedder.status = 200
    poll(lambda: embedded(stack) == 6, 30, "all have vectors")
    poll(lambda: len(events(stack, "embedding_recovered")) == 1, what="it is logged once")


def test_a_provider_that_hangs_delays_nobody(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    embedder.held.clear()
    stack.start_server(**embedder.settings())
    process = stack.start_orchestrator(**embedder.settings())
    run_id = stack.ask(user, "My cat is called Rex.")
    stack.wait_archived(run_id)
    poll(lambda: embedder.calls, what="the provider is asked")
    stack.wait_archived(stack.ask(user, "What is my cat called?"))
    busy = "select from pg_stat_activity where application_name = 'maas orchestrator' and state <> 'idle'"
    poll(lambda: stack.rows(busy) == [], what="no connection waits with the provider")
    stack.stop(process, signal.SIGTERM)


def test_a_killed_backfill_is_taken_over(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    embedder.held.clear()
    stack.start_server()
    first = stack.start_orchestrator(**embedder.settings())
    stack.wait_archived(stack.ask(user, "My cat is called Rex."))
    poll(lambda: embedder.calls, what="the provider is asked")
    stack.stop(first, signal.SIGKILL)
    embedder.held.set()
    stack.rows("update embedding_fills set leased_until = now()")
    stack.start_orchestrator(**embedder.settings())
    poll(lambda: embedded(stack) == 2, what="the other one goes on")


def test_the_backlog_is_shown(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    assert "vectors" not in maas(stack, "top", "--once").stdout
    embedder.status = 503
    stack.start_server()
    stack.start_orchestrator(**embedder.settings())
    stack.wait_archived(stack.ask(user, "My cat is called Rex."))
    poll(lambda: events(stack, "embedding_down"), what="the provider is down")
    assert "vectors waiting 2  of openai:words\n" in maas(stack, "top", "--once").stdout
    assert 'maas_embedding_waiting_turns{model="openai:words"} 2.0' in stack.client.get("/metrics").text
    assert "openai:words, 0 messages embedded, 2 wait\n" in maas(stack, "doctor", **embedder.settings()).stdout
    embedder.status = 200
    poll(lambda: embedded(stack) == 2, what="it is back")
    assert "vectors waiting 0  of openai:words\n" in maas(stack, "top", "--once").stdout
    assert 'maas_embedding_waiting_turns{model="openai:words"} 0.0' in stack.client.get("/metrics").text
    assert "openai:words, 2 messages embedded\n" in maas(stack, "doctor", **embedder.settings()).stdout


def test_without_pgvector_search_is_by_words(plain: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    assert plain.rows("select to_regclass('embeddings') as t") == [{"t": None}]
    plain.start_server(**embedder.settings())
    plain.start_orchestrator(**embedder.settings())
    plain.wait_archived(plain.ask(user, "My cat is called Rex."))
    assert "Rex" in str(plain.answer(plain.ask(user, "What is my cat called?"))["final_answer"])
    assert len(events(plain, "vectors_unavailable")) == 2  # one of each process
    assert embedder.calls == 0
    done = maas(plain, "embed", **embedder.settings())
    assert (done.returncode, done.stdout) == (1, "")
    assert "no pgvector: install pgvector" in done.stderr
    assert "wrong embedding model: openai:words cannot be used" in maas(plain, "doctor", **embedder.settings()).stdout
    assert "ok    embedding model: none, search is by words" in maas(plain, "doctor").stdout


def test_pgvector_may_come_later(
    plain: Stack, embedder: EmbeddingServer, user: UUID, postgres: EmbeddedPostgres
) -> None:
    plain.rows("insert into pipeline_runs (user_id, user_query) values (%s, 'My cat is called Rex.')", user)
    name = plain.rows("select current_database() as name")[0]["name"]
    with psycopg.connect(make_conninfo(postgres.dsn, dbname=name), autocommit=True) as admin:
        admin.execute("create extension vector")
    done = maas(plain, "embed", **embedder.settings())
    assert done.returncode == 0, done.stderr
    assert embedded(plain) == 1


def test_embed_rebuilds_and_prunes(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    for n in range(100):
        stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, %s)", user, f"question {n}")
    first = maas(stack, "embed", **embedder.settings("old"))
    assert re.search(r"100 messages embedded with openai:old, 0 refused; \d+ tokens", first.stdout), first.stderr
    assert "100/100" in first.stderr
    again = maas(stack, "embed", **embedder.settings("old"))
    assert "0 messages embedded with openai:old, 0 refused; 0 tokens" in again.stdout
    doctor = maas(stack, "doctor", **embedder.settings("old"))
    assert "ok    embedding model: openai:old, 100 messages embedded" in doctor.stdout
    assert len(embedder.texts) == 100
    new = maas(stack, "embed", **embedder.settings("new"))
    assert "100 messages embedded with openai:new" in new.stdout
    assert (embedded(stack, "openai:old"), embedded(stack, "openai:new")) == (100, 100)
    pruned = maas(stack, "embed", "--prune", **embedder.settings("new"))
    assert "100 vectors of other models deleted; those of openai:new are kept" in pruned.stdout
    assert (embedded(stack, "openai:old"), embedded(stack, "openai:new")) == (0, 100)
    assert [row["model"] for row in stack.rows("select model from embedding_fills")] == ["openai:new"]


def test_embed_says_what_is_wrong_and_goes_on_later(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    assert "MAAS_EMBEDDING_MODEL is none; set it" in maas(stack, "embed").stderr
    stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, 'poison or not')", user)
    embedder.status = 401
    failed = maas(stack, "embed", **embedder.settings())
    assert failed.returncode == 1
    assert "openai:words answered 401: on purpose" in failed.stderr
    assert "Traceback" not in failed.stderr
    embedder.status = 200
    assert "1 messages embedded" in maas(stack, "embed", **embedder.settings()).stdout


def test_embed_takes_over_from_the_background(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    stack.start_server()
    stack.start_orchestrator(**embedder.settings())
    stack.wait_archived(stack.ask(user, "My cat is called Rex."))
    poll(lambda: embedded(stack) == 2, what="the background works")
    stack.rows("update raw_logs set created_at = created_at - interval '1 day'")  # the background looks at new ones
    stack.rows("delete from embeddings")
    assert "2 messages embedded" in maas(stack, "embed", **embedder.settings()).stdout
    stack.wait_archived(stack.ask(user, "My dog is called Max."))
    poll(lambda: embedded(stack) == 4, what="the background goes on")
