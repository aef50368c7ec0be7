"""A user with many finished runs, and what each of them leaves in the tables."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
from psycopg.rows import DictRow


def fill_account(connection: psycopg.Connection[DictRow], runs: int, user: UUID | None = None) -> UUID:
    """Insert a user with so many finished runs, two messages, a summary, an event and a model call each."""
    user = user or uuid4()
    with connection.transaction():
        connection.execute("set local session_replication_role = replica")
        connection.execute(
            """insert into pipeline_runs (id, user_id, user_query, queue_key, seq, status, queue_state, archive_status,
                 final_answer, completed_at, archived_at, created_at, conversation_id)
               select gen_random_uuid(), %(user)s, 'question ' || n, %(user)s, nextval('run_seq'), 'COMPLETED', 2,
                 'ARCHIVED', 'answer ' || n, now(), now(), now() - interval '1 day', null
               from generate_series(1, %(runs)s) n""",
            {"user": user, "runs": runs},
        )
        connection.execute(
            """insert into raw_logs (user_id, run_id, message_type, content, conversation, archived_at)
               select user_id, id, m.kind, m.kind || ' ' || r.user_query, '2026-11-24', now()
               from pipeline_runs r cross join (values ('user_query'), ('assistant_response')) m(kind)
               where user_id = %s""",
            (user,),
        )
        connection.execute(
            """insert into lsm_storage (user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
               select user_id, id, '2026-11-24', '2026-11-24', '{Talk}', 'They talked.',
                 array(select g.id from raw_logs g where g.run_id = r.id)
               from pipeline_runs r where user_id = %s""",
            (user,),
        )
        connection.execute(
            "insert into run_events (run_id, n, type) select id, 1, 'text' from pipeline_runs where user_id = %s",
            (user,),
        )
    connection.execute("analyze pipeline_runs, raw_logs, lsm_storage, run_events")
    return user
