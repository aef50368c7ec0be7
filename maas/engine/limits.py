"""Limits: quotas and rates of one user, as operators have set them while everything runs, else as the settings say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import structlog

from maas import queries
from maas.settings import Settings
from maas.settings.quotas import QuotaSettings
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError
from shared.waiting import cancel_all

READ_INTERVAL_S = 2.0
RATES = ("user_rate", "sign_in_rate", "sign_in_address_rate")
NAMES = (*QuotaSettings.model_fields, *RATES)
log = structlog.get_logger()


class Limits:
    """What one user may have and do; while `reading`, what operators change is in force within seconds."""

    def __init__(self, settings: Settings) -> None:
        self.of_settings: dict[str, int] = {name: settings.named(name) for name in NAMES}
        self._set: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        """Return the limit that is in force."""
        return self._set.get(name, self.of_settings[name])

    async def read(self, db: Database) -> None:
        """Read what operators have set. Raises what the database raises."""
        self._set = {row["name"]: row["value"] for row in await db.rows(queries.set_limits)}

    @asynccontextmanager
    async def reading(self, db: Database) -> AsyncIterator[None]:
        """Read again and again within the block; while the database is away, what was read last holds."""
        task = asyncio.create_task(self._keep_reading(db))
        try:
            yield
        finally:
            await cancel_all([task], READ_INTERVAL_S)

    async def _keep_reading(self, db: Database) -> None:
        while True:
            try:
                await self.read(db)
            except (MaasError, TimeoutError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
                log.debug("limits_not_read", cause=repr(error))
            await asyncio.sleep(READ_INTERVAL_S)
