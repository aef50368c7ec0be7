"""Ask by SQL alone: insert a row, wait, read the answer. Any language that reaches Postgres can do this."""

from __future__ import annotations

import sys
from uuid import UUID, uuid4

import psycopg

USER, RUN = UUID("5f0c2a34-0000-4000-8000-000000000001"), uuid4()
INSERT = "insert into maas.run_requests (id, user_id, user_query) values (%s, %s, %s)"
OUTCOME = """select coalesce(final_answer, error_message) from maas.run_requests
             where id = %s and status in ('COMPLETED', 'FAILED')"""

with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute("listen pipeline_events")
    connection.execute(INSERT, (RUN, USER, "The spare key is under the blue pot."))
    while not (row := connection.execute(OUTCOME, [RUN]).fetchone()):
        for _ in connection.notifies(timeout=1, stop_after=1):  # a notification is a hint, the table is the truth
            pass
    print(row[0])
