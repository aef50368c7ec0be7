"""/v1/runs: a request is one row of pipeline_runs; these handlers insert it, read it and follow it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, cast
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas import queries
from maas.conversations.actions import press_button
from maas.engine.states import ArchiveStatus, Priority, QueueState, RunKind, Status
from maas.http.authorize import hold_stream, principal_of, read_body, read_user
from maas.http.request_input import (
    in_zone,
    read_cursor,
    read_id,
    read_idempotency_key,
    read_limit,
    read_parameter,
    to_search_text,
    to_seconds,
    to_storable_text,
    write_cursor,
)
from maas.http.run_schemas import (
    ButtonPress,
    CancelAccepted,
    ExecutedAction,
    NewRun,
    RunPage,
    RunReplay,
    RunState,
    RunSummary,
    Searched,
)
from maas.http.schemas import (
    Attributes,
    RunAccepted,
    json_response,
    to_source,
)
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS, server_sent_events
from maas.http.state import app_state
from maas.memory.dates import to_time
from maas.memory.health import MemoryState
from maas.runs.again import Trial, check_replaced, insert_trial, same_request
from maas.runs.event_stream import Cursor
from maas.runs.lists import RunFilter, list_runs
from maas.runs.submit import Submission, cancel_run, not_found, retry_run
from shared.db import Database
from shared.errors import MaasError, problems_of

MAX_WAIT_S = 60.0
MAX_ATTRIBUTES_CHARS = 2000  # of a filter
_ATTRIBUTES: TypeAdapter[dict[str, Any]] = TypeAdapter(Attributes)
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


async def post_run(request: Request) -> Response:
    """Submit a request; poll `poll_url` or follow its events to get the answer."""
    body = await read_body(request, NewRun)
    key = read_idempotency_key(request)
    state, principal = app_state(request), principal_of(request)
    if body.priority == "high" and principal.is_bound:
        raise MaasError("forbidden", "priority: your key or token is bound to users and may take normal or low")
    if body.replaces is not None:
        await check_replaced(state.db, body.user_id, body.replaces, body.conversation_id, principal.name, key)
    run_id = await state.submissions.submit(
        Submission(
            user_id=body.user_id,
            query=body.query,
            assistant=body.assistant,
            conversation_id=body.conversation_id,
            metadata=with_marks(body.metadata, body.marks),
            idempotency_key=key,
            attachment_ids=tuple(body.attachment_ids),
            mode=body.mode,
            traceparent=_read_traceparent(request),
            caller=principal.name,
            priority=Priority.of(body.priority),
            run_at=in_zone(state.settings.engine.zone, body.run_at),
            attributes=body.attributes or None,
            debounce=body.debounce,
            is_remembered=body.is_remembered,
            replaces=body.replaces,
        )
    )
    bind_contextvars(run_id=run_id)  # for the log line of this request
    return json_response(RunAccepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}"), 202)


async def get_run(request: Request) -> Response:
    """Return the state of a run and its answer; `wait` delays the response until the run is finished."""
    run_id = read_id(request, "run")
    wait_s: float = read_parameter(request, "wait", to_seconds, 0.0)
    if not 0 <= wait_s <= MAX_WAIT_S:
        raise MaasError("bad_parameter", f"wait: must be between 0 and {MAX_WAIT_S:.0f} seconds")
    state = app_state(request)
    if wait_s:
        await state.run_watcher.wait_for_answer(run_id, wait_s)
    states = await read_states(state.reads, [run_id])
    if not states:
        raise not_found(run_id)
    return json_response(states[0])


async def read_states(db: Database, run_ids: Sequence[UUID]) -> list[RunState]:
    """Return what a client sees of these runs, those that are there."""
    rows = await db.rows(queries.run_states, list(run_ids))
    actions = await _executed_actions(db, rows)
    return [_to_state(row, actions.get(row["id"])) for row in rows]


async def get_events(request: Request) -> Response:
    """Stream the events of a run until `done` or `error`.

    Reconnect with `Last-Event-ID` to resume. Disconnecting does not cancel the run.
    """
    run_id = read_id(request, "run")
    cursor = _read_event_cursor(request)
    state = app_state(request)
    hold_stream(request)
    first = await state.event_stream.read(run_id, cursor)
    if first is None:
        raise not_found(run_id)
    if first.is_over and not first.events:
        return Response(status_code=204)  # tells a browser not to reconnect
    lines = server_sent_events(state.event_stream, state.run_watcher, run_id, first)
    return StreamingResponse(lines, media_type=EVENT_STREAM, headers=EVENT_STREAM_HEADERS)


async def get_runs(request: Request) -> Response:
    """List the runs of a user, newest first; an unbound admin may list one status for all users.

    `q` finds runs whose query or answer has every word of it, or words that begin with it.
    """
    state, principal = app_state(request), principal_of(request)
    status: Status | None = read_parameter(request, "status", Status)
    may_list_all = principal.may("admin") and not principal.is_bound
    user_id = read_parameter(request, "user_id", UUID) if may_list_all and status else read_user(request)
    if user_id is None:
        await state.access_audit.note(principal, "runs_list", None, filters=["status"])
    return json_response(await read_page(request, user_id))


async def read_page(request: Request, user_id: UUID | None) -> RunPage:
    """Return a page of runs of a user, or of all users, as the query parameters filter them."""
    state, limit = app_state(request), read_limit(request)
    zone = state.settings.engine.zone
    only = RunFilter(
        user_id=user_id,
        status=read_parameter(request, "status", Status),
        kind=read_parameter(request, "kind", RunKind),
        conversation_id=read_parameter(request, "conversation_id", UUID),
        assistant=read_parameter(request, "assistant", to_storable_text),
        since=in_zone(zone, read_parameter(request, "from", to_time)),
        until=in_zone(zone, read_parameter(request, "to", to_time)),
        text=read_parameter(request, "q", to_search_text),
        error_code=read_parameter(request, "error_code", to_storable_text),
        attributes=read_parameter(request, "attributes", _to_attributes),
        queue=read_parameter(request, "queue", QueueState),
    )
    before = read_cursor(request)
    async with state.shares.reads.hold(user_id or principal_of(request).name) if only.text else nullcontext():
        rows = await list_runs(state.reads, only, before, limit)
    actions = await _executed_actions(state.reads, rows)
    summaries = [
        RunSummary(
            request_id=row["id"],
            action=actions.get(row["id"]),
            user_id=row["user_id"],
            query=row["query"],
            replaces=row["replaces"],
            answer=row["answer"],
            assistant=row["assistant"],
            conversation_id=row["conversation_id"],
            kind=row["kind"],
            source=row["source"],
            status=Status(row["status"]),
            archive_status=ArchiveStatus(row["archive_status"]),
            error_code=row["error_code"],
            error_message=row["error_message"],
            limited=row["limited"],
            memory=cast(MemoryState, row["memory"]),
            created_at=row["created_at"],
            completed_at=row["completed_at"],
            priority=Priority(row["priority"]).word,
            run_at=row["run_at"],
            attributes=row["attributes"] or {},
        )
        for row in rows
    ]
    return RunPage(results=summaries, next=write_cursor(rows, limit))


async def post_cancel(request: Request) -> Response:
    """Request the cancellation of a run; it becomes FAILED with the error code cancelled."""
    run_id = read_id(request, "run")
    await cancel_run(app_state(request).db, run_id, principal_of(request).name)
    return json_response(CancelAccepted(request_id=run_id), 202)


async def post_retry(request: Request) -> Response:
    """Retry a FAILED run, or the failed archiving of a completed one."""
    run_id = read_id(request, "run")
    await retry_run(app_state(request).db, run_id, principal_of(request).name)
    return json_response(RunAccepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}"), 202)


async def post_run_again(request: Request) -> Response:
    """Send the request of a finished run once more, as a new run, which is remembered as any other."""
    run_id, state = read_id(request, "run"), app_state(request)
    submission = await same_request(state.db, run_id, principal_of(request).name, read_idempotency_key(request))
    new_id = await state.submissions.submit(submission)
    bind_contextvars(run_id=new_id)  # for the log line of this request
    return json_response(RunAccepted(request_id=new_id, poll_url=f"/v1/runs/{new_id}"), 202)


async def post_run_replay(request: Request) -> Response:
    """Answer a finished run again from a stage on, with what was recorded before it.

    The replay is a run of its own (`kind` trial): without tools, neither logged, remembered nor shown to the user. Its
    model calls are recorded with their price and do not count towards the user's budget.
    """
    run_id = read_id(request, "run")
    body = await read_body(request, RunReplay)
    if body.prompt is not None and body.stage == "analyzer":
        raise MaasError("invalid_request", "prompt: takes the stage assembler or final_responder")
    trial = Trial(stage=body.stage, text=body.prompt, model=body.model)
    trial_id = await insert_trial(app_state(request).db, run_id, trial, principal_of(request).name)
    return json_response(RunAccepted(request_id=trial_id, poll_url=f"/v1/runs/{trial_id}"), 202)


async def post_press(request: Request) -> Response:
    """Press a button of a run; a run of its own executes it, once however often it is pressed."""
    run_id = read_id(request, "run")
    body = await read_body(request, ButtonPress)
    state = app_state(request)
    button_run = await press_button(state.db, run_id, body.user_id, body.button, state.submissions.queue_limit)
    return json_response(RunAccepted(request_id=button_run, poll_url=f"/v1/runs/{button_run}"), 202)


def with_marks(metadata: dict[str, Any] | None, marks: bool | None) -> dict[str, Any] | None:
    """Return the metadata of a run, with what its request says of marks."""
    return metadata if marks is None else {**(metadata or {}), "marks": marks}


def _read_traceparent(request: Request) -> str | None:
    """Return the client's W3C trace context if spans are exported."""
    traceparent = request.headers.get("traceparent", "")
    is_used = app_state(request).settings.diagnostics.otlp_endpoint and TRACEPARENT.fullmatch(traceparent)
    return traceparent if is_used else None


