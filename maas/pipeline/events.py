"""What a run says while it is answered: text as it comes, tools, layers. Rows of run_events that followers read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from maas.pipeline.runs import LostRun
from shared.db import Database
from shared.group_commit import GroupCommit
from shared.text import clean

PAUSE = 0.1
FULL = 256
BACKLOG = 100


class EventType(StrEnum):
    """What followers are told of; other types of run_events are for operators."""

    TEXT = "text"  # {delta, attempt}: a piece of the answer; where attempt is another, the answer begins anew
    TOOL_START = "tool_start"
    TOOL_RESULT = "tool_result"
    APPROVAL_REQUIRED = "approval_required"
    BUTTONS = "buttons"  # {buttons: [{id, label}]}: what the user may press
    REQUEST_PHOTO = "request_photo"
    STICKER = "sticker"  # {attachment_id}: what was drawn
    LAYER = "layer"


class EventLog:
    """Writes events of all runs of a process; those of one moment go in one statement, and ring their followers."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._writes: GroupCommit[dict[str, Any], bool] = GroupCommit(self._write)

    async def add(self, run_id: UUID, attempt: int, kind: EventType, payload: Mapping[str, Any]) -> None:
        """Write one event. Raises LostRun when the run is not in these hands any more, or erased."""
        kept = over_texts(payload, clean)
        if not await self._writes.submit(
            {"run_id": str(run_id), "attempt": attempt, "type": str(kind), "payload": kept}
        ):
            raise LostRun

    async def _write(self, items: list[dict[str, Any]]) -> list[bool]:
        written = {row["place"] for row in await self._db.rows("add_events", items)}
        if written:
            await self._db.rows("ring_followers", [items[place - 1]["run_id"] for place in written])
        return [place in written for place in range(1, len(items) + 1)]


class RunEvents:
    """The events of one run in these hands, in order; leaving the context writes the rest.

    Nobody waits for their way to the table but who is far ahead of it. Text is gathered for 100 ms or 256 characters,
    whichever is first, and each time is one row. An answer that is there before any of it was written has none: who
    follows gets it whole, with `done`. Every method raises what became of the events before: LostRun.
    """

    def __init__(self, log: EventLog, run_id: UUID, attempt: int) -> None:
        self._log = log
        self._run_id = run_id
        self._attempt = attempt
        self._parts: list[str] = []
        self._size = 0
        self._begun = 0
        self._waiting: list[tuple[EventType, Mapping[str, Any]]] = []
        self._has_written = False
        self._is_urgent = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._has_written:
            await self.flush()
        elif self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    def begin(self) -> None:
        """The answer begins, or begins anew: text of it that is not written yet never will be."""
        self._begun += 1
        self._parts, self._size = [], 0

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        self._check()
        self._parts.append(delta)
        self._size += len(delta)
        if self._size >= FULL:
            self._is_urgent.set()
        self._write_soon()

    async def emit(self, kind: EventType, payload: Mapping[str, Any]) -> None:
        """An event, behind all text before it."""
        self._check()
        self._close_text()
        self._waiting.append((kind, payload))
        self._has_written = True
        self._is_urgent.set()
        self._write_soon()
        if len(self._waiting) >= BACKLOG:
            await self.flush()

    async def flush(self) -> None:
        """Return when everything is written."""
        while self._writing is not None:
            self._is_urgent.set()
            writing = self._writing
            await writing
            if self._writing is writing:
                self._writing = None

    def _check(self) -> None:
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None

    def _write_soon(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_in_time())

    async def _write_in_time(self) -> None:
        while self._parts or self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._is_urgent.wait()
            self._is_urgent.clear()
            self._close_text()
            events, self._waiting = self._waiting, []
            self._has_written = self._has_written or bool(events)
            await asyncio.gather(
                *(self._log.add(self._run_id, self._attempt, kind, payload) for kind, payload in events)
            )

    def _close_text(self) -> None:
        text, self._parts, self._size = "".join(self._parts), [], 0
        if text:
            self._waiting.append((EventType.TEXT, {"delta": text, "attempt": f"{self._attempt}.{self._begun}"}))


def over_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text in it changed, names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(name)): over_texts(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [over_texts(one, change) for one in value]
    return value
