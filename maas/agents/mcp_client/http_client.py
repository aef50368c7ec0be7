"""The HTTP client of a connection to an MCP server: its headers, and what statuses of responses mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

import httpx2

REFUSED_CODE = -32_098  # our own, of a response with one of REFUSED_STATUSES
REFUSED_STATUSES = (401, 403)
MAX_REFUSAL_BYTES = 10_000
_SESSION_HEADER = "mcp-session-id"
# Shorter than what servers wait for (uvicorn, Node: 5 s): no call goes out on a connection that is just being closed.
_LIMITS = httpx2.Limits(keepalive_expiry=2.0)


class HttpConnection(Protocol):
    """What the client needs of its connection."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def on_error_line(self, line: str) -> None: ...

    def on_session_lost(self) -> None: ...

    def on_refused(self) -> None: ...


class HttpClient(httpx2.AsyncClient):
    """A client with the headers of one connection and cookies of its own. It follows no redirects.

    A response that refuses access becomes a JSON-RPC error, so that just the call that was refused learns of it.
    """

    def __init__(self, connection: HttpConnection, timeout_s: float) -> None:
        timeout = httpx2.Timeout(timeout_s, read=None)
        super().__init__(headers=dict(connection.headers), timeout=timeout, limits=_LIMITS, verify=_tls())
        self._connection = connection

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        if response.status_code >= 400:
            self._connection.on_error_line(f"HTTP {response.status_code}")
        if request.method != "POST":
            return response
        if response.status_code in REFUSED_STATUSES:
            await response.aclose()
            self._connection.on_refused()
            error = {"code": REFUSED_CODE, "message": f"HTTP {response.status_code}"}
            body = {"jsonrpc": "2.0", "id": None, "error": error}
            return httpx2.Response(response.status_code, json=body, request=request)
        if _SESSION_HEADER in request.headers and await _denies_session(response):
            self._connection.on_session_lost()
        return response


@cache
def _tls() -> Any:
    """The certificates of all connections; reading them takes 30 ms of CPU."""
    return httpx2.create_ssl_context()


async def _denies_session(response: httpx2.Response) -> bool:
    """Whether the server does not know the session: 404 by the protocol; many servers answer 400 and name it."""
    length = response.headers.get("content-length", "")
    if response.status_code == 400 and length.isdecimal() and int(length) <= MAX_REFUSAL_BYTES:
        return b"session" in (await response.aread()).lower()
    return response.status_code == 404
