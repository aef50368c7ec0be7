"""`maas top`: the state of the queue, read from the views and refreshed until Ctrl-C."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import asyncpg
import typer
import uvloop
from rich.console import Group, RenderableType
from rich.live import Live

from maas import queries
from maas.cli.run_control import pauses_table
from maas.engine.states import STAGE_OF, STAGES, Status
from maas.plugins import load_parts
from maas.settings import load_settings
from maas.terminal.invocation import with_database
from maas.terminal.output import Table, figures_table, note, readable_duration, show, stdout_console, styled
from shared import log
from shared.db import CONNECTION_LOST, Database, open_database
from shared.errors import MaasError
from shared.postgres import find_postgres

READ_TIMEOUT_S = 60.0
PAUSE_RATIO = 3  # the pause between two reads is at least so many times as long as a read
MAX_USERS = 5
NO_ORCHESTRATOR = styled(
    "no orchestrator is running, so requests wait; start one with `make run` or `maas orchestrator`", "red"
)
Show = Callable[[RenderableType], None]


def top(
    once: Annotated[bool, typer.Option("--once", help="print the state once and exit")] = False,
    interval: Annotated[float, typer.Option(min=0.1, max=3600, help="seconds between two refreshes")] = 1.0,
) -> None:
    """Redraw on a terminal; print page after page into a pipe. Raises MaasError('no_rights')."""
    if once:
        show(with_database(lambda db, _: QueueSnapshot.read(db)).render())
        return
    settings = load_settings()
    log.configure("error", settings.diagnostics.log_format)
    console = stdout_console()
    with find_postgres(settings.database, note) as postgres, suppress(KeyboardInterrupt):
        if not console.is_terminal:
            uvloop.run(_watch(postgres.query, interval, show))
            return
        with Live(console=console, screen=True, auto_refresh=False) as live:
            uvloop.run(_watch(postgres.query, interval, lambda page: live.update(page, refresh=True)))


async def _watch(dsn: str, interval: float, on_page: Show) -> None:
    """Read and show forever; a database that fails is shown as an error and tried again.

    Raises MaasError('no_rights'), which trying again does not change.
    """
    while True:
        try:
            async with open_database(dsn, 1, "maas top") as db:
                if not await db.value(queries.schema_is_there):
                    raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
                while True:
                    began = time.monotonic()
                    async with asyncio.timeout(READ_TIMEOUT_S):
                        snapshot = await QueueSnapshot.read(db)
                    on_page(snapshot.render())
                    # Reading a hundred thousand waiting runs takes a second; the database has other work, too.
                    await asyncio.sleep(max(interval, PAUSE_RATIO * (time.monotonic() - began)))
        except (MaasError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
            if isinstance(error, MaasError) and error.code == "no_rights":
                raise
            cause = error.message if isinstance(error, MaasError) else f"Postgres does not answer ({error!r})"
            on_page(
                Group(
                    styled(f"{time.strftime('%H:%M:%S')}  {cause}", "red"),
                    styled(f"{'':10}retrying; Ctrl-C quits", "red"),
                )
            )
        await asyncio.sleep(interval)


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """The rows of the views at one moment."""

    at: datetime
    queue: queries.QueueRow
    backlog: queries.EmbeddingBacklogRow | None
    rates: Sequence[queries.RatesRow]
    statuses: Sequence[queries.StatusesNowRow]
    stages: Sequence[queries.StagesRecentRow]
    orchestrators: Sequence[queries.OrchestratorsRow]
    users: Sequence[queries.LongestQueuesRow]
    stuck: Sequence[queries.StuckByReasonRow]
    pauses: Sequence[queries.PausesRow]
    limits: Sequence[queries.LimitsReachedRow]
    schedules: queries.SchedulesNowRow
    of_plugins: Sequence[RenderableType]

    @classmethod
    async def read(cls, db: Database) -> QueueSnapshot:
        """Raises MaasError('no_rights') for a login that may not read the views."""
        try:
            queue, schedules = await db.row(queries.queue), await db.row(queries.schedules_now)
            assert queue is not None and schedules is not None
            return cls(
                datetime.now().astimezone(),
                queue,
                await db.row(queries.embedding_backlog),
                await db.rows(queries.rates),
                await db.rows(queries.statuses_now),
                await db.rows(queries.stages_recent),
                await db.rows(queries.orchestrators),
                await db.rows(queries.longest_queues, MAX_USERS),
                await db.rows(queries.stuck_by_reason),
                await db.rows(queries.pauses),
                await db.rows(queries.limits_reached),
                schedules,
                [part for overview in load_parts("overview") for part in await overview(db)],
            )
        except asyncpg.InsufficientPrivilegeError as error:
            login = await db.value(queries.login)
            raise MaasError(
                "no_rights",
                f"the login {login} may not read the queue ({error}); ask an administrator to run: "
                f"grant maas_ops to {login}",
            ) from error

    def render(self) -> Group:
        """The whole page; needs at least 80 columns."""
        parts: list[RenderableType] = [
            self._head(),
            *self._backlog(),
            *self._schedules(),
            "",
            self._rates(),
            "",
            self._stages(),
            "",
        ]
        parts += [self._orchestrators() if self.queue["orchestrators"] else NO_ORCHESTRATOR]
        for part in self.of_plugins:
            parts += ["", part]
        if self.users:
            parts += ["", self._users()]
        if self.stuck:
            parts += ["", self._stuck()]
        if self.pauses:
            parts += ["", pauses_table(self.pauses)]
        if self.limits:
            parts += ["", self._limits()]
        return Group(*parts)

    def _head(self) -> Group:
        queue = self.queue
        title = styled(f"MaaS  {self.at:%Y-%m-%d %H:%M:%S}  notify queue {queue['notify_queue_usage']:.1%} full")
        always = {
            "inbox": queue["inbox"],
            "waiting": queue["waiting"],
            "runnable": queue["runnable"],
            "in flight": queue["in_flight"],
        }
        seldom = {"deferred": queue["deferred"], "paused": queue["paused"], "scheduled": queue["scheduled"]}
        shown = [*always.items(), *((name, count) for name, count in seldom.items() if count)]
        counts = "  ".join(f"{name} {count}" for name, count in shown)
        line = styled("queue ") + styled(counts, "bold")
        if not queue["oldest_user"]:
            return Group(title, line)
        line += styled(f"  oldest {readable_duration(queue['oldest_seconds'])}")
        return Group(title, line, styled(f"      of user {queue['oldest_user']}"))

    def _backlog(self) -> list[RenderableType]:
        """How many messages wait for their vector; nothing where none is ever made."""
        if self.backlog is None or self.backlog["waiting"] is None:
            return []
        about = "about " if self.backlog["is_estimate"] else ""
        count = styled(f"waiting {about}{self.backlog['waiting']}", "bold")
        return [styled("vectors ") + count + styled(f"  of {self.backlog['model']}")]

    def _schedules(self) -> list[RenderableType]:
        """How many schedules there are, and what is wrong with some; nothing where there are none."""
        row = self.schedules
        seldom = {name: row[name] for name in ("paused", "overdue", "failing") if row[name]}
        if not row["active"] and not seldom:
            return []
        counts = "  ".join(f"{name} {count}" for name, count in {"active": row["active"], **seldom}.items())
        lines: list[RenderableType] = [styled("schedules ") + styled(counts, "bold")]
        return [*lines, styled(f"      {row['error']}", "red")] if row["error"] else lines

    def _rates(self) -> Table:
        table = figures_table("per second", "accepted", "completed", "failed")
        for row in self.rates:
            style = "red" if row["failed"] else ""
            table.add_row(
                f"last {readable_duration(row['seconds'])}",
                f"{row['accepted']}",
                f"{row['completed']}",
                styled(f"{row['failed']}", style),
            )
        return table

    def _stages(self) -> Table:
        table = figures_table("stage", "now", "in 5 min", "p50 ms", "p95 ms")
        now: Counter[str] = Counter()
        for count in self.statuses:
            now[STAGE_OF[Status(count["status"])]] += count["runs"]
        recent = {row["stage"]: row for row in self.stages}
        for stage in ("claim", *STAGES, "answer"):
            row = recent.get(stage)
            figures = ("0", "", "") if row is None else (str(row["runs"]), str(row["p50_ms"]), str(row["p95_ms"]))
            table.add_row(stage, "" if stage not in STAGES else str(now[stage]), *figures)
        return table

    def _orchestrators(self) -> Table:
        table = figures_table("orchestrator", "owner", "in flight", "lease", "up", "stages")
        table.columns[-1].justify = "left"
        for row in self.orchestrators:
            table.add_row(
                f"{row['host'][:24]}/{row['pid']}",
                str(row["owner"]),
                f"{row['in_flight']}/{row['concurrency']}",
                readable_duration(row["lease_seconds"]) if row["is_alive"] else styled("dead", "red"),
                readable_duration(row["up_seconds"]),
                "all" if set(row["stages"]) == set(STAGES) else " ".join(row["stages"]),
            )
        return table

    def _users(self) -> Table:
        table = figures_table("longest queues", "unfinished", "oldest")
        for row in self.users:
            table.add_row(str(row["user_id"]), str(row["unfinished"]), readable_duration(row["oldest_seconds"]))
        return table

    def _limits(self) -> Table:
        table = Table("limit reached", "waits", "for")
        for row in self.limits:
            table.add_row(row["name"], readable_duration(row["seconds"]), row["cause"])
        return table

    def _stuck(self) -> Table:
        table = Table()
        for name in ("stuck", "oldest", "reason: the oldest run"):
            table.add_column(name, overflow="fold")
        for row in self.stuck:
            table.add_row(
                styled(str(row["runs"]), "red"),
                readable_duration(row["oldest_seconds"]),
                f"{row['why']}: {row['oldest_run']}",
            )
        return table