def _read_event_cursor(request: Request) -> Cursor:
    """Return where to resume: the header that browsers resend by themselves, or else the query parameter."""
    if header := request.headers.get("last-event-id"):
        try:
            return Cursor.parse(header)
        except ValueError as error:
            raise MaasError("bad_parameter", f"Last-Event-ID: {error}") from error
    cursor: Cursor = read_parameter(
        request, "last_event_id", lambda text: Cursor.parse(text) if text else Cursor(), Cursor()
    )
    return cursor


async def _executed_actions(
    db: Database, runs: Sequence[queries.RunStatesRow | queries.ListRunsRow]
) -> dict[UUID, ExecutedAction]:
    """The actions that these runs execute, by run."""
    executing = [row["id"] for row in runs if row["kind"] == "action"]
    rows = await db.rows(queries.executed_actions, executing) if executing else []
    return {row["run_id"]: ExecutedAction(id=row["id"], tool=row["tool"], title=row["title"] or None) for row in rows}


def _to_attributes(text: str) -> dict[str, Any]:
    if len(text) > MAX_ATTRIBUTES_CHARS:
        raise ValueError(f"must have at most {MAX_ATTRIBUTES_CHARS} characters")
    try:
        return _ATTRIBUTES.validate_json(text)
    except ValidationError as error:
        problem = problems_of(error)[0]
        raise ValueError(": ".join([*(repr(one)[:80] for one in problem.path[:1]), problem.message])) from error


