"""A protocol beside the doors: who calls is asked first, and what speaks it is loaded when somebody does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from maas.http.access import identify
from maas.http.callers import Caller

Answer = Callable[[Request, Caller, Send], Awaitable[None]]


class Mounted:
    """ASGI application; `load` gives what answers, and may take its time."""

    def __init__(self, load: Callable[[], Answer]) -> None:
        self._load = load
        self._loading: asyncio.Task[Answer] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        caller = await identify(request)
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(self._load))
        answer = await asyncio.shield(self._loading)
        await answer(request, caller, send)
