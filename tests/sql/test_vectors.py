"""What keeps vectors cheap: plans that touch one user's vectors, and new turns only."""

from __future__ import annotations

from uuid import UUID, uuid4

import numpy as np
import psycopg
from psycopg import RawCursor
from psycopg.rows import DictRow, dict_row, tuple_row

from maas.named_queries import query_texts
from tests.plans import explain_text
from tests.sql.attempts import ANN, become, values

Connection = psycopg.Connection[DictRow]
USERS, TURNS = 50, 400


def crowd(connection: Connection) -> None:
    """Turns of many users, logged over a month, each with a vector."""
    connection.execute(
        """insert into raw_logs (user_id, run_id, message_type, content, conversation, created_at)
           select u.id, gen_random_uuid(), 'user_query', repeat('words ', 40) || n, 'c',
             now() - interval '30 days' + n * (interval '30 days' / %s)
           from generate_series(1, %s) n cross join (select gen_random_uuid() as id from generate_series(1, %s)) u
           order by n""",
        (TURNS, TURNS, USERS),
    )
    connection.execute(
        """insert into embeddings (log_id, user_id, model, embedding)
           select id, user_id, 'm', '[1,0]' from raw_logs"""
    )
    connection.execute("vacuum analyze raw_logs, embeddings")


def test_a_search_reads_one_user(connection: Connection) -> None:
    crowd(connection)
    row = connection.execute("select user_id from raw_logs limit 1").fetchone()
    assert row is not None
    for found in (
        explain_text(connection, "cosines", row["user_id"], "m", [1.0, 0.0], None),
        explain_text(connection, "nearest", row["user_id"], "m", [1.0, 0.0], None, 200),
    ):
        assert "idx_embeddings_user" in found
        assert "Seq Scan" not in found


def test_what_all_messages_share_counts_little(connection: Connection) -> None:
    """A message that says something of its own is nearer than those that say what all say."""
    connection.execute(
        """with messages as (
             insert into raw_logs (user_id, run_id, message_type, content, conversation)
             select %s, gen_random_uuid(), 'user_query', n::text, 'c' from generate_series(1, 10) n
             returning id, content)
           insert into embeddings (log_id, user_id, model, embedding)
           select id, %s, 'm', (case content when '7' then '[0.6,0.8,0]' else '[1,0,0]' end)::vector from messages""",
        (ANN, ANN),
    )
    (own,) = values(connection, "select id from raw_logs where content = '7'")
    with RawCursor(connection, row_factory=tuple_row) as cursor:
        asked = [ANN, "m", [0.9, 0.3, 0.3], None]
        row = cursor.execute(query_texts()["nearest"].encode(), [*asked, 200]).fetchone()
        assert row is not None and row[0][0] == own
        row = cursor.execute(query_texts()["cosines"].encode(), asked).fetchone()
        assert row is not None
        cosines = np.frombuffer(row[1], ">f4")
        ids = [UUID(bytes=one) for one in np.frombuffer(row[0], "V16").tolist()]
        assert ids[int(cosines.argmax())] == own


def test_new_turns_are_found_by_their_time(connection: Connection) -> None:
    crowd(connection)
    row = connection.execute("select maas_log_horizon() as since").fetchone()
    assert row is not None
    found = explain_text(connection, "new_turns", "m", row["since"], 1000)
    assert "idx_raw_logs_created_at" in found
    assert "Seq Scan" not in found


def test_a_sweep_reads_its_page(connection: Connection) -> None:
    crowd(connection)
    found = explain_text(connection, "sweep_turns", "m", uuid4(), 100)
    assert "raw_logs_pkey" in found
    assert "embeddings_pkey" in found
    assert "Seq Scan" not in found


def test_the_table_is_made_once(connection: Connection) -> None:
    rows = connection.execute("select maas_prepare_embeddings() as a, maas_prepare_embeddings() as b").fetchall()
    assert rows == [{"a": True, "b": True}]


def test_vectors_that_come_later_are_read_by_those_who_search(connection: Connection) -> None:
    """The extension's own functions, made when later functions are closed, stay open."""
    connection.execute("drop table embeddings, knowledge_embeddings")
    connection.execute("drop extension vector")
    assert values(connection, "select maas_prepare_embeddings()") == [True]
    with connection.transaction(force_rollback=True):
        become(connection, "maas_worker", None)
        connection.execute("select maas_write_embeddings('m', %s, %s::real[])", ([uuid4()], [1.0, 0.0]))
    with connection.transaction(force_rollback=True):
        become(connection, "maas_server", None)
        with RawCursor(connection, row_factory=dict_row) as cursor:
            similar = cursor.execute(query_texts()["cosines"].encode(), (ANN, "m", [1.0, 0.0], None))
            assert similar.fetchall() == [{"ids": None, "cosines": None}]
    assert values(connection, "select relrowsecurity from pg_class where relname = 'embeddings'") == [True]
