"""The types of named queries, as a stub: what Postgres says of the arguments and columns of each.

A column is `T` where the table says `not null`, `T | None` where it does not, and `T | Any` where Postgres does not
tell: of an expression, and behind an outer join. A text that a check constraint limits to some words is a `Literal`.
`tests/sql/test_query_types.py` compares the stubs with those that are committed, and writes them anew with RECORD=1.
"""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import pq

from shared.query import NAME

HEADER = '''\
"""The queries of sql/queries: their rows and arguments. Written by tests/sql/test_query_types.py with RECORD=1."""

'''
IMPORTS = {
    "datetime": "from datetime import {}",
    "date": "from datetime import {}",
    "timedelta": "from datetime import {}",
    "Decimal": "from decimal import {}",
    "Any": "from typing import {}",
    "Literal": "from typing import {}",
    "Never": "from typing import {}",
    "TypedDict": "from typing import {}",
    "UUID": "from uuid import {}",
    "Query": "from shared.query import {}",
    "Value": "from shared.query import {}",
    "pg": "from shared import query as {}",
}
PYTHON = {
    "bool": "bool", "bytea": "bytes", "date": "date", "float4": "float", "float8": "float", "int2": "int",
    "int4": "int", "int8": "int", "interval": "timedelta", "json": "Any", "jsonb": "Any", "name": "str",
    "numeric": "Decimal", "text": "str", "timestamptz": "datetime", "uuid": "UUID", "varchar": "str", "void": "None",
}  # fmt: skip
ARGUMENTS = {"bool": "bool_", "json": "jsonb"}
NO_NAME = re.compile(r"maas_\w+$|\?")
ONE_OF = re.compile(r"CHECK \(\(\(?\w+\)?(?:::text)? = ANY \(\(?ARRAY\[([^]]+)\]\)?(?:::text\[\])?\)\)\)")
WORD = re.compile(r"('[\w/.-]+')::(?:text|character varying)")
NULLS = re.compile(r"\b(left|right|full)\s+(outer\s+)?join\b|\b(grouping sets|rollup|cube)\b", re.IGNORECASE)
TYPES = """
select t.oid, t.typname, e.typname
from pg_type t left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
"""
COLUMNS = """
select a.attrelid, a.attnum, a.attnotnull from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'maas'::regnamespace and a.attnum > 0
"""
CHECKS = """
select conrelid, conkey[1], pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'maas'::regnamespace and contype = 'c' and cardinality(conkey) = 1
"""
VIEWS = """
select c.oid, pg_get_viewdef(c.oid) from pg_class c where c.relnamespace = 'maas'::regnamespace and c.relkind = 'v'
"""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    is_null: bool | None  # None: unknown

    @property
    def annotation(self) -> str:
        if self.type in ("Any", "None"):
            return self.type
        return self.type + {True: " | None", False: "", None: " | Any"}[self.is_null]


class Catalogue:
    """What one database says of queries."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
            cursor.execute("set search_path = maas, public")
            self._types = {oid: (name, element) for oid, name, element in cursor.execute(TYPES.encode())}
            self._required = {(t, number): required for t, number, required in cursor.execute(COLUMNS.encode())}
            self._words = {
                (table, number): ", ".join(WORD.findall(found[1]))
                for table, number, check in cursor.execute(CHECKS.encode())
                if (found := ONE_OF.fullmatch(check))
            }
            self._views: dict[int, str] = dict(cursor.execute(VIEWS.encode()).fetchall())
        self._described: dict[str, tuple[list[str], list[Column]]] = {}

    def describe(self, text: str) -> tuple[list[str], list[Column]]:
        """The types of the arguments and the columns of a statement."""
        if text not in self._described:
            found = self._ask(text)
            may_add_nulls = NULLS.search(text) is not None
            arguments = [self._argument(found.param_type(number)) for number in range(found.nparams)]
            columns = [self._column(found, number, may_add_nulls) for number in range(found.nfields)]
            self._described[text] = arguments, columns
        return self._described[text]

    def _ask(self, text: str) -> pq.abc.PGresult:
        server = self._connection.pgconn
        for result in (server.prepare(b"", text.encode()), found := server.describe_prepared(b"")):
            if result.status != pq.ExecStatus.COMMAND_OK:
                raise ValueError(f"{result.error_message.decode()}\n{text}")
        return found

    def _argument(self, oid: int) -> str:
        name, element = self._types[oid]
        return f"pg.array[pg.{ARGUMENTS.get(element, element)}]" if element else f"pg.{ARGUMENTS.get(name, name)}"

    def _column(self, found: pq.abc.PGresult, number: int, may_add_nulls: bool) -> Column:
        name, element = self._types[found.ftype(number)]
        kind, is_null = self._stored(found.ftable(number), found.ftablecol(number))
        kind = kind or (f"list[{PYTHON[element]}]" if element else PYTHON[name])
        column = found.fname(number)
        assert column is not None
        return Column(column.decode(), kind, None if is_null is False and may_add_nulls else is_null)

    def _stored(self, table: int, number: int) -> tuple[str | None, bool | None]:
        """The words that a column of a table or view is limited to, as a type, and whether it may be null."""
        if table in self._views:
            column = self.describe(self._views[table])[1][number - 1]
            return column.type if column.type.startswith("Literal") else None, column.is_null
        required, words = self._required.get((table, number)), self._words.get((table, number))
        return f"Literal[{words}]" if words else None, None if required is None else not required


def stub(catalogue: Catalogue, folder: Path) -> str:
    """The stub of the queries in the files of a folder."""
    body = "".join(_file(catalogue, path) for path in sorted(folder.glob("*.sql")))
    needed = [line.format(name) for name, line in IMPORTS.items() if re.search(rf"\b{name}\b", body)]
    return _formatted(HEADER + "\n".join(needed) + "\n" + body)


def _file(catalogue: Catalogue, path: Path) -> str:
    parts = NAME.split(path.read_text(encoding="utf-8"))
    queries = zip(parts[1::2], parts[2::2], strict=True)
    return f"\n# {path.name}\n\n" + "".join(_query(name, *catalogue.describe(text)) for name, text in queries)


def _query(name: str, arguments: list[str], columns: list[Column]) -> str:
    """One query. Its rows have no type where no column has a name of its own, or two have the same."""
    named = [column for column in columns if not NO_NAME.match(column.name)]
    if len({column.name for column in named}) < len(named):
        named = []
    row = "".join(part.capitalize() for part in name.split("_")) + "Row" if named else "Never"
    kind = "Query" if len(columns) > 1 else "Value"
    value = [columns[0].type if columns else "None"] if kind == "Value" else []
    return f"{_row(row, named)}{name}: {kind}[{', '.join([*value, row, *arguments])}]\n\n"


def _row(name: str, columns: list[Column]) -> str:
    if any(keyword.iskeyword(column.name) for column in columns):
        fields = "".join(f"{column.name!r}: {column.annotation}, " for column in columns)
        return f"{name} = TypedDict({name!r}, {{{fields}}})\n"
    fields = "".join(f"    {column.name}: {column.annotation}\n" for column in columns)
    return f"class {name}(TypedDict):\n{fields}\n" if columns else ""


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff"]
    for arguments in (["check", "--fix-only", "--select", "I", "-q"], ["format", "-q"]):
        done = subprocess.run(
            [*command, *arguments, "--stdin-filename", "queries.pyi", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text
