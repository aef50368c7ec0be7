"""/v1/runs: a request is a row; the door inserts it and reads it."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from structlog.contextvars import bind_contextvars

from maas.http.access import caller, read_user
from maas.http.bodies import Accepted, Cancelling, NewRun, Press, RunLine, RunPage, RunState
from maas.http.parameters import read_cursor, read_id, read_key, read_limit, read_parameter, write_cursor
from maas.http.reading import read_body
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.pipeline.buttons import press_button
from maas.pipeline.states import Status
from maas.pipeline.submissions import Submission, cancel_run, list_runs, read_run, retry_run
from shared.errors import MaasError

LONGEST_WAIT = 60.0
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
TIMES = (
    "created_at", "analyzing_at", "analyzed_at", "assembling_at", "ready_at", "responding_at", "completed_at",
    "failed_at", "archived_at",
)  # fmt: skip


async def post_run(request: Request) -> Response:
    """Accept a request; the answer is fetched from poll_url."""
    body = await read_body(request, NewRun)
    key = read_key(request)
    run_id = await rooms(request).submissions.submit(
        Submission(
            user_id=body.user_id, query=body.query, assistant=body.assistant, conversation_id=body.conversation_id,
            metadata=body.metadata, idempotency_key=key, attachment_ids=tuple(body.attachment_ids), mode=body.mode,
            traceparent=_traceparent(request),
            caller=caller(request).name,
        )
    )  # fmt: skip
    bind_contextvars(run_id=run_id)  # the line of this request names its run
    return send(Accepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}"), 202)


async def get_run(request: Request) -> Response:
    """Where a request is, and its answer; `wait` holds the reply back until there is one."""
    run_id = read_id(request, "run")
    wait: float = read_parameter(request, "wait", _read_seconds, 0.0)
    if not 0 <= wait <= LONGEST_WAIT:
        raise MaasError("bad_parameter", f"wait: must be between 0 and {LONGEST_WAIT:.0f} seconds")
    if wait:
        parts, who = rooms(request), caller(request)
        parts.followers.check(who)
        with parts.followers.counting(who):
            await parts.changes.wait_for_answer(run_id, wait)
    return send(_state(await read_run(rooms(request).db, run_id)))


def _read_seconds(text: str) -> float:
    if "_" in text:
        raise ValueError("must be a number")
    return float(text)


async def get_runs(request: Request) -> Response:
    """Requests of a user, newest first; those of all users in one status, for who may see them."""
    limit = read_limit(request)
    status: Status | None = read_parameter(request, "status", Status)
    may_see_all = caller(request).may("admin") and not caller(request).is_bound
    user_id = read_parameter(request, "user_id", UUID) if may_see_all and status else read_user(request)
    if user_id is None:
        await rooms(request).db.value("note_audit", "runs_list", None, None, {"status": status}, caller(request).name)
    rows = await list_runs(
        rooms(request).db,
        user_id=user_id,
        status=status,
        before=read_cursor(request),
        limit=limit,
    )
    lines = [
        RunLine(request_id=row["id"], **{name: row[name] for name in RunLine.model_fields if name in row})
        for row in rows
    ]
    return send(RunPage(results=lines, next=write_cursor(rows, limit)))


async def post_cancel(request: Request) -> Response:
    """Ask for a run's end; it becomes FAILED with error_code `cancelled`."""
    run_id = read_id(request, "run")
    await cancel_run(rooms(request).db, run_id, caller(request).name)
    return send(Cancelling(request_id=run_id), 202)


async def post_retry(request: Request) -> Response:
    """Try a FAILED run again."""
    run_id = read_id(request, "run")
    await retry_run(rooms(request).db, run_id, caller(request).name)
    return send(Accepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}"), 202)


async def post_press(request: Request) -> Response:
    """Press a button that a run offers; what it stands for is done by a run of its own, once."""
    run_id = read_id(request, "run")
    body = await read_body(request, Press)
    parts = rooms(request)
    pressed = await press_button(parts.db, run_id, body.user_id, body.button, parts.submissions.queue_limit)
    return send(Accepted(request_id=pressed, poll_url=f"/v1/runs/{pressed}"), 202)


def _traceparent(request: Request) -> str | None:
    """The client's span, where spans are wanted."""
    told = request.headers.get("traceparent", "")
    return told if rooms(request).settings.otlp_endpoint and TRACEPARENT.fullmatch(told) else None


def _state(row: dict[str, Any]) -> RunState:
    return RunState(
        request_id=row["id"],
        query=row["user_query"],
        timings={name: row[name] for name in TIMES},
        retries=row["try"] - 1,
        sources=row["sources"] or [],
        buttons=row["buttons"] or [],
        attachments=row["drawn"] or [],
        **{
            name: row[name]
            for name in (
                "user_id", "assistant", "conversation_id", "kind", "status", "archive_status", "final_answer",
                "error_code", "error_message", "degraded", "attempt", "attachment_ids",
            )
        },
    )  # fmt: skip
