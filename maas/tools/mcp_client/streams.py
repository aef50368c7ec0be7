"""A stream of messages that says when it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self


class ClosingStream:
    """A stream that calls `on_close` when its reader leaves it."""

    def __init__(self, stream: Any, on_close: Callable[[], None]) -> None:
        self._stream = stream
        self._on_close = on_close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Any:
        return self._stream.__aiter__()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        self._on_close()
        return await self._stream.__aexit__(*error)
