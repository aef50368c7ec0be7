"""The proxy that breaks model calls, between a real client and a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from shared.models import Message, ModelError
from shared.models import Request as Asked
from shared.models.openai import OpenAIModel
from tests.chaos.proxy import FaultProxy
from tests.chaos.schedule import ModelFault

MARK = "run 000042 of user 0007"
CALL = {"model": "responder", "messages": [{"role": "user", "content": f"{MARK}: hello"}]}
PATH = "/v1/chat/completions"


@asynccontextmanager
async def proxy(server: HTTPServer, *faults: ModelFault | None, hang: float = 10.0) -> AsyncIterator[FaultProxy]:
    """The faults in this order, and then none."""
    draws: Iterator[ModelFault | None] = iter(faults)
    async with FaultProxy(server.url_for(""), lambda: next(draws, None), hang) as proxy:
        yield proxy


@asynccontextmanager
async def client(proxy: FaultProxy) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=proxy.url, timeout=5, trust_env=False, verify=False) as client:
        yield client


@pytest.fixture
def echo(httpserver: HTTPServer) -> HTTPServer:
    """Returns what it was sent."""

    def answer(request: Request) -> Response:
        return Response(request.get_data(), content_type="application/json")

    httpserver.expect_request(PATH).respond_with_handler(answer)
    return httpserver


async def test_calls_pass_unchanged(echo: HTTPServer) -> None:
    long = CALL | {"padding": "слово " * 50_000}
    async with proxy(echo) as between, client(between) as caller:
        for body in (CALL, long, CALL):
            reply = await caller.post(PATH, json=body)
            assert (reply.status_code, reply.json()) == (200, body)
    assert (between.calls, between.injected) == (3, [])


async def test_chunked_replies_pass() -> None:
    """As Node sends them."""
    parts = [b'{"a": ', b"1" * 70_000, b"}"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"]}")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (*parts, b""):
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, FaultProxy(url, lambda: None) as between, client(between) as caller:
        for _ in range(2):  # the connection behind the proxy is a new one
            assert (await caller.post(PATH, json=CALL)).content == b"".join(parts)


@pytest.mark.parametrize(
    ("fault", "status", "pause"), [(ModelFault.RATE_LIMIT, 429, "1"), (ModelFault.SERVER_ERROR, 500, None)]
)
async def test_refusals(echo: HTTPServer, fault: ModelFault, status: int, pause: str | None) -> None:
    async with proxy(echo, fault) as between, client(between) as caller:
        refused = await caller.post(PATH, json=CALL)
        assert (refused.status_code, refused.headers.get("retry-after")) == (status, pause)
        assert (await caller.post(PATH, json=CALL)).json() == CALL
    assert len(echo.log) == 1


async def test_reset(echo: HTTPServer) -> None:
    async with proxy(echo, ModelFault.RESET) as between:
        port = int(between.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps(CALL).encode()
        writer.write(b"POST %s HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % (PATH.encode(), len(body)) + body)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
    assert echo.log == []


async def test_cut(echo: HTTPServer) -> None:
    async with proxy(echo, ModelFault.CUT) as between, client(between) as caller:
        with pytest.raises(httpx2.RemoteProtocolError, match="without sending complete"):
            await caller.post(PATH, json=CALL)


async def test_half(echo: HTTPServer) -> None:
    async with proxy(echo, ModelFault.HALF) as between, client(between) as caller:
        whole = json.dumps(CALL, separators=(",", ":")).encode()
        reply = await caller.post(PATH, content=whole)
        assert (reply.status_code, reply.content) == (200, whole[: len(whole) // 2])


async def test_hang_ends_with_the_timeout_of_either_side(echo: HTTPServer) -> None:
    async with proxy(echo, ModelFault.HANG, ModelFault.HANG, hang=0.2) as between, client(between) as caller:
        with pytest.raises(httpx2.ReadTimeout):
            await caller.post(PATH, json=CALL, timeout=0.05)
        with pytest.raises(httpx2.RemoteProtocolError):
            await caller.post(PATH, json=CALL)
        assert (await caller.post(PATH, json=CALL)).json() == CALL


async def test_a_hanging_call_does_not_keep_the_proxy(echo: HTTPServer) -> None:
    async with proxy(echo, ModelFault.HANG) as between, client(between) as caller:
        call = asyncio.create_task(caller.post(PATH, json=CALL))
        async with asyncio.timeout(5):
            while not between.injected:
                await asyncio.sleep(0.01)
    with pytest.raises(httpx2.TransportError):
        await call


async def test_a_storm_overrules_the_draws(echo: HTTPServer) -> None:
    async with proxy(echo, None, ModelFault.HANG) as between, client(between) as caller:
        between.storm = ModelFault.SERVER_ERROR
        assert [(await caller.post(PATH, json=CALL)).status_code for _ in range(2)] == [500, 500]
        between.storm = None
        assert (await caller.post(PATH, json=CALL)).status_code == 200


async def test_what_was_broken_is_noted(echo: HTTPServer) -> None:
    other = {"model": "analyzer", "messages": [{"role": "user", "content": f"Think of {MARK}."}]}
    async with proxy(echo, ModelFault.HALF, None, ModelFault.RATE_LIMIT) as between, client(between) as caller:
        for body in (CALL, CALL, other):
            await caller.post(PATH, json=body)
    noted = [(one.fault, one.model, one.mark) for one in between.injected]
    assert noted == [(ModelFault.HALF, "responder", MARK), (ModelFault.RATE_LIMIT, "analyzer", None)]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (ModelFault.RESET, "unreachable"),
        (ModelFault.CUT, "unreachable"),
        (ModelFault.HANG, "timeout"),
        (ModelFault.HALF, "malformed"),
        (ModelFault.RATE_LIMIT, "rate_limited"),
        (ModelFault.SERVER_ERROR, "provider_error"),
    ],
)
async def test_what_the_product_makes_of_it(echo: HTTPServer, fault: ModelFault, code: str) -> None:
    """The verdict looks for these codes."""
    async with proxy(echo, fault) as between:
        model = OpenAIModel("responder", api_key="sk-chaos-0123456789", base_url=f"{between.url}/v1")
        with pytest.raises(ModelError) as caught:
            await model.complete(Asked("FinalResponder", (Message("user", f"{MARK}: hello"),)), 0.5)
        await model.close()
    assert caught.value.code == code
