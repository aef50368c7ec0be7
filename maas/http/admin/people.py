"""/v1/admin/users and keys: all users, their roles, and the keys of programs."""

from __future__ import annotations

import re
from contextlib import nullcontext
from datetime import datetime
from typing import Annotated, Literal, cast, get_args
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool, model_validator
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.accounts import create_reset_path
from maas.http.admin import USER_NAME, admin_of, note_read, read_names
from maas.http.authorize import read_body
from maas.http.request_input import (
    CURSOR_PATTERN,
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_search_text,
    write_cursor,
)
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.state import app_state
from maas.users import MAX_DAYS, MAX_KEY_NAME_CHARS, MAX_PREFIX_CHARS, NewKey, create_key, revoke_key
from shared.db import Database
from shared.errors import MaasError
from shared.text import as_uuid

FIRST_USER = UUID(int=0)
UserOrder = Literal["id", "last_run", "spend", "errors"]
MICRO_DOLLARS = 1_000_000
MAX_PER_MINUTE = 1_000_000
KEY_ID_CHARS = 12
KeyScope = Literal["ask", "read", "metrics", "admin"]
PRINTABLE_PATTERN = "^ *[!-~А-яЁё][ -~А-яЁё]*$"  # what keys are named in lists and logs


class AdminUser(Schema):
    user_id: UUID
    names: list[str] = Field(description="At most 10 names by which clients know the user.")
    email: str | None
    name: str | None
    is_admin: bool
    is_blocked: bool
    runs: int
    errors: int = Field(description="Runs that failed.")
    dollars: float = Field(description="What the user's model calls cost, by the prices that are known.")
    last_run_at: datetime | None
    created_at: datetime | None


class UserTotals(Schema):
    """Of all users that match, not only of those of the page."""

    users: int
    errors: int
    dollars: float


class AdminUserPage(Schema):
    results: list[AdminUser]
    total: UserTotals | None = Field(description="null in the order by id, which does not count.")
    next: str | None = Field(description="Send it as `before` to get the next page.")


class RoleChange(RequestBody):
    """Roles that are null or left out stay as they are."""

    is_admin: StrictBool | None = None
    is_blocked: StrictBool | None = Field(
        None, description="Whether the user's sessions, tokens and keys are refused; blocking ends open sessions."
    )


class UserSession(Schema):
    id: UUID
    method: Literal["password", "recovery"] = Field(description="recovery: begun by a link for a forgotten password.")
    created_at: datetime
    refreshed_at: datetime = Field(description="When it was last renewed; a page in use does that by itself.")
    expires_at: datetime


class UserSessionList(Schema):
    results: list[UserSession]


class EndedSessions(Schema):
    ended: int


class ResetLink(Schema):
    url_path: str = Field(description="The path of the link, valid for 24 hours; hand it over yourself.")


