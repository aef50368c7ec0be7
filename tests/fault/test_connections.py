"""Every moment at which a connection can be found lost."""

from __future__ import annotations

import asyncio
import time

import asyncpg
import psycopg
import pytest

from shared.db import CONNECTION_LOST


@pytest.mark.parametrize("turns", range(6))
async def test_a_terminated_connection_is_lost_at_every_moment(database: str, turns: int) -> None:
    """Its end is announced in one turn of the event loop and seen in a later one."""
    connection = await asyncpg.connect(database)
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", (connection.get_server_pid(),))
    time.sleep(0.01)  # the announcement is on its way; the loop must not turn meanwhile
    for _ in range(turns):
        await asyncio.sleep(0)
    with pytest.raises(CONNECTION_LOST):
        await connection.fetchval("select 1")
    connection.terminate()
