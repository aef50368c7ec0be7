"""Following a user over HTTP: every change of every run once, from any event on, and nobody else's."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from psycopg.rows import dict_row

from maas.http.server_sent_events import KEEP_ALIVE_COMMENT, to_lines
from maas.runs.run_watcher import RunWatcher, watch_user
from maas.runs.user_events import UserEventStream, UserRead
from maas.users import NewKey, create_key
from shared.db import Database, open_database
from shared.query import AnyQuery
from tests.polling import poll
from tests.sql.engine import Engine, insert
from tests.sse import SseEvent, parse
from tests.stack import Stack


@contextmanager
def followed(stack: Stack, user: UUID, last: str = "", **headers: str) -> Iterator[Iterator[SseEvent]]:
    """The events of a user as they come; the connection is closed at the end."""
    headers |= {"last-event-id": last} if last else {}
    with (
        httpx2.Client(base_url=stack.client.base_url, timeout=30, trust_env=False, verify=False) as client,
        client.stream("GET", f"/v1/users/{user}/events", headers=headers) as reply,
    ):
        assert reply.status_code == 200, reply.read()
        assert reply.headers["content-type"].startswith("text/event-stream")
        yield parse(reply.iter_lines())


def take(events: Iterator[SseEvent], last: UUID, status: str, archive: str | None = None) -> list[SseEvent]:
    """The events up to the one in which this run has this state."""
    taken = []
    for event in events:
        taken.append(event)
        data = event.data
        if data["request_id"] == str(last) and data["status"] == status and archive in (None, data["archive_status"]):
            break
    return taken


def test_every_run_of_a_user_is_followed_to_its_end(bare: Stack, engine: Engine, user: UUID) -> None:
    conversation = uuid4()
    with followed(bare, user) as events:
        first = bare.ask(user, "My tulips are called Anna.", conversation_id=str(conversation))
        (event,) = take(events, first, "NEW")
        assert (event.type, event.data | {"at": ""}) == (
            "run",
            {
                "request_id": str(first),
                "conversation_id": str(conversation),
                "kind": "ask",
                "status": "NEW",
                "archive_status": "PENDING",
                "at": "",
            },
        )
        insert(engine.connection, query="somebody else's")
        second = insert(engine.connection, user, "from SQL")
        take(events, second, "NEW")
        run = next(run for run in engine.claim() if run["user_id"] == user)
        take(events, first, "ANALYZING")
        engine.complete(run)
        take(events, first, "COMPLETED")
        engine.step(done=[engine.archived(run)])
        together = [next(events), next(events)]
    states = {one.data["request_id"]: (one.data["status"], one.data["archive_status"]) for one in together}
    assert states == {str(first): ("COMPLETED", "ARCHIVED"), str(second): ("ANALYZING", "PENDING")}


def test_every_event_is_a_place_to_go_on_from(bare: Stack, engine: Engine, user: UUID) -> None:
    """Runs of one statement, too: what was sent is not sent again, what was not is sent once."""
    with followed(bare, user) as events:
        engine.connection.execute(
            "insert into pipeline_runs (user_id, user_query) select %s, 'q' || n from generate_series(1, 5) n", (user,)
        )
        together = [next(events) for _ in range(5)]
        single = [insert(engine.connection, user, f"s{number}") for number in range(3)]
        events_of_single = [take(events, run_id, "NEW")[-1] for run_id in single]
    everything = together + events_of_single
    assert len({one.id for one in everything}) == len({one.data["request_id"] for one in everything}) == 8
    last = insert(engine.connection, user, "the last")
    other = uuid4()
    with followed(bare, other) as others:  # once it tells of this one, the server has heard of all that came before
        take(others, insert(engine.connection, other, "of somebody else"), "NEW")
    for number, event in enumerate(everything, 1):
        with followed(bare, user, event.id) as events:
            rest = take(events, last, "NEW")
        expected = [one.data["request_id"] for one in everything[number:]] + [str(last)]
        assert [one.data["request_id"] for one in rest] == expected
        with followed(bare, user, rest[-1].id) as events:
            after = insert(engine.connection, user, "one more")
            assert [one.data["request_id"] for one in take(events, after, "NEW")] == [str(after)]
        engine.connection.execute("delete from pipeline_runs where id = %s", (after,))


def test_what_began_earlier_and_committed_later_is_not_missed(bare: Stack, engine: Engine, user: UUID) -> None:
    """Its time is before that of the last event; while somebody follows, and while nobody does."""
    old = insert(engine.connection, user, "an old one")
    with psycopg.connect(bare.dsn, row_factory=dict_row) as slow, psycopg.connect(bare.dsn) as slower:
        early = insert(slow, user, "early")
        slower.execute("select pg_current_xact_id()")
        with slower.transaction():  # an inner transaction: its own id is later than that of the outer one
            (earlier,) = slower.execute(
                "insert into pipeline_runs (user_id, user_query) values (%s, 'e') returning id", (user,)
            )
        with followed(bare, user) as events:
            take(events, old, "NEW")
            newer = insert(engine.connection, user, "newer")
            last = take(events, newer, "NEW")[-1]
            slower.commit()
            assert [one.data["request_id"] for one in take(events, earlier[0], "NEW")] == [str(earlier[0])]
            engine.connection.execute("update pipeline_runs set archive_status = 'SKIPPED' where id = %s", (newer,))
            last = take(events, newer, "NEW", "SKIPPED")[-1]
        slow.commit()
    for _ in range(2):
        with followed(bare, user, last.id) as events:
            assert next(events).data["request_id"] == str(early)
    with followed(bare, user, last.id) as events:
        last = next(events)
        final = insert(engine.connection, user, "final")
        assert [one.data["request_id"] for one in take(events, final, "NEW")] == [str(final)]
    with followed(bare, user, last.id) as events:
        assert next(events).data["request_id"] == str(final)


def test_an_operators_update_arrives_within_a_second(bare: Stack, engine: Engine, user: UUID) -> None:
    """Of an old run, too, behind many newer ones."""
    old = insert(engine.connection, user, "old")
    engine.connection.execute(
        "insert into pipeline_runs (user_id, user_query) select %s, 'q' || n from generate_series(1, 200) n", (user,)
    )
    engine.connection.execute("set maas.maintenance = on")
    engine.connection.execute("update pipeline_runs set queue_state = 2, status = 'FAILED' where user_id = %s", (user,))
    with followed(bare, user) as events, ExitStack() as stack:
        assert next(events).data["status"] == "FAILED"  # the newest alone: no run is unfinished
        run_events = stack.enter_context(_run_events(bare, newest := insert(engine.connection, user, "newest")))
        assert next(run_events).data["status"] == "NEW"
        take(events, newest, "NEW")
        for run_id, status in ((old, "NEW"), (newest, "FAILED")):
            began = time.monotonic()
            engine.connection.execute(
                "update pipeline_runs set status = %s, failed_at = now(), error_code = 'x' where id = %s",
                (status, run_id),
            )
            assert [one.data["request_id"] for one in take(events, run_id, status)] == [str(run_id)]
            if run_id == newest:
                assert next(run_events).type == "status"
            assert time.monotonic() - began < 1


@contextmanager
def _run_events(stack: Stack, run_id: UUID) -> Iterator[Iterator[SseEvent]]:
    with (
        httpx2.Client(base_url=stack.client.base_url, timeout=30, trust_env=False, verify=False) as client,
        client.stream("GET", f"/v1/runs/{run_id}/events") as reply,
    ):
        yield parse(reply.iter_lines())


def test_a_lost_listener_loses_no_change(bare: Stack, engine: Engine, user: UUID) -> None:
    """Every connection of the server is cut while somebody follows; the run that changes is an old one."""
    old = insert(engine.connection, user, "Hold the line.")
    engine.connection.execute(
        "insert into pipeline_runs (user_id, user_query) select %s, 'q' || n from generate_series(1, 100) n", (user,)
    )
    engine.connection.execute("set maas.maintenance = on")
    engine.connection.execute("update pipeline_runs set queue_state = 2 where user_id = %s", (user,))
    with followed(bare, user) as events:
        next(events)
        cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'maas server%'"
        engine.connection.execute(cut.encode())
        engine.connection.execute("update pipeline_runs set status = 'FAILED' where id = %s", (old,))
        assert [one.data["request_id"] for one in take(events, old, "FAILED")] == [str(old)]


@pytest.mark.parametrize(
    "last",
    ["x", "-1", "1.", ".1", "1_2", "1_2_3", "1.2.3_4_" + "g" * 32, "9" * 19, "1" + ".1" * 1001, "1:2:3", "1 2", "١"],
)
def test_what_is_no_event_is_refused(bare: Stack, user: UUID, last: str) -> None:
    path = f"/v1/users/{user}/events"
    replies = [bare.client.get(path, params={"last_event_id": last})]
    if last.isascii():
        replies.append(bare.client.get(path, headers={"last-event-id": last}))
    for reply in replies:
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_parameter")


@pytest.mark.parametrize("last", ["0", "1.1.1", "9" * 18, f"5.3_4_{'f' * 32}", f"{'9' * 18}.1_{'9' * 18}_{'0' * 32}"])
def test_any_cursor_is_a_place_to_go_on_from(bare: Stack, engine: Engine, user: UUID, last: str) -> None:
    run_id = insert(engine.connection, user)
    with followed(bare, user, last) as events:
        engine.connection.execute("update pipeline_runs set archive_status = 'SKIPPED' where id = %s", (run_id,))
        take(events, run_id, "NEW", "SKIPPED")


def test_a_stream_ends_after_its_wait(bare: Stack, engine: Engine, user: UUID) -> None:
    run_id, path = insert(engine.connection, user), f"/v1/users/{user}/events"
    (event,) = parse(iter(bare.client.get(path, params={"wait": 0}).text.split("\n")))
    assert event.data["request_id"] == str(run_id)
    assert bare.client.get(path, params={"wait": 0.2, "last_event_id": event.id}).text == ""
    for wrong in ("-1", "61", "x", "nan", "1_0"):
        assert bare.client.get(path, params={"wait": wrong}).status_code == 400


async def test_strangers_and_limits(database: str, tmp_path: Path, engine: Engine) -> None:
    ann, bob = uuid4(), uuid4()
    with Stack(database, tmp_path, MAAS_AUTH="keys", MAAS_FOLLOWERS="20") as stack:
        stack.start_server()
        async with open_database(database, 1, "test") as db:
            keys = {user: await create_key(db, NewKey("k", user_id=user), "test") for user in (ann, bob)}
            metrics = await create_key(db, NewKey("m", scopes=("metrics",)), "test")
        credentials = {user: f"Bearer {key}" for user, key in keys.items()}
        path = f"/v1/users/{ann}/events"
        for headers, status in (
            ({}, 401),
            ({"authorization": credentials[bob]}, 404),
            ({"authorization": f"Bearer {metrics}"}, 403),
        ):
            assert stack.client.get(path, headers=headers).status_code == status
        first = insert(engine.connection, ann)
        with followed(stack, ann, authorization=credentials[ann]) as events:
            mark = take(events, first, "NEW")[-1].id
            theirs = insert(engine.connection, bob)
            with followed(stack, bob, mark, authorization=credentials[bob]) as of_bob:
                assert [one.data["request_id"] for one in take(of_bob, theirs, "NEW")] == [str(theirs)]
            second = insert(engine.connection, ann)
            assert [one.data["request_id"] for one in take(events, second, "NEW")] == [str(second)]
            with followed(stack, ann, authorization=credentials[ann]):
                reply = stack.client.get(path, headers={"authorization": credentials[ann]})
                assert (reply.status_code, reply.json()["error"]["code"]) == (429, "share_used")
            with followed(stack, bob, authorization=credentials[bob]) as of_bob:
                take(of_bob, theirs, "NEW")
        poll(lambda: _can_follow(stack, path, credentials[ann]), what="the streams that were left are counted no more")


def _can_follow(stack: Stack, path: str, credential: str) -> bool:
    with stack.client.stream("GET", path, headers={"authorization": credential}) as reply:
        return reply.status_code == 200


def test_a_server_that_ends_lets_its_followers_go(database: str, tmp_path: Path, engine: Engine, user: UUID) -> None:
    with Stack(database, tmp_path) as stack:
        server = stack.start_server()
        run_id = insert(engine.connection, user)
        with followed(stack, user) as events:
            last = take(events, run_id, "NEW")[-1]
            began = time.monotonic()
            stack.stop(server)
            assert time.monotonic() - began < 4
            assert list(events) == []
        assert "Traceback" not in stack.log()
        second = insert(engine.connection, user)
        stack.start_server()
        with followed(stack, user, last.id) as events:
            assert next(events).data["request_id"] == str(second)


async def test_silence_is_broken_by_comments(database: str, user: UUID) -> None:
    async with open_database(database, 2, "test") as db:
        stream, watcher = UserEventStream(db), RunWatcher(db, database)
        first = await stream.read(UserRead(user, None))
        async with aclosing(to_lines(watch_user(stream, watcher, user, first, keep_alive_s=0.05))) as lines:
            assert [await anext(lines) for _ in range(3)] == [KEEP_ALIVE_COMMENT] * 3


async def test_a_thousand_followers_share_their_reads(database: str, engine: Engine) -> None:
    """Each gets the change of its own user, and the reads of one moment are a few statements."""
    users = [uuid4() for _ in range(1000)]
    async with open_database(database, 4, "test") as db, AsyncExitStack() as stack:
        statements = _counted(db)
        stream, watcher = UserEventStream(db), RunWatcher(db, database)
        await stack.enter_async_context(watcher.listening())
        firsts = await asyncio.gather(*(stream.read(UserRead(user, None)) for user in users))
        streams = [
            await stack.enter_async_context(aclosing(watch_user(stream, watcher, user, first)))
            for user, first in zip(users, firsts, strict=True)
        ]
        waiting = [asyncio.ensure_future(anext(events)) for events in streams]
        await asyncio.sleep(0)
        while len(statements) < 8:  # the reads of streams that begin
            await asyncio.sleep(0.02)
        before, began = len(statements), time.process_time()
        engine.connection.execute(
            "insert into pipeline_runs (user_id, user_query) select u, 'hello' from unnest(%s::uuid[]) u", (users,)
        )
        async with asyncio.timeout(20):
            pages = await asyncio.gather(*waiting)
        assert len(statements) - before < 100 and time.process_time() - began < 4
    runs = {row["user_id"]: row["id"] for row in engine.connection.execute("select id, user_id from pipeline_runs")}
    for user, page in zip(users, pages, strict=True):
        assert [json.loads(event.data)["request_id"] for event in page] == [str(runs[user])]


def _counted(db: Database) -> list[str]:
    """The names of the statements that this database executes from now on."""
    names, rows = list[str](), db.rows

    async def counting(query: AnyQuery, *args: object) -> object:
        names.append(query)
        return await rows(query, *args)

    db.rows = counting  # type: ignore[method-assign, assignment]
    return names
