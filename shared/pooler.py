"""What stands between us and Postgres: a pooler that shares sessions must remember what was prepared in them."""

from __future__ import annotations

import asyncpg

from shared.errors import MaasError

FORGOTTEN = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
TRIES = 20
ADVICE = "let it pool sessions, use PgBouncer 1.21 or newer with max_prepared_statements, or a direct DATABASE_URL"


def forgetful() -> MaasError:
    """The one sentence for a pooler that shares sessions and nothing else."""
    return MaasError("bad_pooler", f"the pooler before Postgres forgets prepared statements; {ADVICE}")


async def check_pooler(one: asyncpg.Connection, other: asyncpg.Connection, session: str) -> None:
    """Raise MaasError('bad_pooler') where a statement does not find what was prepared for it, or may not be grouped.

    `session` is the query of the number of the session.
    """
    try:
        if await one.fetchval(session) == one.get_server_pid():
            return
        async with one.transaction():
            statement = await one.prepare(session)
            number = await statement.fetchval()
        for _ in range(TRIES):
            async with other.transaction():
                if await other.fetchval(session) == number:  # the session of `one` is taken: it gets another
                    await statement.fetchval()
                    return
    except FORGOTTEN as error:
        raise forgetful() from error
    except asyncpg.PostgresConnectionError as error:
        if "prepared statement" in str(error):  # it found somebody else's of that name
            raise forgetful() from error
        if "transaction" not in str(error):  # of no pooler: it is Postgres that has gone
            raise
        raise MaasError("bad_pooler", f"the pooler before Postgres refuses transactions ({error}); {ADVICE}") from error
