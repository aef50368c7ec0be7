"""Responses that are kept, and the dialogue that leads to one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.requests import Request

from maas import queries
from maas.http.openai.caller import bad_parameter
from maas.http.openai.responses.items import is_reference
from maas.http.openai.responses.resource import run_of, run_of_item
from maas.http.request_input import read_id
from maas.http.state import app_state
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable

MAX_STORED_BYTES = 4 * 1024 * 1024  # of the items that a client sends with one request
MAX_CHAIN = 200  # responses that one continues
_NOT_ECHOED = ("input", "maas", "stream", "store", "user")


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A stored response; `response` is None while an assistant answers in the background."""

    run_id: UUID
    user_id: UUID
    request: Mapping[str, Any]
    input: Sequence[Mapping[str, Any]]
    response: Mapping[str, Any] | None


def can_be_stored(body: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a request wants its response to be kept, and is small and plain enough for that."""
    if body.get("store") is False:
        return False
    return len(json.dumps(items)) <= MAX_STORED_BYTES and is_storable(items) and is_storable(_echoed(body))


async def store(
    db: Database,
    user_id: UUID,
    run_id: UUID,
    body: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    response: Mapping[str, Any] | None,
) -> None:
    """Keep a response, or what has come of one that is kept."""
    previous = run_of(body.get("previous_response_id"))
    await db.value(queries.store_response, user_id, run_id, previous, _echoed(body), list(items), response)


async def read_stored(request: Request) -> StoredResponse:
    """The response in the path. Raises MaasError('not_found')."""
    run_id = read_id(request, "response")
    row = await app_state(request).db.row(queries.response, run_id)
    if row is None:
        raise MaasError("not_found", f"there is no response {request.path_params['id'][:80]!r}")
    return StoredResponse(row["run_id"], row["user_id"], row["request"], row["input"], row["response"])


async def read_dialogue(db: Database, user_id: UUID, response_id: object) -> list[dict[str, Any]]:
    """The items of a stored response of this user and of all that it continues, the oldest first.

    Raises MaasError('bad_parameter').
    """
    run_id = run_of(response_id)
    rows = [] if run_id is None else await db.rows(queries.responses_before, user_id, run_id, MAX_CHAIN + 1)
    if not rows:
        message = f"previous_response_id: there is no stored response {str(response_id)[:80]!r} of this user"
        raise bad_parameter(message, "previous_response_id")
    if len(rows) > MAX_CHAIN:
        message = f"previous_response_id: it continues more than {MAX_CHAIN} responses; send the messages instead"
        raise bad_parameter(message, "previous_response_id")
    if rows[-1]["output"] is None:
        raise bad_parameter(
            "previous_response_id: that response is not finished; wait for its end", "previous_response_id"
        )
    return [item for row in rows for item in (*row["input"], *(row["output"] or []))]


async def resolve_references(db: Database, user_id: UUID, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items, with what stored responses of this user put out in the place of references to it.

    Raises MaasError('bad_parameter').
    """
    runs = {run for item in items if is_reference(item) and (run := run_of_item(item.get("id"))) is not None}
    rows = await db.rows(queries.outputs_of_responses, user_id, list(runs)) if runs else []
    stored = {item["id"]: item for row in rows for item in row["output"] or []}
    resolved = []
    for number, item in enumerate(items):
        one = stored.get(str(item.get("id"))) if is_reference(item) else item
        if one is None:
            name = str(item.get("id"))[:80]
            message = f"input[{number}]: there is no stored item {name!r} of this user; send the item itself"
            raise bad_parameter(message, "input")
        resolved.append(dict(one))
    return resolved


def _echoed(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _NOT_ECHOED}
