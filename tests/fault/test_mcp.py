"""Assistants with tools of servers, in whole processes: servers die, hang and talk too much, turns are answered."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.contract.test_mcp import FAULTY, SELF, TIME, children
from tests.fault.test_dialogues import answer, ask, executions, tool_results
from tests.model_server import ModelServer
from tests.polling import poll
from tests.sql.traces import tables_with
from tests.stack import Stack, free_port, maas

NOW = ("time__get_current_time", '{"timezone": "Europe/Moscow"}')
SECRET = "planted-server-token-9"
Clerk = Callable[..., int]


@pytest.fixture
def clerk(stack: Stack, models: ModelServer) -> Clerk:
    """Start an orchestrator around an assistant whose tools are those of servers; its process id."""

    def start(toolset: list[str], **servers: dict[str, Any]) -> int:
        stack.rows(
            "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s) "
            "on conflict do nothing",
            json.dumps({"toolset": toolset}),
        )
        return stack.start_orchestrator(**settings(models, **servers)).pid

    return start


def settings(models: ModelServer, **servers: dict[str, Any]) -> dict[str, str]:
    named = {"MAAS_MCP_SERVERS": json.dumps({"mcpServers": servers}), "MAAS_LOG_LEVEL": "debug"}
    return {**models.settings(), **named}


def faulty(stack: Stack, **fields: object) -> dict[str, Any]:
    effects = {name: "read" for name in ("hang", "die", "garble", "flood", "confess", "fail")}
    environment = {"TOOLBOX": str(stack.folder), "API_TOKEN": SECRET}
    program = {"command": sys.executable, "args": [str(FAULTY), "stdio"], "env": environment, "user": SELF}
    return program | {"effects": effects} | fields


def wait_tools(stack: Stack, name: str) -> None:
    poll(lambda: stack.rows("select from tools where name = %s", name), what=f"{name} is in its table")


def last(models: ModelServer) -> dict[str, Any]:
    return tool_results(models)[-1]


def test_an_assistant_asks_a_server(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[NOW], [("time__get_current_time", '{"zone": "UTC"}')]]
    clerk(["time"], time=TIME)
    run_id = ask(stack, user, "What time is it?")
    assert answer(stack, run_id)["final_answer"] == "A model answered."
    first, second = tool_results(models)
    assert first["data"]["datetime"].endswith("+03:00")
    assert first["_meta"] == {"tool": NOW[0], "domain": "time", "via": "mcp"}
    assert second["error_code"] == "validation_error" and "timezone: is required" in second["message"]
    assert executions(stack, run_id) == [(NOW[0], "done", 1)]
    wait_tools(stack, NOW[0])
    (row,) = stack.rows("select domain, effect, parameters from tools where name = %s", NOW[0])
    assert (row["domain"], row["effect"], row["parameters"]["required"]) == ("time", "read", ["timezone"])


def test_a_server_killed_between_turns(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """The next run gets an error for its call and is answered; later ones have the tool again."""
    models.rounds["responder"] = [[NOW]]
    pid = clerk(["time"], time=TIME)
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED" and last(models)["success"]
    (server,) = children(pid, "mcp-server-time")
    os.kill(server, signal.SIGKILL)
    poll(lambda: not children(pid, "mcp-server-time"), what="it is gone")
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED"
    assert last(models)["error_code"] == "failed" and "the server time" in last(models)["message"]
    poll(lambda: stack.log().count('"mcp_server_connected"') == 2, what="it is back")
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED" and last(models)["success"]


def test_a_server_that_is_not_there(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """Assistants that name it start and answer all the same, without its tools."""
    models.rounds["responder"] = [[("mail__send", "{}")]]
    clerk(
        ["mail", "post__send"], mail={"url": f"http://127.0.0.1:{free_port()}/mcp"}, post={"command": "no-such-program"}
    )
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED"
    assert last(models)["error_code"] == "unknown_tool"


def test_calls_that_hang_flood_and_die(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """A write whose server died is in doubt: it is not done again, not even when the model asks for it."""
    calls = ("slow__hang", "faulty__flood", "faulty__die", "faulty__die")
    models.rounds["responder"] = [[(name, "{}")] for name in calls]
    servers = {"slow": faulty(stack, timeout=1), "faulty": faulty(stack, effects={"flood": "read", "die": "write"})}
    clerk(list(servers), **servers)
    run_id = ask(stack, user)
    assert answer(stack, run_id)["status"] == "COMPLETED"
    hung, flooded, died, doubted = tool_results(models)
    assert hung["error_code"] == "timeout" and "within 1 s" in hung["message"]
    assert flooded["_meta"]["cut"] == ["data"]
    assert died["error_code"] == "in_doubt" and "was lost during the call" in died["message"]
    assert doubted["error_code"] == "in_doubt" and "do not repeat it" in doubted["message"]
    assert (stack.folder / "cancelled").exists() and (stack.folder / "died").read_text() == "x"
    assert [status for _, status, _ in executions(stack, run_id)] == ["failed", "done", "in_doubt"]


def test_secrets_of_a_server_stay_secret(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """Neither what it returns nor its error lines put them into logs, tables, requests or the doctor's report."""
    models.rounds["responder"] = [[("faulty__confess", "{}"), ("faulty__fail", "{}")]]
    servers = {"faulty": faulty(stack)}
    clerk(["faulty"], **servers)
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED"
    results = tool_results(models)
    assert "'API_TOKEN': '***'" in results[0]["data"]["result"] and results[1]["error_code"] == "failed"
    assert "mcp_server_stderr" in stack.log()
    report = maas(stack, "doctor", **settings(models, **servers, absent={"command": "no-such-program"}))
    assert "ok    mcp faulty: 7 tools" in report.stdout, report.stdout
    assert "wrong mcp absent: not reachable: there is no program no-such-program" in report.stdout
    assert report.returncode == 1
    for text in (stack.log(), json.dumps(models.requests), report.stdout + report.stderr):
        assert SECRET not in text
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        assert tables_with(connection, SECRET) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_servers_end_with_their_orchestrator(
    stack: Stack, models: ModelServer, clerk: Clerk, how: signal.Signals
) -> None:
    """Each of two: one must not hold the other's pipe open."""
    pid = clerk(["time"], time=TIME, faulty=faulty(stack))
    wait_tools(stack, NOW[0])
    wait_tools(stack, "faulty__hang")
    servers = children(pid, "mcp")
    assert len(servers) == 2
    (process,) = stack._processes
    stack.stop(process, how)
    poll(lambda: not any(alive(server) for server in servers), what="they have ended")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_quarantined_run_has_the_tools_too(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """A process that executes it alone goes to the server that its assistant needs."""
    models.rounds["responder"] = [[NOW]]
    models.hold("responder")
    clerk(["time"], time=TIME)
    run_id = ask(stack, user)
    poll(lambda: models.calls["responder"] == 1)
    stack.kill()
    clerk(["time"], time=TIME)
    poll(lambda: models.calls["responder"] == 2)
    stack.kill()
    models.release("responder")
    clerk(["time"], time=TIME)
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert "quarantine_started" in stack.log()
    assert last(models)["success"]


def test_a_wrong_setting_is_named_at_start(stack: Stack) -> None:
    servers = {"mcpServers": {"a": {"url": "http://127.0.0.1/${NOT_SET}"}}}
    process = stack.launch("main.py", MAAS_MCP_SERVERS=json.dumps(servers))
    poll(lambda: process.poll() is not None, what="it ends")
    assert process.returncode == 1
    words = " ".join(stack.last_words(process).split())
    assert "server 'a': url needs NOT_SET" in words and "Traceback" not in words
