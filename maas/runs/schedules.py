"""Schedules: requests that are sent by the clock, at the times of a cron expression in a time zone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Literal, Self
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import asyncpg
import structlog
from cronsim import CronSim, CronSimError

from maas import queries
from maas.conversations import unknown_assistant
from shared.db import Database
from shared.errors import MaasError

POLL_INTERVAL_S = 1.0
PORTION = 100  # schedules that are read at once
MAX_CRON_CHARS = 100
MAX_CAUGHT_UP = 100  # requests for times that passed while no orchestrator ran
MISSED = timedelta(minutes=1)  # a time that is longer ago was missed
CatchUp = Literal["none", "last", "all"]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Cron:
    """The times of an expression in a time zone.

    A time that a change of the clock leaves out is the first one after it; one that comes twice counts the first time.
    """

    expression: str
    zone: ZoneInfo

    @classmethod
    def parse(cls, expression: str, zone: str) -> Self:
        """Raises MaasError('invalid_request') for what is not five fields as cron has them, or not a time zone."""
        fields = expression.split() if len(expression) <= MAX_CRON_CHARS else []
        try:
            if len(fields) != 5:
                raise CronSimError(f"must have five fields in at most {MAX_CRON_CHARS} characters")
            CronSim(expression, datetime.now(UTC))
        except CronSimError as error:
            message = f"cron: {error}; write minute, hour, day, month and day of the week, such as 30 8 * * 1-5"
            raise MaasError("invalid_request", message) from error
        try:
            return cls(" ".join(fields), ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            message = f"timezone: unknown time zone {zone!r}; use a name like Europe/Moscow"
            raise MaasError("invalid_request", message) from error

    def next_after(self, at: datetime) -> datetime | None:
        """The first time after `at`; None if none comes within 50 years."""
        return next((one for one in self._times(at) if one > at), None)

    def due(self, first: datetime, now: datetime, catch_up: CatchUp) -> list[datetime]:
        """The times for which a request is sent at `now`, oldest first; `first` is the one that was due next."""
        backwards = self._times(now + timedelta(microseconds=1), reverse=True)
        times = [*islice(takewhile(lambda at: at > first, backwards), MAX_CAUGHT_UP), first][:MAX_CAUGHT_UP][::-1]
        if catch_up == "all":
            return times
        return times[-1:] if catch_up == "last" or now - times[-1] <= MISSED else []

    def _times(self, at: datetime, *, reverse: bool = False) -> Iterator[datetime]:
        return (one.astimezone(UTC) for one in CronSim(self.expression, at.astimezone(self.zone), reverse=reverse))


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule to create; `timezone` None: that of the user's profile, or else MAAS_TIMEZONE."""

    user_id: UUID
    query: str
    cron: str
    timezone: str | None = None
    assistant: str = "mentor"
    conversation_id: UUID | None = None
    catch_up: CatchUp = "last"


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """What to change; None leaves it as it is."""

    query: str | None = None
    cron: str | None = None
    timezone: str | None = None
    catch_up: CatchUp | None = None
    is_paused: bool | None = None


async def create_schedule(db: Database, new: NewSchedule, default_zone: str, actor: str) -> queries.ScheduleRow:
    """Store a schedule. Raises MaasError: `invalid_request`, `unknown_assistant`, `not_found`; QuotaExceeded."""
    zones = await db.rows(queries.user_timezones, [new.user_id])
    zone = new.timezone or next((row["timezone"] for row in zones), None) or default_zone
    cron = Cron.parse(new.cron, zone)
    try:
        schedule_id = await db.value(
            queries.create_schedule,
            new.user_id,
            new.query,
            cron.expression,
            zone,
            new.assistant,
            new.conversation_id,
            new.catch_up,
            _next_time(cron, datetime.now(UTC)),
            actor,
        )
    except asyncpg.ForeignKeyViolationError as error:
        if error.column_name == "conversation_id":
            raise MaasError("not_found", error.message) from error
        raise await unknown_assistant(db, new.assistant) from error
    assert schedule_id is not None
    return await read_schedule(db, schedule_id)


async def read_schedule(db: Database, schedule_id: UUID) -> queries.ScheduleRow:
    """Raises MaasError('not_found')."""
    row = await db.row(queries.schedule, schedule_id)
    if row is None:
        raise MaasError("not_found", f"there is no schedule {schedule_id}")
    return row


async def change_schedule(db: Database, schedule_id: UUID, change: ScheduleChange, actor: str) -> queries.ScheduleRow:
    """Change what is not None. Raises MaasError: `not_found`, `invalid_request`."""
    row = await read_schedule(db, schedule_id)
    cron = Cron.parse(
        row["cron"] if change.cron is None else change.cron,
        row["timezone"] if change.timezone is None else change.timezone,
    )
    await db.value(
        queries.change_schedule,
        schedule_id,
        change.query,
        None if change.cron is None else cron.expression,
        change.timezone,
        change.catch_up,
        change.is_paused,
        _next_time(cron, datetime.now(UTC)),
        actor,
    )
    return await read_schedule(db, schedule_id)


async def delete_schedule(db: Database, schedule_id: UUID, actor: str) -> None:
    """Raises MaasError('not_found')."""
    if not await db.value(queries.delete_schedule, schedule_id, actor):
        raise MaasError("not_found", f"there is no schedule {schedule_id}")


async def keep_scheduling(db: Database) -> None:
    """Send what is due until cancelled; any number of processes may do so."""
    while True:
        if await send_due(db) < PORTION:
            await asyncio.sleep(POLL_INTERVAL_S)


async def send_due(db: Database) -> int:
    """Send the requests that are due, of at most `PORTION` schedules; return the number of these schedules."""
    rows = await db.rows(queries.due_schedules, PORTION)
    for row in rows:
        times: list[datetime] = []
        try:
            cron = Cron.parse(row["cron"], row["timezone"])
            next_at, error = _next_time(cron, row["now"]), None
        except MaasError as problem:
            next_at, error = None, problem.message
        else:
            if row["next_at"] is not None:
                times = cron.due(row["next_at"], row["now"], row["catch_up"])
        sent = await db.value(queries.run_schedule, row["id"], row["next_at"], times, next_at, error)
        if sent or error:
            log.info("schedule_due", schedule_id=str(row["id"]), sent=sent, cause=error)
    return len(rows)


def _next_time(cron: Cron, after: datetime) -> datetime:
    """Raises MaasError('invalid_request') where no time comes."""
    if (found := cron.next_after(after)) is None:
        raise MaasError("invalid_request", "cron: there is no such time within the next 50 years")
    return found
