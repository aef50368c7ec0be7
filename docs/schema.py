"""The page docs/schema.md and its pictures, made from the catalogue of a database that was just migrated.

`tests/sql/test_schema_page.py` compares them with what is committed, and writes them anew with RECORD=1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import psycopg
from psycopg.rows import DictRow

ROOT = Path(__file__).resolve().parent.parent
PLAIN_TABLE = re.compile(r"^create (?:unlogged )?table (?:if not exists )?maas\.(\w+)", re.MULTILINE)
WORD = re.compile(r"'([^']*)'::")
MANY_TABLES = 12  # a subject with as many has a picture of its own
# Columns that name a row of another table without a foreign key, because one of them outlives the other.
BY_NAME = {"run_id": "pipeline_runs", "conversation_id": "chat_conversations", "raw_log_ids": "raw_logs"}
INTRODUCTION = """\
# The schema

Every table of MaaS, by subject, as the catalogue of a migrated database describes it; the views are
at the end. All is in the Postgres schema `maas`. [sql.md](sql.md) shows what to ask it, and
`sql/schema/00_tour.sql` follows a run through tables and functions. Columns named `user_id` hold
the id of a user; there is no table that all users are in.

"""
LEGEND = (
    "A line leads from a table to what it refers to: a solid one is a foreign key, a dashed one a column of that name."
)
TABLES = """
select c.oid, c.relname as name, obj_description(c.oid, 'pg_class') as comment
from pg_class c where c.relnamespace = 'maas'::regnamespace and c.relkind in ('r', 'p') order by c.relname
"""
COLUMNS = """
select a.attrelid as oid, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as is_required,
  a.attgenerated <> '' as is_generated, a.attidentity <> '' as is_identity,
  pg_get_expr(d.adbin, d.adrelid) as default, col_description(a.attrelid, a.attnum) as comment
from pg_attribute a
join pg_class c on c.oid = a.attrelid
left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
where c.relnamespace = 'maas'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
order by a.attrelid, a.attnum
"""
KEYS = """
select k.conrelid as oid, k.contype::text as kind, t.relname as target, k.confdeltype::text as on_delete,
  pg_get_constraintdef(k.oid) as definition, array(
    select a.attname::text from unnest(k.conkey) with ordinality as n (attnum, place)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.attnum order by n.place) as columns
from pg_constraint k left join pg_class t on t.oid = k.confrelid
where k.connamespace = 'maas'::regnamespace and k.conrelid <> 0 and k.contype in ('p', 'u', 'f', 'c')
order by k.conrelid, array_position(array['p', 'u', 'f', 'c'], k.contype::text), k.conname
"""
INDEXES = """
select i.indrelid as oid, c.relname as name, i.indisunique as is_unique, m.amname as method,
  array(select pg_get_indexdef(i.indexrelid, n, true) from generate_series(1, i.indnkeyatts) n) as columns,
  pg_get_expr(i.indpred, i.indrelid, true) as condition
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
where c.relnamespace = 'maas'::regnamespace
  and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
