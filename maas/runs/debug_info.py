"""Debug information of a run: events of type `layer`, written only on request and for callers who may see them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Literal

import structlog

from maas import queries
from maas.engine.events import EventType, RunEvents
from maas.engine.run import Run
from maas.engine.stages import Deps
from maas.settings import Settings
from shared.db import Database
from shared.log import redact

# 1 HTTP entry, 2 context and memory commands, 3 session and tool loop, 4 meta-tool calls, 5 domain grouping, 6 bridge,
# 7 validation and limits, 8 handlers, 9 agents, 10 assembly, 11 persistence
Layer = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
EmitEvent = Callable[[EventType, Mapping[str, Any]], Awaitable[None]]


class DebugLog:
    """Emits what the layers of one run do, in order; nothing unless enabled.

    Secrets and phone numbers are masked. `clock` returns seconds since 1970. With `is_logged` each step is a log line,
    too, for operators (ORCHESTRATOR_DEBUG).
    """

    def __init__(
        self, emit: EmitEvent, is_enabled: bool, clock: Callable[[], float] = time.time, is_logged: bool = False
    ) -> None:
        self._emit = emit
        self.is_enabled = is_enabled
        self._is_logged = is_logged
        self._clock = clock
        self._starts: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
        self._events: list[dict[str, Any]] = []

    def all(self) -> list[dict[str, Any]]:
        """Every event so far."""
        return list(self._events)

    async def start(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """A step begins; its `end` has the same layer and name."""
        if self.is_enabled or self._is_logged:
            self._starts[layer, name].append(self._clock())
        await self._note(layer, name, "start", data, message)

    async def end(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """A step has ended, with its duration, 0 without a `start`. Of several of one name, the first ends first."""
        now = self._clock()
        began = self._pop(layer, name, now)
        await self._note(layer, name, "end", data, message, duration_ms=round(1000 * (now - began), 1))

    async def error(self, layer: Layer, name: str, error: str, data: object = None, message: str | None = None) -> None:
        """A step has failed."""
        self._pop(layer, name, 0)
        await self._note(layer, name, "error", data, message, error=error)

    async def info(self, layer: Layer, name: str, data: object = None, message: str | None = None) -> None:
        """Something happened that takes no time."""
        await self._note(layer, name, "info", data, message)

    @asynccontextmanager
    async def span(self, layer: Layer, name: str, data: object = None) -> AsyncIterator[None]:
        """A step from its start to its end, or to the error that it raises."""
        await self.start(layer, name, data)
        try:
            yield
        except Exception as error:
            await self.error(layer, name, f"{type(error).__name__}: {error}")
            raise
        await self.end(layer, name)

    def _pop(self, layer: Layer, name: str, default: float) -> float:
        starts = self._starts.get((layer, name))
        return starts.pop(0) if starts else default

    async def _note(
        self, layer: Layer, name: str, status: str, data: object, message: str | None, **more: object
    ) -> None:
        if not self.is_enabled and not self._is_logged:
            return
        fields = {"name": name, "data": data, "message": message, **more}
        masked = {key: redact(value) for key, value in fields.items() if value is not None}
        if self._is_logged:
            structlog.get_logger().info("orchestrator_debug", layer=layer, status=status, **masked)
        if not self.is_enabled:
            return
        event = {"type": "layer", "layer": layer, "status": status, "timestamp": int(1000 * self._clock()), **masked}
        self._events.append(event)
        await self._emit(EventType.LAYER, event)


async def _drop(_: EventType, __: Mapping[str, Any]) -> None:
    """Emit nothing."""


_CURRENT: ContextVar[DebugLog] = ContextVar("debug_log", default=DebugLog(_drop, is_enabled=False))  # noqa: B039


def debug_log() -> DebugLog:
    """The debug log of the run that this task works on; a disabled one where none was requested."""
    return _CURRENT.get()


@contextmanager
def use_debug_log(log: DebugLog) -> Iterator[DebugLog]:
    """Make `log` the result of `debug_log` inside the context."""
    token = _CURRENT.set(log)
    try:
        yield log
    finally:
        _CURRENT.reset(token)


async def open_debug_log(db: Database, settings: Settings, run: Run, emit: EmitEvent) -> DebugLog:
    """The debug log of a run, enabled when its metadata have `debugLayers: true`; in production, only for admins.

    Its first events describe the stages before, from the row of the run. Its last one, of layer 11, is written by the
    database in the transaction that stores the answer.
    """
    is_asked = settings.diagnostics.layer_logging and run.wants_layers
    row = await db.row(queries.layers_wanted, run.id) if is_asked else None
    is_enabled = row is not None and (settings.diagnostics.environment == "development" or row["is_tech_admin"])
    log = DebugLog(emit, is_enabled, is_logged=settings.assistants.orchestrator_debug)
    if row is not None and is_enabled:
        await log.info(1, "entry", {"source": row["source"], "kind": run.kind, "at": row["created_at"].isoformat()})
        waited = _ms(row["created_at"], row["analyzing_at"])
        built = _ms(row["analyzing_at"], row["ready_at"])
        await log.info(2, "context", {"memories": row["memories"], "waited_ms": waited, "built_ms": built})
    return log


@asynccontextmanager
async def run_events(run: Run, deps: Deps) -> AsyncIterator[RunEvents | None]:
    """The events of a run for one stage, with its debug log in use; None in a replay and where nobody can follow.

    The events of a stage that fails are written, too, if debug information was asked for.
    """
    if deps.events is None or run.as_of is not None:
        yield None
        return
    async with RunEvents(deps.events, run.id, run.attempt) as events:
        with use_debug_log(await open_debug_log(deps.db, deps.settings, run, events.emit)) as log:
            try:
                yield events
            except Exception:
                if log.is_enabled:
                    with suppress(Exception):
                        await events.flush()
                raise


def _ms(first: datetime | None, last: datetime | None) -> float | None:
    return round(1000 * (last - first).total_seconds(), 1) if first and last else None
