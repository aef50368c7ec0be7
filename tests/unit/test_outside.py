"""Everything that reads what others send: each place has a limit, and docs/security.md says which."""

from __future__ import annotations

import ast
import gzip
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from maas.assistants.corporate.lightrag_client import LIGHTRAG_LIMITS, STATE_LIMITS
from maas.channels.telegram.client import TELEGRAM_LIMITS
from maas.cli.up import MAX_HEALTH_BYTES
from maas.knowledge.reader import MAX_OUTPUT_BYTES
from maas.tools.mcp_client.remote_tools import MAX_REPLY_BYTES
from maas.tools.mcp_client.sign_in import MAX_AUTHORIZATION_REPLY_BYTES
from shared.bounded_http import (
    CONTAINER_BYTES,
    MAX_EVENT_BYTES,
    MAX_IMAGE_REPLY_BYTES,
    MAX_KEY_SET_BYTES,
    MAX_STREAM_BYTES,
    MAX_TEXT_REPLY_BYTES,
    MAX_VECTORS_BYTES,
    MAX_VENDOR_REPLY_BYTES,
    MIB,
    Allowance,
    ReplyTooLarge,
    open_bounded,
)
from shared.vendors.service import DEFAULT_LIMITS
from tests.stack import ROOT

# Calls that open a way for bytes from outside.
OPENERS = {
    "AsyncClient", "Client", "AsyncOpenAI", "AsyncAnthropic", "DefaultAsyncHttpxClient", "DefaultHttpxClient",
    "urlopen", "build_opener", "create_subprocess_exec", "create_subprocess_shell", "Popen", "check_output",
    "open_process", "open_connection", "create_connection", "open_unix_connection", "connect_read_pipe",
    "connect_tcp", "socket", "stdio_client", "sse_client", "streamable_http_client", "websocket_client", "run_process",
    "HttpClient",
}  # fmt: skip
# The places that have them, and what limits each.
PLACES = {
    ("maas/tools/mcp_client/connection.py", "HttpClient"): "MAX_REPLY_BYTES",
    ("maas/tools/mcp_client/connection.py", "streamable_http_client"): "by HttpClient",
    ("maas/tools/mcp_client/connection.py", "Client"): "by its transports",
    ("maas/tools/mcp_client/error_output.py", "connect_read_pipe"): "lines of 64 KiB",
    ("maas/tools/mcp_client/http_client.py", "HttpClient(AsyncClient)"): "MAX_REPLY_BYTES",
    ("maas/tools/mcp_client/pipes.py", "open_process"): "MAX_REPLY_BYTES a line",
    ("maas/knowledge/reader.py", "create_subprocess_exec"): "MAX_OUTPUT_BYTES",
    ("maas/cli/found_servers.py", "build_opener"): "MAX_REPLY_BYTES",
    ("maas/cli/up.py", "urlopen"): "MAX_HEALTH_BYTES",
    ("maas/client/client.py", "AsyncClient"): "our own server, from the program of its user",
    ("maas/client/client.py", "Client"): "our own server, from the program of its user",
    ("maas/mcp_server/http.py", "AsyncClient"): "our own routes, within the process",
    ("maas/cli/up.py", "Popen"): "our own processes, which inherit the output",
    ("maas/engine/supervision.py", "create_subprocess_exec"): "our own processes, which inherit the output",
    ("maas/passthrough/calls.py", "AsyncClient"): "MAX_STREAM_BYTES",
    ("shared/bounded_http.py", "AsyncClient"): "the argument",
    ("shared/models/anthropic.py", "DefaultAsyncHttpxClient"): "MAX_TEXT_REPLY_BYTES, MAX_STREAM_BYTES",
    ("shared/models/anthropic.py", "AsyncAnthropic"): "by its http_client",
    ("shared/models/gemini.py", "AsyncClient"): "max_reply_bytes of the class, MAX_STREAM_BYTES",
    ("shared/models/gemini.py", "Client"): "by httpx_async_client",
    ("shared/models/openai.py", "DefaultAsyncHttpxClient"): "max_reply_bytes of the class, MAX_STREAM_BYTES",
    ("shared/models/openai.py", "AsyncOpenAI"): "by its http_client",
    ("shared/postgres/__init__.py", "run"): "programs of Postgres",
    ("shared/postgres/cluster.py", "run"): "programs of Postgres",
    ("shared/postgres/cluster.py", "socket"): "no byte is read",
    ("shared/postgres/dump.py", "run"): "programs of Postgres",
    ("shared/postgres/dump.py", "Popen"): "MAX_ERROR_BYTES are read",
    ("shared/postgres/installation.py", "run"): "programs of Postgres",
    ("shared/postgres/supervisor.py", "Popen"): "programs of Postgres",
    ("shared/postgres/supervisor_socket.py", "socket"): "our own processes",
}
HTTP_CLIENTS = {"AsyncClient", "DefaultAsyncHttpxClient", "DefaultHttpxClient", "AsyncOpenAI", "AsyncAnthropic"}
EXEMPT = {"maas/client/client.py", "maas/mcp_server/http.py"}
# What docs/security.md must say of each kind.
DOCUMENTED = {
    "a reply of an MCP server": MAX_REPLY_BYTES,
    "a model's whole reply": MAX_TEXT_REPLY_BYTES,
    "a model's stream": MAX_STREAM_BYTES,
    "one event of it": MAX_EVENT_BYTES,
    "vectors": MAX_VECTORS_BYTES,
    "an image of a model": MAX_IMAGE_REPLY_BYTES,
    "a key set": MAX_KEY_SET_BYTES,
    "an authorization server of MCP": MAX_AUTHORIZATION_REPLY_BYTES,
    "Facebook, amoCRM, WhatsApp": DEFAULT_LIMITS.max_bytes,
    "Telegram": TELEGRAM_LIMITS.max_bytes,
    "LightRAG": LIGHTRAG_LIMITS.max_bytes,
    "what the reader of a document gives": MAX_OUTPUT_BYTES,
}


