"""/api/supervisor and /api/complex-task: an outside caller hands work on and reads what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.assistants.corporate.office import ARGUMENTS, CLEAN_WORDS, PLANNER, TASK_ARGUMENTS, Office, line
from tests.flow.test_access import bearer, new_key
from tests.model_server import ModelServer
from tests.stack import Stack

SUPERVISOR, COMPLEX = "/api/supervisor", "/api/complex-task"
WARNING = "Большая задача: её шаги выполнятся в фоне, это может занять несколько минут"


@pytest.fixture(scope="module")
def office(fresh_database: str, models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A server that asks for keys, and an assistant under the name that the routes use."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="keys") as stack:
        stack.start_server()
        office = Office(stack, models, uuid4(), "corporate")
        office.open()
        yield office


@pytest.fixture
def key(office: Office) -> dict[str, str]:
    """The headers of somebody new, whom the office serves now."""
    office.user, office.plan, office.stated, office.arguments = uuid4(), (), None, {}
    (office.stack.folder / "lines").unlink(missing_ok=True)
    office.models.calls.clear()
    return bearer(new_key(office.stack, user=office.user))


def lines(folder: Path) -> list[str]:
    path = folder / "lines"
    return path.read_text().split() if path.exists() else []


def post(office: Office, path: str, key: dict[str, str], body: Any, **params: Any) -> tuple[int, dict[str, Any]]:
    reply = office.stack.client.post(path, json=body, headers=key, params=params)
    return reply.status_code, reply.json()


def test_a_plan_is_executed(office: Office, key: dict[str, str]) -> None:
    """For the user of the key; the words are those of the run, byte for byte, and a step that waits is an action."""
    office.plan = [line("one"), line("two", tool="wipe")]
    status, body = post(office, SUPERVISOR, key, ARGUMENTS)
    assert status == 200, body
    assert body["nextResponse"] == f"{CLEAN_WORDS}\n\nЖдёт вашего подтверждения: «Строка two»."
    assert [(step["tool"], step["state"]) for step in body["steps"]] == [("write_line", "done"), ("wipe", "waiting")]
    assert (body["verdict"], lines(office.stack.folder)) == ("executed", ["one"])
    run = office.stack.client.get(f"/v1/runs/{body['run_id']}", headers=key).json()
    assert (run["user_id"], json.loads(run["final_answer"])["final"]) == (str(office.user), body["nextResponse"])
    (action,) = office.actions(UUID(body["run_id"]))
    assert (action["tool"], action["status"]) == ("wipe", "pending")


@pytest.mark.parametrize(("calls", "verdict"), [(1, "direct"), (8, "complex")])
def test_what_is_not_for_a_planner(office: Office, key: dict[str, str], calls: int, verdict: str) -> None:
    office.plan = [line(str(number)) for number in range(calls)]
    status, body = post(office, SUPERVISOR, key, ARGUMENTS)
    assert (status, body["verdict"], body["steps"]) == (200, verdict, []) and body["nextResponse"]
    assert lines(office.stack.folder) == []


def test_a_plan_that_takes_longer(office: Office, key: dict[str, str]) -> None:
    """202 with the run; the same key of idempotency waits for that run again."""
    office.plan = [line("one"), line("two")]
    office.models.hold(PLANNER)
    again = key | {"idempotency-key": str(uuid4())}
    status, body = post(office, SUPERVISOR, again, ARGUMENTS, wait=0.1)
    assert (status, body) == (202, {"run_id": body["run_id"], "poll_url": f"/v1/runs/{body['run_id']}"})
    office.models.release(PLANNER)
    status, answer = post(office, SUPERVISOR, again, ARGUMENTS)
    assert (status, answer["run_id"], answer["nextResponse"]) == (200, body["run_id"], CLEAN_WORDS)
    assert lines(office.stack.folder) == ["one", "two"]
    other = post(office, SUPERVISOR, again, ARGUMENTS | {"complexity": "high"})
    assert (other[0], other[1]["error"]["code"]) == (409, "idempotency_conflict")


def test_a_task_waits_for_consent(office: Office, key: dict[str, str]) -> None:
    """Nothing begins before it; afterwards the report is the answer of the task's own run."""
    office.plan = [line(str(number), arguments=json.dumps({"text": str(number)}), prompt="") for number in range(9)]
    status, body = post(office, COMPLEX, key, TASK_ARGUMENTS)
    assert status == 200, body
    assert (body["status"], body["warning"], len(body["steps"])) == ("approval_required", WARNING, 9)
    assert body["steps"][0] == {"title": "Строка 0", "tool": "write_line"} and lines(office.stack.folder) == []
    client = office.stack.client
    stranger = bearer(new_key(office.stack, user=uuid4()))
    path = f"/v1/actions/{body['action_id']}/approve"
    assert client.post(path, json={"user_id": str(office.user)}, headers=stranger).status_code == 404
    approved = client.post(path, json={"user_id": str(office.user)}, headers=key).json()
    run = client.get(f"/v1/runs/{approved['action_run_id']}", params={"wait": 20}, headers=key).json()
    assert run["final_answer"] == "Задача начата, шагов: 9. Когда всё будет сделано, пришлю отчёт."
    action = client.get(f"/v1/actions/{body['action_id']}", headers=key).json()
    task = action["result"]["data"]["taskRunId"]
    report = client.get(f"/v1/runs/{task}", params={"wait": 20}, headers=key).json()["final_answer"]
    assert report.splitlines()[0].endswith("сделано шагов: 9 из 9.")
    assert lines(office.stack.folder) == [str(number) for number in range(9)]


