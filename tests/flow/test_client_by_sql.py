"""The Python client by SQL: ask, submit and wait without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas import AsyncMaaS, MaaS
from maas.client import InvalidRequest, NotFound, RunFailed, TimedOut, Unavailable, sql
from tests.polling import apoll, poll
from tests.stack import NOBODY, Stack, free_port

CLIENT_WAITS = """select from pg_stat_activity
  where datname = current_database() and state = 'idle' and query like 'select id as request_id%%'"""


@pytest.fixture
def maas(stack: Stack) -> Iterator[MaaS]:
    with MaaS(dsn=stack.dsn) as maas:
        yield maas


@pytest.fixture
def unclaimed(stack: Stack) -> UUID:
    """A run that no orchestrator claims."""
    run_id = uuid4()
    stack.rows(
        f"""begin;
        insert into pipeline_runs (id, user_id, user_query) values ('{run_id}', '{run_id}', 'nobody claims me');
        update pipeline_runs set queue_state = 2 where id = '{run_id}';
        commit"""
    )
    return run_id


def fail(stack: Stack, run_id: UUID, *, silently: bool = False) -> None:
    if silently:
        stack.rows(f"""begin; set local session_replication_role = replica;
            update pipeline_runs set status = 'FAILED', error_code = 'quiet' where id = '{run_id}'; commit""")
    else:
        stack.rows("update pipeline_runs set status = 'FAILED', error_code = 'loud' where id = %s", run_id)


def test_a_row_is_answered_and_remembered(maas: MaaS, stack: Stack, user: UUID) -> None:
    conversation = uuid4()
    request_id = maas.submit(
        "My cat is called Pixel.",
        user_id=user,
        conversation_id=conversation,
        mode="ask",
        metadata={"channel": "web"},
        priority="low",
        run_at=datetime(2026, 1, 2, tzinfo=UTC),
        attributes={"batch": 7},
    )
    assert maas.wait(request_id).conversation_id == str(conversation)
    columns = "source, mode, metadata, priority, run_at, attributes"
    (row,) = stack.rows(f"select {columns} from pipeline_runs where id = %s", UUID(request_id))
    assert row == {
        "source": "sql",
        "mode": "ask",
        "metadata": {"channel": "web"},
        "priority": -1,
        "run_at": datetime(2026, 1, 2, tzinfo=UTC),
        "attributes": {"batch": 7},
    }
    answer = maas.ask("What is my cat called?", user_id=str(user))
    assert "Pixel" in answer.text and answer.sources and answer.status == "COMPLETED"


def test_an_end_is_notified(maas: MaaS, stack: Stack, unclaimed: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    """The poll interval is longer than the test, so only the notification can end the wait."""
    monkeypatch.setattr(sql, "POLL_INTERVAL_S", 60)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(maas.wait, unclaimed, timeout=15)
        poll(lambda: stack.rows(CLIENT_WAITS), what="the client waits")
        fail(stack, unclaimed)
        with pytest.raises(RunFailed, match="loud"):
            waiting.result(10)


def test_an_end_without_a_notification_is_polled(maas: MaaS, stack: Stack, unclaimed: UUID) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(maas.wait, unclaimed, timeout=15)
        poll(lambda: stack.rows(CLIENT_WAITS), what="the client waits")
        fail(stack, unclaimed, silently=True)
        with pytest.raises(RunFailed, match="quiet"):
            waiting.result(10)


def test_listening_ends_with_the_wait(maas: MaaS, stack: Stack, user: UUID) -> None:
    maas.ask("My cat is called Pixel.", user_id=user)
    assert stack.rows("select from pg_stat_activity where datname = current_database() and query like 'unlisten%%'")


def test_an_answer_that_is_late_is_named(maas: MaaS, unclaimed: UUID) -> None:
    with pytest.raises(TimedOut, match=str(unclaimed)):
        maas.wait(unclaimed, timeout=0.1)


def test_a_lost_connection_is_opened_again(maas: MaaS, stack: Stack, user: UUID) -> None:
    maas.ask("My cat is called Pixel.", user_id=user)
    cut = stack.rows(
        """select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and query like 'unlisten%%'"""
    )
    assert cut
    assert "Pixel" in maas.ask("What is my cat called?", user_id=user).text
    assert len(stack.rows("select from pipeline_runs where user_id = %s", user)) == 2


@pytest.mark.parametrize(
    ("query", "fields", "code"),
    [
        ("  ", {}, "invalid_request"),
        ("a\x00b", {}, "invalid_request"),
        ("a", {"assistant": "nobody"}, "unknown_assistant"),
        ("a", {"mode": "wild"}, "invalid_request"),
        ("a", {"priority": "urgent"}, "invalid_request"),
        ("a", {"run_at": "soon"}, "invalid_request"),
        ("a", {"attachment_ids": [NOBODY]}, "not_found"),
        ("a", {"user_id": "ann@example.org"}, "needs_url"),
    ],
)
async def test_an_invalid_request_is_refused_and_changes_nothing(
    maas: MaaS, stack: Stack, user: UUID, query: str, fields: dict[str, Any], code: str
) -> None:
    arguments: dict[str, Any] = {"user_id": user} | fields
    async with AsyncMaaS(dsn=stack.dsn) as other:
        with pytest.raises((InvalidRequest, NotFound)) as refused:
            await asyncio.to_thread(maas.submit, query, **arguments)
        with pytest.raises(type(refused.value)) as refused_too:
            await other.submit(query, **arguments)
    assert (refused.value.code, refused_too.value.code) == (code, code)
    assert not stack.rows("select from pipeline_runs where user_id = %s", user)


def test_the_rest_needs_a_server(maas: MaaS, user: UUID) -> None:
    with pytest.raises(InvalidRequest, match=r"MaaS\(url=...\)"):
        maas.search("cat", user_id=user)
    with pytest.raises(NotFound):
        maas.wait(NOBODY)
    with pytest.raises(InvalidRequest, match="not both"):
        MaaS("http://localhost:8000", dsn="postgresql://localhost/maas")


async def test_no_database_is_one_error() -> None:
    dsn = f"postgresql://maas@127.0.0.1:{free_port()}/maas"
    with MaaS(dsn=dsn, retries=0) as maas, pytest.raises(Unavailable, match="does not answer"):
        maas.submit("a", user_id=NOBODY)
    async with AsyncMaaS(dsn=dsn, retries=0) as other:
        with pytest.raises(Unavailable, match="does not answer"):
            await other.submit("a", user_id=NOBODY)


async def test_many_waiters_share_one_listener(stack: Stack, unclaimed: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "POLL_INTERVAL_S", 60)
    users = [uuid4() for _ in range(20)]
    async with AsyncMaaS(dsn=stack.dsn) as maas:
        async with asyncio.TaskGroup() as group:
            failing = group.create_task(asyncio.wait_for(_failure(maas, unclaimed), 15))
            asked = [group.create_task(maas.ask("My cat is called Pixel.", user_id=user)) for user in users]
            await apoll(lambda: stack.rows(CLIENT_WAITS), what="the client waits")
            fail(stack, unclaimed)
        answers = [task.result() for task in asked]
        assert {answer.status for answer in answers} == {"COMPLETED"} and "loud" in failing.result()
        clients = stack.rows(
            "select application_name from pg_stat_activity where application_name like 'maas client%%'"
        )
        assert [row["application_name"] for row in clients].count("maas client listener") == 1 and len(clients) <= 5


async def _failure(maas: AsyncMaaS, run_id: UUID) -> str:
    with pytest.raises(RunFailed) as failed:
        await maas.wait(run_id)
    return failed.value.code
