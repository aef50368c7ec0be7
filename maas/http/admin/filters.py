"""/v1/admin/filters: filters of the lists of runs and of users, which each operator keeps by name."""

from __future__ import annotations

import re
from typing import Annotated, Literal, cast, get_args

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import admin_of
from maas.http.admin.people import PRINTABLE_PATTERN
from maas.http.authorize import read_body
from maas.http.schemas import RequestBody, Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

MAX_NAME_CHARS, MAX_QUERY_CHARS = 100, 2000
FilteredList = Literal["runs", "users"]


class NewFilter(RequestBody):
    query: Annotated[str, Field(max_length=MAX_QUERY_CHARS, pattern="^[!-~]*$")] = Field(
        description="The part of the address of the page behind the question mark."
    )


class SavedFilter(Schema):
    list: FilteredList
    name: str
    query: str


class SavedFilterList(Schema):
    results: list[SavedFilter]


async def get_filters(request: Request) -> Response:
    """List the filters that the caller keeps."""
    rows = await app_state(request).db.rows(queries.saved_filters, admin_of(request).name)
    found = [SavedFilter(list=row["list"], name=row["name"], query=row["query"]) for row in rows]
    return json_response(SavedFilterList(results=found))


async def put_filter(request: Request) -> Response:
    """Keep filters of a list under a name, instead of what was kept under it; at most 50 of each list."""
    principal, (filtered, name) = admin_of(request), _read_place(request)
    body = await read_body(request, NewFilter)
    if not await app_state(request).db.value(queries.save_filter, principal.name, filtered, name, body.query):
        raise MaasError("quota_exceeded", "you keep 50 filters of this list: delete some first")
    return json_response(SavedFilter(list=filtered, name=name, query=body.query))


async def delete_filter(request: Request) -> Response:
    """Delete filters that the caller keeps."""
    principal, (filtered, name) = admin_of(request), _read_place(request)
    if not await app_state(request).db.value(queries.drop_filter, principal.name, filtered, name):
        raise _no_filter(name)
    return Response(status_code=204)


def _read_place(request: Request) -> tuple[FilteredList, str]:
    """Return the list and the name in the path. Raises MaasError('not_found') for what cannot be one."""
    filtered, name = str(request.path_params["list"]), str(request.path_params["filter"])
    is_name = len(name) <= MAX_NAME_CHARS and re.fullmatch(PRINTABLE_PATTERN, name)
    if filtered not in get_args(FilteredList) or not is_name:
        raise _no_filter(name)
    return cast(FilteredList, filtered), name


def _no_filter(name: str) -> MaasError:
    return MaasError("not_found", f"there are no filters {name[:MAX_NAME_CHARS]!r}")
