"""How a database differs from the schema of this version, object by object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import psycopg

from shared.errors import MaasError
from shared.migrate import apply_missing, in_time
from shared.schema_connection import Connection, connect, described, query
from shared.schema_files import read_files

LOCK_TIMEOUT_S = 10.0
SCHEMA = "maas"
BINDING = {"constraint", "trigger", "policy", "right"}  # what changes what a table or a function does


class SchemaObject(NamedTuple):
    """A table, or a column, constraint, index, trigger, policy or right of one; a function."""

    kind: str
    of: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" + (f" of {self.of}" if self.of else "")


class SchemaDifferences(NamedTuple):
    """`missing` and `changed` are in this version; `added` are on tables of ours without being in it."""

    missing: list[str]
    changed: list[str]
    added: list[str]


def find_differences(dsn: str, folder: Path, plugins: Mapping[str, Path] | None = None) -> SchemaDifferences:
    """Compare the database with a new schema, which is made beside it in a transaction that is rolled back.

    That takes about a second and no lock that anybody waits for. What others have added is named where it changes what
    our tables do: constraints, triggers, policies, rights. Raises MaasError: not_owner, and as `migrate` does.
    """
    files = read_files(folder, plugins)

    def compare() -> SchemaDifferences:
        found = _objects(connection, SCHEMA)
        try:
            query(connection, "hide_schema")
        except psycopg.errors.InsufficientPrivilege as error:
            message = "only the owner of the schema maas can compare it with this version"
            raise MaasError("not_owner", message) from error
        apply_missing(dsn, connection, files)
        expected = _objects(connection, SCHEMA)
        wanted, there = _names(expected), _names(found)
        return SchemaDifferences(
            _named(one for one in expected.keys() - found.keys() if one.of is None or one.of in there),
            _named(one for one in expected.keys() & found.keys() if expected[one] != found[one]),
            _named(one for one in found.keys() - expected.keys() if one.kind in BINDING and one.of in wanted),
        )

    with connect(dsn) as connection, described(dsn, connection, "the schema maas"):
        return in_time(connection, LOCK_TIMEOUT_S, compare, rolls_back=True)


def _objects(connection: Connection, schema: str) -> dict[SchemaObject, str]:
    query(connection, "look_into", schema)
    return {
        SchemaObject(row["kind"], row["of"], row["name"]): row["definition"]
        for row in query(connection, "schema_objects", schema)
    }


def _names(objects: Mapping[SchemaObject, str]) -> set[str | None]:
    """The tables and functions."""
    return {one.name for one in objects if one.of is None}


def _named(objects: Iterable[SchemaObject]) -> list[str]:
    return sorted(map(str, objects))
