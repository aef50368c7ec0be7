"""Values of a domain where its tools run: in a round, after an approval in another process, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.fault.test_dialogues import tool_results
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, maas

TOKEN = "tok-of-the-shop-0123456789abcdef"
OPEN = "insert into chat_conversations (id, user_id, assistant, ad_account_id) values (%s, %s, 'clerk', %s)"
TEXT = '{"text": "nine"}'
Shop = Callable[..., None]


def settings(stack: Stack, models: ModelServer) -> dict[str, str]:
    return {**models.settings(), "MAAS_TOOLS": "tests.accounts:TOOLS", "TOOLBOX": str(stack.folder)}


@pytest.fixture
def stack(emptied_stack: Stack) -> Stack:
    return emptied_stack


@pytest.fixture
def models(lasting_models: ModelServer) -> ModelServer:
    return lasting_models


@pytest.fixture
def shop(stack: Stack, models: ModelServer, user: UUID) -> Shop:
    """Write what the user has connected, and start everything around an assistant with these tools."""

    def start(definition: dict[str, Any] | None = None, **fields: object) -> None:
        connect(stack, user, **fields)
        stack.rows(
            "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s) "
            "on conflict do nothing",
            json.dumps({"toolset": ["shop"]} | (definition or {})),
        )
        stack.keep_orchestrator(**settings(stack, models))

    return start


def connect(stack: Stack, user: UUID, **fields: object) -> None:
    shop = {"connected": True, "has_data": True, "token": TOKEN} | fields
    (stack.folder / "shop.json").write_text(json.dumps({str(user): shop}))


def ask(stack: Stack, user: UUID, conversation: UUID | None = None, **metadata: object) -> UUID:
    rows = stack.rows(
        "insert into pipeline_runs (user_id, user_query, assistant, conversation_id, metadata) "
        "values (%s, 'Do it.', 'clerk', %s, %s) returning id",
        user,
        conversation,
        json.dumps(metadata),
    )
    return UUID(str(rows[0]["id"]))


def answer(stack: Stack, run_id: UUID) -> str:
    """The answer, or the error."""
    poll(lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id), 30, "it is over")
    (row,) = stack.rows("select final_answer, error_message from pipeline_runs where id = %s", run_id)
    return str(row["final_answer"] or row["error_message"])


def approve(stack: Stack, user: UUID, run_id: UUID) -> UUID:
    (row,) = stack.rows(
        "select d.run_id from chat_pending_actions a, maas_decide_action(a.id, %s, 'approve', 'test') d "
        "where a.run_id = %s",
        user,
        run_id,
    )
    return UUID(str(row["run_id"]))


def lines(stack: Stack, word: str) -> list[str]:
    path = stack.folder / "lines"
    found = path.read_text().splitlines() if path.exists() else []
    return [line for line in found if line.startswith(word)]


def everything(stack: Stack) -> str:
    """All that was stored of any run, and all logs."""
    tables = (
        "pipeline_runs",
        "run_events",
        "llm_calls",
        "tool_executions",
        "chat_pending_actions",
        "chat_messages",
        "raw_logs",
        "lsm_storage",
        "audit",
    )
    rows = [stack.rows(f"select to_jsonb(t)::text as row from {table} t") for table in tables]
    return "".join(str(row["row"]) for found in rows for row in found) + stack.log()


def test_values_in_a_round(stack: Stack, models: ModelServer, user: UUID, shop: Shop) -> None:
    """Three rounds open the domain once, for the account of the request; the token stays with the handler."""
    models.rounds["responder"] = [
        [("set_price", TEXT)],
        [("read_orders", "{}"), ("count_orders", "{}")],
        [("leak", "{}")],
    ]
    shop()
    run_id = ask(stack, user, account="act_7", debugLayers=True)
    assert answer(stack, run_id) == "A model answered."
    written, read, counted, leaked = tool_results(models)
    assert written["data"] == {"set": "nine", "url": "https://shop.example/prices?access=***"}
    assert (read["data"], counted["data"]) == ({"orders": 3, "account": "act_7"}, {"orders": 0})
    assert (leaked["error_code"], leaked["message"].partition(".")[0]) == ("failed", "leak failed")
    assert lines(stack, "set") == [f"set nine with {TOKEN} in act_7"]
    (opened,) = lines(stack, "open")
    assert opened.endswith(" act_7")
    layers = stack.rows("select payload from run_events where run_id = %s and type = 'layer'", run_id)
    assert {"domain": "shop", "connected": True, "has_data": True} in [row["payload"].get("data") for row in layers]
    assert "tool_crashed" in stack.log() and "access=***" in stack.log()
    assert TOKEN not in everything(stack) + json.dumps(models.requests)


@pytest.mark.parametrize("metadata", [{"account": "act_7"}, {}])
def test_values_after_an_approval(
    stack: Stack, models: ModelServer, user: UUID, shop: Shop, metadata: dict[str, str]
) -> None:
    """In another process, with the account that the call was proposed for, though the conversation has another now."""
    models.rounds["responder"] = [[("close_shop", TEXT)]]
    shop()
    conversation = uuid4()
    stack.rows(OPEN, conversation, user, "act_7")
    asked = ask(stack, user, conversation, **metadata)
    answer(stack, asked)
    stack.rows("update chat_conversations set ad_account_id = 'act_8' where id = %s", conversation)
    stack.kill()
    shop()
    models.rounds["responder"] = []
    answer(stack, approve(stack, user, asked))
    assert lines(stack, "close") == [f"close nine with {TOKEN} in act_7"]
    first, second = lines(stack, "open")
    assert first.split()[1] != second.split()[1] and second.endswith(" act_7")
    assert [row["status"] for row in stack.rows("select status from chat_pending_actions")] == ["done"]
    assert TOKEN not in everything(stack) + json.dumps(models.requests)


def test_the_account_of_a_conversation(stack: Stack, models: ModelServer, user: UUID, shop: Shop) -> None:
    """It counts where the request names none."""
    models.rounds["responder"] = [[("read_orders", "{}")]]
    conversation = uuid4()
    stack.rows(OPEN, conversation, user, "act_8")
    shop()
    for where, metadata, account in (
        (conversation, {}, "act_8"),
        (conversation, {"account": "act_7"}, "act_7"),
        (None, {}, None),
    ):
        answer(stack, ask(stack, user, where, **metadata))
        assert tool_results(models)[0]["data"]["account"] == account


def test_values_from_the_command_line(stack: Stack, models: ModelServer, user: UUID) -> None:
    connect(stack, user)
    words = ("tool", "set_price", "--args", TEXT, "--user", str(user), "--account", "act_9", "--yes")
    done = maas(stack, *words, **settings(stack, models))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["url"] == "https://shop.example/prices?access=***"
    assert lines(stack, "set") == [f"set nine with {TOKEN} in act_9"]
    stranger = maas(stack, "tool", "set_price", "--args", TEXT, "--yes", **settings(stack, models))
    assert stranger.returncode == 1 and json.loads(stranger.stdout)["error_code"] == "not_connected"
    assert TOKEN not in done.stdout + done.stderr + stranger.stdout + stranger.stderr


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"mode": "raise"}, "failed", "shop cannot be used now: its opener failed"),
        ({"mode": "fail"}, "failed", "shop cannot be used now: no shop is chosen: ask which one"),
        ({"mode": "hang"}, "failed", "it gave no values within 5 s"),
        ({"mode": "huge"}, "failed", "its opener returned more than 65,536 characters"),
        ({"connected": False}, "not_connected", "shop is not connected: tell the user"),
    ],
)
def test_a_domain_that_cannot_be_used(
    stack: Stack, models: ModelServer, user: UUID, shop: Shop, fields: dict[str, Any], code: str, words: str
) -> None:
    """Each call fails clearly, no approval is asked for, and the answer is given; the opener was called once."""
    models.rounds["responder"] = [[("set_price", TEXT), ("close_shop", TEXT)], [("set_price", TEXT)]]
    shop(**fields)
    assert answer(stack, ask(stack, user)) == "A model answered."
    results = tool_results(models)
    assert [one["error_code"] for one in results] == [code] * 3 and all(words in one["message"] for one in results)
    assert len(lines(stack, "open")) == 1 and lines(stack, "set") == lines(stack, "close") == []
    assert stack.rows("select from chat_pending_actions") == []
    assert TOKEN not in everything(stack) + json.dumps(models.requests)


def test_an_action_whose_domain_is_gone(stack: Stack, models: ModelServer, user: UUID, shop: Shop) -> None:
    """Approved while nothing is connected any more: nothing is done, and the action says so."""
    models.rounds["responder"] = [[("close_shop", TEXT)]]
    shop()
    asked = ask(stack, user)
    answer(stack, asked)
    connect(stack, user, connected=False)
    models.rounds["responder"] = []
    models.statuses["responder"] = 400  # a sentence of ours is the answer
    said = answer(stack, approve(stack, user, asked))
    assert said.endswith("Nothing was done: what it works with is not connected.")
    assert [row["status"] for row in stack.rows("select status from chat_pending_actions")] == ["failed"]
    assert lines(stack, "close") == []


def test_a_write_that_was_made_before_a_kill(stack: Stack, models: ModelServer, user: UUID, shop: Shop) -> None:
    """Its stored result is used, although the domain is not connected any more."""
    models.rounds["responder"] = [[("set_price", TEXT)]]
    models.hold_after("responder", 1)
    shop()
    run_id = ask(stack, user)
    poll(lambda: models.calls["responder"] == 2, what="it asks for words")
    stack.kill()
    models.release("responder")
    shop(connected=False)
    assert answer(stack, run_id) == "A model answered."
    (result,) = tool_results(models)
    assert result["success"] and result["data"]["set"] == "nine"
    assert len(lines(stack, "set")) == 1


@pytest.mark.parametrize(
    ("connected", "has_data", "tools"),
    [
        (True, True, ["count_orders", "read_orders", "set_price", "close_shop", "leak"]),
        (True, False, ["count_orders", "set_price", "close_shop", "leak"]),
        (False, True, ["count_orders", "read_orders"]),
        (False, False, ["count_orders"]),
    ],
)
def test_what_a_model_is_shown(
    stack: Stack, models: ModelServer, user: UUID, shop: Shop, connected: bool, has_data: bool, tools: list[str]
) -> None:
    """The list of domains has both flags, and a domain the tools that can be used; a client cannot open more."""
    models.rounds["responder"] = [[("getAvailableDomains", "{}"), ("getDomainTools", '{"domain": "shop"}')]]
    shop({"routing": "meta_tools"}, connected=connected, has_data=has_data)
    answer(stack, ask(stack, user, domains=["shop", "bank"]))
    listed, opened = tool_results(models)
    (domain,) = listed["data"]["domains"]
    flags = (domain["available"], domain["connected"], domain["has_data"])
    assert flags == (True, connected, has_data)
    assert [one["name"] for one in opened["data"]] == tools
    answer(stack, ask(stack, user, domains=["bank"]))
    listed, opened = tool_results(models)
    assert listed["data"]["domains"][0]["available"] is False and "closed to this request" in opened["message"]
