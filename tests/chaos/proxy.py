"""A TCP proxy before the model server that breaks calls on command. It speaks HTTP/1.1 with keep-alive."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self
from urllib.parse import urlsplit

from tests.chaos.schedule import ModelFault

RETRY_AFTER = 1
HANG = 10.0
_LIMITED = b'"limited"'
_MARK = re.compile(r"run \d{6} of user \d{4}")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_FRAMING = re.compile(rb"(content-length|transfer-encoding):", re.IGNORECASE)
_REFUSALS = {ModelFault.RATE_LIMIT: "429 Too Many Requests", ModelFault.SERVER_ERROR: "500 Internal Server Error"}


@dataclass(frozen=True, slots=True)
class Injected:
    """One broken call: of which model, and the mark in the last message when that begins with one."""

    at: datetime
    fault: ModelFault
    model: str
    mark: str | None


class FaultProxy:
    """`draw` says for each call what it suffers; `storm` overrules it. Times in seconds. Use as a context manager."""

    def __init__(self, target: str, draw: Callable[[], ModelFault | None], hang: float = HANG) -> None:
        address = urlsplit(target)
        self._target = (address.hostname or "", address.port or 80)
        self._draw = draw
        self._hang = hang
        self._server: asyncio.Server
        self._open: set[asyncio.Task[None]] = set()
        self.storm: ModelFault | None = None
        self.calls = 0
        self.limited: list[datetime] = []  # calls of the model that has a limit a minute
        self.injected: list[Injected] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        upstream = _Upstream(self._target)
        try:
            with suppress(OSError, EOFError, asyncio.CancelledError):
                while await self._pass_on(reader, writer, upstream):
                    pass
        finally:
            self._open.discard(task)
            upstream.close()
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: _Upstream) -> bool:
        """One call; False when the connection is over."""
        head, body = await _read_message(reader)
        self.calls += 1
        if _LIMITED in body:
            self.limited.append(datetime.now(UTC))
        drawn = self._draw()
        fault = self.storm or drawn
        if fault is not None:
            self.injected.append(_note(fault, body))
        if fault is ModelFault.RESET:
            _reset(writer)
            return False
        if fault is ModelFault.HANG:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._hang):
                    await reader.read(1)
            return False
        if fault in _REFUSALS:
            writer.write(_refusal(fault))
            return True
        reply_head, reply = await upstream.ask(head + body)
        if fault is ModelFault.HALF:
            reply = reply[: len(reply) // 2]
        whole = _with_length(reply_head, len(reply)) + reply
        writer.write(whole[: len(whole) - len(reply) // 2] if fault is ModelFault.CUT else whole)
        await writer.drain()
        return fault is not ModelFault.CUT


class _Upstream:
    """The connection to the model server; one that was closed while idle is opened again."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Head and body of the reply."""
        if self._writer is not None:
            with suppress(OSError, EOFError):
                return await self._exchange(self._writer, request)
            self._writer.close()
        self._reader, self._writer = await asyncio.open_connection(*self._target)
        return await self._exchange(self._writer, request)

    async def _exchange(self, writer: asyncio.StreamWriter, request: bytes) -> tuple[bytes, bytes]:
        writer.write(request)
        return await _read_message(self._reader)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


async def _read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body, without the framing of chunks. Raises EOFError when the connection ended."""
    head = await reader.readuntil(b"\r\n\r\n")
    if _CHUNKED.search(head):
        parts = []
        while size := int(await reader.readline() or b"0", 16):
            parts.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return head, b"".join(parts)
    length = _LENGTH.search(head)
    return head, await reader.readexactly(int(length[1])) if length else b""


def _with_length(head: bytes, length: int) -> bytes:
    lines = [line for line in head[:-4].split(b"\r\n") if not _FRAMING.match(line)]
    return b"\r\n".join([*lines, b"content-length: %d" % length, b"", b""])


def _refusal(fault: ModelFault) -> bytes:
    body = json.dumps({"error": {"message": "chaos", "type": "chaos"}}).encode()
    pause = f"retry-after: {RETRY_AFTER}\r\n" if fault is ModelFault.RATE_LIMIT else ""
    head = f"HTTP/1.1 {_REFUSALS[fault]}\r\ncontent-type: application/json\r\n{pause}\r\n".encode()
    return _with_length(head, len(body)) + body


def _reset(writer: asyncio.StreamWriter) -> None:
    # Without lingering, closing sends RST instead of FIN.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _note(fault: ModelFault, body: bytes) -> Injected:
    call = json.loads(body)
    mark = _MARK.match(str(call["messages"][-1]["content"]))
    return Injected(datetime.now(UTC), fault, call["model"], mark[0] if mark else None)
