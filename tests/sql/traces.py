"""Where a word stands: every column of every table, whatever its type."""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.rows import DictRow


def tables(connection: psycopg.Connection[DictRow]) -> list[str]:
    rows = connection.execute(
        """select relname from pg_class where relkind in ('r', 'p') and relnamespace = 'maas'::regnamespace
           order by 1"""
    ).fetchall()
    return [row["relname"] for row in rows]


def tables_with(connection: psycopg.Connection[DictRow], word: str) -> list[str]:
    """The tables in which a row, written out, holds the word; a word with digits is no stem of another."""
    return [
        table
        for table in tables(connection)
        if connection.execute(
            sql.SQL("select from {} t where position(lower(%s) in lower(t::text)) > 0 limit 1").format(
                sql.Identifier(table)
            ),
            (word,),
        ).rowcount
    ]
