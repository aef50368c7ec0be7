"""Memory that grows old: merged by what runs beside the runs, and still found, with all its sources."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from bench.sentences import sentence
from maas.builtin_model import BuiltinModel
from maas.builtin_model.day_texts import count_words
from maas.builtin_model.merged_texts import word_limit
from maas.composition import choose_background_tasks, choose_stages
from maas.engine.stages import Deps, RoleModels
from maas.memory.ranking import rank
from maas.memory.search import gather_evidence
from maas.memory.summaries import compact, due_groups, read_children, summaries_of_messages
from maas.settings import load_settings
from maas.settings.models import ROLES
from shared.db import open_database
from tests.polling import poll
from tests.remembering import assert_each_log_stands_once, at, days_ago, levels_of, open_records, remember
from tests.sql.engine import Engine, failed, insert
from tests.stack import Stack, maas
from workers import analyzer, compactor

Connection = psycopg.Connection[DictRow]


@pytest.fixture
async def deps(database: str) -> AsyncIterator[Deps]:
    """What a process with the built-in model hands to its stages."""
    settings = load_settings()
    rules = BuiltinModel()
    async with open_database(database, 4, "test") as db:
        yield Deps(db, settings, RoleModels({role: rules for role in ROLES}, rules))


def remember_days(connection: Connection, user: UUID, days: int, a_day: int = 2) -> None:
    """Up to today, so many exchanges a day."""
    said = [(at(days_ago(day), hour), sentence(day * 10 + hour)) for day in range(days)[::-1] for hour in range(a_day)]
    remember(connection, user, said)


async def test_a_year_becomes_few_records(deps: Deps, connection: Connection) -> None:
    """Three days as they were, days, weeks, months; every log in one record; a second time nothing happens."""
    user = uuid4()
    remember_days(connection, user, 365)
    progress: list[tuple[int, int]] = []
    made = await compactor.compact_all(deps, user, on_progress=lambda done, total: progress.append((done, total)))
    assert [done for done, _ in progress] == list(range(1, made + 1)) and progress[-1] == (made, made)
    levels = levels_of(connection, user)
    assert levels[0] == 6 and 11 <= levels[1] <= 17 and 6 <= levels[2] <= 13 and 9 <= levels[3] <= 12
    assert_each_log_stands_once(connection, user)
    records = open_records(connection, user)
    for record in records:
        first, last = record["time_bucket_start"], record["time_bucket_end"]
        days = [first + timedelta(n) for n in range((last - first).days + 1)]
        named = [day for day in days if f"{day}: " in record["summary"]]
        assert record["level"] < 2 or named == days or len(days) == 1, "each day has its text; alone, it is the record"
        up_to = range(1, max(record["level"], 1) + 1)  # a summary of one child is a copy
        limit = max(word_limit(level, len(record["raw_log_ids"]), len(days)) for level in up_to)
        assert 0 < count_words(record["summary"]) <= limit * 1.1 + len(days)
    assert all(record["tags"] and not record["is_degraded"] for record in records)
    costs = connection.execute("select level, model, calls from compactions").fetchall()
    assert len(costs) == made and {(row["model"], row["calls"]) for row in costs} <= {("builtin", 1), (None, 0)}
    before = connection.execute("select * from lsm_storage order by id").fetchall()
    assert await compactor.compact_all(deps, user) == await compactor.compact_all(deps) == 0
    assert connection.execute("select * from lsm_storage order by id").fetchall() == before


async def test_a_moment_may_be_given(deps: Deps, connection: Connection) -> None:
    """Due is what is due as of then."""
    user = uuid4()
    remember_days(connection, user, 4)
    assert await compactor.compact_all(deps, user, as_of=at(days_ago(2))) == 0
    assert await compactor.compact_all(deps, user) == 1
    assert await compactor.compact_all(deps, user, as_of=at(days_ago(-100))) > 4
    assert levels_of(connection, user).keys() == {3}


async def test_a_single_child_is_copied(deps: Deps, connection: Connection) -> None:
    """No model is asked for it."""
    user = uuid4()
    remember(connection, user, [(at(days_ago(5)), "Alma lives in Lisbon.")])
    assert await compactor.compact_all(deps, user) == 1
    (record,) = open_records(connection, user)
    assert (record["level"], record["summary"]) == (1, "Alma lives in Lisbon.")
    assert connection.execute("select calls, provider from compactions").fetchall() == [{"calls": 0, "provider": None}]


async def test_what_came_late_is_merged_with_what_is_there(deps: Deps, connection: Connection) -> None:
    """An import of old talk into merged days, weeks and months."""
    user = uuid4()
    remember_days(connection, user, 120)
    await compactor.compact_all(deps, user)
    before = levels_of(connection, user)
    old = [5, 9, 20, 33, 40, 70, 100, 119]
    remember(connection, user, [(at(days_ago(day), 20), f"Late news of {day} days ago.") for day in old])
    assert levels_of(connection, user)[0] == before[0] + len(old)
    assert await compactor.compact_all(deps, user)
    assert levels_of(connection, user) == before
    assert_each_log_stands_once(connection, user)


async def test_two_compactors_at_once(deps: Deps, connection: Connection, database: str) -> None:
    """Whoever is second with a group finds it done; together they do all of it once."""
    users = [uuid4() for _ in range(5)]
    for user in users:
        remember_days(connection, user, 60)
    groups = await due_groups(deps.db)
    children = [await read_children(deps.db, group) for group in groups]
    made = await compactor.compact_all(deps)
    for group, old in zip(groups, children, strict=True):
        assert await compact(deps.db, group, old, "Too late.", False, {}) is None
    assert made == connection.execute("select from compactions").rowcount
    more = [uuid4() for _ in range(5)]
    for user in more:
        remember_days(connection, user, 60)
    async with open_database(database, 4, "second") as db:
        other = Deps(db, deps.settings, deps.models)
        made_by = await asyncio.gather(compactor.compact_all(deps), compactor.compact_all(other))
    assert sum(made_by) == made
    for user in [*users, *more]:
        assert levels_of(connection, user) == levels_of(connection, users[0])
        assert_each_log_stands_once(connection, user)


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happens_in_whatever_order(deps: Deps, connection: Connection, seed: int) -> None:
    """Imports into any time, compaction as of any time, runs that failed and are retried: each log in one record."""
    chance, user, engine = Random(seed), uuid4(), Engine(connection)
    day = days_ago(0)
    for _ in range(25):
        match chance.choice(("import", "import", "compact", "compact", "fail", "retry")):
            case "import":
                times = [at(days_ago(chance.randrange(1, 200)), chance.randrange(24)) for _ in range(5)]
                remember(connection, user, [(time, sentence(chance.randrange(999))) for time in times])
            case "compact":
                await compactor.compact_all(deps, user, at(day + timedelta(chance.randrange(-90, 90))))
            case "fail":
                insert(connection, user, sentence(chance.randrange(999)))
                while runs := engine.claim():
                    engine.step(0, [failed(run) for run in runs])
            case "retry":
                connection.execute("select maas_retry_run(id) from pipeline_runs where status = 'FAILED'")
                while runs := engine.claim():
                    for run in runs:
                        engine.complete(run)
                    engine.step(0, [engine.archived(run) for run in runs])
        assert_each_log_stands_once(connection, user)
        twice = """select from lsm_storage
                   where user_id = %s and superseded_at is null and not is_provisional and level > 0
                   group by level, maas_bucket(level, time_bucket_end) having count(*) > 1"""
        assert connection.execute(twice, (user,)).fetchall() == []
    await compactor.compact_all(deps, user, at(day + timedelta(200)))
    assert levels_of(connection, user).keys() == {3}


async def test_old_talk_is_found_by_the_record_of_its_month(deps: Deps, connection: Connection) -> None:
    """The Analyzer's candidates: the living record, with the score of the turn; as of then, that of the exchange."""
    user = uuid4()
    remember_days(connection, user, 150)
    (exchange,) = remember(connection, user, [(at(days_ago(140), 3), "The walrus is called Gustav.")])
    await compactor.compact_all(deps, user)
    turns = rank(await gather_evidence(deps.db, user, "What is the walrus called?"), limit=50)
    best = (await summaries_of_messages(deps.db, user, turns))[0]
    (row,) = connection.execute("select level, raw_log_ids from lsm_storage where id = %s", (best.id,)).fetchall()
    assert row["level"] == 3 and turns[0].id in row["raw_log_ids"]
    assert best.score > 0.5 and "-Month-" in best.period
    then = (await summaries_of_messages(deps.db, user, turns, as_of=at(days_ago(0))))[0]
    assert (then.id, then.score) == (exchange, best.score)
    assert await summaries_of_messages(deps.db, user, turns, as_of=at(days_ago(300))) == []
    assert len(await summaries_of_messages(deps.db, user, [])) == analyzer.MAX_CANDIDATES


