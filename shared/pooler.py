"""A pooler before Postgres: whether it keeps prepared statements."""

from __future__ import annotations

import asyncpg

from shared.errors import MaasError

MAX_POOLER_CHECKS = 20
POOLER_ADVICE = (
    "let it pool sessions, use PgBouncer 1.21 or newer with max_prepared_statements, or a direct DATABASE_URL"
)
UNKNOWN_STATEMENT = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)


def no_prepared_statements() -> MaasError:
    """Return the error for a pooler that loses prepared statements."""
    return MaasError("bad_pooler", f"the pooler before Postgres forgets prepared statements; {POOLER_ADVICE}")


async def check_pooler(one: asyncpg.Connection, other: asyncpg.Connection, session: str) -> None:
    """Raise an asyncpg error for a pooler that loses prepared statements or refuses transactions.

    `session` is the query for the process id of the server's session.
    """
    if await one.fetchval(session) == one.get_server_pid():
        return
    async with one.transaction():
        statement = await one.prepare(session)
        number = await statement.fetchval()
    for _ in range(MAX_POOLER_CHECKS):
        async with other.transaction():
            if await other.fetchval(session) == number:  # `one` gets another session
                await statement.fetchval()
                return
