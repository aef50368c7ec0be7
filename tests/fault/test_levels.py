"""Compaction broken in the middle: killed, answered late, badly or not at all. Nothing lost, nothing twice."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from tests.model_server import ModelServer
from tests.polling import poll
from tests.remembering import assert_each_log_stands_once, at, days_ago, levels_of, open_records, remember
from tests.stack import Stack

Connection = psycopg.Connection[DictRow]
SECRET = "The heron is called Gustav."


@pytest.fixture
def connection(stack: Stack) -> Iterator[Connection]:
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def settings(models: ModelServer, **others: str) -> dict[str, str]:
    return models.settings() | {"MAAS_COMPACT_EVERY": "0.05"} | others


def remember_days(connection: Connection, user: UUID, days: int) -> None:
    """Two exchanges a day, all of them due, and one of today."""
    places = [(day, hour) for day in range(3, days) for hour in (9, 17)]
    said = [(at(days_ago(day), hour), f"The heron came at {hour}, day {day}.") for day, hour in places]
    remember(connection, user, [*said, (at(days_ago(0), 0), "Something new.")])


def is_done(connection: Connection, user: UUID) -> bool:
    return (
        levels_of(connection, user)[0] == 1
        and not connection.execute(
            "select from lsm_storage where superseded_at is null and level in (0, 1) and user_id = %s"
            " and time_bucket_end <= maas_due_until(level + 1, maas_day(now()))",
            (user,),
        ).fetchall()
    )


def test_kill_between_reading_and_committing(stack: Stack, models: ModelServer, connection: Connection) -> None:
    """kill -9 during the model call, while many users are due; another process does all of it, once."""
    users = [uuid4() for _ in range(4)]
    for user in users:
        remember_days(connection, user, 20)
    models.replies["archivist"] = json.dumps({"summary": "The heron came often."})
    for _ in range(2):
        models.hold("archivist")
        before = models.calls["archivist"]
        process = stack.start_orchestrator(**settings(models))
        poll(lambda before=before: models.calls["archivist"] > before)  # type: ignore[misc]
        stack.stop(process, signal.SIGKILL)
        models.release("archivist")
        for user in users:
            assert_each_log_stands_once(connection, user)
        goal = len(stack.rows("select from compactions")) + 10
        process = stack.start_orchestrator(**settings(models))
        poll(lambda goal=goal: len(stack.rows("select from compactions")) >= goal, 30)  # type: ignore[misc]
        stack.stop(process, signal.SIGKILL)
        for user in users:
            assert_each_log_stands_once(connection, user)
    stack.start_orchestrator(**settings(models))
    stack.start_orchestrator(**settings(models))
    poll(lambda: all(is_done(connection, user) for user in users), 60)
    for user in users:
        assert_each_log_stands_once(connection, user)
        assert levels_of(connection, user) == levels_of(connection, users[0])
    assert len(stack.rows("select from compactions")) == len(stack.rows("select from lsm_storage where level > 0"))


def test_nobody_waits_for_it(stack: Stack, models: ModelServer, connection: Connection, user: UUID) -> None:
    """The user whose days are being merged is answered and archived meanwhile; no connection is held."""
    remember_days(connection, user, 4)
    models.release("archivist", keeping="heron")
    stack.start_server()
    stack.start_orchestrator(**settings(models, MAAS_POOL_SIZE="2"))
    poll(lambda: models.calls["archivist"] == 1)
    run_id = stack.ask(user, "What is a quark?")
    stack.wait_archived(run_id)
    assert stack.rows("select from compactions") == []
    busy = "select from pg_stat_activity where application_name = 'maas orchestrator' and state <> 'idle'"
    poll(lambda: stack.rows(busy) == [])


def test_the_model_is_shown_records_and_its_word_counts(
    stack: Stack, models: ModelServer, connection: Connection, user: UUID
) -> None:
    """From the children's summaries alone, by the prompt that is in force; what it cost is a row."""
    records = remember(connection, user, [(at(days_ago(5)), SECRET), (at(days_ago(5), 12), "It eats <fish> & frogs.")])
    connection.execute("update lsm_storage set summary = 'A bird was named.' where id = %s", (records[0],))
    anew = "update system_prompts set prompt_template = 'Anew: ' || prompt_template where role_name = 'Compactor'"
    connection.execute(anew)
    models.replies["archivist"] = "Here it is: " + json.dumps(
        {"summary": "".join(f"Gustav, a heron,\neats fish {n}. " for n in range(100))}
    )
    stack.start_orchestrator(**settings(models))
    poll(lambda: levels_of(connection, user) == {1: 1})
    prompt, repair = models.prompts("archivist")
    assert "too long by 407 words: shorten it, to 60 words in all" in repair
    assert prompt.startswith("Anew: ") and "A bird was named." in prompt
    assert "It eats &lt;fish&gt; &amp; frogs." in prompt
    assert SECRET not in prompt and "{" not in prompt.partition("Верни только JSON")[0]
    (record,) = open_records(connection, user)
    assert record["summary"].startswith("Gustav, a heron, eats fish 0. Gustav")
    assert 50 < len(record["summary"].split()) <= 60
    assert record["is_degraded"] is False
    (cost,) = stack.rows("select * from compactions")
    assert cost.pop("ms") > 0 and cost.pop("created_at")
    assert cost == {
        "record_id": record["id"],
        "user_id": user,
        "level": 1,
        "children": 2,
        "provider": "openai",
        "model": "archivist",
        "prompt_version": 2,
        "calls": 2,
        "tokens_in": 22,
        "tokens_out": 14,
        "days": 1,
        "left_out": [],
    }
    assert stack.rows("select from llm_calls") == []
    poll(lambda: stack.rows("select from token_usage where user_id = %s and tokens = 36", user), what="it is counted")


def test_a_user_who_has_spent_the_day_gets_summaries_by_rule(
    stack: Stack, models: ModelServer, connection: Connection, user: UUID
) -> None:
    remember(connection, user, [(at(days_ago(5)), SECRET), (at(days_ago(5), 12), "It eats 12 frogs a day.")])
    connection.execute("insert into token_usage values (%s, maas_day(now()), 60, 0)", (user,))
    stack.start_orchestrator(**settings(models), MAAS_USER_DAILY_TOKENS="60")
    poll(lambda: levels_of(connection, user) == {1: 1})
    (record,) = open_records(connection, user)
    assert record["is_degraded"] and models.calls["archivist"] == 0


@pytest.mark.parametrize("fault", ["silent", "refused", "nonsense", "empty"])
def test_without_a_usable_reply_the_rules_merge(
    stack: Stack, models: ModelServer, connection: Connection, user: UUID, fault: str
) -> None:
    """One repair for a reply that is none; then the most telling sentences, marked as degraded."""
    remember(connection, user, [(at(days_ago(5)), SECRET), (at(days_ago(5), 12), "It eats 12 frogs a day.")])
    models.replies["archivist"] = {"nonsense": "I would rather not.", "empty": '{"summary": " "}'}.get(fault, "")
    if fault == "refused":
        models.statuses["archivist"] = 401
    if fault == "silent":
        models.hold("archivist")
    stack.start_orchestrator(**settings(models, MAAS_ARCHIVIST_TIMEOUT="1"))
    poll(lambda: levels_of(connection, user) == {1: 1})
    (record,) = open_records(connection, user)
    assert record["is_degraded"] and record["summary"] == f"{SECRET} It eats 12 frogs a day."
    assert_each_log_stands_once(connection, user)
