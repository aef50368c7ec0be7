"""Named queries: their texts, and what a type checker knows of them.

At run time a query is its name, which has its text, and a row is an `asyncpg.Record`. Its types are in the stub beside
the module that has the queries of a folder as attributes, such as `maas/queries.pyi`; there a type of Postgres, as
`uuid`, stands for what asyncpg takes for an argument of that type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date as _date
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Generic, Self, TypeAlias, TypeVar, TypeVarTuple
from uuid import UUID

SQL = Path(__file__).resolve().parent.parent / "sql"
NAME = re.compile(r"^-- name: (\w++)[^\n]*+\n", re.MULTILINE)

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)
Value_co = TypeVar("Value_co", covariant=True)
Args = TypeVarTuple("Args")
_Element = TypeVar("_Element")


class Query(str, Generic[Row_co, *Args]):
    """The name of a query with rows of this type and arguments of those; it has the query's text."""

    text: str

    def __new__(cls, name: str, text: str) -> Self:
        query = super().__new__(cls, name)
        query.text = text
        return query


class Value(Query[Row_co, *Args], Generic[Value_co, Row_co, *Args]):
    """The name of a query with one column, of the first type."""


AnyQuery: TypeAlias = Query[Any, *tuple[Any, ...]]
Untyped: TypeAlias = Value[Any, Any, *tuple[Any, ...]]


@cache
def read_queries(folder: Path) -> Mapping[str, str]:
    """The text of every query in a folder, by the name in its `-- name:` line. Raises ValueError for a name twice."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.sql")):
        parts = NAME.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"two queries are named {name}")
            found[name] = text.strip()
    return found


def own_query(name: str) -> Untyped:
    """The query of that name in sql/queries, without types."""
    return Value(name, read_queries(SQL / "queries")[name])


array: TypeAlias = Collection[_Element] | None
bool_: TypeAlias = bool | None
bytea: TypeAlias = bytes | None
date: TypeAlias = _date | None
float4: TypeAlias = float | None
float8: TypeAlias = float | None
int4: TypeAlias = int | None
int8: TypeAlias = int | None
interval: TypeAlias = timedelta | None
jsonb: TypeAlias = Any
numeric: TypeAlias = Decimal | float | str | None
text: TypeAlias = str | None
timestamptz: TypeAlias = datetime | None
tstzmultirange: TypeAlias = Any
uuid: TypeAlias = UUID | str | None
varchar: TypeAlias = str | None
