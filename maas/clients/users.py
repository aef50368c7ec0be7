"""Users by any name: which UUID a name stands for, asked of the server and kept for a while."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from maas.clients.calls import Call, Plan
from maas.clients.errors import InvalidRequest, NotFound

KEPT = 300.0
MOST = 10_000
UserId: TypeAlias = str | UUID


@dataclass(slots=True)
class Users:
    """Names that were looked up in the last five minutes."""

    known: dict[str, tuple[UUID, float]] = field(default_factory=dict)

    def name(self, name: str) -> Plan[UUID]:
        """The user of this name; a new one at first sight."""
        found = self._recall(name)
        if found is None:
            reply = yield Call(method="POST", path="/v1/users", body={"external_id": name})
            found = self._keep(name, reply.json)
        return found

    def find(self, name: str) -> Plan[UUID | None]:
        """The user of this name; None where nobody has it."""
        found = self._recall(name)
        if found is None:
            try:
                reply = yield Call(method="GET", path="/v1/users", params={"external_id": name})
            except NotFound:
                return None
            found = self._keep(name, reply.json)
        return found

    def forget(self, user_id: UUID) -> None:
        """The user was erased: who comes back under the name is new."""
        self.known = {name: kept for name, kept in self.known.items() if kept[0] != user_id}

    def _recall(self, name: str) -> UUID | None:
        if (user_id := _read(name)) is not None:
            return user_id
        user_id, until = self.known.get(name, (None, 0.0))
        return user_id if time.monotonic() < until else None

    def _keep(self, name: str, body: Any) -> UUID:
        if len(self.known) >= MOST:
            self.known.clear()
        user_id = UUID(body["user_id"])
        self.known[name] = (user_id, time.monotonic() + KEPT)
        return user_id


def name_of(user_id: UserId | None, filters: Mapping[str, Any] | None = None) -> str:
    """The user that is meant, given by itself or among filters. Raises InvalidRequest where none is."""
    given = user_id if user_id is not None else (filters or {}).get("user_id")
    if given is None or not str(given).strip():
        raise InvalidRequest("invalid_request", 'user_id is required: user_id="..." or filters={"user_id": "..."}')
    return str(given)


def _read(name: str) -> UUID | None:
    try:
        user_id = UUID(name)
    except ValueError:
        return None
    return user_id if str(user_id) == name.lower() else None  # 32 digits alone may be a name, too
