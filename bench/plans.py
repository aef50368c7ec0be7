"""How Postgres executes a search: the plans of all its statements with times and buffers, whatever they are."""

from __future__ import annotations

from typing import Any

import asyncpg

from bench.corpus import Question
from bench.searches import LIMIT
from maas.memory.search import search
from shared.db import Database, connect

WARM_UP = 6  # from then on a session may keep one plan for all users, as those of a server do
SETTINGS = (
    "load 'auto_explain'",
    "set auto_explain.log_min_duration = 0",
    "set auto_explain.log_analyze = on",
    "set auto_explain.log_buffers = on",
    "set auto_explain.log_nested_statements = on",
    "set auto_explain.log_level = notice",
)


async def explain(dsn: str, question: Question) -> list[str]:
    """The plans of one warm search. Raises asyncpg.PostgresError where auto_explain cannot be loaded."""
    plans: list[str] = []

    def hear(_: Any, message: asyncpg.PostgresLogMessage) -> None:
        plans.append(message.message)

    async def refuse(_: float) -> asyncpg.Pool:
        raise NotImplementedError

    connection = await connect(dsn)
    try:
        db = Database(connection, refuse)  # a pool of one: it answers the same calls
        for _ in range(WARM_UP):
            await search(db, question.user, question.text, limit=LIMIT)
        for statement in SETTINGS:
            await connection.execute(statement)
        connection.add_log_listener(hear)
        await search(db, question.user, question.text, limit=LIMIT)
    finally:
        await connection.close()
    return plans
