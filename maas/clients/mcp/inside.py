"""The way to an application of the same process: no socket, and replies arrive piece by piece as they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from starlette.types import ASGIApp, Message

_AHEAD = 16  # pieces of a reply that wait for their reader; then the sender does


class Inside(httpx2.AsyncBaseTransport):
    """Carries requests to `app`; `client` is the address that they seem to come from."""

    def __init__(self, app: ASGIApp, client: tuple[str, int] | None) -> None:
        self._app = app
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(self._app, _scope(request, self._client), await request.aread())
        try:
            status, headers = await exchange.begin()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx2.Response(status, headers=headers, stream=exchange)


class _Exchange(httpx2.AsyncByteStream):
    """One request: the application runs as a task until its reply was read, or is not wanted any more."""

    def __init__(self, app: ASGIApp, scope: dict[str, Any], body: bytes) -> None:
        self._app = app
        self._scope = scope
        self._asked = [body]
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue(_AHEAD)
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers. Raises what the application raises before it replies."""
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
            await asyncio.gather(self._task, return_exceptions=True)  # what went wrong is in the reply and in the log

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._messages.put)
        finally:
            await self._messages.put(None)

    async def _receive(self) -> Message:
        if self._asked:
            return {"type": "http.request", "body": self._asked.pop(), "more_body": False}
        await asyncio.Event().wait()  # who leaves calls `aclose`, which cancels the task
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
    }
