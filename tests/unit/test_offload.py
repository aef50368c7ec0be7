"""Long texts are worked on beside the event loop."""

from __future__ import annotations

import asyncio

from maas.builtin_model import BuiltinModel
from shared.models import Message, Request
from shared.text import MAX_INLINE_CHARS, offload

LONG = "Name. Yesterday we said a_b! " * 2000


async def turns_of_the_loop(work: asyncio.Task[object]) -> int:
    """How often others had their turn before `work` was done."""
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    await work
    return turns


async def test_built_in_model_leaves_the_loop_to_others_while_it_reads_long_words() -> None:
    logs = [{"role": "user", "speaker": None, "at": "2025-11-20T10:00:00", "text": LONG[:12_000]}] * 8
    request = Request(role="Archivist", messages=(Message("user", LONG),), inputs={"logs": logs})
    assert await turns_of_the_loop(asyncio.create_task(BuiltinModel().complete(request, 1.0))) > 2


async def test_short_text_needs_no_thread() -> None:
    assert await turns_of_the_loop(asyncio.create_task(offload(MAX_INLINE_CHARS, LONG.count, "a"))) <= 2
