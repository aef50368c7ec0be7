"""MAAS_AUTH=keys: requests show a key that `maas keys create` has made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import asyncpg
import structlog
from starlette.requests import Request

from maas.http.callers import Caller, Unauthenticated, read_credential
from maas.http.lately import Lately
from maas.pipeline.keys import is_secret_of, split_key
from shared.db import CONNECTION_LOST, Database

TOUCH_EVERY = 60.0
log = structlog.get_logger()


class KeyGate:
    """Looks a key up at most once a second, so a revoked one works for so long; notes its use beside the requests."""

    def __init__(self, db: Database, group: asyncio.TaskGroup, clock: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._group = group
        self._clock = clock
        self._rows = Lately(self._find, clock)
        self._touched_at: dict[str, float] = {}

    async def identify(self, request: Request) -> Caller:
        return await self.know(read_credential(request))

    async def know(self, key: str) -> Caller:
        """Whose key this is. Raises Unauthenticated."""
        parts = split_key(key)
        if parts is None:
            raise Unauthenticated("malformed")
        key_id, secret = parts
        row = await self._rows.get(key_id)
        if not is_secret_of(row, secret) or row is None:
            raise Unauthenticated("unknown" if row is None else "wrong")
        if row["state"] != "active":
            raise Unauthenticated(row["state"])
        self._touch(key_id)
        return Caller(
            f"key:{key_id}", frozenset(row["scopes"]), row["user_id"], row["prefix"], row["per_minute"]
        )  # fmt: skip

    async def _find(self, key_id: str) -> asyncpg.Record | None:
        return await self._db.row("find_key", key_id)

    def _touch(self, key_id: str) -> None:
        now = self._clock()
        if now - self._touched_at.get(key_id, -TOUCH_EVERY) >= TOUCH_EVERY:
            self._touched_at[key_id] = now
            self._group.create_task(self._write_touch(key_id))

    async def _write_touch(self, key_id: str) -> None:
        try:
            await self._db.value("touch_key", key_id)
        except (asyncpg.PostgresError, *CONNECTION_LOST) as error:
            log.warning("key_use_not_noted", key=key_id, cause=repr(error))
