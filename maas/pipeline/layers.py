"""Layers: what happened inside a request, for those who debug it. Told only when asked for and allowed."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from maas.pipeline.events import EventType
from shared.db import Database
from shared.log import redact
from shared.settings import Settings

# 1 HTTP entry, 2 context and memory commands, 3 session and tool loop, 4 meta-tool calls, 5 domain grouping, 6 bridge,
# 7 validation and limits, 8 handlers, 9 agents, 10 assembly, 11 persistence
Layer = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
Emit = Callable[[EventType, Mapping[str, Any]], Awaitable[None]]


class LayerLog:
    """What the layers of one request did, in order; nothing at all unless enabled.

    Secrets and phone numbers are masked. `clock` gives seconds since 1970.
    """

    def __init__(self, emit: Emit, is_enabled: bool, clock: Callable[[], float] = time.time) -> None:
        self._emit = emit
        self._is_enabled = is_enabled
        self._clock = clock
        self._began: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
        self._all: list[dict[str, Any]] = []

    def all(self) -> list[dict[str, Any]]:
        """Every event so far."""
        return list(self._all)

    async def start(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """Something begins; its `end` has the same layer and name."""
        if self._is_enabled:
            self._began[layer, name].append(self._clock())
        await self._note(layer, name, "start", data, message)

    async def end(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """It has ended; tells for how long it went on, 0 for what never began. Of several, the first ends first."""
        now = self._clock()
        began = self._pop(layer, name, now)
        await self._note(layer, name, "end", data, message, duration_ms=round(1000 * (now - began), 1))

    async def error(
        self, layer: Layer, name: str, error: str, data: object = None, message: str | None = None
    ) -> None:  # fmt: skip
        """It has failed."""
        self._pop(layer, name, 0)
        await self._note(layer, name, "error", data, message, error=error)

    async def info(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """Something to know."""
        await self._note(layer, name, "info", data, message)

    @asynccontextmanager
    async def span(self, layer: Layer, name: str, data: object = None) -> AsyncIterator[None]:
        """From its start to its end, or the error that it raises."""
        await self.start(layer, name, data)
        try:
            yield
        except Exception as error:
            await self.error(layer, name, f"{type(error).__name__}: {error}")
            raise
        await self.end(layer, name)

    def _pop(self, layer: Layer, name: str, otherwise: float) -> float:
        begun = self._began.get((layer, name))
        return begun.pop(0) if begun else otherwise

    async def _note(
        self, layer: Layer, name: str, status: str, data: object, message: str | None, **more: object
    ) -> None:  # fmt: skip
        if not self._is_enabled:
            return
        given = {"name": name, "data": data, "message": message, **more}
        kept = {key: redact(value) for key, value in given.items() if value is not None}
        event = {"type": "layer", "layer": layer, "status": status, "timestamp": int(1000 * self._clock()), **kept}
        self._all.append(event)
        await self._emit(EventType.LAYER, event)


async def _drop(_: EventType, __: Mapping[str, Any]) -> None:
    """Nobody has asked."""


_CURRENT: ContextVar[LayerLog] = ContextVar("layers", default=LayerLog(_drop, is_enabled=False))  # noqa: B039


def layers() -> LayerLog:
    """Those of the request that is being worked on; silent where nobody has asked for them."""
    return _CURRENT.get()


@contextmanager
def telling(log: LayerLog) -> Iterator[LayerLog]:
    """Let everything in it tell its layers there."""
    token = _CURRENT.set(log)
    try:
        yield log
    finally:
        _CURRENT.reset(token)


async def open_layers(db: Database, settings: Settings, run_id: UUID, emit: Emit) -> LayerLog:
    """The layers of a run whose metadata say `debugLayers: true`; in production those of a technical admin only.

    What came before is told at once, from the run's own row.
    """
    row = await db.row("layers_wanted", run_id) if settings.layer_logging else None
    is_enabled = row is not None and row["is_asked"] and (settings.environment == "development" or row["is_tech_admin"])
    log = LayerLog(emit, is_enabled)
    if row is not None and is_enabled:
        await log.info(1, "entry", {"source": row["source"], "at": row["created_at"].isoformat()})
        waited, built = (_ms(row[first], row[last]) for first, last in (_WAITED, _BUILT))
        await log.info(2, "context", {"memories": row["memories"], "waited_ms": waited, "built_ms": built})
    return log


_WAITED, _BUILT = ("created_at", "analyzing_at"), ("analyzing_at", "ready_at")


def _ms(first: datetime | None, last: datetime | None) -> float | None:
    return round(1000 * (last - first).total_seconds(), 1) if first and last else None
