"""/v1/admin/trial_sets: recorded requests that are kept together, to try prompts on all of them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import USER_NAME, admin_of, note_read, read_names
from maas.http.admin.overview import MICRO_DOLLARS
from maas.http.admin.people import PRINTABLE_PATTERN
from maas.http.authorize import read_body
from maas.http.schemas import RequestBody, Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

MAX_RUNS, MAX_NAME_CHARS = 20, 100


class TrialSetRuns(RequestBody):
    run_ids: Annotated[list[UUID], Field(min_length=1, max_length=MAX_RUNS)] = Field(
        description="Questions that were answered, each once."
    )


class TrialSetSummary(Schema):
    name: str
    runs: int = Field(description="Those that were forgotten or erased have left it.")
    changed_by: str
    updated_at: datetime


class TrialSetList(Schema):
    results: list[TrialSetSummary]


class TrialSetRun(Schema):
    request_id: UUID
    user_id: UUID
    user_name: str | None = USER_NAME
    query: str = Field(description="At most 200 characters.")
    assistant: str
    answer: str | None
    created_at: datetime
    tokens: int = Field(description="Of the calls that answered it; trying a prompt on it takes about as many.")
    dollars: float | None = Field(description="What those calls cost; null if none has a price.")


class TrialSet(Schema):
    name: str
    runs: list[TrialSetRun]


async def get_trial_sets(request: Request) -> Response:
    """List the sets of recorded requests, by name."""
    admin_of(request)
    rows = await app_state(request).reads.rows(queries.trial_sets)
    return json_response(TrialSetList(results=[TrialSetSummary(**row) for row in rows]))


async def get_trial_set(request: Request) -> Response:
    """Return the requests of a set, what each was answered and what that cost."""
    admin_of(request)
    return json_response(await _read(request, _read_name(request)))


async def put_trial_set(request: Request) -> Response:
    """Keep up to 20 recorded requests under a name, instead of what was kept under it."""
    principal, name = admin_of(request), _read_name(request)
    body = await read_body(request, TrialSetRuns)
    verdict = await app_state(request).db.value(queries.keep_trial_set, name, body.run_ids, principal.name)
    if verdict == "not_replayable":
        raise MaasError("not_replayable", "run_ids: each must be a question that was answered, and stand there once")
    if verdict == "too_many":
        raise MaasError("quota_exceeded", "there are 100 sets: delete some first")
    return json_response(await _read(request, name))


async def delete_trial_set(request: Request) -> Response:
    """Delete a set; its requests stay."""
    principal, name = admin_of(request), _read_name(request)
    if not await app_state(request).db.value(queries.drop_trial_set, name, principal.name):
        raise _no_set(name)
    return Response(status_code=204)


async def _read(request: Request, name: str) -> TrialSet:
    db = app_state(request).db
    if name not in {row["name"] for row in await db.rows(queries.trial_sets)}:
        raise _no_set(name)
    await note_read(request, "trial_set_read", None, name=name)
    rows = await db.rows(queries.trial_set_runs, name)
    names = await read_names(db, (row["user_id"] for row in rows))
    runs = [
        TrialSetRun(
            request_id=row["request_id"],
            user_id=row["user_id"],
            user_name=names.get(row["user_id"]),
            query=row["query"],
            assistant=row["assistant"],
            answer=row["answer"],
            created_at=row["created_at"],
            tokens=row["tokens"],
            dollars=row["price"] / MICRO_DOLLARS if row["price"] is not None else None,
        )
        for row in rows
    ]
    return TrialSet(name=name, runs=runs)


def _read_name(request: Request) -> str:
    """Return the name in the path. Raises MaasError('not_found') for a text that cannot be one."""
    name = str(request.path_params["set"])
    if len(name) > MAX_NAME_CHARS or not re.fullmatch(PRINTABLE_PATTERN, name):
        raise _no_set(name)
    return name


def _no_set(name: str) -> MaasError:
    return MaasError("not_found", f"there is no set {name[:MAX_NAME_CHARS]!r}")
