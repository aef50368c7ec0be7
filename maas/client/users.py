"""Users by name: which user the arguments name, the cache of looked-up ids, and operations on a whole user."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from .calls import ApiCall, Operation
from .results import DeleteResult, InvalidRequest, NotFound, Spending

TTL_S = 300.0
MAX_CACHED_USERS = 10_000
UserId: TypeAlias = str | UUID
Filters: TypeAlias = Mapping[str, Any]
_OWN_FILTERS = ("user_id", "tags", "created_at")
_SERVER_FILTERS = (
    "metadata",
    "agent_id",
    "app_id",
    "run_id",
    "OR",
    "NOT",
    "updated_at",
    "categories",
    "keywords",
)


@dataclass(slots=True)
class Users:
    """A cache from user names to UUIDs; entries live for five minutes."""

    cached: dict[str, tuple[UUID, float]] = field(default_factory=dict)

    def get_or_create(self, name: str) -> Operation[UUID]:
        """The user of this name, created if there is none."""
        user = self._get(name)
        if user is None:
            reply = yield ApiCall(method="POST", path="/v1/users", body={"external_id": name})
            user = self._put(name, reply.json)
        return user

    def find(self, name: str) -> Operation[UUID | None]:
        """The user of this name; None if there is none."""
        user = self._get(name)
        if user is None:
            try:
                reply = yield ApiCall(method="GET", path="/v1/users", params={"external_id": name})
            except NotFound:
                return None
            user = self._put(name, reply.json)
        return user

    def evict(self, user_id: UUID) -> None:
        """Drop an erased user: the next use of the name creates a new one."""
        self.cached = {name: entry for name, entry in self.cached.items() if entry[0] != user_id}

    def _get(self, name: str) -> UUID | None:
        if (user_id := _parse_uuid(name)) is not None:
            return user_id
        user_id, expires = self.cached.get(name, (None, 0.0))
        return user_id if time.monotonic() < expires else None

    def _put(self, name: str, body: Any) -> UUID:
        if len(self.cached) >= MAX_CACHED_USERS:
            self.cached.clear()
        user_id = UUID(body["user_id"])
        self.cached[name] = (user_id, time.monotonic() + TTL_S)
        return user_id


def required_user(user_id: UserId | None, filters: Filters | None = None) -> str:
    """The user named by `user_id` or else by mem0's `filters`. Raises InvalidRequest if neither names one."""
    flat = flatten_filters(filters)
    name = user_id if user_id is not None else flat.get("user_id")
    if name is None or not str(name).strip():
        raise InvalidRequest("invalid_request", 'user_id is required: user_id="..." or filters={"user_id": "..."}')
    return str(name)


def owner_of(users: Users, user_id: UserId, what: str) -> Operation[UUID]:
    """The user who has `what`, such as `fact ID`. Raises NotFound for an unknown user: he has nothing."""
    user = yield from users.find(required_user(user_id))
    if user is None:
        raise NotFound("not_found", f"there is no {what}")
    return user


def flatten_filters(filters: Filters | None) -> dict[str, Any]:
    """mem0's filters with the parts of AND at the top level, without those that the server applies.

    Raises InvalidRequest for an unsupported filter.
    """
    flat: dict[str, Any] = {}
    for name, value in _without_and(filters or {}):
        if name in _OWN_FILTERS:
            flat[name] = value
        elif name not in _SERVER_FILTERS:
            known = ", ".join((*_OWN_FILTERS, *_SERVER_FILTERS))
            raise InvalidRequest("invalid_request", f"filters: {name} is not supported; use {known} or an AND of them")
    return flat


def server_filters(filters: Filters | None) -> dict[str, Any] | None:
    """The part of mem0's filters that the server applies to a search; None where there is none."""
    parts = [{name: value} for name, value in _without_and(filters or {}) if name in _SERVER_FILTERS]
    return {"AND": parts} if parts else None


def delete_all(
    users: Users, *, user_id: UserId | None = None, filters: Filters | None = None
) -> Operation[DeleteResult]:
    """Erase a user from every table, including running requests and the name itself. Needs the scope `admin`."""
    user = yield from users.find(required_user(user_id, filters))
    counts: dict[str, int] = {}
    if user is not None:
        reply = yield ApiCall(method="DELETE", path=f"/v1/users/{user}", done_code="not_found")
        counts = reply.json["erased"] if reply.content else {}
        users.evict(user)
    return DeleteResult(message="Memories deleted successfully!", deleted=counts, doubtful=[])


def spending(users: Users, *, user_id: UserId) -> Operation[Spending]:
    """The tokens and dollars that a user's model calls took, and the budgets of a day. Raises NotFound."""
    user = yield from owner_of(users, user_id, f"user {str(user_id)[:80]!r}")
    reply: Spending = (yield ApiCall(method="GET", path=f"/v1/users/{user}/spending")).json
    return reply


def export(users: Users, *, user_id: UserId) -> Operation[bytes]:
    """Everything stored about a user, as the JSON lines that `import_` reads; empty for an unknown user."""
    user = yield from users.find(required_user(user_id))
    return b"" if user is None else (yield ApiCall(method="GET", path=f"/v1/users/{user}/export")).content


def import_(
    users: Users, lines: bytes | str | Iterable[Mapping[str, Any]], *, user_id: UserId
) -> Operation[dict[str, Any]]:
    """Import an export, or messages {role, content, at?, ...}. An error names the line and imports nothing.

    Importing the same lines again adds nothing. Returns counts and the ids of the runs that write the summaries.
    """
    user = yield from users.get_or_create(required_user(user_id))
    if isinstance(lines, str):
        lines = lines.encode()
    elif not isinstance(lines, bytes):
        lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    headers = {"content-type": "application/x-ndjson"}
    path = f"/v1/users/{user}/import"
    return dict((yield ApiCall(method="POST", path=path, content=lines, headers=headers)).json)


def _without_and(filters: Filters) -> Iterator[tuple[str, Any]]:
    for name, value in filters.items():
        if name == "AND":
            for one in value:
                yield from _without_and(one)
        else:
            yield name, value


def _parse_uuid(name: str) -> UUID | None:
    try:
        user_id = UUID(name)
    except ValueError:
        return None
    return user_id if str(user_id) == name.lower() else None  # 32 digits alone may be a name, too
