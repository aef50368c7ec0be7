"""Answers that cite memory by numbers, where the request or the setting says so; and only then."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from maas.engine.drafts import MARKS_RULE, Payload
from tests.stack import Stack

SAID = "My sister Alma moved to Lisbon."
QUESTION = "Where does my sister Alma live?"


def say_thrice(stack: Stack, user: UUID) -> None:
    """The same statement on three days, then messages enough that it is not among the recent ones."""
    turns = [{"role": "user", "content": SAID, "at": f"2024-05-0{day}T10:00:00Z"} for day in (1, 2, 3)]
    stack.client.post("/v1/memories", json={"user_id": str(user), "turns": turns})
    for n in range(8):
        stack.wait_archived(stack.ask(user, f"Statement {n} is about topic{n}."))


def state(stack: Stack, user: UUID, query: str = QUESTION, **fields: Any) -> dict[str, Any]:
    run_id = stack.ask(user, query, **fields)
    answer = stack.answer(run_id)
    assert answer["status"] == "COMPLETED", answer
    (row,) = stack.rows("select final_context_payload as payload from pipeline_runs where id = %s", run_id)
    return answer | {"payload": Payload.parse(row["payload"])}


def test_an_answer_cites_what_it_quotes(stack: Stack, user: UUID) -> None:
    say_thrice(stack, user)
    answer = state(stack, user, marks=True)
    cited = re.search(r"Alma moved to Lisbon\.» \[(\d+)\]", answer["final_answer"])
    assert cited is not None, answer["final_answer"]
    number = int(cited[1])
    of_line = [one["id"] for one in answer["sources"] if one["number"] == number]
    assert len(of_line) == 3, "the statement was made on three days"
    assert set(of_line) <= set(answer["used"])
    assert set(answer["used"]) < {one["id"] for one in answer["sources"]}
    assert answer["searched"]["found"] == "yes"
    assert MARKS_RULE in answer["payload"].system
    lines = answer["payload"].memory.splitlines()
    assert sum(line.startswith(f"- [{number}] [2024-05-03, ") for line in lines) == 1
    numbers = [one["number"] for one in answer["sources"]]
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))


def test_without_marks_nothing_changes(stack: Stack, user: UUID) -> None:
    say_thrice(stack, user)
    for fields in ({}, {"marks": False}, {"metadata": {"marks": "yes"}}):
        answer = state(stack, user, **fields)
        assert "Alma moved to Lisbon.»" in answer["final_answer"] and "» [" not in answer["final_answer"]
        assert {one["number"] for one in answer["sources"]} == {None} and answer["used"] == []
        assert MARKS_RULE not in answer["payload"].system and "- [1] " not in answer["payload"].memory


def test_an_answer_that_cites_nothing_uses_nothing(stack: Stack, user: UUID) -> None:
    stack.wait_archived(stack.ask(user, SAID))
    answer = state(stack, user, "Hello!", marks=True)
    assert answer["used"] == []


def test_marks_are_a_part_of_the_request(stack: Stack, user: UUID) -> None:
    headers = {"idempotency-key": f"marks-{user}"}
    body = {"user_id": str(user), "query": QUESTION}
    first = stack.client.post("/v1/runs", json=body | {"marks": True}, headers=headers)
    assert stack.client.post("/v1/runs", json=body | {"marks": True}, headers=headers).json() == first.json()
    assert stack.client.post("/v1/runs", json=body, headers=headers).status_code == 409
    assert stack.client.post("/v1/runs", json=body | {"marks": "on"}).status_code == 422


@pytest.mark.parametrize("marks", ["True", None])
def test_as_the_setting_says(database: str, tmp_path: Any, user: UUID, marks: str | None) -> None:
    """What a request says goes first."""
    stack = Stack(database, tmp_path, **({"MAAS_MARKS": marks} if marks else {}))
    with stack:
        stack.start_server()
        stack.start_orchestrator()
        stack.wait_archived(stack.ask(user, SAID))
        assert bool(re.search(r"» \[\d", state(stack, user)["final_answer"])) == bool(marks)
        assert not re.search(r"» \[\d", state(stack, user, marks=False)["final_answer"])
