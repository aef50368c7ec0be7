"""Moving a user to another database: every row that is theirs, compared there before it is deleted here.

The user is paused on both sides meanwhile, so their requests wait. A move whose process died is taken up by the same
call. Requests that come to the old database afterwards wait there, and the next call brings them after the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.errors import InsufficientPrivilege, SerializationFailure
from psycopg.types.json import Jsonb

from maas.moving.tables import Connection, UserTable, check_schemas, user_tables
from shared.errors import MaasError
from shared.log import mask

MOVING, MOVED = "is moving to another database", "has moved to another database"
ATTEMPTS = 5  # to delete rows that somebody changes while they are copied
WAIT_S = 60.0  # for what is in flight
POLL_INTERVAL_S = 0.2

OnTable = Callable[[str, int], object]  # the name of a table that is copied, and the number of its rows
_SESSION = "set timezone = 'UTC'; set datestyle = 'ISO'; set search_path = pg_catalog; set row_security = off"
_LEAVE_SUMS: LiteralString = """
  select maas.maas_count_runs(array(select id from maas.pipeline_runs where user_id = %s), false)"""
_STAGED = sql.Identifier("pg_temp", "moving")
_REFERENCES: LiteralString = """
  select k.relname, f.relname, array_agg(a.attname order by u.place), array_agg(b.attname order by u.place)
  from pg_constraint c join pg_class k on k.oid = c.conrelid join pg_class f on f.oid = c.confrelid
  cross join unnest(c.conkey, c.confkey) with ordinality u(one, other, place)
  join pg_attribute a on a.attrelid = k.oid and a.attnum = u.one
  join pg_attribute b on b.attrelid = f.oid and b.attnum = u.other
  where c.contype = 'f' and k.relnamespace = 'maas'::regnamespace group by c.oid, k.relname, f.relname"""


def move_user(source: str, target: str, user: UUID, actor: str, on_table: OnTable) -> int:
    """Move a user from one database to another, both given by address; the number of rows that were moved.

    Raises MaasError: `bad_parameter` (the same database), `not_found`, `schemas_differ`, `conflict` (the user is known
    there, or an operator has paused them), `forbidden`, `busy` (a request does not end), `move_failed`. The user goes
    on here then, unless their rows are there already or may be: those wait until the move is taken up.
    """
    try:
        with _connect(source) as here, _connect(target) as there, _connect(source) as lock:
            source_id, target_id = _identity(here), _identity(there)
            if source_id == target_id:
                raise MaasError("bad_parameter", "both addresses lead to the same database")
            tables = user_tables(here)
            check_schemas(tables, {one.name: one for one in user_tables(there)})
            return _Move(here, there, lock, user, actor, f"is arriving from {source_id}", tables, on_table).run()
    except psycopg.Error as error:
        raise MaasError("move_failed", f"{mask(str(error)).strip()}; call again to go on") from error


@dataclass(frozen=True, slots=True)
class _Move:
    here: Connection
    there: Connection
    lock: Connection  # holds the memory lock of the user here
    user: UUID
    actor: str
    arriving: str  # why they are paused there: rows of this move, and of no other, may be replaced
    tables: list[UserTable]
    on_table: OnTable

    def run(self) -> int:
        """Find out how far an earlier call has come, and do the rest."""
        ours, theirs = _pause_reason(self.here, self.user), _pause_reason(self.there, self.user)
        if ours not in (None, MOVING, MOVED) or theirs not in (None, MOVED, self.arriving):
            raise MaasError("conflict", "an operator, or a move from elsewhere, has paused the user: end that first")
        if ours is None and not self._has_rows(self.here):
            raise MaasError("not_found", f"there is no user {self.user} in this database")
        if ours != MOVED and theirs != self.arriving and self._has_rows(self.there):
            raise MaasError("conflict", "the other database knows the user; export and import bring memories together")
        _pause(self.here, self.user, ours or MOVING, self.actor)
        goes_on = ours == MOVED and theirs == MOVED  # the user is elsewhere by now: what comes late follows
        try:
            self._wait()
            moved = self._transfer(is_rest=ours == MOVED, reason=MOVED if goes_on else self.arriving)
        except BaseException:
            if ours is None and not self._is_there():
                _resume(self.here, self.user, self.actor)
            raise
        if not goes_on:
            _resume(self.there, self.user, self.actor)
        return moved

    def _is_there(self) -> bool:
        """Whether the rows have arrived, or may have: then the user stays paused until the move is taken up."""
        try:
            return _pause_reason(self.there, self.user) is not None
        except psycopg.OperationalError:
            return True

    def _wait(self) -> None:
        deadline = time.monotonic() + WAIT_S
        query = "select from maas.pipeline_runs where user_id = %s and queue_state in (-1, 0, 1)"
        while self.here.execute(query, (self.user,)).rowcount:
            if time.monotonic() > deadline:
                raise MaasError("busy", "a request of the user has not ended; orchestrators must run meanwhile")
            time.sleep(POLL_INTERVAL_S)

    def _transfer(self, is_rest: bool, reason: str) -> int:
        for _ in range(ATTEMPTS):
            with suppress(SerializationFailure), self.lock.transaction():
                self.lock.execute("select maas.maas_lock_memory(%s)", (self.user,))
                return self._copy_and_delete(is_rest, reason)
        raise MaasError("busy", "rows of the user are changed all the time; call again when it is quieter")

    def _copy_and_delete(self, is_rest: bool, reason: str) -> int:
        """Copy what one moment shows here, and delete it when it is there; what comes later waits for the next call."""
        with self.here.transaction():
            with self.there.transaction():
                for side in (self.here, self.there):
                    _disable_triggers(side)
                    side.execute(_LEAVE_SUMS, (self.user,))
                if not is_rest:
                    self._delete(self.there)
                moved = self._copy(is_rest)
                self._check_references()
                self.there.execute("select maas.maas_expect_sums(%s)", (self.user,))
                _mark(self.there, self.user, reason, self.actor)
                self._note(self.there, {"rows": moved, "from": _name(self.here)})
            self._delete(self.here)
            _mark(self.here, self.user, MOVED, self.actor)
            self._note(self.here, {"rows": moved, "to": _name(self.there)})
        return moved

    def _copy(self, is_rest: bool) -> int:
        shifts = self._make_room()
        moved = 0
        for table in self.tables:
            count = _copy_rows(self.here, self.there, table, table.select(self.user, shifts))
            moved += count
            self.on_table(table.name, count)
        for table in () if is_rest else self.tables:  # rows of a run are known as theirs when the run is there
            rows, copied = table.select(self.user, shifts), table.select(self.user, {})
            if _digest(self.here, rows) != _digest(self.there, copied):
                raise MaasError("move_failed", f"{table.name} differs there from what it is here")
        return moved

    def _make_room(self) -> dict[str, int]:
        """How far numbers are shifted, by table; orders of time that are kept go on after them there."""
        shifts = {}
        for table in self.tables:
            for column in table.columns:
                if not column.is_identity:
                    continue
                most = self._highest(table, column.name)
                (sequence,) = _row(
                    self.there, "select pg_get_serial_sequence(%s, %s)", f"maas.{table.name}", column.name
                )
                if column.numbered_by:
                    (shifts[column.numbered_by],) = _row(self.there, "select nextval(%s)", sequence)
                    most += shifts[column.numbered_by]
                _advance(self.there, sequence, most)
        (runs,) = (table for table in self.tables if table.name == "pipeline_runs")
        _advance(self.there, "maas.run_seq", self._highest(runs, "seq"))
        return shifts

    def _highest(self, table: UserTable, column: str) -> int:
        """The highest number in a column of the user's rows here; 0 without rows."""
        query = sql.SQL("select coalesce(max({}), 0) from {} where {}")
        (most,) = _row(self.here, query.format(sql.Identifier(column), table.place, table.where(self.user)))
        return int(most)

    def _check_references(self) -> None:
        moved = {table.name: table for table in self.tables}
        for name, other, columns, keys in self.there.execute(_REFERENCES).fetchall():
            if name not in moved:
                continue
            pairs = [
                sql.SQL("o.{} = {}.{}").format(sql.Identifier(key), moved[name].place, sql.Identifier(column))
                for column, key in zip(columns, keys, strict=True)
            ]
            query = sql.SQL("select from {} where {} and num_nulls({}) = 0 and not exists (select from {} o where {})")
            missing = query.format(
                moved[name].place,
                moved[name].where(self.user),
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                sql.Identifier("maas", other),
                sql.SQL(" and ").join(pairs),
            )
            if self.there.execute(missing).rowcount:
                raise MaasError("conflict", f"{name} refers to rows of {other} that the other database does not have")

    def _delete(self, side: Connection) -> None:
        for table in self.tables:
            side.execute(sql.SQL("delete from {} where {}").format(table.place, table.where(self.user)))

    def _note(self, side: Connection, details: Mapping[str, object]) -> None:
        query = "select maas.maas_write_audit('move', %s, null, %s, %s)"
        side.execute(query, (self.user, Jsonb(details), self.actor))

    def _has_rows(self, side: Connection) -> bool:
        query = sql.SQL("select from {} where {} limit 1")
        return any(side.execute(query.format(one.place, one.where(self.user))).rowcount for one in self.tables)


