"""An answer knows whether the memory behind it was complete, and says why it was not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from maas.client import MaaS
from tests.embedding_server import EmbeddingServer
from tests.http_server import HTTPServer
from tests.polling import poll
from tests.stack import Stack, maas

FACT, QUESTION = "My cat is called Rex.", "What is my cat called?"
BROKEN_SEARCH = """
create or replace function maas.maas_term_mask(p_text tsvector, p_terms tsquery[]) returns bigint language plpgsql as
$$ begin raise exception 'on purpose'; end $$
"""


@pytest.fixture
def embedder() -> Iterator[EmbeddingServer]:
    with HTTPServer(threaded=True) as http:
        server = EmbeddingServer(http)
        yield server
        server.held.set()


def tell(stack: Stack, user: UUID, text: str = FACT) -> UUID:
    run_id = stack.ask(user, text)
    stack.wait_archived(run_id)
    return run_id


def health(stack: Stack, run_id: UUID) -> tuple[str, list[str]]:
    state = stack.answer(run_id)
    assert state["status"] == "COMPLETED"
    return state["memory"], state["memory_reasons"]


def test_a_complete_memory_is_ok(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    stack.start_server(**embedder.settings())
    stack.start_orchestrator(**embedder.settings())
    assert health(stack, tell(stack, user)) == ("ok", [])
    poll(lambda: len(stack.rows("select from embeddings")) == 2)
    assert health(stack, stack.ask(user, QUESTION)) == ("ok", [])


def test_without_its_embedder_it_is_degraded(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    """Over HTTP, in the event stream, to the client, and at the door of OpenAI's protocol; words are still found."""
    stack.start_server(**embedder.settings())
    stack.start_orchestrator(**embedder.settings())
    tell(stack, user)
    embedder.status = 503
    run_id = stack.ask(user, QUESTION)
    assert health(stack, run_id) == ("degraded", ["embedder_unavailable"])
    assert "Rex" in stack.answer(run_id)["final_answer"]
    lines = stack.client.get(f"/v1/runs/{run_id}/events").text.splitlines()
    (done,) = [json.loads(line[6:]) for line in lines if line.startswith('data: {"final_answer"')]
    assert (done["memory"], done["memory_reasons"]) == ("degraded", ["embedder_unavailable"])
    with MaaS(str(stack.client.base_url)) as client, MaaS(dsn=stack.dsn) as by_sql:
        for one in (client, by_sql):  # the circuit is open by now
            answer = one.ask(QUESTION, user_id=user)
            assert (answer.memory, answer.memory_reasons) == ("degraded", ("embedder_unavailable",))
    body = {"model": "mentor", "user": str(user), "messages": [{"role": "user", "content": QUESTION}]}
    reply = stack.client.post("/v1/chat/completions", json=body)
    assert reply.headers["x-maas-memory"] == "degraded; embedder_unavailable"
    assert (reply.json()["maas"]["memory"], reply.json()["maas"]["memory_reasons"]) == (
        "degraded",
        ["embedder_unavailable"],
    )
    streamed = stack.client.post("/v1/chat/completions", json=body | {"stream": True}).text
    assert '"memory": "degraded", "memory_reasons": ["embedder_unavailable"]' in streamed


def test_vectors_that_are_not_read_in_time_are_missed(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    stack.start_server(**embedder.settings())
    stack.start_orchestrator(**embedder.settings())
    tell(stack, user)
    poll(lambda: len(stack.rows("select from embeddings")) == 2)
    with psycopg.connect(stack.dsn) as other:
        other.execute("lock embeddings in access exclusive mode")
        run_id = stack.ask(user, QUESTION)
        assert health(stack, run_id) == ("degraded", ["vectors_unreadable"])


def test_vectors_that_are_behind_are_missed(stack: Stack, embedder: EmbeddingServer, user: UUID) -> None:
    """The newest few have none for a moment; of a whole import without vectors the answer tells."""
    stack.start_server(**embedder.settings())
    stack.start_orchestrator(**embedder.settings())
    embedder.refused = "fact"  # the question is embedded, the import is not yet
    lines = [json.dumps({"role": "user", "content": f"A fact of my cat, number {n}."}) for n in range(60)]
    headers = {"content-type": "application/x-ndjson"}
    stack.client.post(f"/v1/users/{user}/import", content="\n".join(lines), headers=headers)
    poll(lambda: not stack.rows("select from pipeline_runs where queue_state < 2"), 30)
    assert health(stack, stack.ask(user, QUESTION)) == ("degraded", ["vectors_behind"])


def test_a_search_that_fails_leaves_the_answer(stack: Stack, user: UUID) -> None:
    """The database answers, the search does not: the run is answered from the latest messages, and says so."""
    stack.start_server()
    stack.start_orchestrator()
    tell(stack, user)
    stack.rows(BROKEN_SEARCH)
    run_id = stack.ask(user, QUESTION)
    assert health(stack, run_id) == ("unavailable", ["search_failed"])
    stack.wait_archived(run_id)
    assert stack.answer(run_id)["archive_status"] == "ARCHIVED"
    (row, *_) = stack.client.get("/v1/runs", params={"user_id": str(user)}).json()["results"]
    assert (row["memory"], row["limited"]) == ("unavailable", None)
    asked = maas(stack, "ask", QUESTION, "--user", str(user))
    assert "memory unavailable: search_failed" in asked.stderr
    assert "memory unavailable" in maas(stack, "runs", "--user", str(user), COLUMNS="200").stdout


def test_a_search_that_takes_too_long_leaves_the_answer(stack: Stack, user: UUID) -> None:
    stack.start_server()
    stack.start_orchestrator(MAAS_STATEMENT_TIMEOUT="1")
    tell(stack, user)
    with psycopg.connect(stack.dsn) as other:
        other.execute("lock counted_users in access exclusive mode")
        assert health(stack, stack.ask(user, QUESTION)) == ("unavailable", ["search_failed"])
    assert health(stack, stack.ask(user, QUESTION)) == ("ok", [])


@pytest.mark.parametrize(
    ("status", "reason"),
    [("FAILED", "archive_failed"), ("SKIPPED", "archive_skipped"), ("PENDING", "archive_behind")],
)
def test_an_exchange_without_a_summary_is_missed(stack: Stack, user: UUID, status: str, reason: str) -> None:
    """Only that of the exchange before: the one after it is complete again."""
    stack.start_server()
    stack.start_orchestrator()
    before = tell(stack, user)
    stack.rows("update pipeline_runs set archive_status = %s where id = %s", status, before)
    run_id = stack.ask(user, QUESTION)
    assert health(stack, run_id) == ("degraded", [reason])
    stack.wait_archived(run_id)
    assert health(stack, stack.ask(user, QUESTION)) == ("ok", [])
    assert health(stack, stack.ask(UUID(int=5), QUESTION)) == ("ok", [])


def test_a_client_cannot_claim_a_state(stack: Stack, user: UUID) -> None:
    """Whatever an INSERT says, a new run has no limit and no reasons."""
    (row,) = stack.rows(
        "insert into pipeline_runs (user_id, user_query, limited, memory_reasons) "
        "values (%s, 'x', 'budget', '{search_failed}') returning limited, memory, memory_reasons",
        user,
    )
    assert (row["limited"], row["memory"], row["memory_reasons"]) == (None, "ok", [])
