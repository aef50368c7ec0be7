"""Servers of tools that we did not write, and one that misbehaves: what a call of theirs gives, whatever happens."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from structlog.testing import capture_logs
from werkzeug import Request, Response

from bench.processes import children_of
from maas.agents.runtime import Toolbox
from maas.tools.calls import ToolDoubt, ToolFailure
from maas.tools.mcp_client.servers import read_servers
from maas.tools.tool import ToolContext, Toolset
from tests.http_server import HTTPServer
from tests.polling import NotWithin, apoll, poll
from tests.programs import Process, Program, start
from tests.stack import NOBODY, ROOT, free_port

CONTEXT = ToolContext(NOBODY, NOBODY)
PROGRAMS = Path(sys.executable).parent
SELF = pwd.getpwuid(os.geteuid()).pw_name  # may read the checkout, wherever it is
TIME = {
    "command": str(PROGRAMS / "mcp-server-time"),
    "args": ["--local-timezone", "UTC"],
    "trusted": True,
    "user": SELF,
}
GIT = {"command": str(PROGRAMS / "mcp-server-git"), "user": SELF}
EVERYTHING = ROOT / "tests/contract/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
FAULTY = ROOT / "tests" / "mcp_server.py"
TIMEOUT_S = 30.0
AnyProcess = TypeVar("AnyProcess", bound=Process)


@asynccontextmanager
async def opened(*needed: str, **servers: object) -> AsyncIterator[Toolbox]:
    """A toolbox whose servers were tried."""
    toolbox = Toolbox(Toolset([]), read_servers(json.dumps({"mcpServers": servers}), os.environ))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await toolbox.reach(needed or servers)
            yield toolbox
    finally:
        await toolbox.close()


async def call(toolbox: Toolbox, name: str, **arguments: Any) -> Any:
    tool = toolbox.tools().get(name)
    assert tool is not None, [one.name for one in toolbox.tools()]
    return await tool.handler(arguments, CONTEXT)


async def again(toolbox: Toolbox, name: str, **arguments: Any) -> Any:
    """What the call gives as soon as its server is back."""

    async def made() -> Any:
        try:
            return await call(toolbox, name, **arguments)
        except ToolFailure:
            return None

    return await apoll(made, TIMEOUT_S)


def faulty(tmp_path: Path) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(FAULTY), "stdio"], "env": {"TOOLBOX": str(tmp_path)}, "user": SELF}


def children(parent: int, word: str) -> list[int]:
    """The processes below one whose name or command line holds a word, dead ones that nobody has buried included."""
    found = []
    for pid in children_of(parent):
        with suppress(OSError):
            words = [Path(f"/proc/{pid}/{name}").read_text() for name in ("comm", "cmdline")]
            found += [pid] if any(word in one for one in words) else []
    return found


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of a server over HTTP."""
    port = free_port()
    process = serve(FAULTY, port, tmp_path)
    yield port
    process.kill()
    process.wait()


def serve(path: Path, port: int, folder: Path) -> Program:
    """A server of ours over HTTP, whose tools leave their files in this folder."""
    with open(os.devnull, "wb") as nowhere:
        environment = os.environ | {"TOOLBOX": str(folder)}
        return listening(port, start(path, str(port), environment=environment, folder=ROOT, output=nowhere))


def listening(port: int, process: AnyProcess) -> AnyProcess:
    """The process, when it listens on its port."""

    def is_open() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        poll(is_open, TIMEOUT_S)
    except NotWithin:
        process.kill()
        process.wait()
        raise
    return process


async def test_servers_of_others() -> None:
    async with opened(time=TIME, git=GIT) as toolbox:
        tools = {one.name: one for one in toolbox.tools()}
        assert tools["time__get_current_time"].effect == "read" and tools["git__git_log"].effect == "dangerous"
        assert tools["time__get_current_time"].parameters["required"] == ["timezone"]
        assert (await call(toolbox, "time__get_current_time", timezone="Europe/Moscow"))["datetime"].endswith("+03:00")
        with pytest.raises(ToolFailure, match="Mars"):
            await call(toolbox, "time__get_current_time", timezone="Mars")
        log = await call(toolbox, "git__git_log", repo_path=str(ROOT), max_count=1)
        assert "Commit" in json.dumps(log)


