"""The AI SDK's chat, as others wrote it, through server and orchestrator: what it shows, repeats and resumes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.aimock import FOLDER, missing
from tests.http_server import HTTPServer
from tests.model_server import REPLIES, ModelServer
from tests.polling import poll
from tests.stack import Stack

RUNS = """select r.id, r.status, r.conversation_id, r.user_query, r.final_answer from pipeline_runs r
  join user_identities i on i.user_id = r.user_id where i.external_id = %s and r.kind = 'ask' order by r.seq"""
CLERK = json.dumps({"toolset": ["box"]})


@pytest.fixture(scope="module", autouse=True)
def node() -> None:
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture
def stack(database: str, tmp_path: Path) -> Iterator[Stack]:
    with Stack(database, tmp_path) as stack:
        stack.start_server()
        yield stack


@pytest.fixture
def name() -> str:
    return f"kim-{uuid4()}"


def chat(stack: Stack, user: str, *steps: str, chat_id: str = "tea / Чай", **options: Any) -> dict[str, Any]:
    """What the SDK shows after these steps."""
    command = ["node", "chat.mjs", f"http://127.0.0.1:{stack.port}/v1/ui/chat", user, chat_id, json.dumps(options)]
    done = subprocess.run([*command, *steps], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def parts(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for part in message["parts"] if part["type"] == kind]


def texts(message: dict[str, Any]) -> list[str]:
    return [part["text"] for part in parts(message, "text")]


def followed(stack: Stack, runs: int) -> None:
    """Return when event streams follow so many runs."""
    poll(lambda: f"maas_runs_followed {runs}.0" in stack.client.get("/metrics").text, what=f"{runs} are followed")


def test_a_chat_remembers_and_says_from_what(stack: Stack, name: str) -> None:
    """One conversation by its name; the same message again is the same request."""
    stack.start_orchestrator()
    got = chat(stack, name, "send My falcon is called Gerda.", "send What is my falcon called?", "again", marks=True)
    assert (got["errors"], got["status"]) == ([], ["ready"] * 3)
    said, _, asked, answered = got["messages"]
    assert [one["role"] for one in (said, asked, answered)] == ["user", "user", "assistant"]
    first, second = stack.rows(RUNS, name)
    assert (answered["id"], texts(answered)) == (str(second["id"]), [second["final_answer"]])
    assert "Gerda.» [1]" in second["final_answer"]
    assert first["conversation_id"] == second["conversation_id"] is not None
    assert answered["metadata"]["conversation_id"] == str(second["conversation_id"])
    assert (answered["metadata"]["memory"], answered["metadata"]["finish"]) == ("ok", "stop")
    (sources,) = parts(answered, "data-sources")
    assert sources["data"]["used"] == [one["id"] for one in sources["data"]["sources"] if one["number"] == 1]
    statuses = [one["data"]["status"] for one in got["data"] if one["type"] == "data-status"]
    assert statuses[:1] == ["NEW"] and statuses.count("RESPONDING") >= 2
    assert parts(answered, "data-status") == [], "they are transient"
    assert got["again"]["id"] == answered["id"] and texts(got["again"]) == texts(answered)
    other = chat(stack, f"other-{name}", "send What is my falcon called?")
    assert "Gerda" not in json.dumps(other["messages"])


def test_words_come_while_the_model_speaks(stack: Stack, models: ModelServer, name: str) -> None:
    """Who leaves cancels nothing; who comes back reads it from the beginning, once it is answered nothing."""
    stack.start_orchestrator(**models.settings())
    models.pause("responder")
    left = chat(stack, name, "leave Sing.")
    said = texts(left["partial"])[0]
    assert said and REPLIES["responder"].startswith(said) and said != REPLIES["responder"]
    assert left["finished"] == [{"isAbort": True, "isDisconnect": False, "isError": False}]
    followed(stack, 0)
    process = subprocess.Popen(
        [
            "node",
            "chat.mjs",
            f"http://127.0.0.1:{stack.port}/v1/ui/chat",
            name,
            "tea / Чай",
            json.dumps({"messages": left["messages"][:1]}),
            "resume",
        ],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        text=True,
    )
    followed(stack, 1)
    models.release("responder")
    output, _ = process.communicate(timeout=30)
    resumed = json.loads(output.splitlines()[-1])
    (run,) = stack.rows(RUNS, name)
    assert [texts(one) for one in resumed["messages"]] == [["Sing."], [REPLIES["responder"]]]
    assert resumed["messages"][1]["id"] == left["partial"]["id"] == str(run["id"])
    poll(lambda: stack.rows(RUNS, name)[0]["status"] == "COMPLETED")
    nothing = chat(stack, name, "resume", messages=left["messages"][:1])
    assert (len(nothing["messages"]), nothing["errors"]) == (1, [])
    assert len(stack.rows(RUNS, name)) == 1


def test_an_answer_can_be_made_anew(stack: Stack, models: ModelServer, name: str) -> None:
    stack.start_orchestrator(**models.settings())
    got = chat(stack, name, "send Sing.", "regenerate")
    first, second = stack.rows(RUNS, name)
    assert first["user_query"] == second["user_query"] == "Sing."
    assert [one["id"] for one in got["messages"][1:]] == [str(second["id"])]


def test_tools_and_approvals_are_parts(stack: Stack, models: ModelServer, name: str) -> None:
    stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", CLERK)
    models.rounds["responder"] = [
        [("write_line", '{"text": "one"}')],
        [("wipe", '{"text": "one"}'), ("nothing_like_it", "{}")],
    ]
    settings = {"MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(stack.folder)}
    stack.start_orchestrator(**models.settings(), **settings)
    got = chat(stack, name, "send Write it down.", assistant="clerk")
    assert got["errors"] == []
    answer = got["messages"][1]
    calls = {part["toolName"]: part for part in parts(answer, "dynamic-tool")}
    assert calls["write_line"]["state"] == "output-available" and calls["write_line"]["output"]["success"] is True
    assert calls["wipe"]["output"]["error_code"] == "approval_required"
    assert (calls["nothing_like_it"]["state"], calls["nothing_like_it"]["errorText"]) == (
        "output-error",
        "unknown_tool",
    )
    (approval,) = parts(answer, "data-approval")
    (action,) = stack.rows("select id, tool_name, user_id from chat_pending_actions")
    assert (approval["data"]["action_id"], approval["data"]["tool"]) == (str(action["id"]), action["tool_name"])
    kinds = [part["type"] for part in answer["parts"]]
    assert kinds.index("data-approval") < kinds.index("text") < kinds.index("data-sources")


def test_a_failure_is_an_error_of_the_chat(stack: Stack, models: ModelServer, name: str) -> None:
    models.statuses["responder"] = 401
    stack.start_orchestrator(**models.settings())
    got = chat(stack, name, "send Fail.")
    (run,) = stack.rows(RUNS, name)
    assert got["status"] == ["error"] and len(got["errors"]) == 1
    assert str(run["id"]) in got["errors"][0] and "sk-test" not in got["errors"][0]
    refused = chat(stack, name, "send Hello.", assistant="nobody")
    assert "unknown_assistant" in refused["errors"][0]


def test_what_cannot_be_a_question_is_refused(stack: Stack, name: str) -> None:
    user = {"role": "user", "parts": [{"type": "text", "text": " "}]}
    remote = {"role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": "https://example.org/a.png"}]}
    surrogate = {"id": "\ud800", "role": "user", "parts": [{"type": "text", "text": "x"}]}
    for messages, status in (
        ([], 422),
        ([user], 400),
        ([remote], 400),
        ([{"role": "assistant", "parts": []}], 400),
        ([{"role": "user", "parts": ["x"]}], 422),
        ([{"role": "tool", "parts": []}], 422),
        ([surrogate], 422),
    ):
        body = json.dumps({"id": "tea", "user": name, "messages": messages})
        with stack.client.stream(
            "POST", "/v1/ui/chat", content=body, headers={"content-type": "application/json"}
        ) as reply:
            assert reply.status_code == status, (messages, reply.read())


def test_a_conversation_is_named_by_its_id(stack: Stack, name: str) -> None:
    """Of another user it is unknown."""
    stack.start_orchestrator()
    chat_id = str(uuid4())
    chat(stack, name, "send Hello.", chat_id=chat_id)
    (run,) = stack.rows(RUNS, name)
    assert run["conversation_id"] == UUID(chat_id)
    other = chat(stack, f"other-{name}", "send Hello.", chat_id=chat_id)
    assert "not_found" in other["errors"][0]
    headers = {"X-MaaS-User": f"nobody-{name}"}
    assert stack.client.get(f"/v1/ui/chat/{chat_id}/stream", headers=headers).status_code == 204
