"""Poolers in front of Postgres: one that shares sessions must support prepared statements and transactions."""

from __future__ import annotations

import asyncpg

from shared.errors import MaasError

UNKNOWN_STATEMENT = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
MAX_ATTEMPTS = 20
ADVICE = "let it pool sessions, use PgBouncer 1.21 or newer with max_prepared_statements, or a direct DATABASE_URL"


def no_prepared_statements() -> MaasError:
    """Return the error for a pooler that loses prepared statements."""
    return MaasError("bad_pooler", f"the pooler before Postgres forgets prepared statements; {ADVICE}")


async def check_pooler(one: asyncpg.Connection, other: asyncpg.Connection, session: str) -> None:
    """Raise MaasError('bad_pooler') for a pooler that loses prepared statements or refuses transactions.

    `session` is the query for the process id of the server's session.
    """
    try:
        if await one.fetchval(session) == one.get_server_pid():
            return
        async with one.transaction():
            statement = await one.prepare(session)
            number = await statement.fetchval()
        for _ in range(MAX_ATTEMPTS):
            async with other.transaction():
                if await other.fetchval(session) == number:  # `one` gets another session
                    await statement.fetchval()
                    return
    except UNKNOWN_STATEMENT as error:
        raise no_prepared_statements() from error
    except asyncpg.PostgresConnectionError as error:
        if "prepared statement" in str(error):  # another client's statement of that name
            raise no_prepared_statements() from error
        if "transaction" not in str(error):  # not the pooler: Postgres is gone
            raise
        raise MaasError("bad_pooler", f"the pooler before Postgres refuses transactions ({error}); {ADVICE}") from error
