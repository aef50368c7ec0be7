"""Recorded requests that operators keep together, to try prompts on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.stack import NOBODY, Stack


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


def asked(stack: Stack, user: UUID, text: str) -> str:
    run = stack.ask(user, text)
    stack.wait_archived(run)
    return str(run)


def put(stack: Stack, name: str, runs: list[str]) -> tuple[int, Any]:
    reply = stack.client.put(f"/v1/admin/trial_sets/{name}", json={"run_ids": runs})
    return reply.status_code, reply.json()


def test_a_set_is_kept_read_changed_and_deleted(stack: Stack) -> None:
    ann, bob = uuid4(), uuid4()
    first, second = asked(stack, ann, "My cat is called Miso."), asked(stack, bob, "I like tea.")
    status, found = put(stack, "hard ones", [second, first])
    assert (status, [one["request_id"] for one in found["runs"]]) == (200, [second, first])
    one = found["runs"][1]
    assert (one["query"], one["user_id"]) == ("My cat is called Miso.", str(ann)) and one["answer"]
    calls = (
        "select sum(tokens_in + tokens_out)::int as n from llm_calls where run_id = %s and stage = 'final_responder'"
    )
    assert one["tokens"] == stack.rows(calls, first)[0]["n"]
    assert stack.client.get("/v1/admin/trial_sets/hard ones").json() == found
    (listed,) = stack.client.get("/v1/admin/trial_sets").json()["results"]
    assert (listed["name"], listed["runs"], listed["changed_by"]) == ("hard ones", 2, "http")
    noted = stack.rows("select action, details from audit where action like 'trial_set%%' order by id")
    assert noted[0] == {"action": "trial_set_keep", "details": {"name": "hard ones", "runs": 2}}
    assert put(stack, "hard ones", [first])[1]["runs"] == [one]
    assert stack.client.delete("/v1/admin/trial_sets/hard ones").status_code == 204
    assert stack.client.delete("/v1/admin/trial_sets/hard ones").status_code == 404
    assert stack.client.get("/v1/admin/trial_sets/hard ones").status_code == 404
    assert stack.rows("select from pipeline_runs where id = any(%s::uuid[])", [first, second])


def test_only_answered_questions_are_kept_each_once_and_few(stack: Stack) -> None:
    user = uuid4()
    run = asked(stack, user, "I like coffee.")
    trial = stack.client.post("/v1/admin/prompts/FinalResponder/try", json={"run_id": run, "text": "Be brief."}).json()
    waiting = stack.rows(
        "insert into pipeline_runs (user_id, user_query, run_at) values (%s, 'later', now() + '1 day') returning id",
        user,
    )[0]["id"]
    for runs in ([run, str(NOBODY)], [run, run], [trial["request_id"]], [str(waiting)]):
        status, refused = put(stack, "wrong", runs)
        assert (status, refused["error"]["code"]) == (409, "not_replayable"), runs
    for many in ([], [str(uuid4()) for _ in range(21)]):
        assert put(stack, "wrong", many)[0] == 422
    for name in ("%00", "%20", "x" * 101, "a%0Ab"):
        assert put(stack, name, [run])[0] == 404, name
    assert stack.client.get("/v1/admin/trial_sets").json() == {"results": []}


def test_an_erased_user_leaves_the_sets(stack: Stack) -> None:
    ann, bob = uuid4(), uuid4()
    runs = [asked(stack, ann, "I live in Lisbon."), asked(stack, bob, "I live in Rome.")]
    assert put(stack, "towns", runs)[0] == 200
    assert stack.client.delete(f"/v1/users/{ann}").status_code == 200
    found = stack.client.get("/v1/admin/trial_sets/towns").json()
    assert [one["request_id"] for one in found["runs"]] == runs[1:]
