"""Migrations: bring a database to the schema of this checkout.

`sql/schema` is the present state, for a database without MaaS. `sql/migrations` are the steps to it from version 0.1.0,
each applied once. Files of `sql/functions` and `sql/views` are applied again whenever they change; `sql/finish.sql`
ends every run. A plugin has such folders of its own, and what is in them comes after all of ours. A run is one
transaction; the table `maas.schema_files` has the name and hash of every file applied, those of a plugin as
`PLUGIN:functions/NAME`. What belongs to a plugin that is off is left as it is.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

from shared.errors import Backoff, MaasError
from shared.log import mask
from shared.query import own_query

LOCK_KEY = 0x6D616173
LOCK_TIMEOUT_S = 120.0
TABLE_TIMEOUT_S = 0.5  # what all others wait for a table that a migration waits for
MAX_BACKOFF_S = 5.0
CONNECT_TIMEOUT_S = 10
MINIMUM_POSTGRES = 15
BASELINE = "schema"
BASELINE_VERSION = "0.1.0"
DEFAULT_SEARCH_PATH = '"$user", public'
OWN_SEARCH_PATH = "public"  # without "$user": new tables of others must not get into the schema of a user named maas

Connection = psycopg.Connection[DictRow]


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
    files = _read(folder, plugins)
    with _connect(dsn) as connection:
        applied: list[str] = []
        if _missing(connection, files):
            with _described(dsn, connection, "the schema maas"):
                applied = _apply_in_time(dsn, connection, files, lock_timeout_s)
        with _described(dsn, connection, "the search path"), connection.transaction():
            _add_to_search_path(connection, lock_timeout_s)
        return applied


def pending(dsn: str, folder: Path, plugins: Mapping[str, Path] | None = None) -> list[str]:
    """Names of the files that `migrate` would apply; changes nothing. Raises as `migrate` does."""
    files = _read(folder, plugins)
    with _connect(dsn) as connection:
        return _missing(connection, files)


def fingerprint(folder: Path, plugins: Mapping[str, Path] | None = None) -> str:
    """A hash of all files that a database of this version records, as the query `is_migrated_to` computes it."""
    files = _read(folder, plugins)
    recorded = _baselines(files) | {name: _hash(text) for name, text in files.items() if _is_recorded(name)}
    lines = "".join(f"{name} {recorded[name]}\n" for name in sorted(recorded))
    return hashlib.md5(lines.encode(), usedforsecurity=False).hexdigest()


def search_path_advice(dsn: str) -> str | None:
    """The statement that makes unqualified names find MaaS; None where they do. Raises MaasError."""
    with _connect(dsn) as connection:
        if _value(connection, "finds_maas"):
            return None
        statement: str = _query(connection, "search_path", DEFAULT_SEARCH_PATH)[0]["statement"]
        return statement


def _read(folder: Path, plugins: Mapping[str, Path] | None) -> dict[str, str]:
    """The text of every file by its name, in the order in which they are applied."""
    files = _read_groups("", folder, "schema/*.sql", "migrations/*.sql", "functions/*.sql", "views/*.sql")
    for name, own in (plugins or {}).items():
        files |= _read_groups(f"{name}:", own, "schema/*.sql", "migrations/*.sql", "functions/*.sql", "views/*.sql")
    files |= _read_groups("", folder, "finish.sql")
    if not any(_owner(name) == "" for name in files):
        raise MaasError("migrations_missing", f"{folder} holds no .sql file; run from a complete checkout")
    return files


def _read_groups(prefix: str, folder: Path, *patterns: str) -> dict[str, str]:
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return {prefix + path.relative_to(folder).with_suffix("").as_posix(): path.read_text("utf-8") for path in paths}


def _owner(name: str) -> str:
    """The plugin of a file; empty for ours."""
    return name.rpartition(":")[0]


def _is_recorded(name: str) -> bool:
    return not name.rpartition(":")[2].startswith("schema/")


def _baselines(files: Mapping[str, str]) -> dict[str, str]:
    """What a new database records of the tables: for ours and for those of each plugin a name and a state."""
    owners = dict.fromkeys(map(_owner, files))
    return {
        f"{owner}:{BASELINE}" if owner else BASELINE: _baseline({n: t for n, t in files.items() if _owner(n) == owner})
        for owner in owners
    }


def _baseline(files: Mapping[str, str]) -> str:
    """The state of the tables: the version, and until that is released the statements themselves.

    Until then a changed table has no migration, so a database of another checkout cannot be brought to this one. Where
    lines are broken makes no difference, nor does a literal that goes on in the next line.
    """
    if any(map(_is_step, files)):
        return BASELINE_VERSION
    statements = [
        re.sub(r"--[^\n]*|'[^\S\n]*+\n\s*+'", "", text) for name, text in files.items() if not _is_recorded(name)
    ]
    return f"{BASELINE_VERSION} {_hash(' '.join(' '.join(statements).split()))}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _missing(connection: Connection, files: dict[str, str]) -> list[str]:
    """The files to apply; all but migrations of those whose tables are not there yet."""
    recorded = _read_recorded(connection)
    new = _new_owners(files, recorded)
    for name, state in _baselines(files).items():
        owner = _owner(name)
        has_steps = any(_is_step(one) and _owner(one) == owner for one in files)
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
        if (not _is_step(name) if _owner(name) in new else _is_recorded(name) and name not in recorded)
        or (name in recorded and not _is_step(name) and recorded[name] != _hash(text))
    ]


def _read_recorded(connection: Connection) -> dict[str, str]:
    """The hashes of the files that were applied; nothing where there is no schema yet."""
    if not _value(connection, "schema_files_exist"):
        return {}
    try:
        return {row["name"]: row["hash"] for row in _query(connection, "schema_files")}
    except psycopg.errors.InsufficientPrivilege as error:
        raise MaasError(
            "migration_failed", "this database user may not read maas.schema_files: use the owner of the schema maas"
        ) from error


def _new_owners(files: Mapping[str, str], recorded: Mapping[str, str]) -> set[str]:
    """The plugins, and the empty name for ourselves, whose tables are not there yet."""
    return {_owner(name) for name in _baselines(files) if name not in recorded}


def _is_view(name: str) -> bool:
    return name.rpartition(":")[2].startswith("views/")


def _is_step(name: str) -> bool:
    return name.rpartition(":")[2].startswith("migrations/")


def _apply_in_time(dsn: str, connection: Connection, files: dict[str, str], timeout_s: float) -> list[str]:
    """Apply what is missing, and begin anew whenever a table is in use.

    Whoever wants a table waits behind a migration that waits for it, so it waits for a moment only.
    """
    deadline = time.monotonic() + timeout_s
    backoff = Backoff(TABLE_TIMEOUT_S, MAX_BACKOFF_S)
    while True:
        try:
            with connection.transaction():
                _lock(connection, timeout_s)
                return _apply_missing(dsn, connection, files)
        except psycopg.errors.LockNotAvailable as error:
            if time.monotonic() > deadline:
                raise MaasError(
                    "migrations_locked",
                    f"a transaction has used a table of MaaS for more than {timeout_s:.0f} s, nothing was changed; end "
                    "it (the oldest xact_start in pg_stat_activity), then try again",
                ) from error
        time.sleep(backoff.next_s())


def _apply_missing(dsn: str, connection: Connection, files: dict[str, str]) -> list[str]:
    missing = _missing(connection, files)
    if not missing:
        return []
    if not _value(connection, "schema_exists"):
        if _value(connection, "former_layout_exists"):
            raise MaasError(
                "former_layout",
                "this database has the layout of an earlier version, in the schema public: export each user with that "
                "version (maas export USER), migrate a new database with this one, and import them (maas import FILE)",
            )
        _query(connection, "create_schema")
    _query(connection, "create_schema_files")
    _query(connection, "comment_schema_files")
    _query(connection, "begin_migration")
    new = _new_owners(files, _read_recorded(connection))
    if any(_is_view(name) or _is_step(name) for name in missing):
        missing = [name for name in files if name in missing or _is_view(name)]
        for row in _query(connection, "view_drops"):
            connection.execute(row["format"])
        _query(connection, "forget_views")  # so that those of plugins that are off are there when they are on again
    for name in [name for name in missing if name != "finish"] + ["finish"] * ("finish" in files):
        with _described(dsn, connection, name, files[name]):
            connection.execute(files[name].encode())
    baselines = _baselines(files)
    recorded = {name: state for name, state in baselines.items() if _owner(name) in new} | {
        name: _hash(text)
        for name, text in files.items()
        if _is_recorded(name) and (_owner(name) in new or name in missing)
    }
    for name, hash_ in recorded.items():
        _query(connection, "record_schema_file", name, hash_)
    _query(connection, "forget_schema_files", [*baselines, *files], [*map(_owner, baselines)])
    return missing


def _add_to_search_path(connection: Connection, lock_timeout_s: float) -> None:
    """Let unqualified names find MaaS in a database that holds nothing else and belongs to this user."""
    if _is_own_without_path(connection):
        _lock(connection, lock_timeout_s)
        if _is_own_without_path(connection):  # nobody else added it meanwhile
            (row,) = _query(connection, "search_path", OWN_SEARCH_PATH)
            connection.execute(row["statement"])
            _query(connection, "hide_new_functions")


def _is_own_without_path(connection: Connection) -> bool:
    (row,) = _query(connection, "search_path", OWN_SEARCH_PATH)
    return row["is_owned"] and row["is_alone"] and not re.search(r"\bmaas\b", row["path"] or "")


def _lock(connection: Connection, timeout_s: float) -> None:
    """Lock out other migrations until the transaction ends, which it does with its process, also behind a pooler."""
    _query(connection, "limit_lock_wait", str(int(timeout_s * 1000)))
    try:
        _query(connection, "lock_schema", LOCK_KEY)
    except psycopg.errors.LockNotAvailable as error:
        raise MaasError(
            "migrations_locked",
            f"another process has migrated this database for more than {timeout_s:.0f} s; wait for it or stop it, "
            "then try again",
        ) from error
    _query(connection, "limit_lock_wait", str(int(TABLE_TIMEOUT_S * 1000)))


@contextmanager
def _described(dsn: str, connection: Connection, name: str, text: str = "") -> Iterator[None]:
    """Turn an error of Postgres into a MaasError that names the file and the line."""
    try:
        yield
    except psycopg.errors.LockNotAvailable:
        raise
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


def _query(connection: Connection, name: str, *args: object) -> list[DictRow]:
    """Execute a query of `sql/queries`; return its rows, and none of a statement that returns nothing."""
    cursor = psycopg.RawCursor(connection, row_factory=dict_row)
    cursor.execute(own_query(name).text.encode(), args or None)
    return cursor.fetchall() if cursor.description is not None else []


def _value(connection: Connection, name: str) -> bool:
    (row,) = _query(connection, name)
    return bool(next(iter(row.values())))


def _connect(dsn: str) -> Connection:
    try:
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, row_factory=dict_row)
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
