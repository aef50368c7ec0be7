"""The state of the queue at one moment, read from views and laid out for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
from rich.console import Group, RenderableType

from maas.commands.output import Table, styled
from maas.pipeline.states import STAGE_OF, STAGES, Status
from shared.db import Database
from shared.errors import MaasError

USERS = 5
Row = Mapping[str, Any]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Board:
    """One look at the views."""

    at: datetime
    queue: Row
    rates: Rows
    statuses: Rows
    stages: Rows
    orchestrators: Rows
    users: Rows
    stuck: Rows

    @classmethod
    async def read(cls, db: Database) -> Board:
        """Raises MaasError('no_rights') for a login that may not read the views."""
        try:
            queue = await db.row("queue")
            assert queue is not None
            return cls(
                datetime.now().astimezone(), queue, await db.rows("rates"), await db.rows("statuses_now"),
                await db.rows("stages_recent"), await db.rows("orchestrators"), await db.rows("longest_queues", USERS),
                await db.rows("stuck_by_reason"),
            )  # fmt: skip
        except asyncpg.InsufficientPrivilegeError as error:
            login = await db.value("login")
            raise MaasError(
                "no_rights", f"the login {login} may not look at the queue ({error}); an administrator says: "
                f"grant maas_ops to {login}",
            ) from error  # fmt: skip

    def render(self) -> Group:
        """The whole frame, 80 columns wide at the least."""
        parts: list[RenderableType] = [self._head(), "", self._rates(), "", self._stages(), ""]
        parts += [self._orchestrators() if self.queue["orchestrators"] else NOBODY]
        if self.users:
            parts += ["", self._users()]
        if self.stuck:
            parts += ["", self._stuck()]
        return Group(*parts)

    def _head(self) -> Group:
        queue = self.queue
        full = f"MaaS  {self.at:%Y-%m-%d %H:%M:%S}  notify queue {queue['notify_queue_usage']:.1%} full"
        lanes = ("inbox", "waiting", "runnable", "in_flight", *(["deferred"] if queue["deferred"] else []))
        line = styled("queue ") + styled("  ".join(f"{lane.replace('_', ' ')} {queue[lane]}" for lane in lanes), "bold")
        if not queue["oldest_user"]:
            return Group(styled(full), line)
        line += styled(f"  oldest {span(queue['oldest_seconds'])}")
        return Group(styled(full), line, styled(f"      of user {queue['oldest_user']}"))

    def _rates(self) -> Table:
        table = _table("a second", "accepted", "completed", "failed")
        for row in self.rates:
            style = "red" if row["failed"] else ""
            table.add_row(
                f"last {span(row['seconds'])}", f"{row['accepted']}", f"{row['completed']}",
                styled(f"{row['failed']}", style),
            )  # fmt: skip
        return table

    def _stages(self) -> Table:
        table = _table("stage", "now", "in 5 min", "p50 ms", "p95 ms")
        now: Counter[str] = Counter()
        for row in self.statuses:
            now[STAGE_OF[Status(row["status"])]] += row["runs"]
        recent = {row["stage"]: row for row in self.stages}
        for stage in ("claim", *STAGES, "answer"):
            row = recent.get(stage, {"runs": 0, "p50_ms": "", "p95_ms": ""})
            shown = "" if stage not in STAGES else str(now[stage])
            table.add_row(stage, shown, str(row["runs"]), str(row["p50_ms"]), str(row["p95_ms"]))
        return table

    def _orchestrators(self) -> Table:
        table = _table("orchestrator", "owner", "in flight", "lease", "up", "stages")
        table.columns[-1].justify = "left"
        for row in self.orchestrators:
            table.add_row(
                f"{row['host'][:24]}/{row['pid']}", str(row["owner"]), f"{row['in_flight']}/{row['concurrency']}",
                span(row["lease_seconds"]) if row["is_alive"] else styled("dead", "red"), span(row["up_seconds"]),
                "all" if set(row["stages"]) == set(STAGES) else " ".join(row["stages"]),
            )  # fmt: skip
        return table

    def _users(self) -> Table:
        table = _table("longest queues", "unfinished", "oldest")
        for row in self.users:
            table.add_row(str(row["user_id"]), str(row["unfinished"]), span(row["oldest_seconds"]))
        return table

    def _stuck(self) -> Table:
        table = Table()
        for name in ("stuck", "oldest", "why, and the oldest run"):
            table.add_column(name, overflow="fold")
        for row in self.stuck:
            table.add_row(
                styled(str(row["runs"]), "red"), span(row["oldest_seconds"]), f"{row['why']}: {row['oldest_run']}"
            )
        return table


NOBODY = styled("no orchestrator is running, so requests wait; start one with `make run` or `maas orchestrator`", "red")


def _table(first: str, *names: str) -> Table:
    table = Table()
    table.add_column(first, overflow="fold")
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    return table


def span(seconds: float) -> str:
    """A time in at most two units."""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"
    for unit, size, smaller, less in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            rest = int(seconds % size // less)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds:.0f} s"
