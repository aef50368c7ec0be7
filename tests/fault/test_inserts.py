"""Other applications insert as they like: they never wait for the engine, and nothing of theirs is lost or doubled."""

from __future__ import annotations

import random
import threading
import time
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.polling import poll
from tests.stack import Stack

SESSIONS = 4
SECONDS = 1.5
LOCK_TIMEOUT = "set lock_timeout = '1s'"  # who waits for a lock gets an error, however slow the machine
INSERT = (
    "insert into pipeline_runs (id, user_id, user_query) select i, u, 'q' from unnest(%s::uuid[], %s::uuid[]) x(i, u)"
)


class Application(threading.Thread):
    """A session that inserts rows of the same users in an order of its own, with pauses and rollbacks."""

    def __init__(self, dsn: str, users: list[UUID], number: int) -> None:
        super().__init__(daemon=True)
        self._dsn = dsn
        self._random = random.Random(number)
        self._users = users if number % 2 else users[::-1]
        self.inserted: list[UUID] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self._dsn) as connection:
                connection.execute(LOCK_TIMEOUT)
                connection.commit()
                end = time.monotonic() + SECONDS
                while time.monotonic() < end:
                    self._transaction(connection)
        except Exception as error:
            self.error = error

    def _transaction(self, connection: psycopg.Connection) -> None:
        inserted: list[UUID] = []
        for _ in range(self._random.randint(1, 3)):
            ids = [uuid4() for _ in self._users]
            connection.execute(INSERT, (ids, self._users))
            inserted += ids
            time.sleep(self._random.random() * 0.05)
        if self._random.random() < 0.2:
            connection.rollback()
        else:
            connection.commit()
            self.inserted += inserted


def test_inserts_in_opposite_orders_beside_three_orchestrators(stack: Stack) -> None:
    """No deadlock, no wait; every committed row once, in order; no key without a head, none with two."""
    for _ in range(3):
        stack.start_noop()
    users = [uuid4() for _ in range(10)]
    applications = [Application(stack.dsn, users, number) for number in range(SESSIONS)]
    for application in applications:
        application.start()
    for application in applications:
        application.join()
    assert [application.error for application in applications] == [None] * SESSIONS
    inserted = {run for application in applications for run in application.inserted}
    poll(lambda: stack.rows("select from pipeline_runs where queue_state < 2 limit 1") == [], 120)
    runs = stack.rows("select id, status, archive_status, attempt from pipeline_runs")
    assert {run["id"] for run in runs} == inserted
    assert {(run["status"], run["archive_status"], run["attempt"]) for run in runs} == {("COMPLETED", "ARCHIVED", 1)}
    assert stack.rows("select from run_events where type = 'adopted'") == []
    doubled = "select run_id from raw_logs group by run_id, message_type having count(*) <> 1"
    assert stack.rows(doubled) == []
    assert stack.rows("select run_id from lsm_storage group by run_id having count(*) <> 1") == []
    assert stack.rows("select count(*) as n from raw_logs") == [{"n": 2 * len(inserted)}]
    overlaps = (
        "select from (select analyzing_at, lag(archived_at) over (partition by user_id order by seq) as before"
        " from pipeline_runs) r where analyzing_at < before"
    )
    assert stack.rows(overlaps) == []


def test_insert_does_not_wait_for_the_engine(database: str) -> None:
    """Whoever holds the engine's lock, and a run of the same user, keeps no INSERT waiting."""
    user = uuid4()
    with psycopg.connect(database) as engine, psycopg.connect(database, autocommit=True) as application:
        application.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'first')", (user,))
        engine.execute("select maas_lock_engine()")
        engine.execute("select from pipeline_runs where user_id = %s for update", (user,))
        application.execute("set lock_timeout = '100ms'")
        application.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'second')", (user,))
        application.execute("set lock_timeout = 0")
        with pytest.raises(psycopg.errors.LockNotAvailable):  # the engine's own functions do wait
            application.execute("set lock_timeout = '100ms'")
            application.execute("select maas_lock_engine()")
