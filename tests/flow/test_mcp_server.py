"""The MCP server through the official client: over HTTP and as a program, for one user and for many."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from subprocess import PIPE
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from starlette.requests import Request
from starlette.routing import Route

from maas.http.app import LazyMount, create_app
from maas.http.auth import Principal
from maas.mcp_server.http import InProcessTransport
from maas.settings import load_settings
from server import load_mcp
from shared.db import open_database
from shared.errors import MaasError
from tests.polling import apoll, poll
from tests.stack import ROOT, Stack, free_port

READING = {"get_run", "search_memories", "get_context", "list_memories", "list_facts", "get_memory_sources"}
ASKING = {"ask", "add_memory", "decide_fact", "correct_fact", "merge_names", "delete_memory"}
MAAS = [sys.executable, "-c", "from main import cli; cli()", "mcp"]
NODE = ROOT / "tests" / "contract"
POST = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@asynccontextmanager
async def opened(url: str, headers: Mapping[str, str], **options: Any) -> AsyncIterator[Client]:
    """A client over HTTP with options of the SDK."""
    async with (
        httpx2.AsyncClient(
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
            timeout=30,
            trust_env=False,
            verify=False,
        ) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), **options) as client,
    ):
        yield client


def connected(url: str, mode: str = "auto", **headers: str) -> AbstractAsyncContextManager[Client]:
    """A client over HTTP."""
    return opened(url, headers, mode=mode)


@asynccontextmanager
async def program(url: str, *words: str, mode: str = "auto", **environment: str) -> AsyncIterator[Client]:
    """A client of `maas mcp`."""
    parameters = StdioServerParameters(
        command=MAAS[0], args=[*MAAS[1:], *words], cwd=ROOT, env=os.environ | {"MAAS_URL": url} | environment
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


def url_of(stack: Stack) -> str:
    return f"http://127.0.0.1:{stack.port}"


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    assert text_of(result)
    return dict(result.structured_content or {})


async def refused(client: Client, name: str, **arguments: Any) -> str:
    """Why a tool gives nothing."""
    result = await client.call_tool(name, arguments)
    assert result.is_error and result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture
def name() -> str:
    """A user by any name."""
    return f"анна-{uuid4()}"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_tools_are_listed(stack: Stack, mode: str) -> None:
    async with connected(url_of(stack), mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == READING | ASKING
    for tool in tools.values():
        assert tool.title and tool.description and tool.annotations is not None and tool.output_schema is not None
        for schema in (tool.input_schema, tool.output_schema):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert "user_id" in tool.input_schema["required"]
        assert tool.annotations.read_only_hint is (tool.name in READING)
        assert tool.annotations.destructive_hint is (tool.name == "delete_memory")


async def test_what_one_session_remembers_another_finds(stack: Stack, name: str) -> None:
    """Every tool, over HTTP and as a program; the other session is one of another kind."""
    steps: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, message))

    async with connected(url_of(stack), **{"x-maas-user": name}) as client:
        kept = await call(client, "add_memory", memory="Лодка стоит в Бергене.", at="2024-05-01T10:00:00+02:00")
        stack.wait_archived(UUID(kept["request_id"]))
        answer = await client.call_tool("ask", {"query": "My boat is called Zephyr."}, progress_callback=note)
        assert answer.structured_content and answer.structured_content["status"] == "COMPLETED"
    assert [message for _, message in steps][-2:] == ["RESPONDING", "COMPLETED"]
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    async with program(url_of(stack), "--user", name) as client:
        assert "user_id" not in str([tool.input_schema for tool in (await client.list_tools()).tools])
        (found, *_) = (await call(client, "search_memories", query="Где лодка?", limit=1))["results"]
        assert found["id"] == kept["memory_id"] and found["occurred_at"].startswith("2024-05-01")
        state = await call(client, "get_run", request_id=answer.structured_content["request_id"], wait=10)
        assert state == answer.structured_content
        assert (state["memory"], state["memory_reasons"], state["limited"]) == ("ok", [], None)
        stack.wait_archived(UUID(state["request_id"]))
        context = await call(client, "get_context", query="What is my boat called?")
        assert "Zephyr" in context["context"] and context["memory_ids"]
        page = await call(client, "list_memories", limit=1)
        rest = await call(client, "list_memories", before=page["next"])
        record = next(one for one in page["results"] + rest["results"] if "Берген" in one["memory"])
        words = await call(client, "get_memory_sources", memory_id=record["id"])
        assert [one["content"] for one in words["results"]] == ["Лодка стоит в Бергене."]
        gone = await call(client, "delete_memory", memory_id=record["id"])
        assert (gone["memory_id"], gone["turns"], gone["records"]) == (record["id"], 1, 1)
        assert len(gone["doubtful"]) == 1, "the answer about the boat was given it"
        gone = await call(client, "delete_memory", memory_id=record["id"], doubtful=True)
        assert (gone["turns"], gone["doubtful"]) == (1, [])
        assert "no memory" in await refused(client, "delete_memory", memory_id=record["id"])
        assert "Берген" not in str(await call(client, "search_memories", query="Где лодка?"))


async def test_memories_are_filtered_by_their_metadata(stack: Stack, name: str) -> None:
    async with connected(url_of(stack), **{"x-maas-user": name}) as client:
        for topic in ("tea", "coffee"):
            await call(client, "add_memory", memory=f"In the village I drank {topic}.", metadata={"topic": topic})
        chosen = {"NOT": {"metadata": {"topic": "tea"}}}
        (found,) = (await call(client, "search_memories", query="the village", filters=chosen))["results"]
        assert "coffee" in found["memory"]
        wrong = {"metadata": {"topic": {"near": "tea"}}}
        assert "filters" in await refused(client, "search_memories", query="the village", filters=wrong)


async def test_users_do_not_see_each_other(stack: Stack, name: str) -> None:
    async with connected(url_of(stack)) as client:
        kept = await call(client, "add_memory", user_id=name, memory="The safe opens with 4711.")
        other = f"other-{name}"
        assert (await call(client, "search_memories", user_id=other, query="safe"))["results"] == []
        assert (await call(client, "get_context", user_id=other, query="safe"))["context"] == ""
        assert (await call(client, "list_memories", user_id=other))["results"] == []
        for known in (other, str(uuid4())):
            for tool, field, id in (
                ("get_run", "request_id", kept["request_id"]),
                ("get_memory_sources", "memory_id", kept["memory_id"]),
                ("delete_memory", "memory_id", kept["memory_id"]),
            ):
                foreign = await refused(client, tool, user_id=known, **{field: id})
                missing = await refused(client, tool, user_id=known, **{field: str(UUID(int=404))})
                assert foreign == missing.replace(str(UUID(int=404)), id) and "there is no" in foreign
        assert len((await call(client, "search_memories", user_id=name, query="safe"))["results"]) == 1
    async with connected(url_of(stack), **{"x-maas-user": other}) as client:
        assert "no user" in await refused(client, "search_memories", user_id=name, query="safe")
        assert (await call(client, "search_memories", user_id=other, query="safe"))["results"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("ask", {}, "query"),
        ("ask", {"query": 7}, "query"),
        ("ask", {"query": "   "}, "blank"),
        ("ask", {"query": "a\x00b"}, "NUL"),
        ("ask", {"query": "я" * 40_000}, "65536"),
        ("ask", {"query": "x" * 70_000}, "65536"),
        ("ask", {"query": "hi", "assistant": "nobody"}, "nobody"),
        ("ask", {"query": "hi", "wait": 1e9}, "wait"),
        ("ask", {"query": "hi", "mode": "auto"}, "mode"),
        ("ask", {"query": "hi", "conversation_id": "mine"}, "conversation_id"),
        ("add_memory", {"memory": ""}, "memory"),
        ("add_memory", {"memory": "a\x00b"}, "NUL"),
        ("add_memory", {"memory": "once", "at": "yesterday"}, "at"),
        ("search_memories", {"query": "hi", "limit": 0}, "limit"),
        ("list_memories", {"before": "x"}, "before"),
        ("list_facts", {"state": "gone"}, "state"),
        ("list_facts", {"before": "x"}, "before"),
        ("decide_fact", {"fact_id": "1", "verdict": "wrong"}, "fact_id"),
        ("decide_fact", {"fact_id": str(UUID(int=1)), "verdict": "gone"}, "verdict"),
        ("correct_fact", {"fact_id": str(UUID(int=1)), "fact": "x" * 501}, "fact"),
        ("get_run", {"request_id": "1"}, "request_id"),
        ("get_memory_sources", {"memory_id": "1"}, "memory_id"),
        ("delete_memory", {"memory_id": None}, "memory_id"),
    ],
)
async def test_bad_arguments_are_one_sentence(stack: Stack, tool: str, arguments: dict[str, Any], word: str) -> None:
    async with connected(url_of(stack)) as client:
        before = stack.rows("select count(*) from pipeline_runs")
        said = await refused(client, tool, user_id="bad arguments", **arguments)
        assert word in said and "\n" not in said and len(said) < 300
        assert stack.rows("select count(*) from pipeline_runs") == before


async def test_what_is_no_call_is_refused(stack: Stack) -> None:
    async with connected(url_of(stack)) as client:
        assert "user_id" in await refused(client, "search_memories", query="hi")
        assert "user" in await refused(client, "search_memories", query="hi", user_id="a\x00b")
        with pytest.raises(MCPError, match="no tool 'forget_all'"):
            await client.call_tool("forget_all", {})


def test_http_is_checked_before_the_protocol_speaks(stack: Stack) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    lone = json.dumps(message | {"params": {"name": "ask", "arguments": {"query": "\ud800"}}}).encode()
    post = partial(stack.client.post, "/mcp")
    assert post(json=message, headers=POST).status_code == 200
    assert stack.client.get("/mcp", headers=POST).status_code == 405
    assert stack.client.delete("/mcp").status_code == 405
    assert post(json=message, headers=POST | {"host": "evil.example"}).status_code == 401
    assert post(json=message, headers=POST | {"origin": "http://evil.example"}).status_code == 403
    assert post(json=message, headers=POST | {"origin": "http://localhost:6274"}).status_code == 200
    assert post(content=b"x" * (1 << 20) + b"x", headers=POST).status_code == 413
    for content in (b"", b"{", b"[]", b"7", b"\xff", b"[" * 100_000, lone):
        for version in ({}, {"mcp-protocol-version": "2026-07-28"}, {"mcp-protocol-version": "1"}):
            reply = post(content=content, headers=POST | version)
            assert reply.status_code < 500 and "Traceback" not in reply.text, (content[:20], reply.text)


def test_the_official_client_in_node_agrees(stack: Stack) -> None:
    """It checks results against the schemas that the server has sent."""
    node = shutil.which("node")
    if node is None or not (NODE / "node_modules" / "@modelcontextprotocol").exists():
        pytest.skip("needs Node 20.15 or newer, and `npm ci` in tests/contract")
    for tool, arguments in (("ask", {"query": "My cat is called Mia."}), ("search_memories", {"query": "Mia"})):
        command = [node, "mcp_client.mjs", f"{url_of(stack)}/mcp", "node", tool, json.dumps(arguments)]
        done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        came = json.loads(done.stdout)
        assert set(came["tools"]) == READING | ASKING
        assert not came["result"].get("isError") and came["result"]["structuredContent"]
        assert came["progress"][-1:] == (["COMPLETED"] if tool == "ask" else [])
    assert "Mia" in came["result"]["content"][0]["text"]


class Keys:
    """An authenticator with a fixed set of keys."""

    def __init__(self, **callers: Principal) -> None:
        self._callers = callers

    async def authenticate(self, request: Request) -> Principal:
        found = self._callers.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if found is None:
            raise MaasError("unauthenticated", "send a valid key")
        return found


async def test_the_key_decides(stack: Stack, name: str) -> None:
    """Scopes, a bound user, and nobody without a key; the routes are called with the caller's own key."""
    mine, theirs = uuid4(), uuid4()
    keys = Keys(
        bound=Principal("bound", frozenset({"ask", "read"}), mine),
        reader=Principal("reader", frozenset({"read"})),
        writer=Principal("writer", frozenset({"ask"}), theirs),
        prefixed=Principal("prefixed", frozenset({"ask", "read"}), None, "анна"),
    )
    settings = load_settings()
    async with open_database(stack.dsn, 2, "test") as db:
        app = create_app(db, stack.dsn, settings, keys)
        app.router.routes.append(Route("/mcp", LazyMount(load_mcp), methods=["POST"]))

        @asynccontextmanager
        async def using(key: str, **headers: str) -> AsyncIterator[Client]:
            headers["authorization"] = f"Bearer {key}"
            http = httpx2.AsyncClient(
                transport=InProcessTransport(app, None), headers=headers, base_url="http://localhost"
            )
            async with http, Client(streamable_http_client("http://localhost/mcp", http_client=http)) as client:
                yield client

        async with app.router.lifespan_context(app):
            http = httpx2.AsyncClient(transport=InProcessTransport(app, None), base_url="http://localhost")
            reply = await http.post("/mcp", json={}, headers=POST)
            assert reply.status_code == 401 and reply.json()["error"]["code"] == "unauthenticated"
            async with using("bound") as client:
                assert "user_id" not in str([tool.input_schema for tool in (await client.list_tools()).tools])
                kept = await call(client, "add_memory", memory="My key is for me alone.")
                assert (await call(client, "search_memories", query="key"))["results"][0]["id"] == kept["memory_id"]
                await call(client, "search_memories", query="key", user_id=str(mine))
                for foreign in (name, str(theirs)):
                    assert "there is no user" in await refused(client, "search_memories", query="key", user_id=foreign)
            async with using("bound", **{"x-maas-user": str(theirs)}) as client:
                assert "there is no user" in await refused(client, "search_memories", query="key")
            async with using("writer") as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == ASKING
                assert (await call(client, "ask", query="Who reads this?"))["status"] == "NEW"
                assert "scope read" in await refused(client, "get_run", request_id=kept["request_id"])
                assert "there is no" in await refused(client, "delete_memory", memory_id=kept["memory_id"])
            async with using("reader") as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == READING
                assert "scope ask" in await refused(client, "ask", query="key", user_id=str(mine))
                found = await call(client, "search_memories", query="key", user_id=str(mine))
                assert found["results"][0]["id"] == kept["memory_id"]
            async with using("prefixed") as client:
                await call(client, "add_memory", memory="Мы команда.", user_id=name)
                assert len((await call(client, "search_memories", query="команда", user_id=name))["results"]) == 1
                for foreign in (str(mine), str(theirs), f"b-{name}"):
                    await refused(client, "add_memory", memory="x", user_id=foreign)