def opened(tree: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """The openers in a file, and the names of their arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in map(ast.unparse, node.bases):
                if (kind := base.rpartition(".")[2]) in OPENERS and kind != "Client":
                    yield f"{node.name}({kind})", set()
        if isinstance(node, ast.Call):
            whole = ast.unparse(node.func)
            name = whole.rpartition(".")[2]
            if name in OPENERS or whole == "subprocess.run":
                yield name, {one.arg or "**" for one in node.keywords}


def files() -> Iterator[tuple[str, ast.AST]]:
    for folder in ("maas", "shared", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def test_every_place_that_reads_from_outside_has_a_limit() -> None:
    found = {(path, name) for path, tree in files() for name, _ in opened(tree)}
    assert found - PLACES.keys() == set(), "say in PLACES, and in docs/security.md, what limits it"
    assert PLACES.keys() - found == set()


def test_every_http_client_counts() -> None:
    limits = {"event_hooks", "http_client"}
    for path, tree in files():
        for name, arguments in opened(tree):
            if name in HTTP_CLIENTS and path not in EXEMPT:
                assert arguments & limits, f"{path}: {name} without bounded()"


def test_the_walk_finds_a_client() -> None:
    text = "class Mine(httpx2.AsyncClient): pass\nhttpx2.AsyncClient(timeout=1)\nanyio.open_process([])"
    assert dict(opened(ast.parse(text))) == {
        "Mine(AsyncClient)": set(),
        "AsyncClient": {"timeout"},
        "open_process": set(),
    }


@pytest.mark.parametrize("what", DOCUMENTED)
def test_limits_are_documented(what: str) -> None:
    rows = [line for line in Path(ROOT / "docs/security.md").read_text().splitlines() if line.startswith("| ")]
    (row,) = [line for line in rows if line.split("|")[1].strip().startswith(what)]
    assert f" {DOCUMENTED[what] // MIB} MiB" in row


def test_vendors_fit_their_client() -> None:
    largest = max(one.max_bytes for one in (DEFAULT_LIMITS, TELEGRAM_LIMITS, LIGHTRAG_LIMITS, STATE_LIMITS))
    assert largest == MAX_VENDOR_REPLY_BYTES and MAX_HEALTH_BYTES < MIB


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_an_event_is_counted_however_it_is_cut(end: bytes, size: int) -> None:
    stream = (b"data: " + b"x" * 40 + end) * 20
    assert not refused(Allowance(10_000, 60), stream, size)
    assert refused(Allowance(10_000, 30), stream, size)
    half = end[: len(end) // 2]
    assert refused(Allowance(10_000, 60), (b"data: x" + half) * 20, size)  # lines of one event
    assert not refused(Allowance(10_000, 60), half * 200, size)


def refused(allowance: Allowance, text: bytes, size: int) -> bool:
    try:
        for start in range(0, len(text), size):
            allowance.take(text[start : start + size])
    except ReplyTooLarge:
        return True
    return False


def test_containers_weigh_more() -> None:
    assert refused(Allowance(1000), b"[]," * 30, 10)
    assert not refused(Allowance(1000), b"[]," * (1000 // (CONTAINER_BYTES + 4)), 10)
    assert not refused(Allowance(1000, container_bytes=0), b"[]," * 30, 10)


def test_a_stream_that_stays_open_may_send_more() -> None:
    now = [0.0]
    allowance = Allowance(100, refill_bytes_per_s=10, clock=lambda: now[0])
    for _ in range(50):
        now[0] += 5
        allowance.take(b"x" * 50)
    with pytest.raises(ReplyTooLarge):
        allowance.take(b"x" * 60)


async def test_bytes_after_the_end_of_a_compressed_body_count() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield gzip.compress(b"{}")
        for _ in range(100):
            yield b"x" * 1000

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-encoding": "gzip"}, content=body())

    async with open_bounded(50_000, transport=httpx2.MockTransport(answer)) as http:
        with pytest.raises(ReplyTooLarge):
            await http.get("http://outside.example")
