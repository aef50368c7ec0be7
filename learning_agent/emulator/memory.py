"""The database of MaaS as an operator sees it: named queries, and days that pass."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row

from learning_agent.emulator.errors import EmulatorError

_QUERIES = Path(__file__).with_name("queries.sql")
AGED = ("logs", "summaries", "runs", "conversations", "messages", "facts", "actions")


def named_queries() -> dict[str, str]:
    """The statements of queries.sql by name."""
    parts = re.split(r"^-- name: (\w+)$", _QUERIES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.strip().rstrip(";") for part in parts[1::2]), strict=True))


class StoredMemory:
    """One connection, which threads share."""

    def __init__(self, dsn: str) -> None:
        self._queries = named_queries()
        self._lock = threading.Lock()
        try:
            self._connection: psycopg.Connection[DictRow] = psycopg.connect(
                dsn, autocommit=True, row_factory=dict_row, connect_timeout=10, application_name="emulator"
            )
        except psycopg.Error as error:
            raise EmulatorError(f"the database of MaaS cannot be reached: {' '.join(str(error).split())}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def rows(self, query: str, **values: object) -> list[dict[str, Any]]:
        """What a named query gives."""
        with self._lock:
            return self._execute(query, values)

    def row(self, query: str, **values: object) -> dict[str, Any]:
        """The first row of a named query. Raises EmulatorError if there is none."""
        found = self.rows(query, **values)
        if not found:
            raise EmulatorError(f"the database of MaaS holds nothing for {query} {values}")
        return found[0]

    def let_days_pass(self, user: UUID, days: int) -> None:
        """Everything that is stored of the user was stored so many days earlier."""
        values = {"user": user, "days": days, "past": timedelta(days=days)}
        with self._lock, self._connection.transaction():
            for what in AGED:
                self._execute(f"age_{what}", values)

    def logs_of(self, user: UUID, run: UUID) -> list[UUID]:
        """The messages that a run has logged."""
        return [row["id"] for row in self.rows("logs_of_run", user=user, run=run)]

    def memories_of(self, user: UUID, logs: Sequence[UUID]) -> set[str]:
        """The ids of messages and of every summary that covers one of them."""
        found = self.rows("records_of_logs", user=user, logs=list(logs))
        return {str(one) for one in logs} | {str(row["id"]) for row in found}

    def calls(self, user: UUID, since: datetime) -> list[dict[str, Any]]:
        """The tools that were called for the user since a time, in order."""
        return self.rows("calls", user=user, since=since)

    def _execute(self, query: str, values: Mapping[str, object]) -> list[dict[str, Any]]:
        cursor = self._connection.execute(self._queries[query].encode(), values)
        return cursor.fetchall() if cursor.description is not None else []
