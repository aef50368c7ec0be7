"""A server that acts on accounts of users, in whole processes: each run calls as its user, and no token is seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.contract.test_mcp import serve
from tests.contract.test_mcp_users import ACCOUNTS, account
from tests.fault.test_dialogues import answer, ask, tool_results
from tests.model_server import ModelServer
from tests.polling import poll
from tests.sql.traces import tables_with
from tests.stack import Stack, free_port, maas

MARK = "planted"


def token(user: UUID) -> str:
    return f"{MARK}-{user.hex}"


@pytest.fixture
def mail(stack: Stack) -> Iterator[dict[str, Any]]:
    """The entry of a running server of accounts, without prefix."""
    port = free_port()
    process = serve(ACCOUNTS, port, stack.folder)
    yield {
        "url": f"http://127.0.0.1:{port}/mcp",
        "prefix": False,
        "headers": {"Authorization": "Bearer ${user.mail}"},
        "list_headers": {"Authorization": "Bearer service-account"},
        "effects": {"whoami": "read", "confess": "read", "complain": "dangerous"},
        "names": {"whoami": "read_account"},
    }
    process.kill()
    process.wait()


def start(stack: Stack, models: ModelServer, **servers: dict[str, Any]) -> dict[str, str]:
    definition = json.dumps({"toolset": ["read_account", "confess", "complain"]})
    stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
    named = {"MAAS_MCP_SERVERS": json.dumps({"mcpServers": servers}), "MAAS_LOG_LEVEL": "debug"}
    settings = {**models.settings(), **named}
    stack.start_orchestrator(**settings)
    poll(lambda: stack.rows("select from tools where name = 'read_account'"), what="the tools are listed")
    return settings


def test_each_run_calls_as_its_user(stack: Stack, models: ModelServer, mail: dict[str, Any]) -> None:
    users = [uuid4() for _ in range(8)]
    models.rounds["responder"] = [[("read_account", '{"nonce": "n", "seconds": 0.1}'), ("confess", "{}")]]
    start(stack, models, mail=mail)
    for user in users[:7]:
        stack.rows("select maas_set_secret(%s, 'mail', %s)", user, token(user))
    with ThreadPoolExecutor(8) as threads:
        runs = list(threads.map(lambda user: ask(stack, user, f"Who is {user}?"), users))
    assert {answer(stack, run)["status"] for run in runs} == {"COMPLETED"}
    found = {}
    for request in models.requests:
        results = [json.loads(turn["content"]) for turn in request["messages"] if turn["role"] == "tool"]
        for user in users:
            if results and f"Who is {user}?" in json.dumps(request["messages"]):
                found[user] = results
    for user in users[:7]:
        first, second = found[user]
        assert first["data"] == {"result": f"{account(token(user))} n"}
        assert second["data"]["authorization"] == "Bearer ***"
    assert {one["error_code"] for one in found[users[7]]} == {"failed"}
    assert all(one["message"].startswith("not connected: ") for one in found[users[7]])
    traces = "".join(maas(stack, "trace", str(run)).stdout for run in runs)
    exported = maas(stack, "export", str(users[0])).stdout
    for text in (stack.log(), json.dumps(models.requests), traces, exported):
        assert MARK not in text
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        assert tables_with(connection, MARK) == ["user_secrets"]


def test_an_approved_call_is_made_as_its_user(
    stack: Stack, models: ModelServer, user: UUID, mail: dict[str, Any]
) -> None:
    """The failure that quotes the token is told without it; by hand the call is made as the user, too."""
    models.rounds["responder"] = [[("complain", "{}")]]
    settings = start(stack, models, mail=mail)
    stack.rows("select maas_set_secret(%s, 'mail', %s)", user, token(user))
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED"
    assert tool_results(models)[0]["error_code"] == "approval_required"
    (action,) = stack.rows("select id from chat_pending_actions")
    stack.rows("select maas_decide_action(%s, %s, 'approve', 'sql')", action["id"], user)
    poll(lambda: stack.rows("select from v_actions where status in ('failed', 'done', 'in_doubt')"), 30)
    (row,) = stack.rows("select * from chat_pending_actions")
    assert row["status"] == "failed" and "refused: ***" in json.dumps(row["result"])
    by_hand = maas(
        stack, "tool", "read_account", "--args", '{"nonce": "n", "seconds": 0}', "--user", str(user), **settings
    )
    assert account(token(user)) in by_hand.stdout, by_hand.stderr
    stranger = maas(stack, "tool", "read_account", "--args", '{"nonce": "n", "seconds": 0}', **settings)
    assert stranger.returncode == 1 and "not connected" in stranger.stdout
    for text in (stack.log(), json.dumps(models.requests), by_hand.stdout, json.dumps(row, default=str)):
        assert MARK not in text


def test_a_clash_of_names_is_one_line_at_start(stack: Stack, mail: dict[str, Any]) -> None:
    servers = {"mcpServers": {"mail": mail, "post": mail}}
    process = stack.launch("main.py", MAAS_MCP_SERVERS=json.dumps(servers))
    poll(lambda: process.poll() is not None, what="it ends")
    text = " ".join(stack.last_words(process).split())
    assert process.returncode == 1 and "Traceback" not in text
    assert "is also the name of a tool of the server mail; rename it in `names`" in text
