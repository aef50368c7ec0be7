"""A process that reads one file: `python -m maas.knowledge.reader MEDIA_TYPE < FILE` prints sections as JSON.

It has limits of memory and CPU time, so a hostile file harms nobody but itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from maas.knowledge.readers import READERS, Section, Unreadable
from shared.text import clean

ROOT = str(Path(__file__).resolve().parents[2])  # a program that was started elsewhere finds this package, too
MAX_MEMORY_BYTES = 2 * 1024**3
MAX_CPU_S = 120
TIMEOUT_S = 180.0
TOO_MUCH = "it takes more memory or time than a document may: split it"


async def read_sections(content: bytes, media_type: str) -> list[Section]:
    """The sections of a file, read in a process of its own. Raises Unreadable."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "maas.knowledge.reader", media_type,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": os.pathsep.join((ROOT, *filter(None, sys.path)))},
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, _ = await process.communicate(content)
    except TimeoutError as error:
        raise Unreadable(TOO_MUCH) from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise Unreadable(TOO_MUCH)
    found = json.loads(output)
    if "error" in found:
        raise Unreadable(found["error"])
    return [Section(tuple(headings), page, text) for headings, page, text in found["sections"]]


def main() -> None:
    """Read standard input, print sections or an error."""
    try:
        import resource
    except ImportError:  # not on Windows
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    try:
        sections = READERS[sys.argv[1]](sys.stdin.buffer.read())
    except Unreadable as error:
        json.dump({"error": str(error)}, sys.stdout)
        return
    readable = [[[clean(one) for one in section.headings], section.page, clean(section.text)] for section in sections]
    json.dump({"sections": readable}, sys.stdout)


if __name__ == "__main__":
    main()
