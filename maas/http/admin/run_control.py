"""/v1/admin/pauses, /v1/admin/runs/cancel and /retry: what operators stop, and many runs changed at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.engine.states import RunKind, Status
from maas.http.admin import admin_of
from maas.http.authorize import read_body
from maas.http.request_input import in_zone
from maas.http.schemas import (
    NUMBER,
    AssistantName,
    Attributes,
    RequestBody,
    Schema,
    StorableText,
    Timestamp,
    json_response,
)
from maas.http.state import app_state
from maas.runs.bulk import PORTION_RUNS, Change, change_runs
from maas.runs.lists import RunFilter
from maas.runs.pauses import MAX_NAME_CHARS, MAX_REASON_CHARS, Subject, pause, resume

_NAME = Field(
    min_length=1,
    max_length=MAX_NAME_CHARS,
    description="The assistant, the id of the key, the model as provider:name, the id of the user.",
)


class NewPause(RequestBody):
    """What is to be paused."""

    subject: Subject
    name: Annotated[StorableText, _NAME]
    reason: Annotated[StorableText, Field(max_length=MAX_REASON_CHARS)] | None = None


class PauseEnd(RequestBody):
    """What is to go on."""

    subject: Subject
    name: Annotated[StorableText, _NAME]


class Pause(Schema):
    subject: Subject
    name: str
    reason: str | None
    actor: str
    since: datetime


class PauseList(Schema):
    results: list[Pause]


class Paused(Schema):
    runs: int = Field(description="How many runs left the queue or came back to it at once; later ones follow.")


class RunSelection(RequestBody):
    """The runs that are meant; what is left out means any."""

    user_id: UUID | None = None
    kind: RunKind | None = None
    assistant: AssistantName | None = None
    since: Timestamp | None = Field(None, alias="from", description="Runs of this time or later.")
    until: Timestamp | None = Field(None, alias="to", description="Runs before this time.")
    attributes: Attributes | None = Field(None, description="Runs that have all of these.")
    expected: Annotated[int, Field(ge=0), NUMBER] | None = Field(
        None,
        description="`matched` of an earlier reply: at most so many are changed. Without it they are counted only.",
    )


class CancelSelection(RunSelection):
    status: Status | None = Field(None, description="Runs with this status.")


class RetrySelection(RunSelection):
    error_code: Annotated[StorableText, Field(min_length=1, max_length=50)] | None = Field(
        None, description="Runs that failed with this code."
    )


class ChangedRuns(Schema):
    matched: int
    changed: int = Field(description=f"At most {PORTION_RUNS}; repeat the request for the others.")


async def get_pauses(request: Request) -> Response:
    """List what is paused, since when and by whom."""
    admin_of(request)
    rows = await app_state(request).reads.rows(queries.pauses)
    return json_response(PauseList(results=[Pause(**row) for row in rows]))


async def post_pause(request: Request) -> Response:
    """Pause an assistant, an API key, a model or a user: their runs wait, and what is in flight is finished.

    A paused model is not called: its fallback and rules do its work, and answers wait as for a model that is away.
    """
    principal = admin_of(request)
    body = await read_body(request, NewPause)
    runs = await pause(app_state(request).db, body.subject, body.name, body.reason, principal.name)
    return json_response(Paused(runs=runs))


async def post_resume(request: Request) -> Response:
    """End a pause; its runs come back in their order."""
    principal = admin_of(request)
    body = await read_body(request, PauseEnd)
    return json_response(Paused(runs=await resume(app_state(request).db, body.subject, body.name, principal.name)))


async def post_cancel_runs(request: Request) -> Response:
    """Count the runs that are not finished and match, or cancel them with `expected`."""
    admin_of(request)
    body = await read_body(request, CancelSelection)
    return await _change(request, "cancel", body, RunFilter(status=body.status))


async def post_retry_runs(request: Request) -> Response:
    """Count the runs that have failed and match, or try them again with `expected`."""
    admin_of(request)
    body = await read_body(request, RetrySelection)
    return await _change(request, "retry", body, RunFilter(error_code=body.error_code))


async def _change(request: Request, change: Change, body: RunSelection, only: RunFilter) -> Response:
    principal, state = admin_of(request), app_state(request)
    zone = state.settings.engine.zone
    only = replace(
        only,
        user_id=body.user_id,
        kind=body.kind,
        assistant=body.assistant,
        since=in_zone(zone, body.since),
        until=in_zone(zone, body.until),
        attributes=body.attributes,
    )
    result = await change_runs(state.db, change, only, body.expected, principal.name)
    return json_response(ChangedRuns(matched=result.matched, changed=result.changed))