order by i.indrelid, c.relname
"""
VIEWS = """
select c.relname as name, obj_description(c.oid, 'pg_class') as comment
from pg_class c where c.relnamespace = 'maas'::regnamespace and c.relkind = 'v' order by c.relname
"""
ON_DELETE = {"c": ", deleted with it", "n": ", null when that is deleted", "d": ", its default when that is deleted"}


@dataclass(frozen=True, slots=True)
class Column:
    """`default` is an expression; of a generated column, what it is computed from."""

    name: str
    type: str
    is_required: bool
    is_generated: bool
    is_identity: bool
    default: str | None
    comment: str | None


@dataclass(frozen=True, slots=True)
class Key:
    """A constraint: `kind` is p(rimary), u(nique), f(oreign) or c(heck)."""

    kind: Literal["p", "u", "f", "c"]
    columns: tuple[str, ...]
    target: str | None
    on_delete: str
    definition: str


@dataclass(frozen=True, slots=True)
class Index:
    name: str
    is_unique: bool
    method: str
    columns: tuple[str, ...]
    condition: str | None


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    comment: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...]
    indexes: tuple[Index, ...]

    def references(self, known: Iterable[str]) -> dict[str, bool]:
        """The tables that this one refers to; True for those of a foreign key."""
        found = {key.target: True for key in self.keys if key.target is not None and key.target != self.name}
        named = {BY_NAME[one.name]: False for one in self.columns if one.name in BY_NAME}
        return {name: is_key for name, is_key in (named | found).items() if name in set(known) - {self.name}}


@dataclass(frozen=True, slots=True)
class Subject:
    """The tables of one file of sql/schema."""

    title: str
    tables: list[Table] = field(default_factory=list)

    @property
    def picture(self) -> str | None:
        """The name of the picture that shows this subject alone."""
        return f"schema-{self.title.split(':')[0].lower()}.svg" if len(self.tables) >= MANY_TABLES else None


def pages(connection: psycopg.Connection[DictRow], plugins: Iterable[Path] = ()) -> dict[str, str]:
    """The page and its pictures, by their names in docs/; `plugins`: the folders of SQL of plugins."""
    subjects = _subjects(_tables(connection), plugins)
    most = [table for subject in subjects if subject.picture is None for table in subject.tables]
    pictures = {"schema.svg": draw(most)}
    pictures |= {subject.picture: draw(subject.tables) for subject in subjects if subject.picture is not None}
    views = connection.execute(VIEWS).fetchall()
    return {"schema.md": "".join(_page(subjects, views))} | pictures


def _tables(connection: psycopg.Connection[DictRow]) -> dict[str, Table]:
    connection.execute("set search_path = maas, pg_catalog")

    def of(table: DictRow, query: str) -> list[dict[str, Any]]:
        return [
            {k: _frozen(v) for k, v in row.items() if k != "oid"} for row in rows[query] if row["oid"] == table["oid"]
        ]

    rows = {query: connection.execute(query.encode()).fetchall() for query in (COLUMNS, KEYS, INDEXES)}
    return {
        table["name"]: Table(
            table["name"],
            table["comment"] or "",
            tuple(Column(**row) for row in of(table, COLUMNS)),
            tuple(Key(**row) for row in of(table, KEYS)),
            tuple(Index(**row) for row in of(table, INDEXES)),
        )
        for table in connection.execute(TABLES.encode()).fetchall()
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _subjects(tables: dict[str, Table], plugins: Iterable[Path]) -> list[Subject]:
    """The tables in the order of the files that create them; at the end those that a function creates."""
    left = dict(tables)
    subjects = []
    for path in (path for folder in (ROOT / "sql", *plugins) for path in sorted((folder / "schema").glob("*.sql"))):
        text = path.read_text(encoding="utf-8")
        named = [left.pop(name) for name in PLAIN_TABLE.findall(text) if name in left]
        if named:
            title = text.removeprefix("-- ").partition("\n")[0].partition(". ")[0].rstrip(".")
            subjects.append(Subject(title, named))
    return [*subjects, Subject("Vectors, and the files that `maas migrate` has applied", list(left.values()))]


def _page(subjects: Sequence[Subject], views: Sequence[DictRow]) -> Iterator[str]:
    yield INTRODUCTION
    yield f"![The tables of MaaS and what they refer to.](schema.svg)\n\n{LEGEND}\n"
    for subject in subjects:
        yield f"\n## {subject.title}\n"
        if subject.picture is not None:
            yield f"\n![These tables and what they refer to.]({subject.picture})\n"
        for table in subject.tables:
            yield from _section(table)
    yield "\n## Views\n\n| view | shows |\n| -- | -- |\n"
    for view in views:
        yield f"| `{view['name']}` | {_cell(view['comment'])} |\n"


def _section(table: Table) -> Iterator[str]:
    yield f"\n### {table.name}\n\n{table.comment}.\n"
    if table.columns:
        yield "\n| column | type | default | |\n| -- | -- | -- | -- |\n"
    for column in table.columns:
        kind = _type(column) + ("" if column.is_required else " or null")
        yield f"| `{column.name}` | {kind} | {_default(column)} | {_cell(_about(table, column))} |\n"
    lines = [*_keys(table), *map(_index, table.indexes)]
    yield "".join(["\n", *(f"- {line}\n" for line in lines)]) if lines else ""


def _type(column: Column) -> str:
    kind = column.type.removeprefix("maas.")
    return kind.replace("character varying", "varchar").replace("timestamp with time zone", "timestamptz")


def _default(column: Column) -> str:
    if column.is_identity:
        return "the next number"
    if column.default is None:
        return ""
    text = " ".join(re.sub(r"(?<=')::[\w ]+(\[\])?$", "", column.default).split())
    return f"generated: `{_cell(text)}`" if column.is_generated else f"`{_cell(text)}`"


def _about(table: Table, column: Column) -> str:
    """The comment of a column, and the words that it may hold."""
    parts = [column.comment or ""]
    for key in table.keys:
        if key.kind == "c" and key.columns == (column.name,) and "= ANY" in key.definition:
            parts.append("One of " + ", ".join(f"`{word}`" for word in WORD.findall(key.definition)))
    return ". ".join(filter(None, parts))


def _keys(table: Table) -> Iterator[str]:
    for key in table.keys:
        columns = ", ".join(f"`{name}`" for name in key.columns)
        if key.kind == "p":
            yield f"primary key: {columns}"
        elif key.kind == "u":
            yield f"unique: {columns}"
        elif key.kind == "f":
            yield f"{columns}: [{key.target}](#{key.target}){ON_DELETE.get(key.on_delete, '')}"


def _index(index: Index) -> str:
    kind = "unique index" if index.is_unique else "index"
    method = "" if index.method == "btree" else f" ({index.method})"
    condition = f", where `{index.condition}`" if index.condition is not None else ""
    return f"{kind} `{index.name}`{method}: `{', '.join(index.columns)}`{condition}"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


# A picture: what is referred to stands on the left of what refers to it. A long line has a place of its own in each
# column that it passes, and lines that come from one table share it.
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN, PASSAGE = 216, 40, 72, 12, 12, 4
SWEEPS = 8
STYLE = """\
  <style>
    .paper { fill: #ffffff }
    .table { fill: #e6f6ee; stroke: #2f9e6b }
    .name { fill: #1b2333; font-weight: 600 }
    .key { fill: #5b6675; font-size: 11px }
    .line { fill: none; stroke: #7d8797; stroke-width: 1.2 }
    .by-name { stroke-dasharray: 4 4; stroke: #a9b1bd }
  </style>
"""
Node = tuple[str, int, bool]  # a table and its column; or a line from a table in a column, and whether it is of a key


def draw(tables: Sequence[Table]) -> str:
    """An SVG of the tables that refer to another one or are referred to."""
    known = [table.name for table in tables]
    references = {table.name: table.references(known) for table in tables}
    related = {*(name for name in known if references[name]), *(one for found in references.values() for one in found)}
    depth = _depths([name for name in known if name in related], references)
    lines = {line: None for name in depth for line in _lines_of(name, references[name], depth)}
    columns = _arrange([(name, column, True) for name, column in depth.items()], lines)
    place = _place(columns, depth)
    keys = {table.name: ", ".join(key.columns) for table in tables for key in reversed(table.keys) if key.kind == "p"}
    width = MARGIN + max(x for x, _ in place.values()) + WIDTH
    height = MARGIN + max(y for _, y in place.values()) + HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title"',
        ' font-family="system-ui, -apple-system, \'Segoe UI\', Roboto, sans-serif" font-size="13">\n',
        '  <title id="title">Tables and what they refer to.</title>\n',
        f'{STYLE}  <rect class="paper" width="{width}" height="{height}" rx="8"/>\n',
        *(_line(place, depth, *line) for line in lines),
        *(_box(name, keys.get(name, ""), *place[name, column, True]) for name, column in depth.items()),
    ]
    return "".join(parts) + "</svg>\n"


def _depths(names: Sequence[str], references: dict[str, dict[str, bool]]) -> dict[str, int]:
    """The column of each table: one to the right of all that it refers to."""
    depth: dict[str, int] = {}

    def find(name: str, seen: frozenset[str] = frozenset()) -> int:
        if name not in depth:
            targets = sorted(references[name].keys() - seen)
            depth[name] = 1 + max((find(one, seen | {name}) for one in targets), default=-1)
        return depth[name]

    return {name: find(name) for name in names}


def _lines_of(name: str, targets: dict[str, bool], depth: dict[str, int]) -> Iterator[tuple[Node, Node, bool]]:
    """The pieces of the lines between a table and what it refers to, from column to column."""
    for target, is_key in targets.items():
        nodes: list[Node] = [(target, depth[target], True)]
        nodes += [(target, column, is_key) for column in range(depth[target] + 1, depth[name])]
        nodes.append((name, depth[name], True))
        yield from ((one, other, is_key) for one, other in pairwise(nodes))


def _arrange(tables: Sequence[Node], lines: Iterable[tuple[Node, Node, bool]]) -> list[list[Node]]:
    """The nodes column by column, each near those that it is joined to."""
    joined: dict[Node, list[Node]] = {}
    for one, other, _ in lines:
        joined.setdefault(one, []).append(other)
        joined.setdefault(other, []).append(one)
    columns: list[list[Node]] = [[] for _ in range(1 + max(column for _, column, _ in joined))]
    for node in dict.fromkeys([*tables, *joined]):
        columns[node[1]].append(node)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for column in columns if forth else reversed(columns):
            row = {node: number / len(one) for one in columns for number, node in enumerate(one)}
            near = {n: [row[one] for one in joined[n] if (one[1] < n[1]) == forth] or [row[n]] for n in column}
            column.sort(key=lambda node: sum(near[node]) / len(near[node]))
    return columns


def _place(columns: Sequence[Sequence[Node]], depth: dict[str, int]) -> dict[Node, tuple[int, int]]:
    """The upper left corner of every node; columns are centred."""
    heights = [[HEIGHT if depth[name] == column else PASSAGE for name, column, _ in nodes] for nodes in columns]
    wholes = [sum(one) + GAP_Y * (len(one) - 1) for one in heights]
    place = {}
    for number, nodes in enumerate(columns):
        y = MARGIN + (max(wholes) - wholes[number]) // 2
        for node, height in zip(nodes, heights[number], strict=True):
            place[node] = (MARGIN + number * (WIDTH + GAP_X), y)
            y += height + GAP_Y
    return place


def _line(place: dict[Node, tuple[int, int]], depth: dict[str, int], one: Node, other: Node, is_key: bool) -> str:
    def middle(node: Node) -> int:
        return place[node][1] + (HEIGHT if depth[node[0]] == node[1] else PASSAGE) // 2

    x1, x2, y1, y2 = place[one][0] + WIDTH, place[other][0], middle(one), middle(other)
    passage = "" if depth[other[0]] == other[1] else f" H{x2 + WIDTH}"
    bend = GAP_X // 2
    kind = "line" if is_key else "line by-name"
    return f'  <path class="{kind}" d="M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}{passage}"/>\n'


def _box(name: str, key: str, x: int, y: int) -> str:
    return (
        f'  <rect class="table" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>\n'
        f'  <text class="name" x="{x + 10}" y="{y + 17}">{escape(name)}</text>\n'
        f'  <text class="key" x="{x + 10}" y="{y + 32}">{escape(key)}</text>\n'
    )
