"""Levels in SQL: which records are due, how they are merged, and how a merge is undone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.named_queries import query_texts
from tests.plans import explain, pages
from tests.polling import poll
from tests.remembering import assert_each_log_stands_once, at, days_ago, levels_of, open_records, remember
from tests.sql.engine import Engine, failed, insert, value

Connection = psycopg.Connection[DictRow]
OLD = date(2025, 11, 20)  # a Thursday


def read(connection: Connection, name: str, *args: object) -> list[dict[str, Any]]:
    with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
        return cursor.execute(query_texts()[name].encode(), args).fetchall()


def due(connection: Connection, user: UUID | None = None, limit: int = 50) -> list[tuple[int, date]]:
    return [(row["level"], row["day"]) for row in read(connection, "due_groups", None, user, limit)]


def compact(
    connection: Connection, user: UUID, level: int, day: date, children: list[UUID] | None = None, summary: str = "All."
) -> UUID | None:
    if children is None:
        children = [row["id"] for row in read(connection, "group_children", user, level, day)]
    cost = Jsonb({"provider": "test", "model": "m", "calls": 2, "tokens_in": 5, "ms": 1.5})
    (row,) = read(connection, "compact", user, level, day, children, summary, False, cost)
    found: UUID | None = row["maas_compact"]
    return found


@pytest.mark.parametrize("level", [1, 2, 3])
def test_buckets_tile_the_calendar(connection: Connection, level: int) -> None:
    """Each day is in one bucket, which is the same for all its days; what is due is whole buckets of that age."""
    rows = connection.execute(
        """select d::date as day, lower(maas_bucket(%(level)s, d::date)) as since,
             upper(maas_bucket(%(level)s, d::date)) as until, maas_due_until(%(level)s, d::date) as due
           from generate_series(timestamp '2023-12-01', '2026-02-01', '1 day') d""",
        {"level": level},
    ).fetchall()
    buckets = {row["since"]: row["until"] for row in rows}
    firsts = sorted(buckets)
    assert [buckets[first] for first in firsts[:-1]] == firsts[1:]
    age = {1: 3, 2: 14, 3: 60}[level]
    for row in rows:
        assert row["since"] <= row["day"] < row["until"]
        assert level == 1 or row["since"].isoweekday() == 1
        assert row["due"] <= row["day"] - timedelta(age)
        newest = max(
            (last for last in buckets.values() if last - timedelta(1) <= row["day"] - timedelta(age)), default=None
        )
        assert newest is None or row["due"] == newest - timedelta(1)


def test_labels(connection: Connection) -> None:
    """A week is of the month of its Thursday."""
    assert value(connection, "select maas_period('2025-11-20', 2)") == "2025-Week-47"
    assert value(connection, "select maas_period('2025-11-02', 3)") == "2025-Month-10"
    assert value(connection, "select maas_period('2026-01-01', 3)") == "2026-Month-01"


def test_a_merge_copies_then_supersedes(connection: Connection) -> None:
    """The parent holds the logs of its children in order of time, their times and tags; children stay."""
    user = uuid4()
    late, early = remember(connection, user, [(at(OLD, 15), "later"), (at(OLD, 9), "earlier")], ["Discussion", "Boat"])
    (third,) = remember(connection, user, [(at(OLD, 12), "between")], ["Boat", "Tree"])
    assert due(connection, user) == [(1, OLD)]
    parent = compact(connection, user, 1, OLD)
    (record,) = open_records(connection, user)
    assert (record["id"], record["level"], record["summary"], record["run_id"]) == (parent, 1, "All.", None)
    said = [value(connection, "select content from raw_logs where id = %s", log) for log in record["raw_log_ids"]]
    assert said == ["earlier", "between", "later"]
    assert record["tags"] == ["Boat", "Tree", "Discussion"]
    assert record["occurred_at"] == record["known_at"] == at(OLD, 15)
    assert record["time_bucket_start"] == record["time_bucket_end"] == OLD
    children = connection.execute(
        "select superseded_by, superseded_at from lsm_storage where id = any(%s)", ([late, early, third],)
    )
    assert all(child["superseded_by"] == parent and child["superseded_at"] for child in children.fetchall())
    cost = connection.execute("select * from compactions").fetchall()
    assert [(row["record_id"], row["user_id"], row["children"], row["calls"]) for row in cost] == [(parent, user, 3, 2)]
    assert due(connection, user) == [(2, date(2025, 11, 17))]


def test_days_that_a_model_left_out_are_named(connection: Connection) -> None:
    """In a view, and by model for the doctor; those of rules are none."""
    user, after = uuid4(), OLD + timedelta(1)
    remember(connection, user, [(at(OLD), "a"), (at(after), "b")])
    for day in (OLD, after):
        compact(connection, user, 1, day)
    children = [row["id"] for row in read(connection, "group_children", user, 2, OLD)]
    cost = {"provider": "test", "model": "m", "calls": 1, "days": 2, "left_out": [f"{OLD}"]}
    (made,) = read(connection, "compact", user, 2, OLD, children, "Both.", False, Jsonb(cost))
    (row,) = connection.execute("select * from v_left_out_days").fetchall()
    assert (row["user_id"], row["record_id"], row["level"], row["period"]) == (
        user,
        made["maas_compact"],
        2,
        "2025-Week-47",
    )
    assert (row["days"], row["left_out"], row["model"]) == (2, [OLD], "test:m")
    assert read(connection, "left_out_days", 7) == [{"model": "test:m", "days": 2, "left_out": 1}]
    connection.execute("update compactions set provider = 'extractive'")
    assert read(connection, "left_out_days", 7) == []


def test_an_outdated_group_changes_nothing(connection: Connection) -> None:
    """Children that were merged, or that others have joined, since they were read: null, and all is as before."""
    user = uuid4()
    children = remember(connection, user, [(at(OLD), "a"), (at(OLD, 11), "b")])
    assert compact(connection, user, 1, OLD, children[:1]) is None
    assert compact(connection, user, 1, OLD, [*children, uuid4()]) is None
    assert compact(connection, user, 1, OLD, []) is None
    assert compact(connection, uuid4(), 1, OLD, children) is None
    assert levels_of(connection, user) == {0: 2}
    assert compact(connection, user, 1, OLD, children) is not None
    assert compact(connection, user, 1, OLD, children) is None
    assert compact(connection, user, 1, OLD) is None, "a parent alone is not merged with itself"
    assert levels_of(connection, user) == {1: 1}
    assert_each_log_stands_once(connection, user)


def test_two_merges_of_one_group_at_once(connection: Connection, database: str) -> None:
    """The second waits for the first, and then finds nothing to do."""
    user = uuid4()
    children = remember(connection, user, [(at(OLD), "a"), (at(OLD, 11), "b")])
    with psycopg.connect(database) as first, psycopg.connect(database, autocommit=True) as second:
        call = "select maas_compact(%s, 1, %s, %s, 'x', false, '{}')"
        made = first.execute(call, (user, OLD, children)).fetchone()
        second.execute("set statement_timeout = '20s'")
        pid = second.info.backend_pid
        with _Thread(second, call, (user, OLD, children)) as waiting:
            poll(lambda: value(connection, "select count(*) from pg_locks where pid = %s and not granted", pid))
            first.commit()
        assert made is not None and made[0] is not None
        assert waiting.result == [(None,)]
    assert levels_of(connection, user) == {1: 1}


def test_late_arrivals_join_what_is_there(connection: Connection) -> None:
    """A record for a day that has its own already, or whose week or month is merged: one parent again."""
    user = uuid4()
    remember(connection, user, [(at(OLD), "a"), (at(OLD + timedelta(1)), "b")])
    for level, day in ((1, OLD), (1, OLD + timedelta(1)), (2, OLD), (3, OLD)):
        assert compact(connection, user, level, day)
        if level == 1 and day == OLD:
            remember(connection, user, [(at(OLD, 23), "late")])
            assert compact(connection, user, 1, OLD)
            assert levels_of(connection, user) == {0: 1, 1: 1}
    assert levels_of(connection, user) == {3: 1}
    remember(connection, user, [(at(OLD, 5), "very late")])
    for level in (1, 2, 3):
        assert [found for found, _ in due(connection, user)] == [level]
        assert compact(connection, user, level, OLD)
    assert due(connection, user) == []
    (record,) = open_records(connection, user)
    said = [value(connection, "select content from raw_logs where id = %s", log) for log in record["raw_log_ids"]]
    assert (record["level"], said) == (3, ["very late", "a", "late", "b"])
    assert_each_log_stands_once(connection, user)


def test_what_is_young_or_provisional_is_left_alone(connection: Connection) -> None:
    user = uuid4()
    remember(connection, user, [(at(days_ago(n)), f"{n} days ago") for n in range(5)])
    insert(connection, user)
    Engine(connection).claim()
    connection.execute(
        "update lsm_storage set time_bucket_start = '2020-01-01', time_bucket_end = '2020-01-01' where is_provisional"
    )
    assert due(connection, user) == [(1, days_ago(4)), (1, days_ago(3))]
    connection.execute(f"set maas.now = '{at(days_ago(-1))}'")
    assert due(connection, user) == [(1, days_ago(4)), (1, days_ago(3)), (1, days_ago(2))]


def test_a_day_is_one_of_the_users_zone(connection: Connection) -> None:
    """MAAS_TIMEZONE: what was said at 22:30 UTC belongs to the next day in Moscow."""
    connection.execute("update engine_settings set value = 'Europe/Moscow' where key = 'timezone'")
    user = uuid4()
    remember(connection, user, [(at(OLD, 22), "night"), (at(OLD + timedelta(1), 8), "morning")])
    assert due(connection, user) == [(1, OLD + timedelta(1))]


def test_who_imports_waits(connection: Connection) -> None:
    """An import in progress would have its days merged again and again."""
    user = uuid4()
    remember(connection, user, [(at(OLD), "a")])
    connection.execute("select maas_import(%s, 'more', %s)", (user, Jsonb([{"role": "user", "content": "b"}])))
    engine = Engine(connection)
    (run,) = engine.claim()
    assert due(connection) == [] == due(connection, user)
    assert value(connection, query_texts()["count_due"].replace("$1", "null").replace("$2", "null")) == 0
    engine.finish(run)
    assert due(connection) == [(1, OLD)]


def test_old_groups_of_all_levels_get_their_turn(connection: Connection) -> None:
    """The limit is one a level, lower levels first, older buckets first."""
    users = [uuid4() for _ in range(3)]
    for number, user in enumerate(users):
        remember(connection, user, [(at(OLD - timedelta(7 * number)), "a"), (at(OLD - timedelta(number)), "b")])
        assert compact(connection, user, 1, OLD - timedelta(7 * number))
    assert due(connection, limit=2) == [
        (1, OLD - timedelta(2)),
        (1, OLD - timedelta(1)),
        (2, date(2025, 11, 3)),
        (2, date(2025, 11, 10)),
    ]


def test_days_come_before_their_week(connection: Connection) -> None:
    """A week is not due while exchanges of it are open: it would be merged twice."""
    user = uuid4()
    remember(connection, user, [(at(OLD), "a"), (at(OLD + timedelta(2)), "b")])
    assert compact(connection, user, 1, OLD)
    assert due(connection) == [(1, OLD + timedelta(2))]
    assert compact(connection, user, 1, OLD + timedelta(2))
    assert due(connection) == [(2, OLD - timedelta(3))]


def test_a_parent_is_dissolved(connection: Connection) -> None:
    """All that a record went into is gone; its siblings are open and due again, and make the same without it."""
    user = uuid4()
    void, *siblings = remember(connection, user, [(at(OLD, hour), f"at {hour}") for hour in (9, 10, 11)])
    other_day = remember(connection, user, [(at(OLD + timedelta(1)), "next day")])
    for level, day in ((1, OLD), (1, OLD + timedelta(1)), (2, OLD)):
        assert compact(connection, user, level, day)
    assert value(connection, "select maas_dissolve_parents(%s)", [void]) == 2
    is_open = {row["id"] for row in open_records(connection, user) if row["level"] == 0}
    assert is_open == set(siblings)
    assert levels_of(connection, user) == {0: 2, 1: 1}
    gone = connection.execute("select superseded_by, superseded_at from lsm_storage where id = %s", (void,)).fetchone()
    assert gone is not None and gone["superseded_by"] is None and gone["superseded_at"] is not None
    assert due(connection, user) == [(1, OLD)]
    assert compact(connection, user, 1, OLD) and compact(connection, user, 2, OLD)
    (record,) = open_records(connection, user)
    assert len(record["raw_log_ids"]) == len([*siblings, *other_day])
    assert value(connection, "select maas_dissolve_parents('{}')") == 0


def test_no_bucket_is_left_with_two_records(connection: Connection) -> None:
    """A day and what came late for it met in the week only: when that is gone, they start anew together."""
    user, after = uuid4(), OLD + timedelta(1)
    _, void = remember(connection, user, [(at(OLD), "a"), (at(after), "b")])
    for level, day in ((1, OLD), (1, after), (2, OLD)):
        assert compact(connection, user, level, day)
    remember(connection, user, [(at(OLD, 5), "late")])
    assert compact(connection, user, 1, OLD) and compact(connection, user, 2, OLD)
    assert value(connection, "select maas_dissolve_parents(%s)", [void]) == 5
    assert levels_of(connection, user) == {0: 2}
    assert due(connection, user) == [(1, OLD)]


def test_a_retried_run_leaves_the_record_of_its_day(connection: Connection) -> None:
    """The failed try was merged days later; after the retry its words stand in the new record only."""
    user, engine = uuid4(), Engine(connection)
    run_id = insert(connection, user, "Why did it fail?")
    (run,) = engine.claim()
    engine.step(done=[failed(run)])
    today = days_ago(0)
    (sibling,) = remember(connection, user, [(at(today, 0), "something else")])
    assert compact(connection, user, 1, today)
    assert levels_of(connection, user) == {1: 1}
    assert value(connection, "select maas_retry_run(%s)", run_id) == "retrying"
    assert [record["id"] for record in open_records(connection, user)] == [sibling]
    (run,) = engine.claim()
    engine.finish(run)
    assert levels_of(connection, user) == {0: 2}
    assert_each_log_stands_once(connection, user)


def test_records_are_found_in_what_covers_them(connection: Connection) -> None:
    """A level-0 id leads to the open record of whatever level; a void one to none; as of then, to itself."""
    user = uuid4()
    first, second = remember(connection, user, [(at(OLD), "a"), (at(OLD + timedelta(1)), "b")])
    (young,) = remember(connection, user, [(at(days_ago(1)), "c")])
    for level, day in ((1, OLD), (1, OLD + timedelta(1)), (2, OLD), (3, OLD)):
        month = compact(connection, user, level, day)
    found = read(connection, "records", user, [first, second, young], 0)
    assert [(row["id"], row["period"], sorted(row["wanted"])) for row in found] == [
        (young, value(connection, "select maas_period(%s)", days_ago(1)), [young]),
        (month, "2025-Month-11", sorted([first, second])),
    ]
    assert [row["id"] for row in read(connection, "records", user, [], 5)] == [young, month]
    assert read(connection, "records", uuid4(), [first], 5) == []
    then = read(connection, "records_as_of", user, [first, second, young], 5, at(OLD, 11))
    assert [(row["id"], row["wanted"]) for row in then] == [(first, [first])]
    later = read(connection, "records_as_of", user, [], 5, at(days_ago(0), 23))
    assert [row["id"] for row in later] == [young, second, first]
    connection.execute("select maas_dissolve_parents(%s)", ([first],))
    assert [row["id"] for row in read(connection, "records", user, [first, second], 0)] != []
    assert all(first not in row["wanted"] for row in read(connection, "records", user, [first, second], 5))
    assert [row["id"] for row in read(connection, "records_as_of", user, [first], 5, at(OLD, 11))] == []


def test_reads_cost_what_they_find(connection: Connection) -> None:
    """A hundred thousand records of 1,000 users, none of them due: indexes, and few pages."""
    connection.execute(
        """insert into lsm_storage (user_id, level, time_bucket_start, time_bucket_end, tags, summary, superseded_at)
           select md5((n % 1000)::text)::uuid, l, d, d, '{}', 's', case when n % 3 = 0 then now() end
           from generate_series(1, 100000) n
           cross join lateral (select (array[0, 1, 2, 3])[n % 4 + 1] as l) l
           cross join lateral (select current_date - (array[n % 3, 4 + n % 10, 20 + n % 8, 90 + n])[l + 1] as d) d"""
    )
    connection.execute("analyze lsm_storage")
    assert due(connection) == []
    user = value(connection, "select user_id from lsm_storage where superseded_at is null limit 1")
    ids = connection.execute("select id from lsm_storage where user_id = %s limit 20", (user,)).fetchall()
    some = [row["id"] for row in ids]
    for name, values, index in (
        ("due_groups", (None, None, 50), "idx_lsm_due"),
        ("records", (user, some, 20), "idx_lsm_user"),
        ("records_as_of", (user, some, 20, datetime.now(UTC)), "idx_lsm_user"),
        ("group_children", (user, 3, date(2025, 11, 20)), "idx_lsm_user"),
    ):
        plan = explain(connection, name, *values)
        assert index in str(plan) and "Seq Scan" not in str(plan), plan
        assert pages(plan) < 700, (name, plan)


class _Thread:
    """A statement that runs beside the test; `result` when the block has ended."""

    def __init__(self, connection: psycopg.Connection[Any], query: str, args: tuple[object, ...]) -> None:
        from threading import Thread

        self.result: list[Any] = []
        self._thread = Thread(target=lambda: self.result.extend(connection.execute(query.encode(), args).fetchall()))

    def __enter__(self) -> _Thread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(20)
