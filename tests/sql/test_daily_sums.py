"""The sums of days say what the runs said, whatever became of these: finished late, tried again, erased, expired."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.named_queries import query_texts
from tests.polling import poll
from tests.sql.engine import Engine, failed, insert, run_of

Connection = psycopg.Connection[DictRow]
SUBJECTS = ("day", "user", "assistant", "model", "stage")
SEEN = """
  create table seen_runs as select id, user_id::text as user_id, assistant, kind, status, created_at, completed_at
    from pipeline_runs limit 0;
  create table seen_calls as select * from llm_calls limit 0"""
LOOK = (
    "delete from seen_runs where id in (select id from pipeline_runs)",
    "delete from seen_calls where run_id in (select run_id from llm_calls)",
    "insert into seen_runs select id, user_id, assistant, kind, status, created_at, completed_at from pipeline_runs",
    "insert into seen_calls select * from llm_calls",
)
HISTORY = """
  insert into pipeline_runs (user_id, user_query, queue_key, assistant, kind, status, queue_state, created_at,
    updated_at, completed_at, failed_at, seq, archive_status)
  select (array[%(users)s])[1 + n %% 4]::uuid, 'q', gen_random_uuid(), 'mentor',
    case n %% 7 when 0 then 'task' else 'ask' end,
    case n %% 5 when 0 then 'FAILED' else 'COMPLETED' end, 2, at, at + interval '1 minute',
    case n %% 5 when 0 then null else at + n * n * interval '13 ms' end,
    case n %% 5 when 0 then at + interval '1 minute' end, nextval('run_seq'),
    case n %% 5 when 0 then 'SKIPPED' else 'ARCHIVED' end
  from generate_series(1, 60) n cross join lateral (select now() - n * interval '97 min' as at) a"""
HISTORIC_CALLS = """
  insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, finish, tokens_in, tokens_out,
    ms, price, created_at)
  select id, 1, case c when 1 then 'analyzer' else 'final_responder' end, c, 0, 'openai', 'gpt-' || seq %% 3, 'Mentor',
    case seq %% 11 when 0 then 'skipped' else 'stop' end, seq, 3 * c, 1, case when seq %% 3 > 0 then seq * 10 + c end,
    created_at + seq * interval '11 s'
  from pipeline_runs cross join generate_series(1, 2) c"""
SPENDING = """
  select case %(by)s when 'user' then r.user_id::text when 'assistant' then r.assistant
      when 'model' then c.provider || ':' || c.model when 'stage' then c.stage
      else (c.created_at at time zone %(zone)s)::date::text end as key, count(*) as calls,
    count(distinct c.run_id) as runs, sum(c.tokens_in)::bigint as tokens_in, sum(c.tokens_out)::bigint as tokens_out,
    coalesce(sum(c.price), 0)::bigint as price, count(*) filter (where c.price is null) as unpriced
  from {runs} r join {calls} c on c.run_id = r.id
  where r.created_at >= %(since)s and r.created_at < %(until)s and c.finish <> 'skipped' group by 1"""
METRICS = """
  select (r.created_at at time zone %(zone)s)::date as day, count(*) filter (where r.kind = 'ask') as requests,
    count(*) filter (where r.kind = 'ask' and r.status = 'COMPLETED') as completed,
    count(*) filter (where r.kind = 'ask' and r.status = 'FAILED') as failed,
    avg(extract(epoch from r.completed_at - r.created_at) * 1000)
      filter (where r.kind = 'ask' and r.status = 'COMPLETED')::float8 as average_ms,
    percentile_cont(0.95) within group (order by extract(epoch from r.completed_at - r.created_at)::float8 * 1000)
      filter (where r.kind = 'ask' and r.status = 'COMPLETED') as p95_ms,
    coalesce(sum(c.tokens), 0)::bigint as tokens, coalesce(sum(c.price), 0)::bigint as price
  from {runs} r cross join lateral (
    select sum(tokens_in + tokens_out) as tokens, sum(price) as price from {calls} where run_id = r.id) c
  where r.created_at >= %(since)s and r.created_at < %(until)s
  group by grouping sets ((1), ()) order by 1 nulls last"""
ALL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
SEEN_TABLES = {"runs": "seen_runs", "calls": "seen_calls"}
TABLES = {"runs": "pipeline_runs", "calls": "llm_calls"}


class Life:
    """Users who ask, an orchestrator that answers, and all that becomes of the runs."""

    def __init__(self, connection: Connection, dice: random.Random) -> None:
        self.connection, self.dice = connection, dice
        self.engine = Engine(connection, lease="1 day")
        self.users = [uuid4() for _ in range(4)]
        self.flying: list[dict[str, Any]] = []
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self.days = [*(today - timedelta(n) for n in range(5, -1, -1)), datetime.now(UTC) + timedelta(hours=1)]

    def span(self) -> tuple[datetime, datetime]:
        """Some whole days, or all up to now."""
        since, until = sorted(self.dice.sample(self.days, 2))
        return since, until

    def begin(self) -> None:
        """60 runs of four days past, and their calls."""
        self.connection.execute("set session_replication_role = replica")
        users = ", ".join(f"'{one}'" for one in self.users)
        self.connection.execute((HISTORY.replace("%(users)s", users).replace("%%", "%")).encode())
        self.connection.execute(HISTORIC_CALLS.replace("%%", "%").encode())
        self.connection.execute("reset session_replication_role")

    def look(self) -> None:
        """Note how runs and calls are; those that are gone stay as they were seen last."""
        for statement in LOOK:
            self.connection.execute(statement.encode())

    def ask(self) -> None:
        insert(self.connection, self.dice.choice(self.users))
        self.flying += self.engine.claim()

    def call(self) -> None:
        """A model is asked, once or twice in a round; some models have no price."""
        if self.flying:
            run = self.dice.choice(self.flying)
            numbers = {name: self.dice.randrange(1000) for name in ("tokens_in", "tokens_out")}
            call = {
                "run_id": str(run["id"]),
                "attempt": run["attempt"],
                "round": self.dice.randrange(3),
                "attempts": 1,
                "stage": self.dice.choice(("analyzer", "final_responder")),
                "provider": "openai",
                "ms": 1.0,
                "model": self.dice.choice(("gpt-4o", "gpt-4o-mini", "unknown")),
                "role_name": "Mentor",
                "finish": self.dice.choice(("stop", "stop", "skipped")),
            }
            query = "select maas_pin_calls(%s, %s, %s)"
            self.connection.execute(query, (run["id"], run["attempt"], Jsonb([call | numbers])))

    def end(self) -> None:
        if self.flying:
            run = self.flying.pop(self.dice.randrange(len(self.flying)))
            if self.dice.random() < 0.4:
                self.flying += self.engine.step(done=[failed(run)])["claimed"]
            else:
                self.engine.complete(run)
                self.flying += self.engine.step(done=[self.engine.archived(run)])["claimed"]

    def retry(self) -> None:
        runs = self.connection.execute("select id from pipeline_runs where status = 'FAILED'").fetchall()
        if runs:
            self.connection.execute("select maas_retry_run(%s)", (self.dice.choice(runs)["id"],))
            self.flying += self.engine.claim()

    def expire(self) -> None:
        self.connection.execute("select set_config('maas.now', (now() + '27 days'::interval)::text, false)")
        self.connection.execute("select maas_purge_expired(%s, %s)", (self.dice.choice((28, 29, 30)), 3))
        self.connection.execute("reset maas.now")

    def erase(self) -> None:
        """A few rows at a time, or all; what the user cost stays, and nobody knows whose it was."""
        user, rows = self.dice.choice(self.users), self.dice.choice((3, 10, 1000))
        query = "select maas_erase(%s, 'test', %s) as receipt"
        while self.connection.execute(query, (user, rows)).fetchall()[0]["receipt"] is None:
            self.sum_up()
            check(self.connection, *self.span(), SEEN_TABLES, subjects=SUBJECTS[2:])
        self.flying = [run for run in self.flying if run["user_id"] != user]
        self.connection.execute("update seen_runs set user_id = 'erased' where user_id = %s", (str(user),))

    def sum_up(self) -> None:
        sum_runs(self.connection, self.dice.choice((1, 2, 5, 100)))


def sum_runs(connection: Connection, limit: int = 5000, quiet: str = "0 s") -> int:
    row = connection.execute("select maas_sum_runs(%s, %s::interval) as passed", (limit, quiet)).fetchone()
    assert row is not None
    return int(row["passed"])


def spending(connection: Connection, by: str, since: datetime, until: datetime) -> dict[str, tuple[int, ...]]:
    with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
        rows = cursor.execute(query_texts()["admin_spending"].encode(), (since, until, by, 1000)).fetchall()
    for row in rows:
        assert row.pop("keys") == len(rows) and row.pop("total") == sum(one["price"] for one in rows)
    return figures_of(rows)


def metrics(connection: Connection, since: datetime, until: datetime) -> list[dict[str, Any]]:
    with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
        return cursor.execute(query_texts()["admin_metrics"].encode(), (since, until)).fetchall()


def figures_of(rows: list[DictRow]) -> dict[str, tuple[int, ...]]:
    names = ("calls", "runs", "tokens_in", "tokens_out", "price", "unpriced")
    return {row["key"]: tuple(row[name] for name in names) for row in rows}


def check(
    connection: Connection,
    since: datetime,
    until: datetime,
    tables: dict[str, str] = TABLES,
    zone: str = "UTC",
    subjects: tuple[str, ...] = SUBJECTS,
) -> None:
    """The two queries of the pages equal the same questions to runs and calls."""
    arguments = {"since": since, "until": until, "zone": zone}
    for by in subjects:
        expected = connection.execute(SPENDING.format(**tables).encode(), arguments | {"by": by}).fetchall()
        assert spending(connection, by, since, until) == figures_of(expected), by
    wanted = connection.execute(METRICS.format(**tables).encode(), arguments).fetchall()
    found = metrics(connection, since, until)
    assert [row["day"] for row in found] == [row["day"] for row in wanted]
    for row, other in zip(found, wanted, strict=True):
        for name, value in other.items():
            exact = {"average_ms": 1e-6, "p95_ms": 0.005}.get(name)
            wanted_value = value if exact is None or value is None else pytest.approx(value, rel=exact)
            assert row[name] == wanted_value, (name, row, other)


@pytest.mark.parametrize("seed", range(4))
def test_sums_equal_the_runs_whatever_happens(connection: Connection, seed: int) -> None:
    dice = random.Random(seed)
    life = Life(connection, dice)
    life.begin()
    connection.execute(SEEN.encode())
    life.look()
    usual: list[Callable[[], None]] = [life.ask, life.call, life.call, life.call, life.end, life.end, life.retry]
    rare: list[Callable[[], None]] = [life.expire, life.erase]
    for _ in range(60):
        dice.choice([*usual, *usual, *rare, life.sum_up, life.sum_up, life.sum_up])()
        life.look()
        check(connection, *life.span(), SEEN_TABLES, subjects=tuple(dice.sample(SUBJECTS, 2)))
    assert connection.execute("select from daily_sums where runs > 0").rowcount


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/St_Johns"])
def test_any_time_may_be_asked_for_and_days_follow_the_zone(connection: Connection, zone: str) -> None:
    """Parts of days, and spans that end before what is counted, are read from the runs; a new zone makes new days."""
    dice = random.Random(7)
    life = Life(connection, dice)
    life.begin()
    for _ in range(5):
        life.ask()
        life.call()
    for other in ("Europe/Moscow", zone):
        connection.execute("update engine_settings set value = %s where key = 'timezone'", (other,))
        for step in range(25):
            last = datetime.now(UTC) - timedelta(seconds=dice.randrange(400_000))
            first = last - timedelta(seconds=dice.randrange(400_000))
            (row,) = connection.execute("select coalesce(zone, %s) as zone from sums_state", (other,)).fetchall()
            check(connection, first, last, zone=row["zone"], subjects=("day", "user"))
            midnight = first.astimezone(ZoneInfo(row["zone"])).replace(hour=0, minute=0, second=0, microsecond=0)
            check(connection, midnight, last, zone=row["zone"], subjects=("stage",))
            passed = sum_runs(connection, 7)
            if step % 7 == 0:
                life.end()
        assert not passed and row["zone"] == other
    assert connection.execute("select from daily_sums where runs <= 0").rowcount == 0


def test_a_run_that_commits_late_is_counted(database: str, connection: Connection) -> None:
    """Its transaction is older than what is counted, and shows its run afterwards."""
    with psycopg.connect(database, row_factory=dict_row) as other:
        late = insert(other)
        insert(connection)
        sum_runs(connection)
        assert sum_runs(connection) == 0  # it waits for the transaction
        check(connection, *ALL)
        other.commit()
    check(connection, *ALL)
    assert sum_runs(connection) == 2
    check(connection, *ALL)
    assert run_of(connection, late)["created_at"] < run_of(connection, insert(connection))["created_at"]


def test_a_run_of_a_long_transaction_is_noted(connection: Connection) -> None:
    """It may be inserted when its time is counted already. No clock moves a transaction: the trigger is moved."""
    body = connection.execute("select pg_get_functiondef('log_queries'::regproc) as text").fetchone()
    assert body is not None and "'10 minutes'" in body["text"]
    connection.execute(body["text"].replace("'10 minutes'", "'-10 minutes'").encode())
    run = insert(connection)
    assert connection.execute("select run_id, is_counted from sum_exceptions").fetchall() == [
        {"run_id": run, "is_counted": False}
    ]


def test_of_two_orchestrators_one_sums_up_and_nobody_waits(database: str, connection: Connection) -> None:
    life = Life(connection, random.Random(1))
    life.begin()
    sum_runs(connection)
    with psycopg.connect(database, row_factory=dict_row) as other:
        assert sum_runs(other, 10) == 10
        assert sum_runs(connection) == 0
        other.rollback()  # it crashes
    check(connection, *ALL)
    with ThreadPoolExecutor(2) as threads:
        totals = [*threads.map(lambda _: _sum_often(database), range(2))]
    while passed := sum_runs(connection):
        totals.append(passed)
    assert sum(totals) == 60
    check(connection, *ALL)


def _sum_often(database: str) -> int:
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as session:
        return sum(sum_runs(session, 3) for _ in range(30))


def test_a_retry_waits_for_the_sums(database: str, connection: Connection) -> None:
    """Else it would not know whether its run is among them."""
    life = Life(connection, random.Random(2))
    life.begin()
    sum_runs(connection)
    runs = connection.execute("select id from pipeline_runs where status = 'FAILED' and kind = 'ask'").fetchall()
    with psycopg.connect(database, row_factory=dict_row) as other, ThreadPoolExecutor(1) as threads:
        assert sum_runs(other) == 60
        retried = threads.submit(connection.execute, "select maas_retry_run(%s)", (runs[0]["id"],))
        with psycopg.connect(database, autocommit=True, row_factory=dict_row) as third:
            waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            poll(lambda: third.execute(waiting).rowcount, what="the retry waits")
        other.commit()
        retried.result()
    assert connection.execute("select from sum_exceptions where not is_counted").rowcount == 1
    check(connection, *ALL)


def test_a_call_of_a_run_that_ended_long_ago_is_not_recorded(connection: Connection) -> None:
    """The orchestrator that made it has lost the run; the sums may have it already."""
    life = Life(connection, random.Random(3))
    for minutes, calls in ((4, 1), (6, 0)):
        run = insert(connection)
        (claimed,) = life.engine.claim()
        life.engine.step(done=[failed(claimed)])
        connection.execute("set session_replication_role = replica")
        connection.execute(
            "update pipeline_runs set updated_at = now() - make_interval(mins => %s) where id = %s", (minutes, run)
        )
        connection.execute("reset session_replication_role")
        life.flying = [claimed]
        life.call()
        assert connection.execute("select from llm_calls where run_id = %s", (run,)).rowcount == calls


def test_what_an_erased_user_cost_is_kept_without_the_user(connection: Connection) -> None:
    life = Life(connection, random.Random(4))
    life.begin()
    sum_runs(connection)
    sum_runs(connection)
    user = life.users[0]
    before = spending(connection, "user", *ALL)
    row = connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone()
    assert row is not None and row["receipt"]["daily_user_sums"] > 0 and row["receipt"]["sum_exceptions"] == 0
    after = spending(connection, "user", *ALL)
    assert after == {key if key != str(user) else "erased": value for key, value in before.items()}
    assert connection.execute("select from daily_user_sums where user_id = %s", (user,)).rowcount == 0
    assert not any(row["receipt"][name] for name in ("token_usage", "sum_exceptions"))
