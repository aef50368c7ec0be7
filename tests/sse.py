"""A client of server-sent events that reads one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx2

from tests.stack import Stack


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event as it arrived."""

    id: str
    type: str
    data: dict[str, Any]


def parse(lines: Iterator[str]) -> Iterator[SseEvent]:
    """Events of a stream of lines; comments are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line:
            if fields:
                yield SseEvent(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


@contextmanager
def followed(stack: Stack, run_id: UUID, last: str = "") -> Iterator[Iterator[SseEvent]]:
    """The events of a run as they come, from behind `last` on; the connection is closed at the end."""
    headers = {"last-event-id": last} if last else {}
    with (
        httpx2.Client(base_url=stack.client.base_url, timeout=30, trust_env=False, verify=False) as client,
        client.stream("GET", f"/v1/runs/{run_id}/events", headers=headers) as reply,
    ):
        assert reply.status_code == 200, reply.read()
        assert reply.headers["content-type"].startswith("text/event-stream")
        yield parse(reply.iter_lines())


def read_events(stack: Stack, run_id: UUID, last: str = "") -> list[SseEvent]:
    """All events of a run until its end."""
    with followed(stack, run_id, last) as events:
        return list(events)
