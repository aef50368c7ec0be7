"""Records of level 0 by the functions that the Archivist's stage calls, and what must hold of all records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

import psycopg
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[DictRow]


def at(day: date, hour: int = 10) -> datetime:
    """That hour of the day, UTC."""
    return datetime.combine(day, time(hour), UTC)


def days_ago(days: int) -> date:
    """The calendar day, UTC."""
    return datetime.now(UTC).date() - timedelta(days)


def remember(
    connection: Connection, user: UUID, said: Sequence[tuple[datetime, str]], tags: Sequence[str] = ("Talk",)
) -> list[UUID]:
    """Import what was said, record each turn by itself, end the import; the ids of the records."""
    turns = [{"role": "user", "content": text, "at": when.isoformat()} for when, text in said]
    with connection.transaction():  # nobody else claims the import
        imported = connection.execute(
            "select run_id from maas_import(%s, 'by hand', %s)", (user, Jsonb(turns))
        ).fetchone()
        assert imported is not None
        run = imported["run_id"]
        connection.execute(
            """select maas_write_records(jsonb_agg(jsonb_build_object(
                 'run_id', null, 'archiver', run_id, 'user_id', user_id, 'log_ids', jsonb_build_array(id),
                 'tags', %s::jsonb, 'summary', content)))
               from raw_logs where run_id = %s""",
            (Jsonb(list(tags)), run),
        )
        connection.execute(
            "update pipeline_runs set archive_status = 'ARCHIVED', queue_state = 2 where id = %s", (run,)
        )
    rows = connection.execute("select record_id from raw_logs where run_id = %s order by turn_no", (run,)).fetchall()
    return [row["record_id"] for row in rows]


def open_records(connection: Connection, user: UUID) -> list[DictRow]:
    """What is valid of a user, oldest first."""
    return connection.execute(
        """select * from lsm_storage where user_id = %s and superseded_at is null and not is_provisional
           order by time_bucket_end, level, occurred_at""",
        (user,),
    ).fetchall()


def levels_of(connection: Connection, user: UUID) -> dict[int, int]:
    """How many open records there are of each level."""
    return dict(sorted(Counter(record["level"] for record in open_records(connection, user)).items()))


def assert_each_log_stands_once(connection: Connection, user: UUID) -> None:
    """Every recorded log of the user is in exactly one open record, and nothing else is."""
    logs = connection.execute(
        "select id from raw_logs where user_id = %s and record_id is not null", (user,)
    ).fetchall()
    held = [log for record in open_records(connection, user) for log in record["raw_log_ids"]]
    assert Counter(held) == Counter(row["id"] for row in logs)
