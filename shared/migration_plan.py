"""What a migration would do, found by a rehearsal that is rolled back: statements, their locks, tables written anew."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

from shared.migrate import apply_missing, in_time, missing_files
from shared.schema_connection import Connection, connect, described, query
from shared.schema_files import read_files

REHEARSAL_S = 2.0  # for which it keeps others from a table, and which a statement may take
LOCK_TIMEOUT_S = 10.0
EVERYDAY_LOCKS = {"AccessShareLock", "RowShareLock", "RowExclusiveLock"}  # what reading and writing takes
STOPS = {
    "ShareUpdateExclusiveLock": "nothing",
    "ShareLock": "writes",
    "ShareRowExclusiveLock": "writes",
    "ExclusiveLock": "writes",
    "AccessExclusiveLock": "reads and writes",
}


@dataclass(frozen=True, slots=True)
class TableLock:
    """A lock that the migration keeps until its end, `held_s` seconds in the rehearsal."""

    table: str
    mode: str
    stops: str  # nothing, writes, reads and writes
    held_s: float


@dataclass(frozen=True, slots=True)
class Step:
    """A statement; `locks`: the tables of which it takes a lock that no step before it has, each with the mode."""

    file: str
    line: int
    statement: str
    seconds: float
    locks: tuple[tuple[str, str], ...]
    rewritten: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The steps of a migration in their order; not `is_whole`: the last one took too long to see what comes after."""

    steps: tuple[Step, ...]
    locks: tuple[TableLock, ...]
    is_whole: bool


def plan(dsn: str, folder: Path, plugins: Mapping[str, Path] | None = None) -> MigrationPlan:
    """Rehearse what `migrate` would do, and roll it back.

    Its locks are those of the migration, so it ends REHEARSAL_S after the first that others can want. Raises as
    `migrate` does; migrations_locked if others keep a table for LOCK_TIMEOUT_S.
    """
    files = read_files(folder, plugins)

    def rehearse() -> MigrationPlan:
        rehearsal = _Rehearsal(connection, files)
        try:
            apply_missing(dsn, connection, files, rehearsal.execute)
        except _TookTooLongError:
            return rehearsal.result(is_whole=False)
        return rehearsal.result(is_whole=True)

    with connect(dsn) as connection:
        if not missing_files(connection, files):
            return MigrationPlan((), (), is_whole=True)
        with described(dsn, connection, "the schema maas"):
            return in_time(connection, LOCK_TIMEOUT_S, rehearse, rolls_back=True)


class _TookTooLongError(Exception):
    """Others wait for the rehearsal."""


class _Rehearsal:
    """Executes statements and notes what each of them locks and rewrites."""

    def __init__(self, connection: Connection, files: Mapping[str, str]) -> None:
        self._connection = connection
        self._files = files
        self._relations = {row["id"]: row for row in query(connection, "stored_relations")}
        if self._relations:
            query(connection, "limit_statement", str(int(REHEARSAL_S * 1000)))
        self._held: dict[tuple[int, str], float] = {}
        self._steps: list[Step] = []

    def execute(self, file: str, at: int, statement: str) -> None:
        """Raises _TookTooLongError."""
        began = time.monotonic()
        line = self._files.get(file, "").count("\n", 0, at) + 1
        try:
            self._connection.execute(statement.encode())
        except psycopg.errors.QueryCanceled as error:
            self._steps.append(Step(file, line, statement, time.monotonic() - began, (), ()))
            raise _TookTooLongError from error
        seconds = time.monotonic() - began
        new = [
            key
            for row in query(self._connection, "held_locks")
            if (key := (row["id"], row["mode"])) not in self._held
            and row["id"] in self._relations
            and row["mode"] not in EVERYDAY_LOCKS
        ]
        self._held |= dict.fromkeys(new, began)
        locks = tuple(sorted((self._name(one), mode) for one, mode in new))
        self._steps.append(Step(file, line, statement, seconds, locks, self._rewritten() if locks else ()))
        if time.monotonic() - min(self._held.values(), default=began) > REHEARSAL_S and self._held:
            raise _TookTooLongError

    def result(self, *, is_whole: bool) -> MigrationPlan:
        now = time.monotonic()
        locks = (
            TableLock(self._name(one), mode, STOPS[mode], now - since) for (one, mode), since in self._held.items()
        )
        return MigrationPlan(tuple(self._steps), tuple(sorted(locks, key=lambda lock: lock.table)), is_whole)

    def _name(self, relation: int) -> str:
        name: str = self._relations[relation]["name"]
        return name

    def _rewritten(self) -> tuple[str, ...]:
        """The tables that have been written anew since the last look."""
        found = [
            row
            for row in query(self._connection, "stored_relations")
            if row["id"] in self._relations and self._relations[row["id"]]["file"] != row["file"]
        ]
        self._relations |= {row["id"]: row for row in found}
        return tuple(sorted(row["name"] for row in found))
