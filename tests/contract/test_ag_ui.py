"""AG-UI's own client through server and orchestrator: its checks of the stream, its messages and its interrupts."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from shared.postgres import EmbeddedPostgres
from tests.aimock import FOLDER, missing
from tests.databases import copy_of
from tests.http_server import HTTPServer
from tests.model_server import REPLIES, ModelServer
from tests.pictures import picture
from tests.stack import Stack

RUNS = """select r.id, r.kind, r.conversation_id, r.user_query, r.final_answer, r.attachment_ids from pipeline_runs r
  join user_identities i on i.user_id = r.user_id where i.external_id = %s order by r.seq"""
CLERK = json.dumps({"toolset": ["box"]})
EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
WIPE = [[("wipe", '{"text": "one"}')]]


@pytest.fixture(scope="module", autouse=True)
def node() -> None:
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture(scope="module")
def running(
    models: ModelServer, postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("ag_ui")
    settings = {"MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(folder)}
    with copy_of(template, postgres.dsn) as dsn, Stack(dsn, folder, **settings) as stack:
        stack.start_server()
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", CLERK)
        stack.start_orchestrator(**models.settings())
        yield stack


@pytest.fixture
def stack(running: Stack, models: ModelServer) -> Stack:
    models.rounds.clear()
    models.statuses.clear()
    return running


@pytest.fixture
def name() -> str:
    return f"kim-{uuid4()}"


def talk(stack: Stack, user: str, *steps: str, assistant: str = "clerk", thread: str = "tea / Чай") -> dict[str, Any]:
    """What the client has after these steps; every event is valid by the Python package, too."""
    command = ["node", "ag_ui.mjs", f"http://127.0.0.1:{stack.port}/v1/ag-ui/{assistant}", user, thread]
    done = subprocess.run([*command, *steps], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    for event in (one for run in report["runs"] for one in run):
        EVENTS.validate_python(event)
        assert event["type"] != "RAW"
    assert [one for one in report["warnings"] if not one.startswith("Agent execution failed: Error: HTTP 4")] == []
    return report


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in events]


def find(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (one,) = [event for event in events if event["type"] == kind]
    return one


def test_a_thread_is_a_conversation_that_remembers(stack: Stack, name: str) -> None:
    """Words come in a text message, stages are steps; the same run again is the same request."""
    got = talk(stack, name, "send I like tea.", "send What do I like?", "again", assistant="mentor")
    assert got["errors"] == []
    first, second = stack.rows(RUNS, name)
    assert first["conversation_id"] == second["conversation_id"] is not None
    _, asked, again = got["runs"]
    started, finished = asked[0], asked[-1]
    assert (started["type"], started["threadId"], started["runId"]) == ("RUN_STARTED", "tea / Чай", "run-2")
    assert (finished["type"], finished["outcome"]) == ("RUN_FINISHED", {"type": "success"})
    assert finished["result"]["run_id"] == str(second["id"]) and finished["result"]["memory"] == "ok"
    steps = [one["stepName"] for one in asked if one["type"] == "STEP_STARTED"]
    assert steps == ["analyzing", "assembling", "responding"]
    assert steps == [one["stepName"] for one in asked if one["type"] == "STEP_FINISHED"]
    (sources,) = [one for one in asked if one["type"] == "CUSTOM"]
    assert sources["name"] == "maas.sources" and sources["value"]["sources"]
    assert [one["content"] for one in got["messages"] if one["role"] == "assistant"] == [REPLIES["responder"]] * 2
    texts = ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END")
    assert [one for one in again if one["type"] in texts] == [one for one in asked if one["type"] in texts]


def test_an_action_interrupts_and_an_approval_goes_on(stack: Stack, models: ModelServer, name: str) -> None:
    """What was executed is the result of the call that was proposed, by the arguments that were edited."""
    models.rounds["responder"] = [[("write_line", '{"text": "zero"}')], *WIPE]
    edited = json.dumps({"status": "resolved", "payload": {"approved": True, "editedArgs": {"text": "two"}}})
    got = talk(stack, name, "send Wipe it.", f"decide {edited}")
    assert got["errors"] == []
    proposed, executed = got["runs"]
    outcome = proposed[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    (interrupt,) = outcome["interrupts"]
    (action,) = stack.rows(
        "select a.* from v_actions a join user_identities i on i.user_id = a.user_id where i.external_id = %s", name
    )
    assert (interrupt["id"], interrupt["reason"]) == (str(action["id"]), "tool_call")
    assert interrupt["metadata"]["arguments"] == {"text": "one"}
    assert interrupt["responseSchema"]["properties"]["editedArgs"] == action["parameters"]
    calls = {one["toolCallName"]: one["toolCallId"] for one in proposed if one["type"] == "TOOL_CALL_START"}
    assert calls.keys() == {"write_line", "wipe"} and interrupt["toolCallId"] == calls["wipe"]
    results = {one["toolCallId"]: json.loads(one["content"]) for one in proposed if one["type"] == "TOOL_CALL_RESULT"}
    assert results.keys() == {calls["write_line"]} and results[calls["write_line"]]["success"] is True
    arguments = {one["toolCallId"]: one["delta"] for one in proposed if one["type"] == "TOOL_CALL_ARGS"}
    assert arguments == {calls["write_line"]: "{}", calls["wipe"]: '{"text": "one"}'}
    assert "TOOL_CALL_START" not in kinds(executed)
    result = find(executed, "TOOL_CALL_RESULT")
    assert result["toolCallId"] == calls["wipe"] and json.loads(result["content"])["success"] is True
    assert executed[-1]["outcome"] == {"type": "success"} and got["interrupts"] == []
    assert (stack.folder / "lines").read_text().splitlines()[-1] == "wiped two"
    assert [run["kind"] for run in stack.rows(RUNS, name)] == ["ask", "action"]


def test_a_rejection_is_the_result_of_the_call(stack: Stack, models: ModelServer, name: str) -> None:
    models.rounds["responder"] = WIPE
    got = talk(stack, name, "send Wipe it.", 'decide {"status": "cancelled"}')
    proposed, rejected = got["runs"]
    (interrupt,) = proposed[-1]["outcome"]["interrupts"]
    assert kinds(rejected) == ["RUN_STARTED", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    assert rejected[1]["toolCallId"] == interrupt["toolCallId"]
    assert json.loads(rejected[1]["content"]) == {"success": False, "error_code": "rejected"}
    assert [run["kind"] for run in stack.rows(RUNS, name)] == ["ask"]


def test_only_whose_it_is_decides_all_of_a_run_at_once(stack: Stack, models: ModelServer, name: str) -> None:
    """A decision that is sent again is the same one; another than the first is refused."""
    models.rounds["responder"] = [[("wipe", '{"text": "one"}'), ("wipe", '{"text": "two"}')]]
    got = talk(stack, name, "send Wipe both.")
    ids = [one["id"] for one in got["interrupts"]]
    assert len(ids) == 2 and len({one["toolCallId"] for one in got["interrupts"]}) == 2

    def resume(*approved: bool, user: str = name, thread: str = "tea / Чай", **more: Any) -> tuple[int, str]:
        answers = [
            {"interruptId": one, "status": "resolved", "payload": {"approved": is_approved}, **more}
            for one, is_approved in zip(ids, approved, strict=False)
        ]
        body = {"threadId": thread, "runId": "r", "messages": [], "resume": answers, "user": user}
        reply = stack.client.post("/v1/ag-ui/clerk", json=body)
        return reply.status_code, reply.text

    assert resume(True)[0] == 400 and ids[1] in resume(True)[1]
    assert resume(True, True, user=f"other-{name}")[0] == 404
    assert resume(True, True, thread="coffee")[0] == 404
    assert resume(True, True, metadata={"fingerprint": "0" * 32})[0] == 409
    assert [run["kind"] for run in stack.rows(RUNS, name)] == ["ask"]
    first, second = resume(True, False), resume(True, False)
    assert first[0] == 200 and first[1].count("TOOL_CALL_RESULT") == 2 and '"outcome": {"type": "success"}' in first[1]
    assert second == first
    assert resume(False, False)[0] == 409
    assert [run["kind"] for run in stack.rows(RUNS, name)] == ["ask", "action"]


def test_a_failure_is_a_run_error(stack: Stack, models: ModelServer, name: str) -> None:
    models.statuses["responder"] = 401
    got = talk(stack, name, "send Fail.", assistant="mentor")
    (run,) = stack.rows(RUNS, name)
    error = got["runs"][0][-1]
    assert error["type"] == "RUN_ERROR" and str(run["id"]) in error["message"] and "sk-test" not in error["message"]
    refused = talk(stack, name, "send Hello.", assistant="nobody")
    assert "unknown_assistant" in refused["errors"][0]


def test_a_cancelled_run_is_finished_so(stack: Stack, models: ModelServer, name: str) -> None:
    user_id = UUID(stack.client.post("/v1/users", json={"external_id": name}).json()["user_id"])
    models.hold("analyzer")
    body = {"threadId": "t", "runId": "r", "user": name, "messages": [{"id": "m", "role": "user", "content": "Wait."}]}
    with stack.client.stream("POST", "/v1/ag-ui/mentor", json=body) as reply:
        lines = reply.iter_lines()
        assert "RUN_STARTED" in next(lines)
        (run,) = stack.rows("select id from pipeline_runs where user_id = %s", user_id)
        assert stack.client.post(f"/v1/runs/{run['id']}/cancel").status_code == 202
        models.release("analyzer")
        events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data:")]
    assert events[-1] == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}


def test_images_come_along_and_addresses_are_refused(stack: Stack, name: str) -> None:

    data = {"type": "data", "value": b64encode(picture()).decode(), "mimeType": "image/png"}
    text = {"type": "text", "text": "Look."}
    far = {"type": "url", "value": "https://example.org/a.png"}
    for content, status in (
        ([text, {"type": "image", "source": data}], 200),
        ([text, {"type": "image", "source": far}], 400),
        ([text, {"type": "image", "source": data | {"value": "no base64"}}], 400),
        ([text, {"type": "document", "source": data}], 400),
        (" ", 400),
        ({"text": "x"}, 400),
    ):
        message = {"id": "m", "role": "user", "content": content}
        body = {"threadId": "t", "runId": "r", "user": name, "messages": [message]}
        assert stack.client.post("/v1/ag-ui/mentor", json=body).status_code == status, content
    (run,) = stack.rows(RUNS, name)
    assert len(run["attachment_ids"]) == 1