async def test_a_request_outlives_who_asked_for_it(bare: Stack) -> None:
    """Too slow, cancelled, or cut off by the end of the server: it is taken, and get_run goes on."""
    asked = "select id from pipeline_runs where user_query = %s and cancel_requested_at is null"
    async with connected(url_of(bare), **{"x-maas-user": "ann"}) as client:
        slow = await call(client, "ask", query="Is it slow?", wait=0.1)
        assert slow["status"] == "NEW" and slow["answer"] is None
        cancelled = asyncio.create_task(client.call_tool("ask", {"query": "Is it cancelled?"}))
        await apoll(lambda: bare.rows(asked, "Is it cancelled?"))
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        assert (await call(client, "get_run", request_id=slow["request_id"]))["status"] == "NEW"
        early = asyncio.create_task(call(client, "ask", query="Is it told to come back?"))
        await apoll(lambda: bare.rows(asked, "Is it told to come back?"))
        (server,) = bare._processes
        server.send_signal(signal.SIGTERM)
        assert (await early)["status"] == "NEW"
        bare.stop(server)
        bare.start_server()
    async with program(url_of(bare), "--user", "ann") as client:
        cut = asyncio.create_task(client.call_tool("ask", {"query": "Is it cut off?"}))
        (row,) = await apoll(lambda: bare.rows(asked, "Is it cut off?"))
        await asyncio.sleep(0.5)  # its id is on the way to the program
        bare.stop(bare._processes[0], signal.SIGKILL)
        said = await cut
        assert said.is_error and url_of(bare) in text_of(said) and str(row["id"]) in text_of(said)
        assert "does not answer" in await refused(client, "search_memories", query="boat")
        bare.start_server()
        bare.start_orchestrator()
        for run in (row["id"], bare.rows(asked, "Is it cancelled?")[0]["id"]):
            assert (await call(client, "get_run", request_id=str(run), wait=20))["status"] == "COMPLETED"


def test_a_program_says_nothing_but_mcp_and_ends_with_its_client() -> None:
    """Nobody answers where it looks: it says so when a tool is called, and goes on."""
    url = f"http://127.0.0.1:{free_port()}"
    environment = os.environ | {"MAAS_URL": url}
    with subprocess.Popen(MAAS, cwd=ROOT, env=environment, text=True, stdin=PIPE, stdout=PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        for number, (method, params) in enumerate(
            [("initialize", client), ("tools/call", {"name": "list_memories", "arguments": {}})]
        ):
            running.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            running.stdin.flush()
            reply = json.loads(running.stdout.readline())
            assert reply["id"] == number
        assert reply["result"]["isError"] and url in reply["result"]["content"][0]["text"]
        running.stdin.close()
        poll(lambda: running.poll() is not None)
        assert running.stdout.read() == "" and running.returncode == 0
