"""A process that reads one file: `python -m maas.knowledge.reader MEDIA_TYPE < FILE` prints its chunks as JSON.

It has limits of memory and CPU time and a low priority, so a hostile file harms nobody but itself. The first line is
the document, each other line a chunk: whoever reads them holds no more than one line beside the chunks.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maas.knowledge.chunks import Chunk, cut, summary
from maas.knowledge.outline import Unreadable
from maas.knowledge.readers import READERS
from shared.text import clean

ROOT = str(Path(__file__).resolve().parents[2])  # a program that was started elsewhere finds this package, too
MAX_MEMORY_BYTES = 2 * 1024**3
MAX_CPU_S = 20
TIMEOUT_S = 90.0  # on a machine that has others to serve first
NICENESS = 10
MAX_CHUNKS = 20_000
MAX_LINE_BYTES = 1024 * 1024
MAX_OUTPUT_BYTES = 192 * 1024 * 1024
PIECE_BYTES = 256 * 1024
TOO_MUCH = "it takes more memory or time than a document may: split it"


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What a file says: `pages` is the last one that holds text, None where there are no pages."""

    pages: int | None
    summary: str
    chunks: list[Chunk]


async def read_file(content: bytes, media_type: str) -> ReadDocument:
    """What a file says, read in a process of its own. Raises Unreadable."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # not a package that the current folder has
        "-m",
        "maas.knowledge.reader",
        media_type,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": os.pathsep.join((*filter(None, sys.path), ROOT))},
        start_new_session=True,
        limit=MAX_LINE_BYTES,
    )
    assert process.stdin is not None and process.stdout is not None
    sending = asyncio.create_task(_send(process.stdin, content))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await _receive(process.stdout)
    except (TimeoutError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(TOO_MUCH) from error
    finally:
        sending.cancel()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _send(pipe: asyncio.StreamWriter, content: bytes) -> None:
    """Write the file in pieces, so that no copy of the whole waits in a buffer."""
    view = memoryview(content)
    with suppress(OSError):  # a process that has ended has said why, or nothing
        for start in range(0, len(view), PIECE_BYTES):
            pipe.write(view[start : start + PIECE_BYTES])
            await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


async def _receive(pipe: asyncio.StreamReader) -> ReadDocument:
    """Raises Unreadable; ValueError and the like for what the process should not write."""
    left = MAX_OUTPUT_BYTES
    head: dict[str, Any] = {}
    chunks: list[Chunk] = []
    async for line in pipe:
        left -= len(line)
        if left < 0 or len(chunks) >= MAX_CHUNKS:
            raise Unreadable(TOO_MUCH)
        value = json.loads(line)
        if not head:
            head = value
            if "error" in head:
                raise Unreadable(head["error"])
        else:
            chunks.append(Chunk(*value))
    if not head or len(chunks) != head["chunks"]:
        raise Unreadable(TOO_MUCH)
    return ReadDocument(head["pages"], head["summary"], chunks)


def main() -> None:
    """Read standard input, print the document or an error."""
    with suppress(OSError, AttributeError):  # not on Windows
        os.nice(NICENESS)
    try:
        import resource
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    for line in _lines(sys.argv[1], sys.stdin.buffer.read()):
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def _lines(media_type: str, content: bytes) -> Iterator[Any]:
    try:
        sections = READERS[media_type](content)
        chunks = cut(sections)
        if len(chunks) > MAX_CHUNKS:
            raise Unreadable(f"it is too long, more than {MAX_CHUNKS} chunks: split it")
    except Unreadable as error:
        yield {"error": str(error)}
        return
    pages = max((section.page for section in sections if section.page is not None), default=None)
    yield {"pages": pages, "summary": clean(summary(sections)), "chunks": len(chunks)}
    for chunk in chunks:
        yield clean(chunk.heading), chunk.page, chunk.position, clean(chunk.text)


if __name__ == "__main__":
    main()