async def test_a_group_that_cannot_be_merged_stops_no_other(
    deps: Deps, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is logged and stays as it was."""
    user, poisoned = uuid4(), uuid4()
    for one in (user, poisoned):
        remember_days(connection, one, 4)
    connection.execute(
        f"""create function refuse() returns trigger language plpgsql as $$ begin raise 'poisoned'; end $$;
            create trigger refuse before insert on lsm_storage for each row
              when (new.user_id = '{poisoned}' and new.level = 1) execute function refuse()"""
    )
    assert await compactor.compact_all(deps) == 1
    assert (levels_of(connection, user)[1], levels_of(connection, poisoned)) == (1, {0: 8})
    assert "compaction_failed" in capsys.readouterr().out


async def test_only_who_archives_compacts(stack: Stack) -> None:
    """Not a process without the Archivist, not one whose settings forbid it."""

    async def background_tasks(stages: tuple[str, ...] = (), **changed: object) -> set[str]:
        async with open_database(stack.dsn, 1, "test") as db:
            deps = Deps(db, load_settings(**changed), RoleModels({}, BuiltinModel()))
            return set(choose_background_tasks(deps, choose_stages(stages), None))

    assert "compactor" in await background_tasks()
    assert "compactor" not in await background_tasks(("analyzer", "final_responder"))
    assert "compactor" not in await background_tasks(compact_every=0)


def test_an_orchestrator_compacts_and_sources_stay(stack: Stack, user: UUID) -> None:
    """In the background; the month of hundreds of logs gives each of them, oldest first."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        first = days_ago(100).replace(day=8)
        said = [(at(first + timedelta(n % 14), n // 20), sentence(n)) for n in range(400)]
        remember(connection, user, said)
        process = stack.start_orchestrator(MAAS_COMPACT_EVERY="0.1")
        poll(lambda: levels_of(connection, user) == {3: 1}, 30)
        stack.stop(process)
    (memory,) = stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"]
    assert memory["period"] == f"{first:%Y-Month-%m}" and len(memory["raw_log_ids"]) == 400
    sources = stack.client.get(f"/v1/memories/{memory['id']}/sources").json()["results"]
    times = [source["occurred_at"] for source in sources]
    assert times == sorted(times)
    assert Counter(source["content"] for source in sources) == Counter(text for _, text in said)
    assert [source["id"] for source in sources] == memory["raw_log_ids"]


def test_summaries_are_listed_by_when_it_was_said(stack: Stack, user: UUID) -> None:
    """What is imported of old stands behind today, whenever it came; a page goes on where the last one ended."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        for day in (2, 900, 1, 400):
            remember(connection, user, [(at(days_ago(day), hour), f"{day} days ago, {hour}") for hour in (9, 10)])
    listed: list[str] = []
    place: str | None = ""
    while place is not None:
        params = {"user_id": str(user), "limit": "3"} | ({"before": place} if place else {})
        page = stack.client.get("/v1/memories", params=params).json()
        listed += [one["memory"] for one in page["results"]]
        place = page["next"]
    assert listed == [f"{day} days ago, {hour}" for day in (1, 2, 400, 900) for hour in (10, 9)]


def test_compact_command(stack: Stack, user: UUID) -> None:
    """One user, then everybody; nothing is left to do."""
    other = uuid4()
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        for one in (user, other):
            remember(connection, one, [(at(days_ago(5), hour), sentence(hour)) for hour in range(3)])
        done = maas(stack, "compact", "--user", str(user))
        assert (done.returncode, done.stdout) == (0, "1 summaries created from older ones\n"), done.stderr
        assert "summaries merged" in done.stderr
        assert maas(stack, "compact", "--user", str(user)).stdout == "nothing is due\n"
        assert (levels_of(connection, user), levels_of(connection, other)) == ({1: 1}, {0: 3})
        assert maas(stack, "compact").returncode == 0
        assert levels_of(connection, other) == {1: 1}
    assert maas(stack, "compact", "--user", "nobody").returncode == 1
