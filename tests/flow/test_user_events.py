"""Following all runs of a user over HTTP: every change soon, what was missed once, nobody else's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from uuid import UUID, uuid4

import httpx2

from tests.sse import SseEvent, parse
from tests.stack import Stack

SOON_S = 1.0


@contextmanager
def changes(stack: Stack, user: UUID, last: str = "") -> Iterator[Iterator[SseEvent]]:
    headers = {"last-event-id": last} if last else {}
    with (
        httpx2.Client(base_url=stack.client.base_url, timeout=30, trust_env=False) as client,
        client.stream("GET", f"/v1/users/{user}/events", headers=headers) as reply,
    ):
        assert reply.status_code == 200, reply.read()
        events = parse(reply.iter_lines())
        assert next(events).type == "ready"
        yield events


def until_archived(events: Iterator[SseEvent], runs: set[str]) -> list[SseEvent]:
    found = []
    for event in events:
        found.append(event)
        if event.data["archive_status"] == "ARCHIVED":
            runs.discard(event.data["request_id"])
        if not runs:
            return found
    raise AssertionError(runs)


def test_changes_of_all_runs_arrive_in_order(stack: Stack, user: UUID) -> None:
    with changes(stack, user) as events:
        runs = {str(stack.ask(user, f"I have {count} cats.")) for count in range(2)}
        found = until_archived(events, set(runs))
    assert {one.data["request_id"] for one in found} == runs
    assert all(int(one.id) <= int(two.id) for one, two in pairwise(found))
    assert {"COMPLETED"} <= {one.data["status"] for one in found}


def test_an_operators_update_arrives_soon(stack: Stack, user: UUID) -> None:
    run = stack.ask(user, "I like tea.")
    stack.wait_archived(run)
    with changes(stack, user) as events:
        began = time.monotonic()
        stack.rows("update pipeline_runs set archive_status = 'FAILED' where id = %s", run)
        event = next(one for one in events if one.data["archive_status"] == "FAILED")
    assert event.data["request_id"] == str(run)
    assert time.monotonic() - began < SOON_S


def test_what_was_missed_comes_first(stack: Stack, user: UUID) -> None:
    with changes(stack, user) as events:
        first = stack.ask(user, "I have a dog.")
        last = until_archived(events, {str(first)})[-1].id
    missed = stack.ask(user, "My dog is old.")
    stack.wait_archived(missed)
    with changes(stack, user, last) as events:
        event = next(one for one in events if one.data["request_id"] == str(missed))
    assert event.data["archive_status"] == "ARCHIVED"


def test_nobody_sees_the_runs_of_others(stack: Stack, user: UUID) -> None:
    other = uuid4()
    with changes(stack, user) as events:
        for count in range(20):
            stack.ask(other, f"I have {count} secrets.")
        own = stack.ask(user, "I have none.")
        found = until_archived(events, {str(own)})
    assert {one.data["request_id"] for one in found} == {str(own)}


def test_a_bad_place_is_refused(stack: Stack, user: UUID) -> None:
    for bad in ("x", "-1", "1.2.3", "9" * 17, "١"):
        reply = stack.client.get(f"/v1/users/{user}/events", params={"last_event_id": bad})
        assert reply.status_code == 400, bad
        assert "last_event_id" in reply.json()["error"]["message"]
