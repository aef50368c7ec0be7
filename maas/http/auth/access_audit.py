"""The audit of what administrators read and write of other people: one row a minute for each user and route."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from uuid import UUID

from maas import queries
from maas.http.auth import Principal, TTLCache
from shared.db import Database

INTERVAL_S = 60.0  # between two rows of one actor, action, user and details


class Access(NamedTuple):
    """One use of other people's data; `user_id` is None for that of all users, `details` are JSON."""

    actor: str
    action: str
    user_id: UUID | None
    details: str


class AccessAudit:
    """Writes rows of the audit; what was written within INTERVAL_S, by this process, is not written again."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._written = TTLCache(self._write, ttl_s=INTERVAL_S)

    async def note(self, principal: Principal, action: str, user_id: UUID | None, **details: Any) -> None:
        """Return once the row is stored. Raises what the database raises: then nothing may be shown."""
        await self._written.get(Access(principal.name, action, user_id, json.dumps(details)))

    async def _write(self, access: Access) -> None:
        details = json.loads(access.details)
        await self._db.value(queries.note_audit, access.action, access.user_id, None, details, access.actor)
