"""Calls that the tools need beyond those of the client: each for one user, and what is another's is not there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from maas.clients.calls import Call, Plan, to_look
from maas.clients.errors import NotFound
from maas.clients.users import Users


def read_caller(users: Users) -> Plan[dict[str, Any]]:
    """What the key may do, and for whom."""
    return dict((yield Call(method="GET", path="/v1/caller")).json)


def read_run(users: Users, request_id: UUID, user: str, waits: float = 0.0) -> Plan[dict[str, Any]]:
    """Where a request of the user is, after at most so many seconds. Raises NotFound."""
    missing = f"there is no run {request_id}"
    owner = yield from _owner(users, user, missing)
    state = (yield to_look(str(request_id), waits)).json
    if UUID(state["user_id"]) != owner:
        raise NotFound("not_found", missing)
    return dict(state)


def list_page(users: Users, user: str, limit: int, before: str | None) -> Plan[dict[str, Any]]:
    """A page of the records of the user, newest first."""
    owner = yield from users.find(user)
    if owner is None:
        return {"results": [], "next": None}
    params = {"user_id": str(owner), "limit": limit} | ({"before": before} if before else {})
    return dict((yield Call(method="GET", path="/v1/memories", params=params)).json)


def read_sources(users: Users, memory_id: UUID, user: str) -> Plan[list[dict[str, Any]]]:
    """The words that a memory of the user was made of. Raises NotFound."""
    owner = yield from _owner(users, user, f"there is no memory {memory_id}")
    path, params = f"/v1/memories/{memory_id}/sources", {"user_id": str(owner)}
    return list((yield Call(method="GET", path=path, params=params)).json["results"])


def are_same(users: Users, one: str, other: str) -> Plan[bool]:
    """Whether two names stand for one user."""
    if one == other:
        return True
    found = yield from users.find(other)
    return found is not None and found == (yield from users.find(one))


def _owner(users: Users, user: str, missing: str) -> Plan[UUID]:
    owner = yield from users.find(user)
    if owner is None:
        raise NotFound("not_found", missing)
    return owner
