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
    """The events of one run in these hands, in order; leaving the context writes the rest of the text.

    Text is gathered for 100 ms or 256 characters, whichever is first, and each time is one row. An answer that is there
    before any of it was written has none: who follows gets it whole, with `done`.
    """

    def __init__(self, log: EventLog, run_id: UUID, attempt: int) -> None:
        self._log = log
        self._run_id = run_id
        self._attempt = attempt
        self._parts: list[str] = []
        self._size = 0
        self._begun = 0
        self._has_written = False
        self._full = asyncio.Event()
        self._flushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._has_written:
            await self.flush()
        elif self._flushing is not None:
            self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)

    def begin(self) -> None:
        """The answer begins, or begins anew: what is not written yet never will be."""
        self._begun += 1
        self._parts, self._size = [], 0

    def text(self, delta: str) -> None:
        """A piece of the answer; waits for nothing. Raises what became of the pieces before: LostRun."""
        if self._flushing is not None and self._flushing.done():
            self._flushing.result()
            self._flushing = None
        self._parts.append(delta)
        self._size += len(delta)
        if self._size >= FULL:
            self._full.set()
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_in_time())

    async def emit(self, kind: EventType, payload: Mapping[str, Any]) -> None:
        """An event, behind all text before it. Raises LostRun."""
        await self.flush()
        self._has_written = True
        await self._log.add(self._run_id, self._attempt, kind, payload)

    async def flush(self) -> None:
        """Return when all text is written. Raises LostRun."""
        while self._flushing is not None:
            self._full.set()
            flushing = self._flushing
            await flushing
            if self._flushing is flushing:
                self._flushing = None

    async def _flush_in_time(self) -> None:
        while self._parts:
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._full.wait()
            self._full.clear()
            text, self._parts, self._size = "".join(self._parts), [], 0
            if text:
                self._has_written = True
                payload = {"delta": text, "attempt": f"{self._attempt}.{self._begun}"}
                await self._log.add(self._run_id, self._attempt, EventType.TEXT, payload)


def over_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text in it changed, names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(name)): over_texts(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [over_texts(one, change) for one in value]
    return value
