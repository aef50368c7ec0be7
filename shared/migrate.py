"""Migrations: bring a database to the schema of this checkout.

`sql/schema` is the present state, for a database without MaaS. `sql/migrations` are the steps to it from version 0.1.0,
each applied once. Files of `sql/functions` and `sql/views` are applied again whenever they change; `sql/finish.sql`
ends every run. A run is one transaction; the table `maas.schema_files` has the name and hash of every file applied.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from shared.errors import MaasError
from shared.log import mask

LOCK_KEY = 0x6D616173
LOCK_TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 10
MINIMUM_POSTGRES = 15
BASELINE = "schema"
BASELINE_VERSION = "0.1.0"
DEFAULT_SEARCH_PATH = '"$user", public'
OWN_SEARCH_PATH = "public"  # without "$user": new tables of others must not get into the schema of a user named maas

VERSION_TABLE = """
create table if not exists maas.schema_files (
  name text primary key,
  hash text not null,
  applied_at timestamptz not null default now()
);
comment on table maas.schema_files is 'Files of sql/ that were applied to this database; written by `maas migrate`'"""
LEAVE_SCHEMA = """
select set_config('search_path', coalesce(string_agg(quote_ident(name), ', '), 'public'), true)
from unnest(current_schemas(false)) name where name <> 'maas'"""
DROP_VIEWS = """
select format('drop view %s', string_agg(oid::regclass::text, ', ')) from pg_class
where relnamespace = 'maas'::regnamespace and relkind = 'v' having count(*) > 0"""
FORMER_LAYOUT = (
    "select to_regclass('public._yoyo_migration') is not null and to_regclass('public.pipeline_runs') is not null"
)
SEARCH_PATH = """
select d.datname, pg_has_role(current_user, d.datdba, 'usage') as is_owned, (
    select substr(setting, 13) from pg_db_role_setting s cross join unnest(s.setconfig) setting
    where s.setdatabase = d.oid and s.setrole = 0 and setting like 'search_path=%'), not exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('maas', 'information_schema') and n.nspname !~ '^pg_' and not exists (
      select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
  ) as is_alone
