"""/v1/admin/budget and /v1/admin/users/{id}/budget: budgets of a day that operators set while everything runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.engine.spending import Budget
from maas.http.admin import admin_of
from maas.http.authorize import EVERYBODY, read_body
from maas.http.request_input import read_id
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

MAX_TOKENS, MAX_DOLLARS = 10**15, 10**9


class NewBudget(RequestBody):
    """What one user may use in a day; null for no limit."""

    daily_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), NUMBER] | None
    daily_dollars: Annotated[float, Field(gt=0, le=MAX_DOLLARS, allow_inf_nan=False)] | None


class UserBudget(Schema):
    """What one user may use in a day; null for no limit."""

    daily_tokens: int | None
    daily_dollars: float | None
    is_own: bool = Field(description="Whether it was set here; else it is that of all users, or of the settings.")
    changed_by: str | None = Field(description="Who has set it; null: the settings.")
    updated_at: datetime | None


async def get_budget(request: Request) -> Response:
    """Return the budget of a day of every user who has none of their own."""
    admin_of(request)
    return json_response(await _read(request, EVERYBODY))


async def put_budget(request: Request) -> Response:
    """Set the budget of a day of every user who has none of their own; in force at the next model call."""
    return await _set(request, EVERYBODY)


async def delete_budget(request: Request) -> Response:
    """End that budget: the settings apply again."""
    return await _drop(request, EVERYBODY)


async def get_user_budget(request: Request) -> Response:
    """Return the budget of a day of a user."""
    admin_of(request)
    return json_response(await _read(request, read_id(request, "user")))


async def put_user_budget(request: Request) -> Response:
    """Set the budget of a day of a user; in force at the next model call."""
    return await _set(request, read_id(request, "user"))


async def delete_user_budget(request: Request) -> Response:
    """End the budget of a user: that of all users applies again, or the settings."""
    return await _drop(request, read_id(request, "user"))


async def _set(request: Request, user_id: UUID) -> Response:
    principal, body = admin_of(request), await read_body(request, NewBudget)
    db = app_state(request).db
    await db.value(queries.set_budget, user_id, body.daily_tokens, body.daily_dollars, principal.name)
    return json_response(await _read(request, user_id))


async def _drop(request: Request, user_id: UUID) -> Response:
    principal = admin_of(request)
    if not await app_state(request).db.value(queries.drop_budget, user_id, principal.name):
        raise MaasError("not_found", "no such budget was set")
    return Response(status_code=204)


async def _read(request: Request, user_id: UUID) -> UserBudget:
    state = app_state(request)
    row = await state.db.row(queries.budget, user_id)
    budgets = state.settings.budgets
    found = (
        Budget(budgets.user_daily_tokens, budgets.user_daily_dollars, is_set=False)
        if row is None
        else Budget(row["daily_tokens"], row["daily_dollars"], is_set=True)
    )
    return UserBudget(
        daily_tokens=found.daily_tokens,
        daily_dollars=found.daily_dollars,
        is_own=row is not None and row["user_id"] == user_id,
        changed_by=row["changed_by"] if row is not None else None,
        updated_at=row["updated_at"] if row is not None else None,
    )
