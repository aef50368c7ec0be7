"""What a caller may: every request passes here before its door opens."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from starlette.requests import Request

from maas.http.callers import Caller, Scope
from maas.http.parameters import read_id, read_parameter
from maas.http.rooms import rooms
from maas.pipeline.identities import has_name
from shared.errors import MaasError

Owned = Literal["run", "conversation", "action", "attachment", "memory", "user"]


async def admit(request: Request, scope: Scope, owned: Owned | None) -> None:
    """Let the request through to its door. Raises MaasError: unauthenticated, forbidden, not_found, bad_parameter."""
    if scope == "open":
        return
    found = request.state.caller = await rooms(request).gate.identify(request)
    if not found.may(scope):
        raise MaasError("forbidden", f"this needs the scope {scope}; you have {', '.join(sorted(found.scopes))}")
    if not found.is_bound:
        return
    if owned is not None:
        await _check_owner(request, owned, read_id(request, owned))
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    if user_id is not None:
        await check_user(request, user_id)


def caller(request: Request) -> Caller:
    """Who sent this request, which was admitted."""
    found = request.state.caller
    assert isinstance(found, Caller)
    return found


async def check_user(request: Request, user_id: UUID) -> None:
    """Raises MaasError('not_found') for a user that the caller is not there for."""
    if not await _is_there_for(request, user_id):
        raise MaasError("not_found", f"there is no user {user_id}")


def read_user(request: Request) -> UUID:
    """`user_id`, or the one user that the caller is bound to. Raises MaasError('bad_parameter')."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID, caller(request).user_id)
    if user_id is None:
        raise MaasError("bad_parameter", "user_id: is required")
    return user_id


async def _check_owner(request: Request, owned: Owned, one: UUID) -> None:
    """What belongs to somebody else is answered like what is not there."""
    owner = one if owned == "user" else await rooms(request).db.value(f"owner_of_{owned}", one)
    if owner is None or not await _is_there_for(request, owner):
        raise MaasError("not_found", f"there is no {owned} {one}")


async def _is_there_for(request: Request, user_id: UUID) -> bool:
    found = caller(request)
    if found.user_id is not None:
        return found.user_id == user_id
    return found.prefix is None or await has_name(rooms(request).db, user_id, found.prefix)
