"""Which connections are synced, when and by whom: by themselves in the background, or because somebody wants it now.

A connection is claimed before it is read, so two processes never read the same one. A process that dies loses its
claims when their leases end, and whoever comes next reads on from what was stored.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog

from maas.assistants.ads import queries
from maas.assistants.ads.account import read_account
from maas.assistants.ads.settings import AdsSettings
from maas.assistants.ads.sync import PATIENT, Connection, Report, Sync
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.engine.supervision import BackgroundTask
from maas.settings import Settings
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError
from shared.waiting import cancel_all

LEASE_S = 60.0
RENEWAL_INTERVAL_S = 15.0
POLL_INTERVAL_S = 10.0
WAIT_INTERVAL_S = 1.0
PROGRESS_INTERVAL_S = 2.0
STOP_TIMEOUT_S = 5.0
MAX_SYNCS = 4  # of a process at a time
NO_ACCOUNT = "there is no such account; maas ads account list shows them"
LEASE = timedelta(seconds=LEASE_S)
log = structlog.get_logger()


class SyncQueue:
    """Syncs of one process. `days` as in Sync."""

    def __init__(self, db: Database, settings: Settings, days: int | None = None) -> None:
        self._db = db
        self._interval_min = settings.of(AdsSettings).ads_sync_interval
        self._vendors = Vendors(settings, PATIENT)
        self._days = days

    async def close(self) -> None:
        await self._vendors.close()

    async def claim(self, sync_id: UUID | None = None) -> queries.AdsClaimSyncRow | None:
        """Claim the sync that is due, or this one. None: there is none, or one of its user is in progress."""
        return await self._db.row(queries.ads_claim_sync, self._interval_min, LEASE, sync_id)

    async def run(self, claimed: queries.AdsClaimSyncRow, report: Report) -> list[str]:
        """Read what was claimed, and end the claim; what failed. Cancelled, it gives the claim back.

        Raises MaasError('claim_lost').
        """
        try:
            failures = await self._read(claimed, report)
        except asyncio.CancelledError:
            with suppress(MaasError, *CONNECTION_LOST):
                await self._db.rows(queries.ads_release_sync, claimed["id"], claimed["owner"])
            raise
        await self._db.rows(queries.ads_end_sync, claimed["id"], claimed["owner"], "; ".join(failures) or None)
        return failures

    async def _read(self, claimed: queries.AdsClaimSyncRow, report: Report) -> list[str]:
        """Read while the claim holds."""
        connection = Connection(
            claimed["user_id"], claimed["user_account_id"], claimed["account"], claimed["service"], claimed["named"]
        )
        counts: Counter[str] = Counter()

        def count(kind: str, rows: int) -> None:
            counts[kind] += rows
            report(kind, rows)

        reading = asyncio.create_task(Sync(self._db, self._vendors, connection, self._days, count).run())
        holding = asyncio.create_task(self._hold(claimed["id"], claimed["owner"]))
        noting = asyncio.create_task(self._keep_noting(claimed["id"], claimed["owner"], counts))
        try:
            await asyncio.wait((reading, holding), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                holding.result()
            return reading.result()
        finally:
            await cancel_all((reading, holding, noting), STOP_TIMEOUT_S)
            with suppress(MaasError, *CONNECTION_LOST):
                await self._note(claimed["id"], claimed["owner"], counts)

    async def _keep_noting(self, sync_id: UUID, owner: UUID, counts: Counter[str]) -> None:
        """Keep how far the sync is, for people who wait for it; a lost connection ends it, as it ends the sync."""
        written: dict[str, int] = {}
        while True:
            await asyncio.sleep(PROGRESS_INTERVAL_S)
            if written != counts:
                written = dict(counts)
                await self._note(sync_id, owner, counts)

    async def _note(self, sync_id: UUID, owner: UUID, counts: Counter[str]) -> None:
        await self._db.rows(queries.ads_note_progress, sync_id, owner, dict(counts))

    async def _hold(self, sync_id: UUID, owner: UUID) -> None:
        while True:
            await asyncio.sleep(RENEWAL_INTERVAL_S)
            if await self._db.row(queries.ads_renew_sync, sync_id, owner, LEASE) is None:
                raise MaasError("claim_lost", "another process has taken this sync over")

    async def run_all(
        self, user_id: UUID, only: str | None, report: Report, on_wait: Callable[[str], None]
    ) -> list[str]:
        """Sync all connections of a user now, or those of `only` one account; what failed, with the names of accounts.

        A connection of the user that another process reads is waited for, after `on_wait`.
        Raises MaasError('not_found') without an account.
        """
        if await read_account(self._db, user_id, only) is None:
            raise MaasError("not_found", NO_ACCOUNT)
        failures = []
        for row in await self._db.rows(queries.ads_syncs, user_id, only, self._interval_min):
            is_announced = False
            while (claimed := await self.claim(row["id"])) is None:
                if not is_announced:
                    on_wait(f"{row['account']}, {row['service']}: waits for a sync of this user by another process")
                is_announced = True
                await asyncio.sleep(WAIT_INTERVAL_S)
            failures += [f"{row['account']}, {one}" for one in await self.run(claimed, report)]
        return failures

    async def run_in_background(self, claimed: queries.AdsClaimSyncRow) -> None:
        """Read what was claimed and log how it ended; a failure stays with its connection."""
        about = {"user_id": str(claimed["user_id"]), "service": claimed["service"], "sync_id": str(claimed["id"])}
        counts: Counter[str] = Counter()
        try:
            failures = await self.run(claimed, lambda kind, rows: counts.update({kind: rows}))
        except (MaasError, *CONNECTION_LOST) as error:
            log.warning("ads_sync_interrupted", **about, cause=repr(error))
        except Exception as error:
            log.exception("ads_sync_failed", **about)
            message = f"{claimed['service']}: {type(error).__name__}, see the log"
            await self._db.rows(queries.ads_end_sync, claimed["id"], claimed["owner"], message)
        else:
            log.info("ads_synced", **about, rows=sum(counts.values()), failures=failures)


async def keep_syncing(deps: Deps) -> None:
    """Sync what is due until cancelled, MAX_SYNCS connections at a time."""
    queue = SyncQueue(deps.db, deps.settings)
    running: set[asyncio.Task[None]] = set()
    try:
        while True:
            while len(running) < MAX_SYNCS and (claimed := await queue.claim()) is not None:
                running.add(asyncio.create_task(queue.run_in_background(claimed)))
            if running:
                _, running = await asyncio.wait(running, timeout=POLL_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(POLL_INTERVAL_S)
    finally:
        await cancel_all(running, STOP_TIMEOUT_S)
        await queue.close()


def background_tasks(deps: Deps) -> dict[str, BackgroundTask]:
    """The background tasks of an orchestrator."""
    return {"ads_syncs": partial(keep_syncing, deps)}
