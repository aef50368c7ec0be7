"""Work on text beside the event loop, where a long message would hold up everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

SHORT_CHARS = 8000  # takes some milliseconds at most, less than what a thread may add under load

P = ParamSpec("P")
Result = TypeVar("Result")


async def offload(chars: int, work: Callable[P, Result], *args: P.args, **options: P.kwargs) -> Result:
    """Call `work`, in a thread when the text that it looks at has more than SHORT_CHARS characters."""
    if chars <= SHORT_CHARS:
        return work(*args, **options)
    return await asyncio.to_thread(work, *args, **options)