from pg_database d where d.datname = current_database()"""


def migrate(dsn: str, folder: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> list[str]:
    """Apply the files that are missing or have changed; return their names, such as `functions/step`.

    On a database that holds nothing but MaaS it also adds the schema to the search path. Safe to run again and in
    several processes at once: one works, the others wait at most `lock_timeout_s`. Raises MaasError:
    database_unreachable, postgres_too_old, migrations_missing, former_layout, migrations_locked, migration_failed.
    """
    files = _read(folder)
    with _connect(dsn) as connection:
        applied: list[str] = []
        if _missing(connection, files):
            with _described(dsn, connection, "the schema maas"), connection.transaction():
                _lock(connection, lock_timeout_s)
                applied = _apply_missing(dsn, connection, files)
        _add_to_search_path(connection)
        return applied


def pending(dsn: str, folder: Path) -> list[str]:
    """Names of the files that `migrate` would apply; changes nothing. Raises as `migrate` does."""
    files = _read(folder)
    with _connect(dsn) as connection:
        return _missing(connection, files)


def fingerprint(folder: Path) -> str:
    """A hash of all files that a database of this version records, as the query `is_migrated_to` computes it."""
    recorded = {BASELINE: BASELINE_VERSION} | {n: _hash(t) for n, t in _read(folder).items() if _is_recorded(n)}
    lines = "".join(f"{name} {recorded[name]}\n" for name in sorted(recorded))
    return hashlib.md5(lines.encode(), usedforsecurity=False).hexdigest()


def search_path_advice(dsn: str) -> str | None:
    """The statement that makes unqualified names find MaaS; None where they do. Raises MaasError."""
    with _connect(dsn) as connection:
        row = connection.execute("select 'maas' = any(current_schemas(false)), current_database()").fetchone()
        assert row is not None
        if row[0]:
            return None
        name, _, former, _ = cast(tuple[str, bool, str | None, bool], connection.execute(SEARCH_PATH).fetchone())
        return _search_path(name, former or DEFAULT_SEARCH_PATH).as_string(connection)


def _read(folder: Path) -> dict[str, str]:
    """The text of every file by its name, in the order in which they are applied."""
    groups = ("schema/*.sql", "migrations/*.sql", "functions/*.sql", "views/*.sql", "finish.sql")
    paths = [path for pattern in groups for path in sorted(folder.glob(pattern))]
    if not paths:
        raise MaasError("migrations_missing", f"{folder} holds no .sql file; run from a complete checkout")
    return {path.relative_to(folder).with_suffix("").as_posix(): path.read_text("utf-8") for path in paths}


def _is_recorded(name: str) -> bool:
    return not name.startswith("schema/")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _missing(connection: psycopg.Connection[Any], files: dict[str, str]) -> list[str]:
    """The files to apply; all of them but migrations where there is no schema yet."""
    # Not to_regclass: after waiting for a lock it may still answer from a cache.
    if (
        connection.execute("select from pg_tables where schemaname = 'maas' and tablename = 'schema_files'").rowcount
        < 1
    ):
        return [name for name in files if not name.startswith("migrations/")]
    try:
        recorded = dict(connection.execute("select name, hash from maas.schema_files").fetchall())
    except psycopg.errors.InsufficientPrivilege as error:
        raise MaasError(
            "migration_failed", "this database user may not read maas.schema_files: use the owner of the schema maas"
        ) from error
    if BASELINE not in recorded:
        return [name for name in files if not name.startswith("migrations/")]
    return [
        name
        for name, text in files.items()
        if _is_recorded(name) and (name not in recorded or (not _is_step(name) and recorded[name] != _hash(text)))
    ]


def _is_step(name: str) -> bool:
    return name.startswith("migrations/")


def _apply_missing(dsn: str, connection: psycopg.Connection[Any], files: dict[str, str]) -> list[str]:
    missing = _missing(connection, files)
    if not missing:
        return []
    if connection.execute("select from pg_namespace where nspname = 'maas'").fetchone() is None:
        if (row := connection.execute(FORMER_LAYOUT).fetchone()) and row[0]:
            raise MaasError(
                "former_layout",
                "this database has the layout of an earlier version, in the schema public: export each user with that "
                "version (maas export USER), migrate a new database with this one, and import them (maas import FILE)",
            )
        connection.execute("create schema maas")
    connection.execute(VERSION_TABLE)
    connection.execute("set local check_function_bodies = off")  # functions may call those of later files
    connection.execute(LEAVE_SCHEMA)  # extensions do not belong into it
    is_new = any(name.startswith("schema/") for name in missing)
    if any(name.startswith(("views/", "migrations/")) for name in missing):
        missing = [name for name in files if name in missing or name.startswith("views/")]
        for (statement,) in connection.execute(DROP_VIEWS).fetchall():
            connection.execute(statement)
    for name in [name for name in missing if name != "finish"] + ["finish"] * ("finish" in files):
        with _described(dsn, connection, name, files[name]):
            connection.execute(files[name].encode())
    recorded = {name: _hash(text) for name, text in files.items() if _is_recorded(name) and (is_new or name in missing)}
    if is_new:
        recorded[BASELINE] = BASELINE_VERSION
    connection.cursor().executemany(
        "insert into maas.schema_files (name, hash) values (%s, %s) "
        "on conflict (name) do update set hash = excluded.hash, applied_at = now()",
        list(recorded.items()),
    )
    connection.execute("delete from maas.schema_files where name <> all(%s)", ([BASELINE, *files],))
    return missing


def _add_to_search_path(connection: psycopg.Connection[Any]) -> None:
    """Let unqualified names find MaaS in a database that holds nothing else and belongs to this user."""
    name, is_owned, former, is_alone = cast(
        tuple[str, bool, str | None, bool], connection.execute(SEARCH_PATH).fetchone()
    )
    if is_owned and is_alone and not re.search(r"\bmaas\b", former or ""):
        connection.execute(_search_path(name, former or OWN_SEARCH_PATH))
        connection.execute("alter default privileges revoke execute on functions from public")


def _search_path(database: str, former: str) -> sql.Composed:
    path = sql.SQL(former)
    return sql.SQL("alter database {} set search_path = {}, maas").format(sql.Identifier(database), path)


def _lock(connection: psycopg.Connection[Any], timeout_s: float) -> None:
    """Lock out other migrations until the transaction ends, which it does with its process, also behind a pooler."""
    connection.execute(sql.SQL("set local lock_timeout = {}").format(int(timeout_s * 1000)))
    try:
        connection.execute(sql.SQL("select pg_advisory_xact_lock({})").format(LOCK_KEY))
    except psycopg.errors.LockNotAvailable as error:
        raise MaasError(
            "migrations_locked",
            f"another process has migrated this database for more than {timeout_s:.0f} s; wait for it or stop it, "
            "then try again",
        ) from error
    connection.execute("set local lock_timeout = default")


@contextmanager
def _described(dsn: str, connection: psycopg.Connection[Any], name: str, text: str = "") -> Iterator[None]:
    """Turn an error of Postgres into a MaasError that names the file and the line."""
    try:
        yield
    except psycopg.Error as error:
        if connection.broken:
            raise _unreachable(dsn, error) from error
        position = error.diag.statement_position
        line = (
            f".sql line {text[: int(position)].count(chr(10)) + 1}" if text and position and position.isdigit() else ""
        )
        raise MaasError(
            "migration_failed",
            f"{name}{line}: {error.diag.message_primary or error}; nothing was changed: correct it, or migrate as a "
            "database user with the rights to (the owner of the database)",
            {"sqlstate": error.sqlstate, "detail": error.diag.message_detail, "hint": error.diag.message_hint},
        ) from error


def _connect(dsn: str) -> psycopg.Connection[Any]:
    try:
        connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S)
    except psycopg.Error as error:
        raise _unreachable(dsn, error) from error
    if connection.info.server_version < MINIMUM_POSTGRES * 10_000:
        version = connection.info.server_version // 10_000
        connection.close()
        raise MaasError(
            "postgres_too_old", f"the server is Postgres {version}; MaaS needs {MINIMUM_POSTGRES} or later: upgrade it"
        )
    return connection


def _unreachable(dsn: str, error: psycopg.Error) -> MaasError:
    try:
        parts = conninfo_to_dict(dsn)
        where = f"{parts.get('host') or 'the local socket'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"
    except psycopg.Error:
        where = "the address given"
    reason = mask(re.sub(r"\s+", " ", str(error)).strip())
    return MaasError(
        "database_unreachable",
        f"cannot use the database at {where} ({reason}); start that server or correct DATABASE_URL, or unset it to use "
        "the embedded one",
    )
