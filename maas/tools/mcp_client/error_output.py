"""The error output of an MCP server's program: each line goes to the log."""

from __future__ import annotations

import asyncio
import os
from asyncio.streams import StreamReader, StreamReaderProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

import structlog

from shared.log import mask
from shared.text import clean

MAX_LINE_CHARS = 500
log = structlog.get_logger()


@asynccontextmanager
async def open_error_output(server_name: str, on_line: Callable[[str], object]) -> AsyncIterator[TextIO]:
    """A file for the error output of a program; `on_line` gets each line, cut and masked."""
    read_fd, write_fd = os.pipe()
    reader = StreamReader(limit=1 << 16)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: StreamReaderProtocol(reader), os.fdopen(read_fd, "rb")
    )
    logging_task = asyncio.create_task(_log_lines(reader, server_name, on_line))
    try:
        with os.fdopen(write_fd, "w") as stderr:
            yield stderr
    finally:
        pipe.close()
        logging_task.cancel()


async def _log_lines(reader: StreamReader, server_name: str, on_line: Callable[[str], object]) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:  # longer than the reader's limit
            continue
        if not line:
            return
        text = mask(clean(line[: 4 * MAX_LINE_CHARS].decode(errors="replace")).strip()[:MAX_LINE_CHARS])
        if text:
            on_line(text)
            log.debug("mcp_server_stderr", server=server_name, line=text)
