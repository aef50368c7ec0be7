"""The tables whose rows move with a user, as the catalogue of a database has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql

from shared.errors import MaasError

Connection = psycopg.Connection[tuple[Any, ...]]
STAYS = {
    "audit": "what was done in a database is proved there; both note the move",
    "daily_user_sums": "what deleted runs cost stays in the sums of their database; others are counted where they are",
    "erasures": "an erasure goes on where it has begun",
    "pauses": "holds the user on both sides while they move",
}
_COLUMNS: LiteralString = """
  with numbered as (
    select i.indrelid, i.indkey[0] as attnum from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indisprimary and i.indnkeyatts = 1 and a.attidentity <> '')
  select k.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attidentity <> '',
    min(n.indrelid::regclass::text)
  from pg_class k join pg_attribute a on a.attrelid = k.oid
  left join pg_constraint c on c.contype = 'f' and c.conrelid = k.oid and a.attnum = any(c.conkey)
  left join numbered n on n.indrelid = k.oid and n.attnum = a.attnum
    or n.indrelid = c.confrelid and n.attnum = c.confkey[array_position(c.conkey, a.attnum)]
  where k.relnamespace = 'maas'::regnamespace and k.relkind = 'r'
    and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by k.relname, a.attname, a.atttypid, a.atttypmod, a.attidentity order by 1, 2"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that is copied. `numbered_by`: it holds numbers that a database gives to the rows of that table."""

    name: str
    type: str
    is_identity: bool
    numbered_by: str | None


@dataclass(frozen=True, slots=True)
class UserTable:
    """A table with rows of users; `condition` selects those of the user $1."""

    name: str
    condition: str
    columns: tuple[Column, ...]

    @property
    def place(self) -> sql.Identifier:
        return sql.Identifier("maas", self.name)

    @property
    def names(self) -> sql.Composed:
        return sql.SQL(", ").join(sql.Identifier(one.name) for one in self.columns)

    def where(self, user: UUID) -> sql.Composable:
        return sql.SQL(self.condition.replace("$1", f"'{user}'"))

    def select(self, user: UUID, shifts: Mapping[str, int]) -> sql.Composed:
        """The rows of the user; numbers that databases give are shifted to where the other one has room."""
        values = [
            sql.SQL("{} + {}").format(sql.Identifier(one.name), shifts.get(one.numbered_by or "", 0))
            if one.numbered_by
            else sql.Identifier(one.name)
            for one in self.columns
        ]
        query = sql.SQL("select {} from {} where {}")
        return query.format(sql.SQL(", ").join(values), self.place, self.where(user))


def user_tables(connection: Connection) -> list[UserTable]:
    """The tables whose rows move with a user, in the order of deletion."""
    columns: dict[str, list[Column]] = {}
    for table, *column in connection.execute(_COLUMNS):
        columns.setdefault(table, []).append(Column(*column))
    conditions: dict[str, str] = {}
    for name, condition in connection.execute("select name, condition from maas.maas_user_tables()"):
        if name not in conditions or condition.startswith("user_id"):
            conditions[name] = condition
    return [UserTable(name, one, tuple(columns[name])) for name, one in conditions.items() if name not in STAYS]


def check_schemas(ours: Iterable[UserTable], theirs: Mapping[str, UserTable]) -> None:
    differing = sorted(one.name for one in ours if theirs.get(one.name) != one)
    if differing:
        raise MaasError(
            "schemas_differ",
            f"{', '.join(differing[:5])}: not the same in both databases; run `maas migrate` of the same version, with "
            "the same plugins, on both",
        )
