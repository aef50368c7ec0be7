"""How a database of tests runs a named query: by the plan that the pool of connections gets for it.

`explain` with parameters plans for their values, but the server prepares its queries and plans each once for all
values, except those of `Database.filtered_rows`.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from maas.named_queries import query_texts

Connection = psycopg.Connection[Any]
_PREPARE = "prepare looked_at as "


def explain(connection: Connection, name: str, *args: object, planned_for_values: bool = False) -> dict[str, Any]:
    """What the query read and did, as JSON: `Plan` is its plan."""
    plan: dict[str, Any] = _explain(connection, name, args, "analyze, buffers, format json", planned_for_values)[0]
    return plan


def explain_text(connection: Connection, name: str, *args: object, planned_for_values: bool = False) -> str:
    """The same in lines, without costs and times."""
    options = "analyze, costs off, timing off, summary off"
    return "\n".join(_explain(connection, name, args, options, planned_for_values))


def scans_of(plan: dict[str, Any], table: str) -> set[str]:
    """How a table was read, by a node of a plan or below it."""
    own = {plan["Node Type"]} if plan.get("Relation Name") == table and plan["Actual Loops"] else set()
    return own.union(*(scans_of(one, table) for one in plan.get("Plans", ())))


def pages(plan: dict[str, Any]) -> int:
    """How many pages of 8 kB it read, from memory or from disk."""
    return int(plan["Plan"]["Shared Hit Blocks"]) + int(plan["Plan"]["Shared Read Blocks"])


def _explain(
    connection: Connection, name: str, args: tuple[object, ...], options: str, planned_for_values: bool
) -> Any:
    run = sql.SQL("explain ({}) execute looked_at {}").format(sql.SQL(options), _values(args))
    with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        cursor.execute(f"set plan_cache_mode = force_{'custom' if planned_for_values else 'generic'}_plan")
        cursor.execute(_PREPARE + query_texts()[name])
        try:
            rows = [row for (row,) in cursor.execute(run).fetchall()]
        finally:
            cursor.execute("deallocate looked_at")
            cursor.execute("reset plan_cache_mode")
    return rows if isinstance(rows[0], str) else rows[0]


def _values(args: tuple[object, ...]) -> sql.Composable:
    return sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, args)))