def test_the_steps_that_a_person_has_edited_are_those_that_wait(office: Office, key: dict[str, str]) -> None:
    """They are not worked out again, and checked at once: what cannot be begun is refused before it is approved."""
    office.plan = [line(str(number), arguments=json.dumps({"text": str(number)}), prompt="") for number in range(9)]
    body = post(office, COMPLEX, key, TASK_ARGUMENTS)[1]
    client, path = office.stack.client, f"/v1/actions/{body['action_id']}"
    arguments = client.get(path, headers=key).json()["arguments"]
    arguments["steps"][8]["title"] = "Строка последняя"
    edited = client.patch(path, json={"user_id": str(office.user), "arguments": arguments}, headers=key)
    assert edited.status_code == 200 and edited.json()["arguments"] == arguments
    arguments["steps"] = arguments["steps"][:2]
    refused = client.patch(path, json={"user_id": str(office.user), "arguments": arguments}, headers=key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_request")
    assert len(client.get(path, headers=key).json()["arguments"]["steps"]) == 9 and not lines(office.stack.folder)


def test_a_small_task_is_refused(office: Office, key: dict[str, str]) -> None:
    office.plan = [line("0", arguments='{"text": "0"}', prompt="")]
    status, body = post(office, COMPLEX, key, TASK_ARGUMENTS)
    assert (status, body["error"]["code"]) == (409, "not_executed")
    assert "this has 1 steps" in body["error"]["details"]["cause"] and office.actions() == []


def test_a_plan_that_nobody_can_make(office: Office, key: dict[str, str]) -> None:
    office.stated = ["Не знаю."]
    status, body = post(office, SUPERVISOR, key, ARGUMENTS)
    assert (status, body["error"]["code"]) == (409, "not_executed") and "составить план" in body["error"]["message"]


@pytest.mark.parametrize(
    ("path", "wrong", "code"),
    [
        (SUPERVISOR, {"complexity": "extreme"}, "invalid_request"),
        (SUPERVISOR, {"more": 1}, "invalid_request"),
        (SUPERVISOR, {"userIntent": " \u200b"}, "invalid_request"),
        (SUPERVISOR, {"userIntent": "a\0"}, "invalid_request"),
        (SUPERVISOR, {"proposedPlan": "я" * 2001}, "invalid_request"),
        (COMPLEX, {"taskDescription": "x" * 1_100_000}, "too_large"),
        (COMPLEX, {"steps": []}, "invalid_request"),
        (COMPLEX, {"taskDescription": 5}, "invalid_request"),
        (COMPLEX, {"userId": "Ann"}, "invalid_request"),
        (COMPLEX, {"userId": str(uuid4())}, "not_found"),
        (SUPERVISOR, {"userId": str(uuid4())}, "not_found"),
    ],
)
def test_a_wrong_body_begins_nothing(
    office: Office, key: dict[str, str], path: str, wrong: dict[str, Any], code: str
) -> None:
    """Somebody else is answered like nobody."""
    whole = ARGUMENTS if path == SUPERVISOR else TASK_ARGUMENTS
    status, body = post(office, path, key, {**whole, **wrong})
    assert body["error"]["code"] == code and status in (404, 413, 422), body
    missing = post(office, path, key, dict(list(whole.items())[1:]))
    assert missing[1]["error"]["message"].startswith(next(iter(whole)))
    assert office.stack.rows("select from pipeline_runs where user_id = %s", office.user) == []


def test_a_key_of_nobody_names_its_user(office: Office, key: dict[str, str]) -> None:
    root = bearer(new_key(office.stack, scopes=("ask",)))
    assert post(office, SUPERVISOR, root, ARGUMENTS)[1]["error"]["code"] == "user_required"
    office.plan = [line("one"), line("two")]
    status, body = post(office, SUPERVISOR, root, ARGUMENTS | {"userId": str(office.user)})
    (run,) = office.stack.rows("select user_id from pipeline_runs where id = %s", UUID(body["run_id"]))
    assert (status, run["user_id"]) == (200, office.user)


def test_without_the_assistant(office: Office, key: dict[str, str]) -> None:
    office.stack.rows("update assistants set is_active = false where name = 'corporate'")
    status, body = post(office, SUPERVISOR, key, ARGUMENTS)
    office.stack.rows("update assistants set is_active = true where name = 'corporate'")
    assert (status, body["error"]["code"]) == (409, "not_executed") and "corporate" in body["error"]["message"]
