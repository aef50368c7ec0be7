"""/v1/admin/metrics, runs, memories and audit: lists and figures of all users."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import USER_NAME, admin_of, note_read, read_names
from maas.http.request_input import (
    in_zone,
    read_cursor,
    read_limit,
    read_parameter,
    to_level,
    to_storable_text,
    write_cursor,
)
from maas.http.run_schemas import RunSummary
from maas.http.runs import read_page
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from maas.memory.dates import to_time

DEFAULT_DAYS = 30
MAX_DAYS = 400
MAX_STUCK = 100
AUDIT_CURSOR_PATTERN = "^[0-9]{1,18}$"  # JSON Schema; `_to_audit_id` checks with the same one
ACTOR_IS_USER = re.compile(r"(?:jwt|user):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
MICRO_DOLLARS = 1_000_000


class Figures(Schema):
    requests: int = Field(description="Questions; runs of other kinds are not counted.")
    completed: int
    failed: int
    average_ms: float | None = Field(description="From the question to its answer, of completed ones.")
    p95_ms: float | None = Field(description="To within half a percent.")
    tokens: int = Field(description="Of the model calls of all runs, of whatever kind.")
    dollars: float = Field(description="Of those calls that have a price.")


class DayFigures(Figures):
    day: date = Field(description="Of MAAS_TIMEZONE; days without runs are left out.")


class QueueFigures(Schema):
    inbox: int
    waiting: int
    runnable: int
    deferred: int
    in_flight: int
    paused: int
    scheduled: int


class EngineState(Schema):
    name: str = Field(description="Host and process id.")
    heartbeat_at: datetime
    in_flight: int
    concurrency: int
    stages: list[str]
    is_alive: bool


class StuckRun(Schema):
    request_id: UUID
    user_id: UUID
    user_name: str | None = USER_NAME
    status: str
    why: str
    since: datetime


class EmbeddingState(Schema):
    model: str
    waiting: int = Field(description="Messages without a vector.")


class AdminMetrics(Schema):
    days: list[DayFigures]
    total: Figures
    queue: QueueFigures
    engines: list[EngineState]
    stuck: list[StuckRun] = Field(description="At most 100, those that have waited longest first.")
    embedding: EmbeddingState | None = Field(description="null where no embedding model is in use.")


class AdminRun(RunSummary):
    user_name: str | None = USER_NAME
    ms: float | None = Field(description="From the request until it ended.")
    tokens: int = Field(description="Of its model calls, over all tries.")
    dollars: float | None = Field(description="Of those calls that have a price; null if none has.")
    models: list[str] = Field(description="The models that were asked, as provider:model.")


class AdminRunPage(Schema):
    results: list[AdminRun]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class AdminMemory(Schema):
    id: UUID
    user_id: UUID
    user_name: str | None = USER_NAME
    level: int = Field(description="0: an exchange, 1: a day, 2: a week, 3: a month.")
    period: str
    tags: list[str]
    memory: str
    messages: int = Field(description="The number of messages that it was made of.")
    created_at: datetime
    superseded_by: UUID | None


class AdminMemoryPage(Schema):
    results: list[AdminMemory]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class AuditRow(Schema):
    id: int
    at: datetime
    actor: str
    actor_name: str | None = Field(None, description="Of an actor who is a user, as user_name; else null.")
    action: str
    user_id: UUID | None
    user_name: str | None = USER_NAME
    subject: UUID | None
    details: dict[str, Any]


class AuditPage(Schema):
    results: list[AuditRow]
    next: str | None = Field(description="Send it as `before` to get the next page.")


async def get_admin_metrics(request: Request) -> Response:
    """Return the figures of each day, the queue, the orchestrators and the runs that are stuck."""
    admin_of(request)
    since, until = read_span(request)
    db = app_state(request).db  # a standby does not see the sessions of orchestrators
    rows = await app_state(request).reads.rows(queries.admin_metrics, since, until)
    queue, embedding = await db.row(queries.admin_queue), await db.row(queries.admin_embedding)
    assert queue is not None
    stuck = await db.rows(queries.admin_stuck, MAX_STUCK)
    names = await read_names(db, (row["user_id"] for row in stuck))
    days = [DayFigures(day=row["day"], **_figures(row)) for row in rows if row["day"] is not None]
    metrics = AdminMetrics(
        days=days,
        total=Figures(**_figures(rows[-1])),
        queue=QueueFigures(**queue),
        engines=[EngineState(**row) for row in await db.rows(queries.admin_engines)],
        stuck=[StuckRun(**row, user_name=names.get(row["user_id"])) for row in stuck],
        embedding=EmbeddingState(**embedding) if embedding is not None else None,
    )
    return json_response(metrics)


async def get_admin_runs(request: Request) -> Response:
    """List runs of all users, newest first, with what they cost."""
    admin_of(request)
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    filters = sorted(
        {"status", "kind", "assistant", "q", "from", "to", "error_code", "attributes", "queue"}
        & request.query_params.keys()
    )
    await note_read(request, "runs_list", user_id, filters=filters)
    page = await read_page(request, user_id)
    ids = [run.request_id for run in page.results]
    costs = {row["id"]: row for row in await app_state(request).reads.rows(queries.run_costs, ids)}
    names = await read_names(app_state(request).reads, (run.user_id for run in page.results))
    runs = [
        _with_cost(run, costs[run.request_id], names.get(run.user_id))
        for run in page.results
        if run.request_id in costs
    ]
    return json_response(AdminRunPage(results=runs, next=page.next))


async def get_admin_memories(request: Request) -> Response:
    """List the summaries of all users, newest first, those that were merged included."""
    admin_of(request)
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    limit = read_limit(request)
    await note_read(request, "memories_list", user_id)
    at, last = read_cursor(request) or (None, None)
    tag = read_parameter(request, "tag", to_storable_text)
    level = read_parameter(request, "level", to_level)
    reads = app_state(request).reads
    rows = await reads.filtered_rows(queries.admin_memories, user_id, tag, level, at, last, limit)
    names = await read_names(reads, (row["user_id"] for row in rows))
    memories = [AdminMemory(**row, user_name=names.get(row["user_id"])) for row in rows]
    return json_response(AdminMemoryPage(results=memories, next=write_cursor(rows, limit)))


async def get_admin_audit(request: Request) -> Response:
    """List the audit, newest first: who did what to whose data, without the data."""
    admin_of(request)
    limit = read_limit(request)
    rows = await app_state(request).reads.rows(
        queries.admin_audit,
        read_parameter(request, "user_id", UUID),
        read_parameter(request, "action", to_storable_text),
        read_parameter(request, "before", _to_audit_id),
        limit,
    )
    cursor = str(rows[-1]["id"]) if len(rows) == limit else None
    users = {row["actor"]: _user_of(row["actor"]) for row in rows}
    names = await read_names(app_state(request).reads, [*(row["user_id"] for row in rows), *users.values()])
    results = [
        AuditRow(**row, user_name=names.get(row["user_id"]), actor_name=names.get(users[row["actor"]])) for row in rows
    ]
    return json_response(AuditPage(results=results, next=cursor))


def read_span(request: Request) -> tuple[datetime, datetime]:
    """Return `from`, at most MAX_DAYS before `to`, and `to`; by default the last DEFAULT_DAYS days, today included."""
    zone = app_state(request).settings.engine.zone
    until = in_zone(zone, read_parameter(request, "to", to_time)) or datetime.now(UTC) + timedelta(seconds=1)
    since = in_zone(zone, read_parameter(request, "from", to_time))
    if since is None:
        first = (until.astimezone(zone) - timedelta(DEFAULT_DAYS - 1)).date()
        since = datetime.combine(first, time(), zone)
    return max(since, until - timedelta(MAX_DAYS)), until


def _figures(row: queries.AdminMetricsRow) -> dict[str, Any]:
    return {
        "requests": row["requests"],
        "completed": row["completed"],
        "failed": row["failed"],
        "average_ms": row["average_ms"],
        "p95_ms": row["p95_ms"],
        "tokens": row["tokens"],
        "dollars": row["price"] / MICRO_DOLLARS,
    }


def _with_cost(run: RunSummary, cost: queries.RunCostsRow, user_name: str | None) -> AdminRun:
    price = cost["price"]
    return AdminRun(
        **dict(run),
        user_name=user_name,
        ms=cost["ms"],
        tokens=cost["tokens"],
        dollars=None if price is None else price / MICRO_DOLLARS,
        models=cost["models"] or [],
    )


def _user_of(actor: str) -> UUID | None:
    """The user whom an actor such as jwt:ID or user:ID names."""
    match = ACTOR_IS_USER.fullmatch(actor)
    return UUID(match[1]) if match else None


def _to_audit_id(text: str) -> int:
    if not re.fullmatch(AUDIT_CURSOR_PATTERN, text):
        raise ValueError("must be `next` of the previous page, unchanged")
    return int(text)