@contextmanager
def _connect(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True, application_name="maas move") as connection:
        connection.execute(_SESSION)
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        yield connection


def _identity(connection: Connection) -> str:
    """What tells a database from all others, wherever its server is."""
    (found,) = _row(
        connection,
        "select system_identifier || '.' || (select oid from pg_database where datname = current_database()) "
        "from pg_control_system()",
    )
    return str(found)


def _name(connection: Connection) -> str:
    return f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"


def _disable_triggers(connection: Connection) -> None:
    """Neither triggers nor foreign keys act on the rows of this transaction: they have acted on them before."""
    try:
        connection.execute("set local session_replication_role = replica")
    except InsufficientPrivilege as error:
        raise MaasError(
            "forbidden",
            "the login may not move rows: a superuser grants it with "
            f"GRANT SET ON PARAMETER session_replication_role TO {connection.info.user}, in both databases",
        ) from error


def _copy_rows(here: Connection, there: Connection, table: UserTable, rows: sql.Composed) -> int:
    """Copy rows by way of a temporary table; those that are there already stay as they are there."""
    there.execute(
        sql.SQL("create temporary table moving on commit drop as select {} from {} limit 0").format(
            table.names, table.place
        )
    )
    copy_in = sql.SQL("copy {} from stdin").format(_STAGED)
    with here.cursor() as reader, there.cursor() as writer:
        with reader.copy(sql.SQL("copy ({}) to stdout").format(rows)) as out, writer.copy(copy_in) as into:
            for block in out:
                into.write(block)
        count = writer.rowcount
        insert = sql.SQL("insert into {} ({}) overriding system value select * from {} on conflict do nothing")
        writer.execute(insert.format(table.place, table.names, _STAGED))
        writer.execute(sql.SQL("drop table {}").format(_STAGED))
    return count


