"""Layers: what happened inside a request, for those who debug it. Told only when asked for and allowed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
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

    Without an emitter it is kept and not sent. Secrets and phone numbers are masked. `clock` gives seconds since 1970.
    """

    def __init__(self, emit: Emit | None, is_enabled: bool, clock: Callable[[], float] = time.time) -> None:
        self._emit = emit
        self._is_enabled = is_enabled
        self._clock = clock
        self._began: dict[tuple[int, str], float] = {}
        self._all: list[dict[str, Any]] = []

    def all(self) -> list[dict[str, Any]]:
        """Every event so far."""
        return list(self._all)

    async def start(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """Something begins; its `end` has the same layer and name."""
        self._began[layer, name] = self._clock()
        await self._note(layer, name, "start", data, message)

    async def end(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """It has ended; tells for how long it went on, 0 for what never began."""
        now = self._clock()
        began = self._began.pop((layer, name), now)
        await self._note(layer, name, "end", data, message, duration_ms=round(1000 * (now - began), 1))

    async def error(
        self, layer: Layer, name: str, error: str, data: object = None, message: str | None = None
    ) -> None:  # fmt: skip
        """It has failed."""
        self._began.pop((layer, name), None)
        await self._note(layer, name, "error", data, message, error=error)

    async def info(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """Something to know."""
        await self._note(layer, name, "info", data, message)

    async def _note(
        self, layer: Layer, name: str, status: str, data: object, message: str | None, **more: object
    ) -> None:  # fmt: skip
        if not self._is_enabled:
            return
        given = {"name": name, "data": data, "message": message, **more}
        kept = {key: redact(value) for key, value in given.items() if value is not None}
        event = {"type": "layer", "layer": layer, "status": status, "timestamp": int(1000 * self._clock()), **kept}
        self._all.append(event)
        if self._emit is not None:
            await self._emit(EventType.LAYER, event)


async def open_layers(db: Database, settings: Settings, run_id: UUID, emit: Emit) -> LayerLog:
    """The layers of a run: kept always in development, in production for a technical admin who asks; sent if asked for.

    It is asked for by `debugLayers: true` in the run's metadata.
    """
    if not settings.layer_logging:
        return LayerLog(None, is_enabled=False)
    row = await db.row("layers_wanted", run_id)
    is_asked = row is not None and row["is_asked"]
    is_enabled = settings.environment == "development" or (is_asked and row is not None and row["is_tech_admin"])
    return LayerLog(emit if is_asked else None, is_enabled)
