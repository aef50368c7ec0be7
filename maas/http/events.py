"""/v1/runs/{id}/events: a run as server-sent events, from the start or from Last-Event-ID on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from uuid import UUID

import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas.http.access import caller
from maas.http.callers import Caller
from maas.http.changes import LOOK, Changes
from maas.http.parameters import read_id, read_parameter
from maas.http.rooms import Rooms, rooms
from maas.pipeline.following import END, Following, Glance, Place, Told
from maas.pipeline.submissions import not_found
from shared.db import CONNECTION_LOST
from shared.errors import MaasError

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = 15.0
STILL_HERE = ": still here\n\n"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
log = structlog.get_logger()


async def get_events(request: Request) -> Response:
    """Statuses, text, tools and layers as they come, until `done` or `error`; Last-Event-ID says where to go on."""
    run_id = read_id(request, "run")
    place = _read_place(request)
    parts, who = rooms(request), caller(request)
    check_followers(parts, who)
    following = parts.following
    first = await following.look(run_id, place)
    if first is None:
        raise not_found(run_id)
    if first.is_over and not first.events:
        return Response(status_code=204)  # what tells a browser not to connect again
    events = counted(parts, who, stream(following, parts.changes, run_id, first))
    return StreamingResponse(events, media_type=EVENT_STREAM, headers=HEADERS)


def check_followers(parts: Rooms, who: Caller) -> None:
    """Whether one more may follow a run, and be this caller. Raises MaasError: busy, too_many_followers."""
    if parts.changes.followers >= parts.settings.followers:
        raise MaasError("busy", "this process has all the followers it may have; try again", {"retry_after": 1})
    parts.followers.check(who)


async def counted(parts: Rooms, who: Caller, lines: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """The same lines, and the caller is one of the followers until they end."""
    with parts.followers.counting(who):
        async with aclosing(lines):
            async for line in lines:
                yield line


async def stream(
    following: Following, changes: Changes, run_id: UUID, first: Glance, keep_alive: float = KEEP_ALIVE
) -> AsyncGenerator[str, None]:
    """What `watch` sees, as server-sent events."""
    async with aclosing(watch(following, changes, run_id, first, keep_alive)) as seen:
        async for events in seen:
            yield _write(events) if events else STILL_HERE


async def watch(
    following: Following, changes: Changes, run_id: UUID, first: Glance, keep_alive: float = KEEP_ALIVE
) -> AsyncGenerator[Sequence[Told], None]:
    """What `first` holds, and then what comes; reads on when the reader has taken what there was.

    Nothing at all means that nothing has come for `keep_alive` seconds. It ends with the run, or before it, when the
    process does.
    """
    glance, sent = first, time.monotonic()
    with changes.following(run_id) as rung:
        rung.set()  # what came since `first` rang for nobody
        while True:
            if glance.events:
                yield glance.events
                sent = time.monotonic()
            if glance.is_over or changes.is_leaving:
                return
            if not glance.has_more:
                await _wait(rung, min(LOOK, sent + keep_alive - time.monotonic()))
            if time.monotonic() >= sent + keep_alive:
                yield ()
                sent = time.monotonic()
            rung.clear()
            try:
                found = await following.look(run_id, glance.place)
            except CONNECTION_LOST as error:
                log.warning("follower_waits", run_id=str(run_id), cause=repr(error))
                await asyncio.sleep(LOOK)
                found = Glance(glance.place, ())
            if found is None:
                yield [_erased(run_id, glance.place)]
                return
            glance = found


def _erased(run_id: UUID, place: Place) -> Told:
    error = {"code": "erased", "message": f"run {run_id} was erased"}
    return Told(replace(place, rank=END), "error", json.dumps(error))


async def _wait(rung: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await rung.wait()
    except TimeoutError:
        return


def _write(events: Sequence[Told]) -> str:
    return "".join(f"id: {one.place}\nevent: {one.type}\ndata: {one.data}\n\n" for one in events)


def _read_place(request: Request) -> Place:
    """Where to go on: the header that browsers send again by themselves, or the parameter."""
    if header := request.headers.get("last-event-id"):
        try:
            return Place.parse(header)
        except ValueError as error:
            raise MaasError("bad_parameter", f"Last-Event-ID: {error}") from error
    place: Place = read_parameter(
        request, "last_event_id", lambda text: Place.parse(text) if text else Place(), Place()
    )  # fmt: skip
    return place
