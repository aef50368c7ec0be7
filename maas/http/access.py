"""What a caller may: every request passes here before its door opens."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import structlog
from starlette.requests import Request

from maas.http.callers import Caller, Scope, Unauthenticated
from maas.http.parameters import read_id, read_parameter
from maas.http.rooms import rooms
from maas.pipeline.identities import has_name
from shared.errors import MaasError

Owned = Literal["run", "conversation", "action", "attachment", "memory", "user"]
log = structlog.get_logger()


async def admit(request: Request, scope: Scope, owned: Owned | None = None) -> None:
    """Let the request through to its door.

    Raises MaasError: unauthenticated, rate_limited, forbidden, not_found, bad_parameter.
    """
    if scope == "open":
        return
    found = await identify(request)
    if found.per_minute is not None:
        rooms(request).rates.take(found.name, found.per_minute, "this key")
    if not found.may(scope):
        raise MaasError("forbidden", f"this needs the scope {scope}; you have {', '.join(sorted(found.scopes))}")
    if found.user_id is not None:
        count_user(request, found.user_id)
    if owned is not None:
        await _check_owner(request, owned)
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    if user_id is not None:
        await check_user(request, user_id)


async def identify(request: Request) -> Caller:
    """Who sends this request, from now on known to `caller`. Raises Unauthenticated."""
    parts = rooms(request)
    try:
        found = request.state.caller = await parts.gate.identify(request)
    except Unauthenticated as error:
        parts.traffic.refuse(error.cause)
        client = request.client.host if request.client is not None else None
        log.info("unauthenticated", cause=error.cause, path=request.url.path, client=client)
        raise
    return found


def caller(request: Request) -> Caller:
    """Who sent this request, which was admitted."""
    found = request.state.caller
    assert isinstance(found, Caller)
    return found


async def check_user(request: Request, user_id: UUID) -> None:
    """Raises MaasError: not_found for a user that the caller is not there for; rate_limited."""
    if not await _is_there_for(request, user_id):
        raise MaasError("not_found", f"there is no user {user_id}")
    count_user(request, user_id)


def count_user(request: Request, user_id: UUID) -> None:
    """One request of this user, however often it names them. Raises MaasError('rate_limited')."""
    most = rooms(request).settings.user_rate
    if most is not None and getattr(request.state, "counted", None) is None:
        request.state.counted = user_id
        rooms(request).rates.take(f"user:{user_id}", most, "a user")


def read_user(request: Request) -> UUID:
    """`user_id`, or the one user that the caller is bound to. Raises MaasError('bad_parameter')."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID, caller(request).user_id)
    if user_id is None:
        raise MaasError("bad_parameter", "user_id: is required")
    return user_id


async def _check_owner(request: Request, owned: Owned) -> None:
    """What belongs to somebody else is answered like what is not there."""
    if owned == "user":
        await check_user(request, read_id(request, owned))
    elif caller(request).is_bound:
        one = read_id(request, owned)
        owner = await rooms(request).db.value(f"owner_of_{owned}", one)
        if owner is None or not await _is_there_for(request, owner):
            raise MaasError("not_found", f"there is no {owned} {one}")
        count_user(request, owner)


async def _is_there_for(request: Request, user_id: UUID) -> bool:
    found = caller(request)
    if found.user_id is not None:
        return found.user_id == user_id
    return found.prefix is None or await has_name(rooms(request).db, user_id, found.prefix)
