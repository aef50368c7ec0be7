"""`maas trace` and GET /v1/runs/{id}/trace: the same, down to the words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from maas.http.trace import Trace
from tests.stack import NOBODY, Stack, maas


@pytest.fixture
def moscow(stack: Stack) -> Iterator[None]:
    """The database speaks another time zone than the test."""
    name = stack.dsn.rpartition("/")[2]
    with psycopg.connect(stack.dsn, autocommit=True) as admin:
        admin.execute(f"alter database {name} set timezone = 'Europe/Moscow'".encode())
        yield
        admin.execute(f"alter database {name} reset timezone".encode())


def exchange(stack: Stack, user: UUID) -> tuple[UUID, UUID]:
    """Two questions at once: the second one waits for the first."""
    runs = stack.ask(user, "My sister Alma moved to Lisbon."), stack.ask(user, "Where does my sister Alma live?")
    stack.wait_archived(*runs)
    return runs


def test_the_endpoint_and_the_command_say_the_same(stack: Stack, user: UUID, moscow: None) -> None:
    _, run_id = exchange(stack, user)
    reply = stack.client.get(f"/v1/runs/{run_id}/trace")
    assert reply.status_code == 200
    assert json.loads(maas(stack, "trace", str(run_id), "--json").stdout) == reply.json()
    trace = Trace.model_validate(reply.json())
    assert {name: set(one) for name, one in reply.json().items() if isinstance(one, dict)} == {
        name: set(one) for name, one in trace.model_dump(by_alias=True).items() if isinstance(one, dict)
    }
    assert [one.stage for one in trace.stages] == [
        "queue",
        "analyzer",
        "draft_builder",
        "assembler",
        "final_responder",
        "archivist",
    ]
    assert {call.role_name for call in trace.calls} == {"Analyzer", "Assembler", "FinalResponder", "Archivist"}
    assert {call.first_ms for call in trace.calls} == {None}, "the built-in model does not stream"
    assert [cost.calls for cost in trace.costs] == [4]
    assert any("Lisbon" in log.content for memory in trace.memories for log in memory.logs)
    assert all(str(one["at"]).endswith("+00:00") for one in reply.json()["history"])


def test_who_waited_for_whom(stack: Stack, user: UUID) -> None:
    first, second = exchange(stack, user)
    page = maas(stack, "trace", str(second)).stdout
    before = stack.client.get(f"/v1/runs/{first}/trace").json()
    after = stack.client.get(f"/v1/runs/{second}/trace").json()
    assert before["waited_for"] is None and [one["id"] for one in before["waiting"]] == [str(second)]
    assert after["waited_for"]["id"] == str(first) and after["waiting"] == []
    assert f"waited for run {first}" in page


def test_a_page_shows_bars_costs_and_old_prompts(stack: Stack, user: UUID) -> None:
    _, run_id = exchange(stack, user)
    stack.rows(
        "update llm_calls set price = 1250, tokens_in = 70, tokens_cached = 40 "
        "where run_id = %s and stage = 'analyzer'",
        run_id,
    )
    stack.rows("update system_prompts set prompt_template = prompt_template || '.' where role_name = 'Archivist'")
    page = maas(stack, "trace", str(run_id)).stdout
    assert "4 model calls, 70/0 (40 cached) tokens in/out, $0.001250" in page
    assert page.count("█") >= 6
    line = next(line for line in page.splitlines() if line.startswith("archivist") and "extractive" in line)
    assert "Archivist v1 (now v2)" in line
    assert "<draft>" not in page
    long = maas(stack, "trace", str(run_id), "--prompts").stdout
    for part in ("prompt Archivist v1:\nТы ведёшь память", "analysis:\n{", "draft:\n<draft>", "payload:\n<system>"):
        assert part in long


def test_an_unfinished_and_an_imported_run_have_a_trace(stack: Stack, user: UUID) -> None:
    run_id = stack.rows(
        "insert into pipeline_runs (user_id, user_query, kind) values (%s, 'later', 'task') returning id", user
    )[0]["id"]
    turns = [{"role": "user", "content": "I like figs."}]
    imported = stack.client.post("/v1/memories", json={"user_id": str(user), "turns": turns}).json()["request_id"]
    for one in (run_id, imported):
        reply = stack.client.get(f"/v1/runs/{one}/trace")
        assert reply.status_code == 200, reply.text
        Trace.model_validate(reply.json())
        assert str(one) in maas(stack, "trace", str(one)).stdout


def test_a_command_about_notes_has_no_archivist(stack: Stack, user: UUID) -> None:
    run_id = stack.ask(user, "remember: figs are good")
    stack.wait_archived(run_id)
    found = stack.client.get(f"/v1/runs/{run_id}/trace").json()
    assert [one["state"] for one in found["stages"]] == ["done"] * len(found["stages"])
    assert "archivist" not in [one["stage"] for one in found["stages"]] and found["calls"] == []


@pytest.mark.parametrize(("name", "word"), [(str(NOBODY), "there is no run"), ("7", "an id is a UUID")])
def test_a_run_that_is_not_there(stack: Stack, name: str, word: str) -> None:
    reply = stack.client.get(f"/v1/runs/{name}/trace")
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "not_found" and word in reply.json()["error"]["message"]
