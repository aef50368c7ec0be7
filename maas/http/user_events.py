"""/v1/users/{id}/events: how the runs of a user change, as they do."""

from __future__ import annotations

from math import inf

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas.http.authorize import hold_stream
from maas.http.request_input import read_id, read_parameter, to_seconds
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS, to_lines
from maas.http.state import app_state
from maas.runs.run_watcher import watch_user
from maas.runs.user_events import UserCursor, UserRead
from shared.errors import MaasError

MAX_WAIT_S = 60.0


async def get_user_events(request: Request) -> Response:
    """Stream the changes of all runs of a user: `run` {request_id, conversation_id, kind, status, archive_status, at}.

    The stream begins with the unfinished runs and the newest one. Reconnect with `Last-Event-ID` to get what has
    changed since that event instead. Changes that follow each other quickly are sent as one.
    """
    user_id = read_id(request, "user")
    cursor = _read_cursor(request)
    wait_s: float | None = read_parameter(request, "wait", to_seconds)
    if wait_s is not None and not 0 <= wait_s <= MAX_WAIT_S:
        raise MaasError("bad_parameter", f"wait: must be between 0 and {MAX_WAIT_S:.0f} seconds")
    state = app_state(request)
    hold_stream(request)
    first = await state.user_event_stream.read(UserRead(user_id, cursor, is_thorough=cursor is not None))
    seconds = inf if wait_s is None else wait_s
    lines = to_lines(watch_user(state.user_event_stream, state.run_watcher, user_id, first, seconds))
    return StreamingResponse(lines, media_type=EVENT_STREAM, headers=EVENT_STREAM_HEADERS)


def _read_cursor(request: Request) -> UserCursor | None:
    """Return where to resume: the header that browsers resend by themselves, or else the query parameter."""
    if header := request.headers.get("last-event-id"):
        try:
            return UserCursor.parse(header)
        except ValueError as error:
            raise MaasError("bad_parameter", f"Last-Event-ID: {error}") from error
    cursor: UserCursor | None = read_parameter(
        request, "last_event_id", lambda text: UserCursor.parse(text) if text else None
    )
    return cursor
