"""/v1/users/{id}/events: the changes of all runs of a user as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas.http.auth.authorize import principal_of
from maas.http.request_input import read_id, read_parameter
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS, KEEP_ALIVE_COMMENT, format_events
from maas.http.state import app_state
from maas.runs.user_changes import UserChanges, parse_position
from shared.errors import MaasError


async def get_user_events(request: Request) -> Response:
    """Stream the changes of a user's runs, until the client disconnects; each names the run and its status.

    Reconnect with `Last-Event-ID` to get what has changed meanwhile.
    """
    user_id = read_id(request, "user")
    since = _read_since(request)
    state, principal = app_state(request), principal_of(request)
    state.check_followers(principal)
    lines = state.follower_limit.counting_stream(principal, _lines(state.user_changes, user_id, since))
    return StreamingResponse(lines, media_type=EVENT_STREAM, headers=EVENT_STREAM_HEADERS)


async def _lines(changes: UserChanges, user_id: UUID, since: datetime | None) -> AsyncGenerator[str, None]:
    async with aclosing(changes.follow(user_id, since)) as pages:
        async for events in pages:
            yield format_events(events) if events else KEEP_ALIVE_COMMENT


def _read_since(request: Request) -> datetime | None:
    """Return where to resume: the header that browsers resend by themselves, or else the query parameter."""
    if header := request.headers.get("last-event-id"):
        try:
            return parse_position(header)
        except ValueError as error:
            raise MaasError("bad_parameter", f"Last-Event-ID: {error}") from error
    since: datetime | None = read_parameter(
        request, "last_event_id", lambda text: parse_position(text) if text else None
    )
    return since
