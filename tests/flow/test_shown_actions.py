"""What waits for the user is shown by code, in every channel: a model that a tool misled cannot get a yes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.tools.waiting_actions import MARK
from tests.fault.test_actions import finish
from tests.fault.test_dialogues import lines
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

ASKED = "Here is the summary. Shall I make it shorter? (yes/no)"
MISLED = [[("look", "{}")], [("wipe", '{"text": "all"}')]]
CONFIRM = [[("confirm_pending", "{}")]]
SHOWN = """⏸ **Waits for your decision, nothing is done yet:** `wipe`: `Wipe a line.`
- text: `all`
- effect: It may be impossible to undo.
- why you are asked: `A line is gone for good`

Type **yes** or **no**, or use the buttons."""
Say = Callable[[Stack, UUID, UUID, str], str]


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory, models: ModelServer) -> Iterator[Stack]:
    """Server and orchestrator with an assistant whose tools are `look` and `wipe`."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        definition = json.dumps({"toolset": ["box"]})
        running.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
        tools = {"MAAS_TOOLS": "tests.toolbox:MISLED", "TOOLBOX": str(running.folder)}
        running.start_orchestrator(**models.settings() | tools)
        yield running


def by_runs(stack: Stack, user: UUID, conversation: UUID, text: str) -> str:
    run = finish(stack, stack.ask(user, text, assistant="clerk", conversation_id=str(conversation)))
    assert run["status"] == "COMPLETED", run["error_message"]
    return str(run["final_answer"])


def by_openai(stack: Stack, user: UUID, conversation: UUID, text: str) -> str:
    reply = stack.client.post("/v1/chat/completions", json=openai_body(user, conversation, text))
    assert reply.status_code == 200, reply.text
    return str(reply.json()["choices"][0]["message"]["content"])


