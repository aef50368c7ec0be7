"""The MCP server at /mcp: tools call the HTTP API of the same process with the caller's key, which authorizes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol
from uuid import UUID

import httpx2
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Send

from maas.client.client import AsyncMaaS
from maas.client.http import TIMEOUT_S, AsyncHttpTransport
from maas.client.users import Users
from maas.mcp_server import IN_PROCESS
from maas.mcp_server.context import McpContext, Rights
from maas.mcp_server.server import build_server

MAX_BODY_BYTES = 1024 * 1024
MAX_QUEUED_MESSAGES = 16  # parts of a response sent ahead of their reader; then the application waits
USER_HEADER, ASSISTANT_HEADER = "x-maas-user", "x-maas-assistant"
FORWARDED_HEADERS = ("authorization", "x-api-key", "x-request-id")


class McpCaller(Protocol):
    """The authenticated sender of a request, as far as this module needs it."""

    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def user_id(self) -> UUID | None: ...


async def handle_request(
    request: Request,
    caller: McpCaller,
    send: Send,
    make_server: Callable[[McpContext, str | None], Server[Any]] = build_server,
) -> None:
    """Answer one request to /mcp by the server of its caller.

    There are no sessions, so any process may answer the next one.
    """
    headers = {name: value for name in FORWARDED_HEADERS if (value := request.headers.get(name)) is not None}
    host, port = request.client or ("127.0.0.1", 0)
    transport = InProcessTransport(request.app, (host, port))
    http = httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers, trust_env=False)
    async with InProcessMaaS(http) as client:
        rights = _rights(caller, _header_user(request))

        async def get_rights() -> Rights:
            return rights

        sessions = StreamableHTTPSessionManager(
            make_server(McpContext(client, get_rights), _assistant(request)),
            stateless=True,
            max_request_body_size=MAX_BODY_BYTES,
        )
        async with sessions.run():
            await sessions.handle_request(request.scope, request.receive, send)


def _rights(caller: McpCaller, header_user: str | None) -> Rights:
    if caller.user_id is None:
        return Rights(header_user, caller.scopes)
    return Rights(str(caller.user_id), caller.scopes, header_user)


def _assistant(request: Request) -> str | None:
    """The assistant whose tools are offered, too: of the address, ?assistant=, or of the header."""
    return request.query_params.get("assistant") or request.headers.get(ASSISTANT_HEADER)


def _header_user(request: Request) -> str | None:
    """The user named by the header X-MaaS-User, which clients send as UTF-8."""
    value = request.headers.get(USER_HEADER)
    try:
        return value and value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


class InProcessMaaS(AsyncMaaS):
    """A client whose server is this process. Replies cannot be lost, so there are no retries."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.users = Users()
        self._transport = AsyncHttpTransport(http, TIMEOUT_S, retries=0)


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Calls an ASGI application without a socket and streams its responses; `client` is the sender's address."""

    def __init__(self, app: ASGIApp, client: tuple[str, int] | None) -> None:
        self._app = app
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        stream = _ResponseStream(self._app, _scope(request, self._client), await request.aread())
        try:
            status, headers = await stream.start()
        except BaseException:
            await stream.aclose()
            raise
        return httpx2.Response(status, headers=headers, stream=stream)


class _ResponseStream(httpx2.AsyncByteStream):
    """One request: the application runs as a task until its response is read or closed."""

    def __init__(self, app: ASGIApp, scope: dict[str, Any], body: bytes) -> None:
        self._app = app
        self._scope = scope
        self._request_body: bytes | None = body
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue(MAX_QUEUED_MESSAGES)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers. Raises what the application raises before it responds."""
        self._task = asyncio.create_task(self._run())
        message = await self._messages.get()
        if message is None:
            await self._task
            raise httpx2.ReadError("no reply")
        return message["status"], list(message.get("headers", ()))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._messages.get()) is not None:
            yield message.get("body", b"")
            if not message.get("more_body", False):
                return
        raise httpx2.ReadError("the reply broke off")

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)  # errors are in the response and in the log

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._messages.put)
        finally:
            await self._messages.put(None)

    async def _receive(self) -> Message:
        if self._request_body is not None:
            body, self._request_body = self._request_body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.Event().wait()  # a disconnecting reader calls `aclose`, which cancels this task
        raise AssertionError


def _scope(request: httpx2.Request, client: tuple[str, int] | None) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": client,
        "server": (request.url.host, request.url.port),
        IN_PROCESS: True,
    }
