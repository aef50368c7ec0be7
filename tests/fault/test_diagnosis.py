"""What a run leaves behind for people: arguments and results of its tool calls, messages of tools, actions, layers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from maas.tools.calls import MAX_DIAGNOSTIC_BYTES, ToolFailure
from maas.tools.rows import size
from maas.tools.tool import Toolset, tool
from tests.agency import Agency, verify_nothing
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, maas
from tests.toolbox import Line, write_line

PHONE = "79161234567"
SECRET = "sk-abcdefgh12345678"


@tool(domain="clients", effect="read")
async def find_leads(line: Line) -> Any:
    """Find leads."""
    with (Path(os.environ["TOOLBOX"]) / "reads").open("a") as file:
        file.write("read\n")
    return {"leads": [{"lead_id": "1234567890", "phone": PHONE, "note": f"key {SECRET}\x00"}], "asked": line.text}


class Credentials(BaseModel):
    password: str
    text: str


@tool(domain="clients", effect="read")
async def log_in(credentials: Credentials) -> Any:
    """Log in somewhere."""
    return {"token": credentials.password, "length": len(credentials.text)}


@tool(domain="clients", effect="read")
async def read_all() -> Any:
    """Read far too much."""
    return "слово " * 1_000_000


@tool(domain="clients", effect="read")
async def read_badly() -> Any:
    """Fail with a secret."""
    raise ToolFailure(f"refused for +{PHONE} and {SECRET}\x00")


@tool(domain="clients", effect="dangerous", reason="The lead is gone for good", verify=verify_nothing)
async def drop_lead(line: Line) -> Any:
    """Drop a lead."""
    return {"dropped": line.text}


TOOLS = Toolset([find_leads, log_in, read_all, read_badly, drop_lead, write_line])


class Shop(Agency):
    """An assistant with these tools."""

    def start(self, **settings: str) -> None:
        tools = {"MAAS_TOOLS": "tests.fault.test_diagnosis:TOOLS", "TOOLBOX": str(self.stack.folder)}
        self.stack.start_orchestrator(**self.models.settings(), **tools, **settings)

    def executions(self, run_id: UUID) -> list[dict[str, Any]]:
        return self.stack.rows("select * from tool_executions where run_id = %s order by id", run_id)

    def messages(self, conversation: UUID) -> list[dict[str, Any]]:
        query = "select * from chat_messages where conversation_id = %s order by created_at, id"
        return self.stack.rows(query, conversation)


@pytest.fixture
def shop(stack: Stack, models: ModelServer, user: UUID) -> Shop:
    return Shop(stack, models, user)


def leads(text: str = "Ann") -> tuple[str, str]:
    return "find_leads", json.dumps({"text": text})


def test_arguments_and_results_are_kept(shop: Shop) -> None:
    """Redacted and bounded, in the table, over HTTP and on the terminal."""
    written = ("write_line", json.dumps({"text": f"tell +{PHONE} {SECRET}"}))
    shop.models.rounds["responder"] = [[leads(), ("read_all", ""), ("read_badly", ""), written]]
    shop.open("single", [], toolset=["clients", "box"])
    run_id = shop.ask("Who is there?")
    assert shop.answer(run_id) == "A model answered."
    rows = {row["tool"]: row for row in shop.executions(run_id)}
    assert rows["find_leads"]["arguments"] == {"text": "Ann"}
    (lead,) = rows["find_leads"]["result"]["data"]["leads"]
    assert (lead["lead_id"], lead["phone"], lead["note"]) == ("1234567890", "***567", "key sk-***")
    assert size(rows["read_all"]["result"]) <= MAX_DIAGNOSTIC_BYTES and rows["read_all"]["result"]["success"]
    assert rows["read_badly"]["status"] == "failed" and "***567" in rows["read_badly"]["result"]["message"]
    assert rows["write_line"]["arguments"] == {"text": "tell ***567 sk-***"}
    assert rows["write_line"]["result"]["data"] == {"written": "tell ***567 sk-***"}
    assert rows["write_line"]["body"]["data"] == {"written": f"tell +{PHONE} {SECRET}"}  # what a repeated call gets
    shop.stack.start_server()
    trace = shop.stack.client.get(f"/v1/runs/{run_id}/trace").json()
    shown = {one["tool"]: (one["arguments"], one["result"]) for one in trace["tools"]}
    assert shown == {name: (row["arguments"], row["result"]) for name, row in rows.items()}
    page = maas(shop.stack, "trace", str(run_id)).stdout
    assert "Ann" in page and "1234567890" in page
    for text in (json.dumps(trace["tools"]), page):
        assert PHONE not in text and SECRET not in text
    shop.stack.rows("select maas_erase(%s)", shop.user)
    assert shop.executions(run_id) == []


def test_tool_rounds_are_messages(shop: Shop) -> None:
    """Before the answer and in order, hidden unless asked for, once although the process dies in between."""
    shop.models.rounds["responder"] = [
        [leads("one"), ("no_such_tool", '{"a": 1}')],
        [("find_leads", "{wrong"), leads("two")],
    ]
    shop.models.hold_after("responder", 2)
    shop.open("single", [], toolset=["clients"])
    conversation = uuid4()
    run_id = shop.ask("Who is there?", conversation)
    poll(lambda: shop.models.calls["responder"] == 3, what="the last round is asked for")
    shop.kill()
    assert [row["role"] for row in shop.messages(conversation)] == ["user"]
    shop.models.release("responder")
    shop.start()
    assert shop.answer(run_id) == "A model answered."
    rows = shop.messages(conversation)
    assert [row["role"] for row in rows] == ["user", "tool", "tool", "tool", "tool", "assistant"]
    called = [row["tool_calls"][0] for row in rows[1:5]]
    assert [(one["name"], one["arguments"]) for one in called] == [
        ("find_leads", {"text": "one"}),
        ("no_such_tool", {"a": 1}),
        ("find_leads", {"text": "{wrong"}),
        ("find_leads", {"text": "two"}),
    ]
    for row, call in zip(rows[1:5], called, strict=True):
        assert (row["tool_call_id"], row["tool_name"]) == (call["id"], call["name"])
    assert [row["tool_result"].get("error_code") for row in rows[1:5]] == [
        None,
        "unknown_tool",
        "validation_error",
        None,
    ]
    assert PHONE not in str(rows) and SECRET not in str(rows)
    assert [row["tokens_used"] for row in rows[1:5]] == [18, None, 18, None]
    total = "select sum(tokens_in + tokens_out) as tokens from llm_calls where run_id = %s and stage <> 'archivist'"
    assert rows[5]["tokens_used"] == shop.stack.rows(total, run_id)[0]["tokens"]
    shop.stack.start_server()
    path = f"/v1/conversations/{conversation}/messages"
    shown = shop.stack.client.get(path).json()["results"]
    assert [one["role"] for one in shown] == ["assistant", "user"] and shown[0]["tokens_used"] == rows[5]["tokens_used"]
    tools = shop.stack.client.get(path, params={"role": "tool"}).json()["results"]
    assert [one["tool_result"] for one in reversed(tools)] == [row["tool_result"] for row in rows[1:5]]
    assert shop.stack.client.get(path, params={"role": "robot"}).status_code == 400
    again = shop.ask("And now?", conversation)
    shop.answer(again)
    draft = shop.stack.rows("select draft_context from pipeline_runs where id = %s", again)[0]["draft_context"]
    assert "A model answered." in draft and "no_such_tool" not in draft and "1234567890" not in draft
    exported = maas(shop.stack, "export", str(shop.user)).stdout
    assert "no_such_tool" not in exported and "A model answered." in exported
    assert "no_such_tool" in maas(shop.stack, "export", str(shop.user), "--tool-calls").stdout
    cleared = shop.stack.client.post(f"/v1/conversations/{conversation}/clear").json()
    assert cleared == {"messages": 4} and shop.messages(conversation) == []


def test_an_answer_names_what_was_done(shop: Shop) -> None:
    """Proposals and executed writes; an action knows its assistant and its domain."""
    shop.models.rounds["responder"] = [[("write_line", '{"text": "one"}'), ("drop_lead", '{"text": "Ann"}'), leads()]]
    shop.open("single", [], toolset=["clients", "box"])
    conversation = uuid4()
    shop.answer(shop.ask("Do it.", conversation))
    *_, answer = shop.messages(conversation)
    proposed, executed = answer["actions"]
    assert (proposed["tool"], proposed["arguments"], "status" in proposed) == ("drop_lead", {"text": "Ann"}, False)
    assert {name: executed[name] for name in ("tool", "arguments", "status")} == {
        "tool": "write_line",
        "arguments": {"text": "one"},
        "status": "done",
    }
    assert executed["verification"] == {"found": True}
    shop.stack.start_server()
    action = shop.stack.client.get(f"/v1/actions/{proposed['id']}").json()
    assert (action["assistant"], action["agent"]) == ("desk", "clients")
    decided = shop.stack.client.post(f"/v1/actions/{proposed['id']}/approve", json={"user_id": str(shop.user)}).json()
    shop.answer(UUID(decided["action_run_id"]))
    result = shop.stack.client.get(f"/v1/actions/{proposed['id']}").json()["result"]
    assert result["_meta"] == result["_meta"] | {"tool": "drop_lead", "domain": "clients", "via": "mcp"}
    assert result["_meta"]["latency_ms"] >= 0 and result["verification"] == {"dropped": "Ann"}
    *_, called, answer = shop.messages(conversation)
    assert (called["role"], called["tool_name"]) == ("tool", "drop_lead")
    (done,) = answer["actions"]
    assert (done["tool"], done["status"], done["verification"]) == ("drop_lead", "done", {"dropped": "Ann"})


def test_providers_are_silent_and_free(shop: Shop) -> None:
    """Their calls are in the ledger; followers hear of none, and the model keeps its calls."""
    shop.models.rounds["responder"] = [[leads("one")], [leads("two")]]
    shop.open("single", [], toolset=["find_leads"], context_providers=["read_all", "read_badly"], limits={"calls": 2})
    conversation = uuid4()
    run_id = shop.ask("Who is there?", conversation)
    assert shop.answer(run_id) == "A model answered."
    assert [row["tool"] for row in shop.executions(run_id)][-2:] == ["find_leads", "find_leads"]
    assert {row["tool"] for row in shop.executions(run_id)} == {"read_all", "read_badly", "find_leads"}
    for kind in ("tool_start", "tool_result"):
        assert [one["tool"] for one in shop.events(run_id, kind)] == ["find_leads", "find_leads"]
    assert [one["success"] for one in shop.events(run_id, "tool_result")] == [True, True]
    assert [row["tool_name"] for row in shop.messages(conversation) if row["role"] == "tool"] == ["find_leads"] * 2


def kept_for_people(shop: Shop, run_id: UUID) -> str:
    """What is kept of the calls for people."""
    calls = shop.stack.rows("select arguments, result from tool_executions where run_id = %s", run_id)
    shown = "select tool_calls, tool_result, content from chat_messages where run_id = %s and role = 'tool'"
    return json.dumps([*calls, *shop.stack.rows(shown, run_id)])


def layers(shop: Shop, run_id: UUID) -> list[tuple[int, str, str]]:
    return [(one["layer"], one["name"], one["status"]) for one in shop.events(run_id, "layer")]


def test_layers_of_an_assistant_with_tools(shop: Shop) -> None:
    """Sizes of results, what failed and why, and the store; no secret and no phone number in any of them."""
    login = ("log_in", json.dumps({"password": "Uq9plain", "text": "x" * 5000}))
    shop.models.rounds["responder"] = [
        [
            leads(f"{PHONE} {SECRET}"),
            ("read_badly", ""),
            ("read_all", ""),
            ("find_leads", f'{{"text": 1, "{SECRET}": 2}}'),
            login,
        ]
    ]
    shop.open("single", [], toolset=["clients"])
    run_id = shop.ask("Who is there?", uuid4(), debugLayers=True)
    shop.answer(run_id)
    events = shop.events(run_id, "layer")
    handlers = {(one["name"], one["status"]): one for one in events if one["layer"] == 8}
    assert handlers["find_leads", "end"]["data"]["bytes"] > 50 and handlers["read_all", "end"]["data"]["bytes"] > 20_000
    assert handlers["read_badly", "error"]["error"] == "failed"
    assert "***567" in handlers["read_badly", "error"]["message"]
    assert events[-1] == events[-1] | {"layer": 11, "name": "stored", "status": "info"}
    data = events[-1]["data"]
    assert (data["messages"], data["tool_calls"], data["tokens"] > 0) == (7, 5, True)
    dump = json.dumps(shop.stack.rows("select payload from run_events where run_id = %s", run_id), default=str)
    assert not [one for one in (PHONE, SECRET, "Uq9plain") if one in dump]
    rows = kept_for_people(shop, run_id)
    assert not [one for one in (PHONE, SECRET, "Uq9plain") if one in rows]
    last = "select max(n) = max(n) filter (where payload->>'layer' = '11') as is_it from run_events where run_id = %s"
    assert shop.stack.rows(last, run_id) == [{"is_it": True}]


def test_layers_of_other_requests(shop: Shop, user: UUID) -> None:
    """A plain assistant, a memory command, an approved action; nothing where nobody asked."""
    shop.models.rounds["responder"] = [[("drop_lead", '{"text": "Ann"}')]]
    shop.open("single", [], toolset=["clients"])
    insert = "insert into pipeline_runs (user_id, user_query, assistant, metadata) values (%s, %s, %s, %s) returning id"

    def ask(query: str, assistant: str, metadata: str = '{"debugLayers": true}') -> UUID:
        run_id = UUID(str(shop.stack.rows(insert, user, query, assistant, metadata)[0]["id"]))
        shop.answer(run_id)
        return run_id

    command = ask(f"remember: call {PHONE}", "mentor")
    assert layers(shop, command) == [
        (1, "entry", "info"),
        (2, "context", "info"),
        (2, "memory_command", "start"),
        (2, "memory_command", "end"),
        (11, "stored", "info"),
    ]
    assert PHONE not in json.dumps(shop.events(command, "layer"))
    proposal = ask("Drop her.", "desk")
    assert (7, "drop_lead", "error") in layers(shop, proposal)
    shop.models.rounds.clear()
    assert layers(shop, ask("Hello!", "mentor")) == [
        (1, "entry", "info"),
        (2, "context", "info"),
        (3, "session", "start"),
        (3, "session", "end"),
        (10, "answer", "info"),
        (11, "stored", "info"),
    ]
    for metadata in ("{}", '{"debugLayers": "true"}', "null"):
        assert layers(shop, ask("Hello!", "mentor", metadata)) == []


def test_a_failure_is_in_the_layers(shop: Shop) -> None:
    shop.models.statuses["responder"] = 401
    shop.open("single", [], toolset=["clients"])
    run_id = shop.ask("Who is there?", debugLayers=True)
    assert "unauthorized" in shop.answer(run_id)
    assert layers(shop, run_id)[-1] == (3, "session", "error")
