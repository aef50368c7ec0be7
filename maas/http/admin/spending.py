"""/v1/admin/spending: what model calls cost, by day, user, assistant, model or stage."""

from __future__ import annotations

from typing import Literal, cast, get_args
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import USER_NAME, admin_of, note_read, read_names
from maas.http.admin.overview import MICRO_DOLLARS, read_span
from maas.http.request_input import read_limit, read_parameter
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state

ERASED = "erased"
SpendingKey = Literal["day", "user", "assistant", "model", "stage"]


class SpendingRow(Schema):
    key: str = Field(
        description="A day of MAAS_TIMEZONE, a user id (`erased`: of all users who were erased), an assistant, "
        "provider:model, or a stage."
    )
    user_name: str | None = USER_NAME
    runs: int
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float = Field(description="Of the calls that have a price.")
    unpriced: int = Field(description="Calls of models that have no price.")


class SpendingList(Schema):
    results: list[SpendingRow] = Field(description="The most expensive first; days the latest first.")
    dollars: float = Field(description="The sum of all, also of those that are not listed.")
    keys: int = Field(description="How many there are, listed or not.")


async def get_admin_spending(request: Request) -> Response:
    """Return what the model calls of a time cost, by what `by` names; at most `limit` of them."""
    principal, state, limit = admin_of(request), app_state(request), read_limit(request)
    since, until = read_span(request)
    by: SpendingKey = read_parameter(request, "by", _to_key, "day")
    async with state.shares.reads.hold(principal.name):  # it may look at all calls of a day
        rows = await state.reads.rows(queries.admin_spending, since, until, by, limit)
    names: dict[UUID | None, str] = {}
    if by == "user":
        await note_read(request, "spending_list", None)
        names = await read_names(state.reads, (_to_user(row["key"]) for row in rows))
    results = [
        SpendingRow(
            key=row["key"],
            user_name=names.get(_to_user(row["key"])) if names else None,
            runs=row["runs"],
            calls=row["calls"],
            tokens_in=row["tokens_in"],
            tokens_out=row["tokens_out"],
            dollars=row["price"] / MICRO_DOLLARS,
            unpriced=row["unpriced"],
        )
        for row in rows
    ]
    total, keys = (rows[0]["total"], rows[0]["keys"]) if rows else (0, 0)
    return json_response(SpendingList(results=results, dollars=total / MICRO_DOLLARS, keys=keys))


def _to_user(key: str) -> UUID | None:
    return None if key == ERASED else UUID(key)


def _to_key(text: str) -> SpendingKey:
    if text not in get_args(SpendingKey):
        raise ValueError(f"must be one of {', '.join(get_args(SpendingKey))}")
    return cast(SpendingKey, text)
