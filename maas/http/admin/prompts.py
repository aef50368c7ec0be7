"""/v1/admin/prompts: the texts of roles, their history and their changes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field, StrictBool
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import admin_of
from maas.http.authorize import read_body
from maas.http.schemas import NUMBER, MessageText, RequestBody, RunAccepted, Schema, json_response
from maas.http.state import app_state
from maas.prompt_rows import PLACEHOLDERS, split_row_name
from maas.runs.again import Trial, insert_trial
from shared.errors import MaasError

MAX_PROMPT_CHARS = 100_000
MAX_VERSIONS = 100


class PromptSummary(Schema):
    role: str
    version: int
    is_active: bool
    updated_at: datetime
    changed_by: str | None
    characters: int


class PromptList(Schema):
    results: list[PromptSummary]


class PromptState(Schema):
    role: str
    version: int
    text: str
    is_active: bool
    variables: list[str] = Field(
        description="Names in braces that may stand in the text; where one does, the inputs are filled into it."
    )
    updated_at: datetime


class PromptVersion(Schema):
    version: int
    text: str
    is_active: bool
    valid_from: datetime
    changed_by: str | None


class PromptHistory(Schema):
    results: list[PromptVersion] = Field(description="At most 100, the current version first.")


PromptText = Annotated[MessageText, Field(max_length=MAX_PROMPT_CHARS)]


class PromptChange(RequestBody):
    text: PromptText
    is_active: StrictBool
    version: Annotated[int, Field(ge=0, le=2_147_483_647), NUMBER] = Field(
        description="The version that the text was edited from."
    )


class PromptTrial(RequestBody):
    run_id: UUID = Field(description="The run whose final context is answered again.")
    text: PromptText


async def get_prompts(request: Request) -> Response:
    """List the prompts of all roles."""
    admin_of(request)
    rows = await app_state(request).reads.rows(queries.admin_prompts)
    return json_response(PromptList(results=[PromptSummary(**row) for row in rows]))


async def get_prompt(request: Request) -> Response:
    """Return the present prompt of a role."""
    admin_of(request)
    return json_response(await _read_prompt(request))


async def get_prompt_history(request: Request) -> Response:
    """List the versions of a prompt, newest first."""
    admin_of(request)
    role = await _read_role(request)
    rows = await app_state(request).reads.rows(queries.admin_prompt_history, role, MAX_VERSIONS)
    return json_response(PromptHistory(results=[PromptVersion(**row) for row in rows]))


async def put_prompt(request: Request) -> Response:
    """Replace the prompt of a role; the next stages use it. 409 if somebody else has saved it meanwhile."""
    principal, role = admin_of(request), await _read_role(request)
    body = await read_body(request, PromptChange)
    row = await app_state(request).db.row(
        queries.set_prompt, role, body.text, body.is_active, body.version, principal.name
    )
    assert row is not None
    if row["verdict"] == "not_found":
        raise _no_prompt(role)
    if row["verdict"] == "conflict":
        raise _conflict(body.version, row)
    return json_response(await _read_prompt(request))


async def post_trial(request: Request) -> Response:
    """Answer a recorded run again with another text of a prompt, which is not saved.

    The trial is a run of its own: without tools, neither logged, remembered nor shown to the user. Its model calls are
    recorded with their price and do not count towards the user's budget. FinalResponder and the role of the run's
    assistant can be tried.
    """
    principal, role = admin_of(request), await _read_role(request)
    body = await read_body(request, PromptTrial)
    trial = await insert_trial(app_state(request).db, body.run_id, Trial(text=body.text, role=role), principal.name)
    return json_response(RunAccepted(request_id=trial, poll_url=f"/v1/runs/{trial}"), 202)


def _conflict(edited: int, row: queries.SetPromptRow) -> MaasError:
    saved_by, at = row["actor"] or "somebody", row["changed_at"]
    return MaasError(
        "conflict",
        f"{saved_by} has saved version {row['version']} at {at:%Y-%m-%d %H:%M:%S} UTC; you edited version {edited}: "
        "read the prompt again and repeat your change",
        {"version": row["version"], "changed_by": saved_by, "updated_at": at.isoformat()},
    )


async def _read_prompt(request: Request) -> PromptState:
    role: str = request.path_params["role"]
    row = await app_state(request).db.row(queries.admin_prompt, role) if "\0" not in role else None
    if row is None:
        raise _no_prompt(role)
    return PromptState(**row, variables=list(PLACEHOLDERS.get(split_row_name(role)[0], ())))


async def _read_role(request: Request) -> str:
    """Return the role in the path. Raises MaasError('not_found')."""
    return (await _read_prompt(request)).role


def _no_prompt(role: str) -> MaasError:
    return MaasError("not_found", f"there is no prompt of a role {role[:80]!r}")