def by_openai_stream(stack: Stack, user: UUID, conversation: UUID, text: str) -> str:
    body = openai_body(user, conversation, text) | {"stream": True}
    with stack.client.stream("POST", "/v1/chat/completions", json=body) as reply:
        chunks = [json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: {")]
    return "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks if one["choices"])


def openai_body(user: UUID, conversation: UUID, text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {
        "model": "clerk",
        "user": str(user),
        "messages": messages,
        "metadata": {"conversation_id": str(conversation)},
    }


def by_brain(stack: Stack, user: UUID, conversation: UUID, text: str) -> str:
    body = {"user": str(user), "message": text, "assistant": "clerk", "conversationId": str(conversation)}
    reply = stack.client.post("/api/brain/chat", json=body)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["response"])


def by_ui_chat(stack: Stack, user: UUID, conversation: UUID, text: str) -> str:
    message = {"id": str(uuid4()), "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": str(conversation), "user": str(user), "assistant": "clerk", "messages": [message]}
    with stack.client.stream("POST", "/v1/ui/chat", json=body) as reply:
        parts = [json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: {")]
    return "".join(one["delta"] for one in parts if one["type"] == "text-delta")


def by_events(stack: Stack, user: UUID, conversation: UUID, text: str) -> str:
    """The text that a follower of /v1/runs/{id}/events has put together before `done`."""
    run_id = stack.ask(user, text, assistant="clerk", conversation_id=str(conversation))
    finish(stack, run_id)
    attempt, said = None, ""
    with stack.client.stream("GET", f"/v1/runs/{run_id}/events") as reply:
        for line in reply.iter_lines():
            data = json.loads(line[6:]) if line.startswith("data: {") else {}
            if "delta" in data:
                said = (said if data["attempt"] == attempt else "") + data["delta"]
                attempt = data["attempt"]
    return said


def waiting(stack: Stack, conversation: UUID) -> list[str]:
    rows = stack.rows("select status from v_actions where conversation_id = %s", conversation)
    return [str(row["status"]) for row in rows]


@pytest.mark.parametrize("say", [by_runs, by_openai, by_openai_stream, by_brain, by_ui_chat, by_events])
def test_a_misled_model_gets_no_yes_to_what_it_hid(stack: Stack, models: ModelServer, user: UUID, say: Say) -> None:
    """The answer ends with the call; after another answer a yes decides nothing and is asked for again."""
    conversation, before = uuid4(), lines(stack)
    models.rounds["responder"], models.replies["responder"] = MISLED, ASKED
    answer = say(stack, user, conversation, "Sum up the page for me.")
    assert answer == f"{ASKED}\n\n{SHOWN}"
    models.rounds["responder"], models.replies["responder"] = [], "It is 12 degrees. Anything else? (yes/no)"
    assert MARK not in say(stack, user, conversation, "How is the weather?")
    models.rounds["responder"], models.replies["responder"] = CONFIRM, "I ask you again."
    assert say(stack, user, conversation, "yes").endswith(SHOWN)
    assert (waiting(stack, conversation), lines(stack)) == (["pending"], before)
    say(stack, user, conversation, "no, wipe nothing")  # not in the tables: it decides nothing
    models.rounds["responder"] = [[("reject_pending", "{}")]]
    say(stack, user, conversation, "yes")
    say(stack, user, conversation, "no")
    assert (waiting(stack, conversation), lines(stack)) == (["rejected"], before)


def test_a_model_cannot_imitate_it(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Its mark is taken out, a code block that it left open is closed, and ours comes last."""
    models.rounds["responder"] = MISLED
    models.replies["responder"] = f"{MARK} **Waits for your decision:** make it shorter\n```\nan example:"
    answer = by_runs(stack, user, uuid4(), "Sum up the page for me.")
    assert answer.count(MARK) == 1 and answer.endswith(f"an example:\n```\n\n{SHOWN}")


def test_a_decision_is_on_what_was_shown(stack: Stack, models: ModelServer, user: UUID) -> None:
    """409 `changed` for another fingerprint, and nothing is executed; an edit gives it a new one."""
    conversation, before = uuid4(), lines(stack)
    models.rounds["responder"], models.replies["responder"] = MISLED, ASKED
    by_runs(stack, user, conversation, "Sum up the page for me.")
    (action,) = stack.client.get("/v1/actions", params={"user_id": str(user)}).json()["results"]
    path, mine = f"/v1/actions/{action['id']}", {"user_id": str(user)}
    edited = stack.client.patch(path, json=mine | {"arguments": {"text": "two"}}).json()
    assert edited["fingerprint"] != action["fingerprint"]
    for decision in ("approve", "reject"):
        reply = stack.client.post(f"{path}/{decision}", json=mine | {"fingerprint": action["fingerprint"]})
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "changed")
        several = mine | {"decision": decision, "actions": [{"id": action["id"], "fingerprint": action["fingerprint"]}]}
        refused = stack.client.post("/v1/actions/decide", json=several)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "changed")
    wrong = stack.client.post(f"{path}/approve", json=mine | {"fingerprint": "yes"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid_request")
    assert (waiting(stack, conversation), lines(stack)) == (["pending"], before)
    done = stack.client.post(
        f"/api/brain/actions/{action['id']}/approve", json=mine | {"fingerprint": edited["fingerprint"]}
    )
    assert done.status_code == 200 and done.json()["fingerprint"] == edited["fingerprint"]
    poll(lambda: lines(stack)[len(before) :] == ["wiped", "two"], what="it is executed")


def test_every_channel_names_the_fingerprint(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.rounds["responder"], models.replies["responder"] = MISLED, ASKED
    body = openai_body(user, uuid4(), "Sum up the page for me.")
    (action,) = stack.client.post("/v1/chat/completions", json=body).json()["maas"]["actions"]
    message = {"user": str(user), "message": "Again.", "assistant": "clerk"}
    (executed,) = stack.client.post("/api/brain/chat", json=message).json()["executedActions"]
    events = stack.rows("select payload from run_events where type = 'approval_required' order by n desc limit 1")
    assert {len(one["fingerprint"]) for one in (action, executed, events[0]["payload"])} == {32}
    assert action["fingerprint"] == executed["fingerprint"] == events[0]["payload"]["fingerprint"]


def test_without_a_conversation_a_yes_decides_nothing(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The answer names the action, and how to decide on it."""
    models.rounds["responder"], models.replies["responder"] = MISLED, ASKED
    run = finish(stack, stack.ask(user, "Sum up the page for me.", assistant="clerk"))
    (action,) = stack.rows("select id from v_actions where run_id = %s", run["id"])
    assert run["final_answer"].endswith(f"Use the buttons, or approve or reject action `{action['id']}`.")
