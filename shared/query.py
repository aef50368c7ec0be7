"""Named queries: their texts, and what a type checker knows of them.

At run time a query is its name, and a row is an `asyncpg.Record`. Its types are in the stub beside the module that has
the queries of a folder as attributes, such as `maas/queries.pyi`; there a type of Postgres, as `uuid`, stands for what
asyncpg takes for an argument of that type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date as _date
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, TypeVarTuple
from uuid import UUID

from shared.plugins import installed

SQL = Path(__file__).resolve().parent.parent / "sql"
NAME = re.compile(r"^-- name: (\w++)[^\n]*+\n", re.MULTILINE)

Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)
Value_co = TypeVar("Value_co", covariant=True)
Args = TypeVarTuple("Args")
_Element = TypeVar("_Element")


class Query(str, Generic[Row_co, *Args]):
    """The name of a query with rows of this type and arguments of those."""


class Value(Query[Row_co, *Args], Generic[Value_co, Row_co, *Args]):
    """The name of a query with one column, of the first type."""


AnyQuery: TypeAlias = Query[Any, *tuple[Any, ...]]
Untyped: TypeAlias = Value[Any, Any, *tuple[Any, ...]]


@cache
def query_texts() -> Mapping[str, str]:
    """The text of every query of sql/queries and of such folders of all plugins, by the name in its `-- name:` line."""
    found: dict[str, str] = {}
    folders = (SQL, *(plugin.folder / "sql" for plugin in installed().values()))
    for path in (path for folder in folders for path in sorted((folder / "queries").glob("*.sql"))):
        parts = NAME.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"two queries are named {name}")
            found[name] = text.strip()
    return found


def query_named(name: str) -> Untyped:
    """The query of that name, without types. Raises AttributeError, as modules that have queries as attributes do."""
    if name not in query_texts():
        raise AttributeError(f"no query is named {name}")
    return name  # type: ignore[return-value] # a query is its name


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