def _digest(connection: Connection, rows: sql.Composed) -> tuple[Any, ...]:
    return _row(connection, sql.SQL("select count(*), sum(hashtextextended(s::text, 0)) from ({}) s").format(rows))


def _advance(connection: Connection, sequence: str, to: int) -> None:
    (value,) = _row(connection, sql.SQL("select last_value from {}").format(sql.SQL(sequence)))
    if value < to:
        connection.execute("select setval(%s, %s)", (sequence, to))


def _pause_reason(connection: Connection, user: UUID) -> str | None:
    query = "select coalesce(reason, '') from maas.pauses where subject = 'user' and name = %s"
    found = connection.execute(query, (str(user),)).fetchone()
    return found[0] if found else None


def _pause(connection: Connection, user: UUID, reason: str, actor: str) -> None:
    connection.execute("select maas.maas_pause('user', %s, %s, %s)", (str(user), reason, actor))


def _resume(connection: Connection, user: UUID, actor: str) -> None:
    connection.execute("select maas.maas_resume('user', %s, %s)", (str(user), actor))


def _mark(connection: Connection, user: UUID, reason: str, actor: str) -> None:
    connection.execute(
        "insert into maas.pauses (subject, name, reason, actor) values ('user', %s, %s, %s) "
        "on conflict (subject, name) do update set reason = excluded.reason",
        (str(user), reason, actor),
    )


def _row(connection: Connection, query: LiteralString | sql.Composed, *args: object) -> tuple[Any, ...]:
    row = connection.execute(query, args or None).fetchone()
    assert row is not None
    return row
