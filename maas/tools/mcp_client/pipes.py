"""The pipes of a program that is an MCP server: a message a line, and no line longer than MAX_REPLY_BYTES.

The SDK's own transport keeps a line of any length; this one is in its place, with the same order of ending.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TextIO

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from maas.tools.mcp_client.program import Program
from maas.tools.mcp_client.remote_tools import MAX_REPLY_BYTES
from shared.bounded_http import weigh

FLUSH_TIMEOUT_S = 0.5  # for messages that were accepted, before the program's input is closed
EXIT_TIMEOUT_S = 2.0  # for the program to end by itself, then for each signal
POLL_INTERVAL_S = 0.01
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
_Messages = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def open_pipes(
    program: Program, stderr: TextIO, on_error_line: Callable[[str], object]
) -> AsyncIterator[_Messages]:
    """Start a program; its messages, and a stream for ours. A line that is too long ends the messages.

    `on_error_line` gets that line. The program gets the SDK's default environment and its own. Raises OSError.
    """
    process = await anyio.open_process(
        [program.command, *program.args],
        env=get_default_environment() | program.env,
        stderr=stderr,
        cwd=program.cwd,
        start_new_session=True,
    )
    send, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    ours, receive = anyio.create_memory_object_stream[SessionMessage](0)
    is_written = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_read, process, send, on_error_line)
        group.start_soon(_write, process, receive, send, is_written)
        try:
            yield messages, ours
        finally:
            with anyio.CancelScope(shield=True):  # else the program would stay
                messages.close()
                ours.close()
                with anyio.move_on_after(FLUSH_TIMEOUT_S):
                    await is_written.wait()
                await _stop(process)
            group.cancel_scope.cancel()


class Lines:
    """Puts bytes together into lines of at most `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._weight = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that the piece completes. Raises ValueError for one that is too long."""
        *ended, rest = piece.split(b"\n")
        for part in ended:
            yield bytes(self._grown(part))
            self._line.clear()
            self._weight = 0
        self._grown(rest)

    def _grown(self, part: bytes) -> bytearray:
        self._weight += weigh(part)
        if self._weight > self._max_bytes:
            raise ValueError(f"it sent a line of more than {self._max_bytes:,} bytes")
        self._line += part
        return self._line


async def _read(
    process: Process, send: MemoryObjectSendStream[SessionMessage | Exception], on_error_line: Callable[[str], object]
) -> None:
    assert process.stdout is not None
    lines = Lines(MAX_REPLY_BYTES)
    async with send:
        with suppress(*_CLOSED):
            async for piece in process.stdout:
                try:
                    for line in lines.feed(piece):
                        await send.send(_message(line))
                except ValueError as error:
                    on_error_line(str(error))
                    break
    with suppress(*_CLOSED):  # what it still writes, so that it is not held up on its way to its end
        async for _ in process.stdout:
            pass


async def _write(
    process: Process,
    receive: MemoryObjectReceiveStream[SessionMessage],
    send: MemoryObjectSendStream[SessionMessage | Exception],
    is_written: anyio.Event,
) -> None:
    assert process.stdin is not None
    try:
        async with receive:
            async for message in receive:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode() + b"\n")
    except _CLOSED:
        send.close()  # the session learns that the connection has ended
    finally:
        is_written.set()


def _message(line: bytes) -> SessionMessage | Exception:
    """The message of a line; the error of a line that is none, which the session passes on."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _stop(process: Process) -> None:
    """Close the program's input and wait; end it and all its children if it stays."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(*_CLOSED):
        await process.stdin.aclose()
    if not await _has_ended(process):
        await terminate_posix_process_tree(process, EXIT_TIMEOUT_S)
        await _has_ended(process)
    with suppress(*_CLOSED):
        await process.stdout.aclose()
    transport: Any = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:  # else it stays open while a child that was left holds a pipe
        with suppress(PermissionError):
            transport.close()


async def _has_ended(process: Process) -> bool:
    """Whether the program ends in time; children that hold its pipes do not count."""
    with anyio.move_on_after(EXIT_TIMEOUT_S):
        while process.returncode is None:
            await anyio.sleep(POLL_INTERVAL_S)
    return process.returncode is not None