async def test_only_what_is_needed_is_started() -> None:
    async with opened("time", time=TIME, git=GIT) as toolbox:
        assert children(os.getpid(), "mcp-server-git") == []
        assert toolbox.tools().domains() == ("time", "git")
        assert toolbox.tools().may_hold("git__git_log") and not toolbox.tools().may_hold("fly")


async def test_nobody_there() -> None:
    """One that was never reached has no tools; its domain is known all the same, and the log says why."""
    dead = {"url": f"http://127.0.0.1:{free_port()}/mcp"}
    broken = {"command": sys.executable, "args": ["-c", "import nothing_of_that_name"], "user": SELF}
    with capture_logs() as logs:
        async with opened(dead=dead, absent={"command": "no-such-program"}, broken=broken) as toolbox:
            assert len(toolbox.tools()) == 0 and toolbox.tools().domains() == ("dead", "absent", "broken")
    causes = {line["server"]: line["cause"] for line in logs if line["event"] == "mcp_server_lost"}
    assert causes["absent"] == "there is no program no-such-program"
    assert "No module named 'nothing_of_that_name'" in causes["broken"]
    assert "connect" in causes["dead"]


async def test_a_killed_server_comes_back() -> None:
    async with opened(time=TIME) as toolbox:
        (process,) = children(os.getpid(), "mcp-server-time")
        before = toolbox.tools()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ToolFailure, match=r"the server time (was lost|is not reachable)"):
            while True:
                await call(toolbox, "time__get_current_time", timezone="UTC")
        assert toolbox.tools() is before
        assert (await again(toolbox, "time__get_current_time", timezone="UTC"))["timezone"] == "UTC"
    assert children(os.getpid(), "mcp-server-time") == []


async def test_a_server_that_dies_during_a_call(tmp_path: Path) -> None:
    """It may have done what it was asked, so it is not asked again by itself."""
    async with opened(faulty=faulty(tmp_path)) as toolbox:
        with pytest.raises(ToolDoubt, match="was lost during the call"):
            await call(toolbox, "faulty__die")
        assert await again(toolbox, "faulty__garble") == {"result": "after the noise"}
    assert (tmp_path / "died").read_text() == "x"


async def test_a_cancelled_call_is_cancelled_there(tmp_path: Path) -> None:
    async with opened(faulty=faulty(tmp_path)) as toolbox:
        hanging = asyncio.create_task(call(toolbox, "faulty__hang"))
        await apoll((tmp_path / "hanging").exists)
        hanging.cancel()
        await apoll((tmp_path / "cancelled").exists)
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert await call(toolbox, "faulty__garble") == {"result": "after the noise"}


async def test_a_changed_list_is_noticed(tmp_path: Path) -> None:
    async with opened(faulty=faulty(tmp_path)) as toolbox:
        await call(toolbox, "faulty__grow")
        await toolbox.change()  # the first tools
        await apoll(lambda: toolbox.tools().get("faulty__grown"))
        assert await call(toolbox, "faulty__grown") == {"result": "grown"}


async def test_over_http(port: int) -> None:
    """As over pipes: noise, length, changes, death."""
    async with opened(faulty={"url": f"http://127.0.0.1:{port}/mcp"}) as toolbox:
        assert await call(toolbox, "faulty__garble") == {"result": "after the noise"}
        assert len((await call(toolbox, "faulty__flood"))["result"]) > 0
        await call(toolbox, "faulty__grow")
        await apoll(lambda: toolbox.tools().get("faulty__grown"))
        with pytest.raises(ToolDoubt, match="was lost during the call"):
            await call(toolbox, "faulty__die")


