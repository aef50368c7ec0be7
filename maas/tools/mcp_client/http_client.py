"""The HTTP client of a connection to an MCP server: its headers, its limits, and what statuses of responses mean."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Protocol

import anyio
import httpx2

from maas.tools.mcp_client.remote_tools import MAX_REPLY_BYTES
from maas.tools.mcp_client.sign_in import SignIn, SignInFailed
from shared.bounded_http import Allowance, Hook, ReplyTooLarge, ask_uncompressed, count_bytes, is_event_stream

REFUSED_CODE = -32_098  # our own, of a response with one of REFUSED_STATUSES
TOO_LARGE_CODE = -32_097  # our own, of a reply longer than MAX_REPLY_BYTES
CALL_OVER_CODE = -32_096  # our own, of a reply that nobody waits for any more
REFUSED_STATUSES = (401, 403)
MAX_REFUSAL_BYTES = 10_000
STREAM_REFILL_BYTES_PER_S = 16 * 1024  # what an event stream may send for as long as it is open
_SESSION_HEADER = "mcp-session-id"
# Shorter than what servers wait for (uvicorn, Node: 5 s): no call goes out on a connection that is just being closed.
_LIMITS = httpx2.Limits(keepalive_expiry=2.0)


class HttpConnection(Protocol):
    """What the client needs of its connection."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def sign_in(self) -> SignIn | None: ...

    def on_error_line(self, line: str) -> None: ...

    def on_session_lost(self) -> None: ...

    def on_refused(self) -> None: ...


class _Call:
    """A call in progress: what reads for it ends with it."""

    def __init__(self) -> None:
        self._scopes: set[anyio.CancelScope] = set()
        self._is_over = False

    @contextmanager
    def reading(self) -> Iterator[anyio.CancelScope]:
        """A scope that is cancelled when the call is over."""
        with anyio.CancelScope() as scope:
            if self._is_over:
                scope.cancel()
            self._scopes.add(scope)
            try:
                yield scope
            finally:
                self._scopes.discard(scope)

    def end(self) -> None:
        self._is_over = True
        for scope in tuple(self._scopes):
            scope.cancel()


_call: ContextVar[_Call | None] = ContextVar("mcp_call", default=None)


@contextmanager
def call_in_progress() -> Iterator[None]:
    """The requests that are sent within, in tasks of the SDK too, are read no longer than until the end of it."""
    call = _Call()
    token = _call.set(call)
    try:
        yield
    finally:
        _call.reset(token)
        call.end()


class HttpClient(httpx2.AsyncClient):
    """A client with the headers of one connection and cookies of its own. It follows no redirects.

    A response that refuses access, one that is too large and one whose call is over become JSON-RPC errors, so that
    just the call that was refused learns of it.
    """

    def __init__(self, connection: HttpConnection, timeout_s: float) -> None:
        timeout = httpx2.Timeout(timeout_s, read=None)
        hooks: dict[str, list[Hook]] = {"request": [ask_uncompressed], "response": [_limit]}
        super().__init__(
            headers=dict(connection.headers), timeout=timeout, limits=_LIMITS, verify=tls(), event_hooks=hooks
        )
        self._connection = connection

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        call = _call.get()
        if call is None:
            return await self._send(request, options, None)
        with call.reading():
            return await self._send(request, options, call)
        return _error_response(request, 502, CALL_OVER_CODE, "the call is over")

    async def _send(self, request: httpx2.Request, options: Mapping[str, Any], call: _Call | None) -> httpx2.Response:
        try:
            response = await self._send_signed_in(request, options)
        except SignInFailed as error:
            self._connection.on_error_line(f"it cannot be signed in to: {error}")
            self._connection.on_refused()
            return _error_response(request, 401, REFUSED_CODE, "not signed in")
        if response.status_code >= 400:
            self._connection.on_error_line(f"HTTP {response.status_code}")
        if request.method != "POST":
            return response
        if response.status_code in REFUSED_STATUSES:
            await response.aclose()
            self._connection.on_refused()
            return _error_response(request, response.status_code, REFUSED_CODE, f"HTTP {response.status_code}")
        if _SESSION_HEADER in request.headers and await _denies_session(response):
            self._connection.on_session_lost()
        if is_event_stream(response):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _CallStream(response.stream, call)
        elif "json" in response.headers.get("content-type", "").lower():
            try:
                await response.aread()
            except ReplyTooLarge as error:
                return _error_response(request, 502, TOO_LARGE_CODE, str(error))
            finally:
                await response.aclose()
        return response

    async def _send_signed_in(self, request: httpx2.Request, options: Mapping[str, Any]) -> httpx2.Response:
        send_unsigned = super().send

        async def send(one: httpx2.Request) -> httpx2.Response:
            return await send_unsigned(one, **options)

        sign_in = self._connection.sign_in
        return await send(request) if sign_in is None else await sign_in.send(request, send)


async def _limit(response: httpx2.Response) -> None:
    if is_event_stream(response):
        count_bytes(response, Allowance(MAX_REPLY_BYTES, MAX_REPLY_BYTES, refill_bytes_per_s=STREAM_REFILL_BYTES_PER_S))
    else:
        count_bytes(response, Allowance(MAX_REPLY_BYTES))


class _CallStream(httpx2.AsyncByteStream):
    """An event stream that ends with an error for its call, when it is too large or the call is over."""

    def __init__(self, stream: httpx2.AsyncByteStream, call: _Call | None) -> None:
        self._stream = stream
        self._call = call or _Call()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(aiter(self._stream)) as pieces:  # type: ignore[type-var]
            last, piece = b"\n", None
            while True:
                try:
                    with self._call.reading() as scope:
                        piece = await anext(pieces, None)
                except ReplyTooLarge as error:
                    yield _error_event(last, TOO_LARGE_CODE, str(error))
                    return
                if scope.cancelled_caught:
                    yield _error_event(last, CALL_OVER_CODE, "the call is over")
                if piece is None:
                    return
                yield piece
                last = piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _error(code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


def _error_response(request: httpx2.Request, status: int, code: int, message: str) -> httpx2.Response:
    return httpx2.Response(status, json=_error(code, message), request=request)


def _error_event(last: bytes, code: int, message: str) -> bytes:
    """An event with an error, after the `last` piece; the event that was cut off gets a type that is ignored."""
    line_end = "" if last.endswith((b"\n", b"\r")) else "\n"
    return f"{line_end}event: cut\n\ndata: {json.dumps(_error(code, message))}\n\n".encode()


@cache
def tls() -> Any:
    """The certificates of all connections; reading them takes 30 ms of CPU."""
    return httpx2.create_ssl_context()


async def _denies_session(response: httpx2.Response) -> bool:
    """Whether the server does not know the session: 404 by the protocol; many servers answer 400 and name it."""
    length = response.headers.get("content-length", "")
    if response.status_code == 400 and length.isdecimal() and int(length) <= MAX_REFUSAL_BYTES:
        return b"session" in (await response.aread()).lower()
    return response.status_code == 404
