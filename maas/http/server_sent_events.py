"""Responses of the type `text/event-stream`: server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from uuid import UUID

from maas.runs.event_stream import Event, EventStream, Page
from maas.runs.run_watcher import KEEP_ALIVE_S, RunWatcher, watch
from maas.runs.user_events import UserEvent

KEEP_ALIVE_COMMENT = ": still here\n\n"
EVENT_ID_PATTERN = "^([0-9]{1,9}\\.[0-9]\\.[0-9]{1,9})?$"  # JSON Schema; the empty id means: from the start
EVENT_STREAM = "text/event-stream"
EVENT_STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def server_sent_events(
    event_stream: EventStream, watcher: RunWatcher, run_id: UUID, first: Page, keep_alive_s: float = KEEP_ALIVE_S
) -> AsyncGenerator[str, None]:
    """Yield the events of a run as `text/event-stream`, with a comment after `keep_alive_s` of silence."""
    return to_lines(watch(event_stream, watcher, run_id, first, keep_alive_s))


async def to_lines(
    pages: AsyncGenerator[Sequence[Event], None] | AsyncGenerator[Sequence[UserEvent], None],
) -> AsyncGenerator[str, None]:
    """Yield events as `text/event-stream`, with a comment for an empty page."""
    async with aclosing(pages):
        async for events in pages:
            yield "".join(map(_format, events)) if events else KEEP_ALIVE_COMMENT


def data_line(value: Mapping[str, Any]) -> str:
    """Return an event without id and name: its data is JSON."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def still_answering(run_id: UUID) -> str:
    """Return what a stream says that ends before the answer does."""
    return f"this process is shutting down; the answer is still being written: GET /v1/runs/{run_id}?wait=60"


def _format(event: Event | UserEvent) -> str:
    return f"id: {event.cursor}\nevent: {event.type}\ndata: {event.data}\n\n"
