"""Migrations: bring a database to the schema of this checkout.

`sql/schema` is the present state, for a database without MaaS. `sql/migrations` are the steps to it from version 0.1.0,
each applied once. Files of `sql/functions` and `sql/views` are applied again whenever they change; `sql/finish.sql`
ends every run. A plugin has such folders of its own, and what is in them comes after all of ours. A run is one
transaction; the table `maas.schema_files` has the name and hash of every file applied, those of a plugin as
`PLUGIN:functions/NAME`. What belongs to a plugin that is off is left as it is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import psycopg

from shared.errors import Backoff, MaasError
from shared.schema_connection import TABLE_TIMEOUT_S, Connection, connect, described, lock_schema, query, value_of
from shared.schema_files import (
    baseline_states,
    hash_of,
    is_recorded,
    is_step,
    is_view,
    owner_of,
    read_files,
    statements,
)

LOCK_TIMEOUT_S = 120.0
MAX_BACKOFF_S = 5.0
DEFAULT_SEARCH_PATH = '"$user", public'
OWN_SEARCH_PATH = "public"  # without "$user": new tables of others must not get into the schema of a user named maas

Result = TypeVar("Result")
Execute = Callable[[str, int, str], None]  # the name of a file, where in it a statement begins, the statement


def migrate(
    dsn: str, folder: Path, plugins: Mapping[str, Path] | None = None, *, lock_timeout_s: float = LOCK_TIMEOUT_S
) -> list[str]:
    """Apply the files that are missing or have changed; return their names, such as `functions/step`.

    `plugins`: the folders of the plugins that are on, by name.

    On a database that holds nothing but MaaS it also adds the schema to the search path. Safe to run again and in
    several processes at once: one works, the others wait at most `lock_timeout_s`. So long it tries again, too, while
    somebody uses a table that a file changes. Raises MaasError:
    database_unreachable, postgres_too_old, migrations_missing, former_layout, migrations_locked, migration_failed.
    """
    files = read_files(folder, plugins)
    with connect(dsn) as connection:
        applied: list[str] = []
        if missing_files(connection, files):
            with described(dsn, connection, "the schema maas"):
                applied = in_time(connection, lock_timeout_s, lambda: apply_missing(dsn, connection, files))
        with described(dsn, connection, "the search path"), connection.transaction():
            _add_to_search_path(connection, lock_timeout_s)
        return applied


def pending(dsn: str, folder: Path, plugins: Mapping[str, Path] | None = None) -> list[str]:
    """Names of the files that `migrate` would apply; changes nothing. Raises as `migrate` does."""
    files = read_files(folder, plugins)
    with connect(dsn) as connection:
        return missing_files(connection, files)


def search_path_advice(dsn: str) -> str | None:
    """The statement that makes unqualified names find MaaS; None where they do. Raises MaasError."""
    with connect(dsn) as connection:
        if value_of(connection, "finds_maas"):
            return None
        statement: str = query(connection, "search_path", DEFAULT_SEARCH_PATH)[0]["statement"]
        return statement


def missing_files(connection: Connection, files: Mapping[str, str]) -> list[str]:
    """The files to apply; all but migrations of those whose tables are not there yet.

    Raises MaasError('former_layout') for tables of a version from before 0.1.0.
    """
    recorded = _read_recorded(connection)
    new = _new_owners(files, recorded)
    for name, state in baseline_states(files).items():
        owner = owner_of(name)
        has_steps = owner and any(is_step(one) and owner_of(one) == owner for one in files)
        if owner not in new and recorded[name] != state and not has_steps:
            what = f"the plugin {owner}" if owner else "MaaS"
            raise MaasError(
                "former_layout",
                f"this database has the tables of another version of {what}, from before 0.1.0: export each user with "
                "that version (maas export USER), start this one with a new database (another DATABASE_URL, or another "
                "folder in MAAS_DATA_DIR), and import them (maas import FILE)",
            )
    return [
        name
        for name, text in files.items()
        if (not is_step(name) if owner_of(name) in new else is_recorded(name) and name not in recorded)
        or (name in recorded and not is_step(name) and recorded[name] != hash_of(text))
    ]


def _read_recorded(connection: Connection) -> dict[str, str]:
    """The hashes of the files that were applied; nothing where there is no schema yet."""
    if not value_of(connection, "schema_files_exist"):
        return {}
    try:
        return {row["name"]: row["hash"] for row in query(connection, "schema_files")}
    except psycopg.errors.InsufficientPrivilege as error:
        raise MaasError(
            "migration_failed", "this database user may not read maas.schema_files: use the owner of the schema maas"
        ) from error


def _new_owners(files: Mapping[str, str], recorded: Mapping[str, str]) -> set[str]:
    """The plugins, and the empty name for ourselves, whose tables are not there yet."""
    return {owner_of(name) for name in baseline_states(files) if name not in recorded}


def in_time(
    connection: Connection, timeout_s: float, work: Callable[[], Result], *, rolls_back: bool = False
) -> Result:
    """Do the work in one transaction while no other migration does, and begin anew whenever a table is in use.

    Whoever wants a table waits behind a migration that waits for it, so it waits for a moment only. Raises MaasError
    migrations_locked.
    """
    deadline = time.monotonic() + timeout_s
    backoff = Backoff(TABLE_TIMEOUT_S, MAX_BACKOFF_S)
    while True:
        try:
            with connection.transaction(force_rollback=rolls_back):
                lock_schema(connection, timeout_s)
                return work()
        except psycopg.errors.LockNotAvailable as error:
            if time.monotonic() > deadline:
                raise MaasError(
                    "migrations_locked",
                    f"a transaction has used a table of MaaS for more than {timeout_s:.0f} s, nothing was changed; end "
                    "it (the oldest xact_start in pg_stat_activity), then try again",
                ) from error
        time.sleep(backoff.next_s())


def apply_missing(
    dsn: str, connection: Connection, files: Mapping[str, str], execute: Execute | None = None
) -> list[str]:
    """Apply in this transaction what is missing; return the names of the files.

    `execute` gets the statements one by one; without it each file is sent as a whole. Raises MaasError:
    `former_layout`, `migration_failed`.
    """
    missing = missing_files(connection, files)
    if not missing:
        return []
    if not value_of(connection, "schema_exists"):
        if value_of(connection, "former_layout_exists"):
            raise MaasError(
                "former_layout",
                "this database has the layout of an earlier version, in the schema public: export each user with that "
                "version (maas export USER), migrate a new database with this one, and import them (maas import FILE)",
            )
        query(connection, "create_schema")
    query(connection, "create_schema_files")
    query(connection, "comment_schema_files")
    query(connection, "begin_migration")
    new = _new_owners(files, _read_recorded(connection))
    if any(is_view(name) or is_step(name) for name in missing):
        missing = [name for name in files if name in missing or is_view(name)]
        for row in query(connection, "view_drops"):
            connection.execute(row["format"]) if execute is None else execute("views", 0, row["format"])
        query(connection, "forget_views")  # so that those of plugins that are off are there when they are on again
    for name in [name for name in missing if name != "finish"] + ["finish"] * ("finish" in files):
        for at, statement in [(0, files[name])] if execute is None else statements(files[name]):
            with described(dsn, connection, name, files[name], at):
                connection.execute(statement.encode()) if execute is None else execute(name, at, statement)
    baselines = baseline_states(files)
    recorded = {name: state for name, state in baselines.items() if owner_of(name) in new} | {
        name: hash_of(text)
        for name, text in files.items()
        if is_recorded(name) and (owner_of(name) in new or name in missing)
    }
    for name, hash_ in recorded.items():
        query(connection, "record_schema_file", name, hash_)
    query(connection, "forget_schema_files", [*baselines, *files], [*map(owner_of, baselines)])
    return missing


def _add_to_search_path(connection: Connection, lock_timeout_s: float) -> None:
    """Let unqualified names find MaaS in a database that holds nothing else and belongs to this user."""
    if _is_own_without_path(connection):
        lock_schema(connection, lock_timeout_s)
        if _is_own_without_path(connection):  # nobody else added it meanwhile
            (row,) = query(connection, "search_path", OWN_SEARCH_PATH)
            connection.execute(row["statement"])
            query(connection, "hide_new_functions")


def _is_own_without_path(connection: Connection) -> bool:
    (row,) = query(connection, "search_path", OWN_SEARCH_PATH)
    return row["is_owned"] and row["is_alone"] and not re.search(r"\bmaas\b", row["path"] or "")
