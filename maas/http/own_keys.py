"""/v1/users/{id}/keys: the keys that act for one user, made and revoked by that person.

Only who has signed in, or administrates, may do it: a key that has leaked makes no others and revokes none.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, cast

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin.people import PRINTABLE_PATTERN, CreatedKey
from maas.http.authorize import principal_of, read_body
from maas.http.request_input import read_id
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.state import app_state
from maas.users import MAX_DAYS, MAX_KEY_NAME_CHARS, NewKey, create_own_key, revoke_own_key
from shared.errors import MaasError

KeyState = Literal["active", "expired", "revoked"]


class NewOwnKey(RequestBody):
    """A key that acts for this user only."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_KEY_NAME_CHARS, pattern=PRINTABLE_PATTERN)]
    scopes: list[Literal["ask", "read"]] = Field(["ask", "read"], min_length=1, max_length=2)
    days: Annotated[int, Field(ge=1, le=MAX_DAYS), NUMBER] | None = Field(None, description="Until the key expires.")


class OwnKey(Schema):
    id: str
    name: str
    scopes: list[str]
    state: KeyState
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Up to a minute late.")


class OwnKeyList(Schema):
    results: list[OwnKey] = Field(description="The newest first, those of operators for this user included.")


async def get_own_keys(request: Request) -> Response:
    """List the keys that act for this user only, without their secrets."""
    rows = await app_state(request).reads.rows(queries.list_own_keys, read_id(request, "user"))
    keys = [
        OwnKey(
            id=row["id"],
            name=row["name"],
            scopes=row["scopes"],
            state=cast(KeyState, row["state"]),
            created_at=row["created_at"],
            expires_at=row["expires_at"],
            last_used_at=row["last_used_at"],
        )
        for row in rows
    ]
    return json_response(OwnKeyList(results=keys))


async def post_own_key(request: Request) -> Response:
    """Make a key that acts for this user only. The response alone shows it: only its hash is stored."""
    user_id, body = read_id(request, "user"), await read_body(request, NewOwnKey)
    new = NewKey(body.name, body.scopes, user_id, days=body.days)
    key = await create_own_key(app_state(request).db, new, principal_of(request).name)
    return json_response(CreatedKey(id=key.split("_")[1], key=key), 201)


async def delete_own_key(request: Request) -> Response:
    """Revoke a key of this user; a server accepts it for a second more at most."""
    key_id = str(request.path_params["key"])
    if "\0" in key_id:
        raise MaasError("not_found", "there is no such key")
    await revoke_own_key(app_state(request).db, read_id(request, "user"), key_id, principal_of(request).name)
    return Response(status_code=204)
