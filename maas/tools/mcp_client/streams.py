"""A stream of messages that says when it ends. A result without a type is complete, as 2026-07-28 requires."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse


class ClosingStream:
    """A stream that calls `on_close` when its reader leaves it."""

    def __init__(self, stream: Any, on_close: Callable[[], None]) -> None:
        self._stream = stream
        self._on_close = on_close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for one in self._stream:
            if isinstance(one, SessionMessage) and isinstance(one.message, JSONRPCResponse):
                one.message.result.setdefault("resultType", "complete")  # the SDK refuses results without
            yield one

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        self._on_close()
        return await self._stream.__aexit__(*error)
