"""A user is removed from every table, whatever is in flight, and nothing comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.engine.states import Status
from tests.polling import poll
from tests.sql.engine import Engine, failed, insert, run_of
from tests.sql.traces import tables, tables_with

Connection = psycopg.Connection[DictRow]
MARK = "qzx77wv"
NO_USERS = {
    "app_clients",
    "assistants", "audit", "daily_sums",
    "embedding_fills", "engine_lock", "engine_metrics", "engine_settings", "engines", "erasures",
    "loadable_tables", "locks", "model_limits", "model_prices", "set_limits",
    "restore_key", "schema_files", "signing_key", "sums_state", "system_prompts", "system_prompts_history",
    "trial_sets",  # their requests are in trial_set_runs
    "telegram_bots", "telegram_updates",  # an update that is handled says nothing any more
    "tools",
}  # fmt: skip


def erase(connection: Connection, user: UUID) -> dict[str, int]:
    row = connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone()
    assert row is not None
    return dict(row["receipt"])


def call(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "run_id": str(run["id"]),
        "attempt": run["attempt"],
        "stage": "analyzer",
        "round": 0,
        "provider": "p",
        "model": "m",
        "role_name": "Analyzer",
        "prompt_version": 1,
        "reply": f"{MARK} said",
        "finish": "stop",
        "attempts": 1,
        "tokens_in": 1,
        "tokens_out": 1,
        "ms": 1.0,
    }


def advance(engine: Engine, runs: list[dict[str, Any]], status: str, connection: Connection) -> list[UUID]:
    rows = connection.execute(
        "select id from maas_advance(%s, %s::uuid[], %s, %s, %s, null, null, %s)",
        (
            engine.owner,
            [run["id"] for run in runs],
            [run["attempt"] for run in runs],
            [status] * len(runs),
            ['{"a": 1}'] * len(runs),
            Jsonb([call(run) for run in runs]),
        ),
    ).fetchall()
    return [row["id"] for row in rows]


def test_every_table_is_covered_or_knows_no_users(connection: Connection) -> None:
    """A new table with a column user_id, or a foreign key to pipeline_runs, is covered; any other is named here."""
    covered = {str(row["name"]) for row in connection.execute("select name::text from maas_user_tables()").fetchall()}
    assert {"pipeline_runs", "raw_logs", "lsm_storage", "run_events", "llm_calls"} <= covered
    assert set(tables(connection)) - covered == NO_USERS


def test_nothing_of_a_user_is_left(connection: Connection, engine: Engine) -> None:
    user, other = uuid4(), uuid4()
    connection.execute(
        """insert into pipeline_runs (user_id, user_query, metadata, caller, idempotency_key)
           values (%s, %s, %s, %s, 'k')""",
        (user, f"first {MARK}", Jsonb({"a": [MARK]}), MARK),
    )
    kept = insert(connection, other, "of another")
    for run in engine.claim():
        word = MARK if run["user_id"] == user else "theirs"
        engine.advance(run, f'{{"word": "{word}"}}')
        engine.finish(run, summary=f"about {word}", tags=(word,))
    engine.step()
    connection.execute("select maas_import(%s, %s, %s)", (user, MARK, Jsonb([{"role": "user", "content": MARK}])))
    broken = insert(connection, user, f"second {MARK}")
    run = next(one for one in engine.claim() if one["id"] == broken)
    engine.step(done=[failed(run, message=MARK)])
    connection.execute("select maas_retry_run(%s)", (broken,))
    connection.execute("select maas_count_terms(%s, 1)", (user,))
    places = {"lsm_storage", "pipeline_runs", "raw_logs", "run_events", "term_df"}
    assert set(tables_with(connection, MARK)) == places
    receipt = erase(connection, user)
    left = {name: count for name, count in receipt.items() if count and name != "term_df"}
    assert left == {"run_events": 1, "pipeline_runs": 3, "lsm_storage": 2, "raw_logs": 4, "counted_users": 1}
    assert tables_with(connection, MARK) == []
    assert run_of(connection, kept)["status"] == "COMPLETED"
    assert connection.execute("select from raw_logs where user_id = %s", (other,)).rowcount == 2
    note = connection.execute("select action, user_id, actor, details from audit where action = 'erase'").fetchone()
    assert note is not None
    assert (note["action"], note["user_id"], note["details"]) == ("erase", user, receipt)
    assert note["actor"].startswith("sql:")
    assert set(erase(connection, user).values()) == {0}


@pytest.mark.parametrize("status", [one.value for one in Status if one is not Status.FAILED])
def test_a_run_in_any_stage_writes_nothing_back(connection: Connection, engine: Engine, status: str) -> None:
    user = uuid4()
    run_id = insert(connection, user, f"a question about {MARK}")
    run = engine.claim()[0] if status != "NEW" else None
    while run is not None and run["status"] != status:
        assert engine.advance(run, "{}" if run["status"] == "ANALYZING" else MARK)
    late = engine.archived(run, summary=MARK) if run is not None else None
    erase(connection, user)
    assert engine.claim() == []
    if run is not None and late is not None:
        late["calls"] = [call(run)]
        assert not engine.advance(run, "{}") if status != "COMPLETED" else True
        assert engine.step(done=[late])["ended"] == []
        assert engine.step(done=[failed(run, message=MARK)])["ended"] == []
        row = connection.execute(
            "select maas_archive_exchange(%s, %s, %s, %s, %s) as kept",
            (engine.owner, run_id, run["attempt"], Jsonb(late["item"]), Jsonb([call(run)])),
        ).fetchone()
        assert row == {"kept": False}
    connection.execute("select maas_add_event(%s, 'late', %s)", (run_id, Jsonb({"words": MARK})))
    connection.execute("select maas_reap(3)")
    assert connection.execute("select maas_retry_run(%s) as verdict", (run_id,)).fetchone() == {"verdict": "not_found"}
    assert connection.execute("select maas_cancel_run(%s) as verdict", (run_id,)).fetchone() == {"verdict": "not_found"}
    assert tables_with(connection, MARK) == []


def test_an_erased_user_comes_back_as_a_new_one(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    insert(connection, user)
    insert(connection, user)
    assert len(engine.claim()) == 1
    erase(connection, user)
    again = insert(connection, user)
    assert [run["id"] for run in engine.claim()] == [again]


def test_the_shared_key_goes_on(connection: Connection, engine: Engine) -> None:
    """Where all users share one key, the run that waits behind the erased one is next."""
    connection.execute("update engine_settings set value = 'global' where key = 'blocking_scope'")
    first, second = uuid4(), uuid4()
    insert(connection, first)
    waiting = insert(connection, second)
    assert [run["user_id"] for run in engine.claim()] == [first]
    erase(connection, first)
    assert run_of(connection, waiting)["queue_state"] == 0
    assert [run["id"] for run in engine.claim()] == [waiting]


def test_who_writes_while_a_user_is_erased_finds_no_run(connection: Connection, engine: Engine, database: str) -> None:
    """A batch that waits for the erasure moves the bystander on, with its model call, and nothing else."""
    user, other = uuid4(), uuid4()
    insert(connection, user)
    insert(connection, other)
    runs = sorted(engine.claim(), key=lambda run: run["user_id"] != user)
    with (
        psycopg.connect(database, row_factory=dict_row) as eraser,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as writer,
        ThreadPoolExecutor(1) as pool,
    ):
        eraser.execute("select maas_erase(%s)", (user,))
        moved = pool.submit(advance, engine, runs, "ANALYZED", writer)
        poll(lambda: _waits_for(connection, writer.info.backend_pid, "Lock"), what="the batch waits")
        eraser.commit()
        assert moved.result(10) == [runs[1]["id"]]
    calls = connection.execute("select run_id from llm_calls").fetchall()
    assert [row["run_id"] for row in calls] == [runs[1]["id"]]
    assert connection.execute("select from run_events where run_id = %s", (runs[0]["id"],)).rowcount == 0


def test_erasing_waits_for_a_batch_and_never_in_a_circle(connection: Connection, engine: Engine, database: str) -> None:
    """The batch holds one run of the user and then wants another: erasing holds none of them, nor the engine."""
    user = uuid4()
    insert(connection, user, MARK)
    connection.execute("select maas_import(%s, 'x', %s)", (user, Jsonb([{"role": "user", "content": MARK}])))
    first, second = engine.claim()
    with (
        psycopg.connect(database, row_factory=dict_row) as writer,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as eraser,
        ThreadPoolExecutor(1) as pool,
    ):
        assert advance(engine, [first], "ANALYZED", writer) == [first["id"]]
        erased = pool.submit(erase, eraser, user)
        poll(lambda: _waits_for(connection, eraser.info.backend_pid, "Timeout"), what="erasing tries again")
        assert engine.step() == {"claimed": [], "ended": [], "cancelled": [], "cancel": [], "more": []}
        assert advance(engine, [second], "ANALYZED", writer) == [second["id"]]
        writer.commit()
        assert erased.result(10)["llm_calls"] == 2
    assert tables_with(connection, MARK) == []


def test_what_is_written_while_a_delete_waits_is_erased_too(connection: Connection, database: str) -> None:
    """A merged record, written by a transaction that holds its children, does not slip through."""
    user = uuid4()
    connection.execute(
        """insert into lsm_storage (user_id, time_bucket_start, time_bucket_end, tags, summary)
           values (%s, now(), now(), '{}', 'child')""",
        (user,),
    )
    with (
        psycopg.connect(database, row_factory=dict_row) as merger,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as eraser,
        ThreadPoolExecutor(1) as pool,
    ):
        merger.execute("update lsm_storage set superseded_at = now() where user_id = %s", (user,))
        erased = pool.submit(erase, eraser, user)
        poll(lambda: _waits_for(connection, eraser.info.backend_pid, "Lock"), what="erasing waits for the child")
        merger.execute(
            """insert into lsm_storage (user_id, level, time_bucket_start, time_bucket_end, tags, summary)
               values (%s, 1, now(), now(), '{}', %s)""",
            (user, MARK),
        )
        merger.commit()
        assert erased.result(10)["lsm_storage"] == 2
    assert tables_with(connection, MARK) == []


def _waits_for(connection: Connection, pid: int, kind: str) -> bool:
    row = connection.execute("select wait_event_type as kind from pg_stat_activity where pid = %s", (pid,)).fetchone()
    return row is not None and row["kind"] == kind


def test_tables_of_others_are_left_alone(connection: Connection) -> None:
    """An application may keep tables of its own beside ours, and a user_id in them."""
    user = uuid4()
    connection.execute("create table orders (user_id uuid, item text)")
    connection.execute("insert into orders values (%s, 'tea')", (user,))
    insert(connection, user)
    assert "orders" not in erase(connection, user)
    assert connection.execute("select item from orders where user_id = %s", (user,)).fetchall() == [{"item": "tea"}]