class ApiKey(Schema):
    id: str
    name: str
    scopes: list[str]
    user_id: UUID | None
    user_name: str | None = USER_NAME
    prefix: str | None
    per_minute: int | None
    state: Literal["active", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class ApiKeyList(Schema):
    results: list[ApiKey]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class NewApiKey(RequestBody):
    """A key for one user, for users with a name that begins with `prefix`, or for all users."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"properties": {"user_id": {"type": "null"}}}, {"properties": {"prefix": {"type": "null"}}}]
        }
    )

    name: Annotated[str, Field(min_length=1, max_length=MAX_KEY_NAME_CHARS, pattern=PRINTABLE_PATTERN)]
    scopes: list[KeyScope] = Field(["ask", "read"], min_length=1, max_length=4)
    user_id: UUID | None = None
    prefix: Annotated[str, Field(min_length=1, max_length=MAX_PREFIX_CHARS, pattern=PRINTABLE_PATTERN)] | None = None
    per_minute: Annotated[int, Field(ge=1, le=MAX_PER_MINUTE), NUMBER] | None = None
    days: Annotated[int, Field(ge=1, le=MAX_DAYS), NUMBER] | None = Field(None, description="Until the key expires.")

    @model_validator(mode="after")
    def _is_bound_once(self) -> NewApiKey:
        if self.user_id is not None and self.prefix is not None:
            raise ValueError("send user_id or prefix, not both")
        return self


class CreatedKey(Schema):
    id: str
    key: str = Field(description="The key itself; it is shown this once.")


async def get_users(request: Request) -> Response:
    """List users by id, or those first who were active last, have spent most or have most errors.

    `q` is a part of a name or of the number of a chat, or a user id.
    """
    principal, state = admin_of(request), app_state(request)
    limit, text = read_limit(request), read_parameter(request, "q", to_search_text)
    sort: UserOrder = read_parameter(request, "sort", _to_order, "id")
    user_id = None if text is None else as_uuid(text)
    if user_id is not None:
        page = AdminUserPage(results=await _read_users(state.reads, [user_id]), total=None, next=None)
    elif sort == "id":
        _, last = read_cursor(request) or (None, FIRST_USER)
        async with state.shares.reads.hold(principal.name) if text else nullcontext():
            found = [row["user_id"] for row in await state.reads.rows(queries.user_ids, text, last, limit)]
        cursor = f"0_{found[-1]}" if len(found) == limit else None
        page = AdminUserPage(results=await _read_users(state.reads, found), total=None, next=cursor)
    else:
        rank, last_ranked = read_parameter(request, "before", _to_rank) or (None, None)
        async with state.shares.reads.hold(principal.name):  # it looks at all users
            rows = await state.reads.rows(queries.ranked_user_ids, text, sort, rank, last_ranked, limit)
        total = rows[0] if rows else {"users": 0, "errors": 0, "price": 0}
        page = AdminUserPage(
            results=await _read_users(state.reads, [row["user_id"] for row in rows]),
            total=UserTotals(users=total["users"], errors=total["errors"], dollars=total["price"] / MICRO_DOLLARS),
            next=f"{rows[-1]['rank']}_{rows[-1]['user_id']}" if len(rows) == limit else None,
        )
    await note_read(request, "users_list", user_id)
    return json_response(page)


async def _read_users(db: Database, user_ids: list[UUID]) -> list[AdminUser]:
    return [
        AdminUser(
            user_id=row["user_id"],
            names=row["names"],
            email=row["email"],
            name=row["name"],
            is_admin=row["is_admin"],
            is_blocked=row["is_blocked"],
            runs=row["runs"],
            errors=row["errors"],
            last_run_at=row["last_run_at"],
            created_at=row["created_at"],
            dollars=row["price"] / MICRO_DOLLARS,
        )
        for row in await db.rows(queries.admin_users, user_ids)
    ]


async def put_roles(request: Request) -> Response:
    """Make a user an administrator of all users, or one no longer; block a user, or end the block.

    In force within a second.
    """
    principal, user_id = admin_of(request), read_id(request, "user")
    body = await read_body(request, RoleChange)
    if body.is_blocked and user_id == principal.default_user:
        raise MaasError("conflict", "is_blocked: you cannot block yourself")
    db = app_state(request).db
    await db.value(queries.set_roles, user_id, body.is_admin, body.is_blocked, principal.name)
    (user,) = await _read_users(db, [user_id])
    return json_response(user)


async def post_reset(request: Request) -> Response:
    """Make a one-time link by which a person who has an account sets a new password."""
    principal, user_id = admin_of(request), read_id(request, "user")
    return json_response(ResetLink(url_path=await create_reset_path(app_state(request).db, user_id, principal.name)))


async def get_sessions(request: Request) -> Response:
    """List the open sessions of a person who signs in with a password, the newest first."""
    admin_of(request)
    rows = await app_state(request).reads.rows(queries.user_sessions, read_id(request, "user"))
    return json_response(UserSessionList(results=[UserSession(**row) for row in rows]))


async def delete_sessions(request: Request) -> Response:
    """Sign a person out everywhere; access tokens are refused within a second."""
    admin_of(request)
    ended = await app_state(request).db.value(queries.end_sessions, read_id(request, "user"), None, "global")
    return json_response(EndedSessions(ended=ended))


async def get_keys(request: Request) -> Response:
    """List all keys, the newest first, without their secrets."""
    admin_of(request)
    reads, limit = app_state(request).reads, read_limit(request)
    before = read_cursor(request)
    at, last = (None, None) if before is None else (before[0], before[1].hex[-KEY_ID_CHARS:])
    rows = await reads.rows(queries.admin_keys, at, last, limit)
    names = await read_names(reads, (row["user_id"] for row in rows))
    keys = [
        ApiKey(
            id=row["id"],
            name=row["name"],
            scopes=row["scopes"],
            user_id=row["user_id"],
            user_name=names.get(row["user_id"]),
            prefix=row["prefix"],
            per_minute=row["per_minute"],
            state=cast(Literal["active", "expired", "revoked"], row["state"]),
            created_at=row["created_at"],
            expires_at=row["expires_at"],
            last_used_at=row["last_used_at"],
        )
        for row in rows
    ]
    ends = [{"created_at": row["created_at"], "id": UUID(hex=row["id"].zfill(32))} for row in rows]
    return json_response(ApiKeyList(results=keys, next=write_cursor(ends, limit)))


async def post_key(request: Request) -> Response:
    """Create a key. The response alone shows it: only its hash is stored."""
    principal = admin_of(request)
    body = await read_body(request, NewApiKey)
    new = NewKey(body.name, body.scopes, body.user_id, body.prefix, body.per_minute, body.days)
    key = await create_key(app_state(request).db, new, principal.name)
    return json_response(CreatedKey(id=key.split("_")[1], key=key), 201)


async def delete_key(request: Request) -> Response:
    """Revoke a key; a server accepts it for a second more at most."""
    principal, key_id = admin_of(request), str(request.path_params["key"])
    if "\0" in key_id:
        raise MaasError("not_found", "there is no such key")
    await revoke_key(app_state(request).db, key_id, principal.name)
    return Response(status_code=204)


def _to_order(text: str) -> UserOrder:
    if text not in get_args(UserOrder):
        raise ValueError(f"must be one of {', '.join(get_args(UserOrder))}")
    return cast(UserOrder, text)


def _to_rank(text: str) -> tuple[int, UUID]:
    if not re.fullmatch(CURSOR_PATTERN, text):
        raise ValueError("must be `next` of the previous page, unchanged")
    rank, _, user_id = text.partition("_")
    return int(rank), UUID(user_id)