def everything(port: int) -> subprocess.Popen[bytes]:
    """The reference server of the protocol over HTTP, with sessions that it keeps in memory."""
    command = ["node", str(EVERYTHING), "streamableHttp"]
    environment = {"PATH": os.environ["PATH"], "PORT": str(port)}
    return listening(
        port, subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    )


@pytest.mark.skipif(not EVERYTHING.exists(), reason="needs Node; make test installs the server")
async def test_a_server_of_others_over_http() -> None:
    """Of the older protocol, with sessions: it is started anew between two calls, and knows nothing of ours."""
    port = free_port()
    process = everything(port)
    try:
        async with opened(all={"url": f"http://127.0.0.1:{port}/mcp", "trusted": True}) as toolbox:
            assert await call(toolbox, "all__get-sum", a=20, b=22) == "The sum of 20 and 22 is 42."
            process.kill()
            process.wait()
            process = everything(port)
            assert await again(toolbox, "all__get-sum", a=1, b=2) == "The sum of 1 and 2 is 3."
    finally:
        process.kill()
        process.wait()


class Legacy:
    """A server of the older protocol, with sessions, answering in JSON; `broken` is what it says to a call instead."""

    def __init__(self, server: HTTPServer) -> None:
        self.session = 0
        self.calls: list[str] = []
        self.broken: tuple[str, int] | None = None
        self.url = server.url_for("/mcp")
        server.expect_request("/mcp").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        message = request.get_json(silent=True) or {}
        match message.get("method"):
            case "initialize":
                self.session += 1
                info = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "x", "version": "1"},
                }
                return self._reply(message, info)
            case _ if request.headers.get("Mcp-Session-Id") != str(self.session):
                return Response("no such session", 404)
            case "tools/list":
                return self._reply(message, {"tools": [{"name": "send", "inputSchema": {"type": "object"}}]})
            case "tools/call":
                self.calls.append(request.headers["Authorization"])
                if self.broken:
                    body, status = self.broken
                    return Response(body.replace("ID", str(message["id"])), status, content_type="application/json")
                return self._reply(message, {"content": [{"type": "text", "text": "sent"}]})
            case "notifications/initialized":
                return Response("", 202)
            case _:
                return Response("", 405)

    def _reply(self, message: dict[str, Any], result: object) -> Response:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return Response(body, content_type="application/json", headers={"Mcp-Session-Id": str(self.session)})


@pytest.fixture
def legacy() -> Iterator[Legacy]:
    with HTTPServer(threaded=True) as server:
        yield Legacy(server)


async def test_a_forgotten_session(legacy: Legacy, monkeypatch: pytest.MonkeyPatch) -> None:
    """404 says that nothing was done: the call is made once, in a new session."""
    monkeypatch.setenv("MAIL_TOKEN", "planted-mail-token-7")
    mail = {"url": legacy.url, "headers": {"Authorization": "Bearer ${MAIL_TOKEN}"}}
    async with opened(mail=mail) as toolbox:
        assert await call(toolbox, "mail__send") == "sent"
        legacy.session += 1  # it was started anew
        assert await call(toolbox, "mail__send") == "sent"
        assert legacy.calls == ["Bearer planted-mail-token-7"] * 2
        assert legacy.session == 3


@pytest.mark.parametrize(
    "broken",
    [("{", 200), ("gone", 500), ('{"jsonrpc": "2.0", "id": ID, "result": {"content": 5}}', 200)],
    ids=["JSON", "status", "shape"],
)
async def test_an_answer_that_nobody_can_read(legacy: Legacy, broken: tuple[str, int]) -> None:
    """Whether it was done is unknown; the connection stays."""
    mail = {"url": legacy.url, "headers": {"Authorization": "x"}}
    async with opened(mail=mail) as toolbox:
        legacy.broken = broken
        with pytest.raises(ToolDoubt):
            async with asyncio.timeout(5):
                await call(toolbox, "mail__send")
        legacy.broken = None
        assert await call(toolbox, "mail__send") == "sent"
        assert legacy.session == 1
