"""Events of a run while it is answered: text, tool calls, debug information. They are rows of run_events.

Only the owner of a run may write its events: every write is fenced by the attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from maas import queries
from maas.engine.run import LostRun
from maas.plugins import events_of_plugins
from shared.db import Database
from shared.group_commit import GroupCommit
from shared.json import map_texts
from shared.marks import MarkFilter
from shared.text import clean

GATHER_S = 0.1
MAX_TEXT_CHARS = 256
MAX_WAITING = 100


class EventType(StrEnum):
    """The events of ours that clients receive; plugins have others, and other types yet are for operators."""

    TEXT = "text"  # {delta, attempt}: a piece of the answer; with another attempt, the answer begins anew
    TOOL_START = "tool_start"
    TOOL_RESULT = "tool_result"
    APPROVAL_REQUIRED = "approval_required"
    BUTTONS = "buttons"  # {buttons: [{id, label}]}: the buttons that the user may press
    REQUEST_PHOTO = "request_photo"
    PROGRESS = "progress"  # {step, title, status, ended, total}: of a task
    LAYER = "layer"


def event_types() -> list[str]:
    """The types of all events that clients receive: ours, and those of the plugins that are on. Raises MaasError."""
    return [*map(str, EventType), *events_of_plugins()]


class EventLog:
    """Writes events of all runs of a process, those of one moment in one statement, and notifies their followers."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._writes: GroupCommit[dict[str, Any], bool] = GroupCommit(self._write)

    async def add(self, run_id: UUID, attempt: int, kind: str, payload: Mapping[str, Any]) -> None:
        """Write one event. Raises LostRun when another process has claimed the run, or it was erased."""
        event = {"run_id": str(run_id), "attempt": attempt, "type": str(kind), "payload": map_texts(payload, clean)}
        if not await self._writes.submit(event):
            raise LostRun

    async def _write(self, items: list[dict[str, Any]]) -> list[bool]:
        written = {row["place"] for row in await self._db.rows(queries.add_events, items)}
        if written:
            await self._db.rows(queries.ring_followers, [items[number - 1]["run_id"] for number in written])
        return [number in written for number in range(1, len(items) + 1)]


class RunEvents:
    """Writes the events of one claimed run, in order; leaving the context writes the rest.

    Events are written in the background; a caller waits only when it is `MAX_WAITING` events ahead. Text is gathered
    for `GATHER_S` seconds or `MAX_TEXT_CHARS` characters, whichever comes first, and becomes one row. An answer that is
    finished before its first text was written has no text events: followers get the whole with `done`.
    Every method raises the error of an earlier write: LostRun.
    """

    def __init__(self, log: EventLog, run_id: UUID, attempt: int) -> None:
        self._event_log = log
        self._run_id = run_id
        self._attempt = attempt
        self._parts: list[str] = []
        self._size = 0
        self._beginnings = 0
        self._text: list[str] = []  # of this beginning
        self._waiting: list[tuple[str, Mapping[str, Any]]] = []
        self._has_written = False
        self._is_urgent = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self.marks: MarkFilter | None = None  # what text may cite; None: it is written as it comes

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._has_written:
            self._end_marks()
            await self.flush()
        elif self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    def begin(self) -> None:
        """The answer begins, or begins anew: its text that is not written yet is dropped."""
        self._beginnings += 1
        self._parts, self._size, self._text = [], 0, []
        if self.marks is not None:
            self.marks.reset()

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        self._check()
        if self.marks is not None:
            delta = self.marks.feed(delta)
        self._add(delta)

    def _add(self, delta: str) -> None:
        if not delta:
            return
        self._parts.append(delta)
        self._text.append(delta)
        self._size += len(delta)
        if self._size >= MAX_TEXT_CHARS:
            self._is_urgent.set()
        self._write_soon()

    async def extend(self, answer: str, extended: str) -> None:
        """Add to a streamed answer what code has put at its end; nothing if another text was streamed."""
        self._end_marks()
        start, _, end = "".join(self._text).partition(answer)
        added = extended.removeprefix(answer)
        if self._text and not start.strip() and added.startswith(end):
            self._add(added.removeprefix(end))

    def written(self) -> str:
        """What there is of the answer since it began, or began anew."""
        self._end_marks()
        return "".join(self._text)

    async def emit(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Write an event after all text before it."""
        self._check()
        self._end_marks()
        self._close_text()
        self._waiting.append((kind, payload))
        self._has_written = True
        self._is_urgent.set()
        self._write_soon()
        if len(self._waiting) >= MAX_WAITING:
            await self.flush()

    async def flush(self) -> None:
        """Return when everything is written."""
        while self._writing is not None:
            self._is_urgent.set()
            writing = self._writing
            await writing
            if self._writing is writing:
                self._writing = None

    def _end_marks(self) -> None:
        if self.marks is not None:
            self._add(self.marks.finish())

    def _check(self) -> None:
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None

    def _write_soon(self) -> None:
        self._check()
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_in_time())

    async def _write_in_time(self) -> None:
        while self._parts or self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(GATHER_S):
                    await self._is_urgent.wait()
            self._is_urgent.clear()
            self._close_text()
            events, self._waiting = self._waiting, []
            self._has_written = self._has_written or bool(events)
            await asyncio.gather(
                *(self._event_log.add(self._run_id, self._attempt, kind, payload) for kind, payload in events)
            )

    def _close_text(self) -> None:
        text, self._parts, self._size = "".join(self._parts), [], 0
        if text:
            self._waiting.append((EventType.TEXT, {"delta": text, "attempt": f"{self._attempt}.{self._beginnings}"}))
