"""The way to a server: the pipes of a program that is started, or streamable HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
from asyncio.streams import StreamReader, StreamReaderProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol, Self, TextIO

import httpx2
import structlog
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from maas.agents.mcp.program import program_of
from maas.agents.mcp.servers import Server
from shared.log import mask
from shared.process import close_to_others
from shared.text import clean

CONNECT = 10.0
LINE_CHARS = 500
REFUSAL_BYTES = 10_000  # of a refusal that is read
log = structlog.get_logger()
# What the SDK logs repeats what servers sent, at any length; what matters of it is logged here.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


class Hearer(Protocol):
    """Who is told what happens to a connection beside its messages."""

    def ended(self) -> None:
        """The server says no more."""
        ...

    def forgotten(self) -> None:
        """The server does not know the session."""
        ...

    def muttered(self, words: str) -> None:
        """An error line of a program, or the status of a refused request."""
        ...


@asynccontextmanager
async def open_transport(server: Server, hearer: Hearer) -> AsyncIterator[Any]:
    """The streams of a connection. Raises OSError, LookupError for a program that cannot be started."""
    async with AsyncExitStack() as stack:
        if server.url is None:
            errors = await stack.enter_async_context(_overheard(server.name, hearer))
            close_to_others()
            reading, writing = await stack.enter_async_context(stdio_client(program_of(server), errlog=errors))
        else:
            http = httpx2.AsyncClient(
                headers=server.headers,
                timeout=httpx2.Timeout(CONNECT, read=None),
                event_hooks={"response": [_status_to(hearer)]},
            )
            await stack.enter_async_context(http)
            reading, writing = await stack.enter_async_context(streamable_http_client(server.url, http_client=http))
        yield _Watched(reading, hearer.ended), writing


class _Watched:
    """A stream that says when nobody reads it any more."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Any:
        return self._stream.__aiter__()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        self._ended()
        return await self._stream.__aexit__(*error)


def _status_to(hearer: Hearer) -> Callable[[httpx2.Response], Any]:
    async def tell(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            hearer.muttered(f"HTTP {response.status_code}")
        asked = response.request
        if asked.method == "POST" and MCP_SESSION_ID in asked.headers and await _denies_session(response):
            hearer.forgotten()

    return tell


async def _denies_session(response: httpx2.Response) -> bool:
    """Whether a server does not know the session: 404 by the protocol; many say 400 and name it."""
    length = response.headers.get("content-length", "")
    if response.status_code == 400 and length.isdecimal() and int(length) <= REFUSAL_BYTES:
        return b"session" in (await response.aread()).lower()
    return response.status_code == 404


@asynccontextmanager
async def _overheard(name: str, hearer: Hearer) -> AsyncIterator[TextIO]:
    """Where a program writes its errors: each line goes to the log."""
    reading, writing = os.pipe()
    reader = StreamReader(limit=1 << 16)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: StreamReaderProtocol(reader), os.fdopen(reading, "rb")
    )
    listening = asyncio.create_task(_log_lines(name, reader, hearer))
    try:
        with os.fdopen(writing, "w") as errors:
            yield errors
    finally:
        pipe.close()
        listening.cancel()


async def _log_lines(name: str, reader: StreamReader, hearer: Hearer) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # longer than the reader's limit
            continue
        if not line:
            return
        said = mask(clean(line[: 4 * LINE_CHARS].decode(errors="replace")).strip()[:LINE_CHARS])
        if said:
            hearer.muttered(said)
            log.debug("mcp_server_said", server=name, line=said)
