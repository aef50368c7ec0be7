"""An engine driven by hand: one session that registers, steps and advances."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.engine.states import NEXT, Status

ALL = [status.value for status in Status if status is not Status.FAILED]


def insert(connection: psycopg.Connection[DictRow], user: UUID | None = None, query: str = "hello there") -> UUID:
    """A plain INSERT as another application would do it; returns the run's id."""
    row = connection.execute(
        "insert into pipeline_runs (user_id, user_query) values (%s, %s) returning id", (user or uuid4(), query)
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


class Engine:
    """One owner on one connection."""

    def __init__(self, connection: psycopg.Connection[DictRow], lease: str = "60 s") -> None:
        self.connection = connection
        row = connection.execute(
            "select maas_register('test', 1, %s, 64, %s::interval) as owner", (["analyzer"], lease)
        ).fetchone()
        assert row is not None
        self.owner: int = row["owner"]

    def step(
        self,
        capacity: int = 64,
        done: list[dict[str, Any]] | None = None,
        statuses: list[str] | None = None,
        is_alone: bool = False,
    ) -> dict[str, list[Any]]:
        """One step; {"claimed": [run], "ended": [id], "cancelled": [id], "cancel": [id], "more": [None]}."""
        rows = self.connection.execute(
            "select verdict, id, (claimed).* from maas_step(%s, %s, %s, %s, %s)",
            (self.owner, statuses or ALL, capacity, Jsonb(done or []), is_alone),
        ).fetchall()
        found: dict[str, list[Any]] = {"claimed": [], "ended": [], "cancelled": [], "cancel": [], "more": []}
        for row in rows:
            found[row["verdict"]].append(row if row["verdict"] == "claimed" else row["id"])
        return found

    def claim(self, capacity: int = 64) -> list[dict[str, Any]]:
        return self.step(capacity)["claimed"]

    def advance(self, run: dict[str, Any], wrote: str | None = None, sources: str | None = None) -> bool:
        """One status on; False when the run is not this engine's any more."""
        after = NEXT[Status(run["status"])]
        rows = self.connection.execute(
            "select id from maas_advance(%s, %s::uuid[], %s, %s, %s, %s::text[], null, '[]')",
            (self.owner, [run["id"]], [run["attempt"]], [after.value], [wrote], [sources]),
        ).fetchall()
        if rows:
            run["status"] = after.value
        return bool(rows)

    def complete(self, run: dict[str, Any], answer: str = "an answer") -> None:
        """Take a run to COMPLETED."""
        while run["status"] != "COMPLETED":
            assert self.advance(run, answer if run["status"] == "RESPONDING" else None)

    def archived(
        self, run: dict[str, Any], summary: str = "They talked.", tags: tuple[str, ...] = ("Talk",)
    ) -> dict[str, Any]:
        """The Archivist's word on a run, for `step`."""
        logs = self.connection.execute(
            "select id from raw_logs where run_id = %s order by seq", (run["id"],)
        ).fetchall()
        item = {"log_ids": [str(row["id"]) for row in logs], "tags": list(tags), "summary": summary, "degraded": False}
        return {"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archived", "item": item, "calls": []}

    def finish(self, run: dict[str, Any], **words: Any) -> dict[str, list[Any]]:
        """Complete, archive, and claim what became free."""
        self.complete(run)
        return self.step(done=[self.archived(run, **words)])


def failed(run: dict[str, Any], code: str = "test", message: str = "on purpose") -> dict[str, Any]:
    return {
        "id": str(run["id"]),
        "attempt": run["attempt"],
        "outcome": "failed",
        "code": code,
        "message": message,
        "calls": [],
    }


def released(run: dict[str, Any]) -> dict[str, Any]:
    return {"id": str(run["id"]), "attempt": run["attempt"], "outcome": "released", "calls": []}


def run_of(connection: psycopg.Connection[DictRow], run_id: UUID | str) -> DictRow:
    row = connection.execute("select * from pipeline_runs where id = %s", (run_id,)).fetchone()
    assert row is not None
    return row


def rows_read(connection: psycopg.Connection[DictRow]) -> int:
    """How many rows of pipeline_runs all statements so far have read."""
    connection.execute("select pg_stat_force_next_flush()")
    connection.execute("select 1")
    row = connection.execute(
        "select idx_tup_fetch + seq_tup_read as n from pg_stat_user_tables where relname = 'pipeline_runs'"
    ).fetchone()
    assert row is not None
    return int(row["n"])


def one(connection: psycopg.Connection[DictRow], query: str, *args: object) -> DictRow:
    """The first row of a query that finds one."""
    row = connection.execute(query.encode(), args).fetchone()
    assert row is not None
    return row


def value(connection: psycopg.Connection[DictRow], query: str, *args: object) -> Any:
    """The first value of that row."""
    return next(iter(one(connection, query, *args).values()))