def _to_state(row: queries.RunStatesRow, action: ExecutedAction | None) -> RunState:
    used = [one["id"] for one in row["sources"] or [] if one.get("used")]
    return RunState(
        request_id=row["id"],
        action=action,
        query=row["user_query"],
        timings={
            "created_at": row["created_at"],
            "analyzing_at": row["analyzing_at"],
            "analyzed_at": row["analyzed_at"],
            "assembling_at": row["assembling_at"],
            "ready_at": row["ready_at"],
            "responding_at": row["responding_at"],
            "completed_at": row["completed_at"],
            "failed_at": row["failed_at"],
            "archived_at": row["archived_at"],
        },
        retries=row["try"] - 1,
        sources=[to_source(one) for one in row["sources"] or []],
        used=used,
        searched=Searched(**row["searched"] | ({"found": "yes"} if used else {})) if row["searched"] else None,
        replaced=row["replaced"] or [],
        buttons=row["buttons"] or [],
        attachments=row["drawn"] or [],
        steps=row["steps"] or [],
        priority=Priority(row["priority"]).word,
        run_at=row["run_at"],
        attributes=row["attributes"] or {},
        user_id=row["user_id"],
        assistant=row["assistant"],
        conversation_id=row["conversation_id"],
        kind=row["kind"],
        status=Status(row["status"]),
        archive_status=ArchiveStatus(row["archive_status"]),
        final_answer=row["final_answer"],
        error_code=row["error_code"],
        error_message=row["error_message"],
        degraded=row["degraded"],
        limited=row["limited"],
        memory=cast(MemoryState, row["memory"]),
        memory_reasons=row["memory_reasons"],
        attempt=row["attempt"],
        attachment_ids=row["attachment_ids"],
        is_paused=row["is_paused"],
    )
