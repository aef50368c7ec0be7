"""Following a run over HTTP: everything once, in order, from any event on, whatever the reader does."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow
from pytest_httpserver import HTTPServer

from maas.engine.events import EventLog, EventType, RunEvents
from maas.http.server_sent_events import server_sent_events
from maas.runs.event_stream import Cursor, EventStream
from maas.runs.run_watcher import RunWatcher
from shared.db import open_database
from tests.model_server import ModelServer
from tests.sql.engine import Engine, failed, insert
from tests.sse import SseEvent, followed, read_events
from tests.stack import NOBODY, Stack

WAY = ["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED"]


def statuses(events: list[SseEvent]) -> list[str]:
    return [one.data["status"] for one in events if one.type == "status"]


def words(events: list[SseEvent]) -> str:
    return "".join(one.data["delta"] for one in events if one.type == "text")


def test_a_run_is_followed_to_its_answer(stack: Stack, user: UUID) -> None:
    run_id = stack.ask(user, "My tulips are called Anna.")
    events = read_events(stack, run_id)
    assert statuses(events) == WAY
    assert events[-1].type == "done"
    assert events[-1].data["final_answer"] == stack.answer(run_id)["final_answer"]
    places = [Cursor.parse(one.id) for one in events]
    assert places == sorted(set(places))
    assert read_events(stack, run_id) == events


def test_every_event_is_a_place_to_go_on_from(stack: Stack, user: UUID) -> None:
    run_id = stack.ask(user, "My roses are called Bert.")
    events = read_events(stack, run_id)
    for number, one in enumerate(events[:-1], 1):
        assert read_events(stack, run_id, one.id) == events[number:]
    path = f"/v1/runs/{run_id}/events"
    assert stack.client.get(path, params={"last_event_id": events[-2].id}).text.startswith(f"id: {events[-1].id}\n")
    finished = stack.client.get(path, headers={"last-event-id": events[-1].id})
    assert (finished.status_code, finished.text) == (204, "")


@pytest.mark.parametrize(
    ("run_id", "last", "status", "code"),
    [
        (str(NOBODY), "", 404, "not_found"),
        ("no-uuid", "", 404, "not_found"),
        ("", "7", 400, "bad_parameter"),
        ("", "1.2.3.4", 400, "bad_parameter"),
        ("", "1.2.9999999999", 400, "bad_parameter"),
        ("", "1.-2.3", 400, "bad_parameter"),
    ],
)
def test_bad_request_gets_one_error(stack: Stack, user: UUID, run_id: str, last: str, status: int, code: str) -> None:
    path = f"/v1/runs/{run_id or stack.ask(user, 'hello there')}/events"
    for reply in (
        stack.client.get(path, headers={"last-event-id": last}),
        stack.client.get(path, params={"last_event_id": last}),
    ):
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


async def test_what_is_said_arrives_while_the_run_is_in_flight(bare: Stack, engine: Engine) -> None:
    """Text, tools and approvals in the order in which they were written, behind the statuses before them."""
    run_id = insert(engine.connection)
    (run,) = engine.claim()
    with followed(bare, run_id) as stream_of_run:
        assert [next(stream_of_run).data["status"] for _ in range(2)] == ["NEW", "ANALYZING"]
        for _ in range(4):
            engine.advance(run)
        assert [next(stream_of_run).data["status"] for _ in range(4)] == WAY[2:6]
        async with open_database(bare.dsn, 2, "test") as db, RunEvents(EventLog(db), run_id, run["attempt"]) as events:
            events.text("Let me ")
            events.text("look.")
            await events.emit(EventType.TOOL_START, {"name": "get_leads"})
            first = await asyncio.to_thread(lambda: [next(stream_of_run) for _ in range(2)])
            await events.emit(EventType.TOOL_RESULT, {"name": "get_leads", "ok": True})
            await events.emit(EventType.APPROVAL_REQUIRED, {"name": "delete_lead"})
            events.text("Да\x00, done.\nBye.")
        engine.advance(run, "Let me look.")
        rest = list(stream_of_run)
    assert [(one.type, one.data) for one in first] == [
        ("text", {"delta": "Let me look.", "attempt": "1.0"}),
        ("tool_start", {"name": "get_leads"}),
    ]
    assert [one.type for one in rest] == ["tool_result", "approval_required", "text", "status", "done"]
    assert rest[2].data["delta"] == "Да, done.\nBye."
    assert read_events(bare, run_id, first[0].id) == [first[1], *rest]


async def test_a_replay_longer_than_a_page_loses_nothing(bare: Stack, engine: Engine) -> None:
    run_id = insert(engine.connection)
    (run,) = engine.claim()
    pieces = [f"{number:04}" for number in range(350)]
    async with open_database(bare.dsn, 2, "test") as db:
        log = EventLog(db)
        for piece in pieces:
            await log.add(run_id, run["attempt"], EventType.TEXT, {"delta": piece})
    engine.complete(run)
    events = read_events(bare, run_id)
    assert words(events) == "".join(pieces)
    assert (statuses(events), events[-1].type) == (WAY, "done")
    assert words(read_events(bare, run_id, events[200].id)) == words(events[201:])


async def test_a_new_try_begins_anew(bare: Stack, engine: Engine) -> None:
    run_id = insert(engine.connection)
    (run,) = engine.claim()
    async with open_database(bare.dsn, 2, "test") as db:
        log = EventLog(db)
        await log.add(run_id, 1, EventType.TEXT, {"delta": "first try"})
        engine.step(done=[failed(run)])
        before = read_events(bare, run_id)
        assert (before[-1].type, before[-1].data) == ("error", {"code": "test", "message": "on purpose"})
        engine.connection.execute("select maas_retry_run(%s)", (run_id,))
        (run,) = engine.claim()
        await log.add(run_id, run["attempt"], EventType.TEXT, {"delta": "second try"})
        engine.complete(run)
    after = read_events(bare, run_id)
    assert (words(after), statuses(after)) == ("second try", WAY)
    assert [(one.type, one.data) for one in read_events(bare, run_id, before[-1].id)] == [
        (one.type, one.data) for one in after
    ]


def test_a_cancel_before_anybody_works_on_it(bare: Stack, engine: Engine, user: UUID) -> None:
    run_id = bare.ask(user, "Never mind.")
    with followed(bare, run_id) as events:
        assert next(events).data["status"] == "NEW"
        assert bare.client.post(f"/v1/runs/{run_id}/cancel").status_code == 202
        engine.step()
        rest = list(events)
    assert statuses(rest) == ["FAILED"]
    assert (rest[-1].type, rest[-1].data["code"]) == ("error", "cancelled")


def test_an_erased_run_ends_its_stream(bare: Stack, user: UUID) -> None:
    run_id = bare.ask(user, "Forget me.")
    with followed(bare, run_id) as events:
        next(events)
        bare.client.delete(f"/v1/users/{user}")
        (last,) = events
    assert (last.type, last.data["code"]) == ("error", "erased")


def test_who_leaves_cancels_nothing(bare: Stack, engine: Engine, user: UUID) -> None:
    run_id = bare.ask(user, "I will be gone.")
    (run,) = engine.claim()
    with followed(bare, run_id) as events:
        last = next(events)
    engine.complete(run)
    row = bare.rows("select status, cancel_requested_at from pipeline_runs where id = %s", run_id)[0]
    assert (row["status"], row["cancel_requested_at"]) == ("COMPLETED", None)
    assert statuses(read_events(bare, run_id, last.id)) == WAY[1:]


async def test_a_reader_who_does_not_read_holds_nobody_up(bare: Stack, engine: Engine) -> None:
    """More than all buffers take is written and the run is ended before the first byte is read; then all is there."""
    run_id = insert(engine.connection)
    (run,) = engine.claim()
    padding = "x" * 8192
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(30)
        reader.connect(("127.0.0.1", bare.port))
        reader.sendall(f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        async with open_database(bare.dsn, 2, "test") as db:
            log = EventLog(db)
            texts = ({"delta": f"<{number}>{padding}"} for number in range(1500))
            await asyncio.gather(*(log.add(run_id, 1, EventType.TEXT, text) for text in texts))
        engine.complete(run)
        assert len(read_events(bare, run_id, "1.0.1490")) == 10 + len(WAY) + 1
        received = bytearray()
        while b"event: done" not in received[-500:]:
            chunk = reader.recv(1 << 16)
            assert chunk, "the stream ended too early"
            received += chunk
    numbers = [int(number) for number in re.findall(rb"<(\d+)>", received)]
    assert numbers == list(range(1500))


def test_a_server_that_ends_lets_its_followers_go(database: str, tmp_path: Path, engine: Engine, user: UUID) -> None:
    """The stream ends without an end; at the next server it goes on where it was."""
    with Stack(database, tmp_path) as stack:
        server = stack.start_server()
        run_id = stack.ask(user, "Do not wait for me.")
        with followed(stack, run_id) as events:
            last = next(events)
            began = time.monotonic()
            stack.stop(server)
            assert time.monotonic() - began < 4
            assert list(events) == []
        assert "Traceback" not in stack.log()
        stack.start_server()
        (run,) = engine.claim()
        engine.complete(run)
        rest = read_events(stack, run_id, last.id)
        assert (statuses(rest), rest[-1].type) == (WAY[1:], "done")


def test_a_lost_listener_loses_no_event(bare: Stack, engine: Engine, user: UUID) -> None:
    """Every connection of the server is cut while somebody follows."""
    run_id = bare.ask(user, "Hold the line.")
    (run,) = engine.claim()
    with followed(bare, run_id) as events:
        assert next(events).data["status"] == "NEW"
        bare.rows("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'maas server%%'")
        engine.complete(run)
        rest = list(events)
    assert (statuses(rest), rest[-1].type) == (WAY[1:], "done")


async def test_a_silent_run_keeps_its_connection(database: str, connection: psycopg.Connection[DictRow]) -> None:
    """A comment when nothing was sent for a while; whoever stops reading is forgotten."""
    run_id = insert(connection)
    async with open_database(database, 2, "test") as db:
        following, watcher = EventStream(db), RunWatcher(db, database)
        first = await following.read(run_id, Cursor())
        assert first is not None
        lines = server_sent_events(following, watcher, run_id, first, keep_alive_s=0.05)
        assert (await anext(lines)).startswith("id: 1.1.0\nevent: status\n")
        assert [await anext(lines) for _ in range(2)] == [": still here\n\n"] * 2
        assert watcher.watched_runs == 1
        await lines.aclose()
        assert watcher.watched_runs == 0


@pytest.fixture
def models(httpserver: HTTPServer) -> Iterator[ModelServer]:
    models = ModelServer(httpserver)
    yield models
    models.close()


@pytest.fixture
def streaming(database: str, tmp_path: Path, models: ModelServer) -> Iterator[Stack]:
    """Server and orchestrator, every role asking a model that streams."""
    with Stack(database, tmp_path) as stack:
        stack.start_server()
        stack.start_orchestrator(**models.settings())
        yield stack


def test_an_answer_is_read_while_the_model_speaks(streaming: Stack, models: ModelServer, user: UUID) -> None:
    """The words are with the reader before the model has said the last one; the whole is what was streamed."""
    models.replies["responder"] = "The heron is called Gustav, I think."
    models.pause("responder")
    run_id = streaming.ask(user, "What is it called?")
    with followed(streaming, run_id) as received:
        first = next(one for one in received if one.type == "text")
        assert first.data == {"delta": "The heron is called Gustav, I ", "attempt": "1.1"}
        assert streaming.rows("select status from pipeline_runs where id = %s", run_id)[0]["status"] == "RESPONDING"
        models.release("responder")
        rest = list(received)
    assert words([first, *rest]) == rest[-1].data["final_answer"] == models.replies["responder"]
    (call,) = streaming.rows("select * from llm_calls where run_id = %s and stage = 'final_responder'", run_id)
    assert (call["tokens_in"], call["tokens_out"], call["finish"], call["attempts"]) == (11, 7, "stop", 1)
    assert 0 < call["first_ms"] < call["ms"]


def test_an_answer_that_is_there_at_once_is_sent_whole(streaming: Stack, models: ModelServer, user: UUID) -> None:
    run_id = streaming.ask(user, "Hello?")
    events = read_events(streaming, run_id)
    whole: dict[str, object] = {
        "final_answer": "A model answered.",
        "limited": None,
        "memory": "ok",
        "memory_reasons": [],
    }
    assert events[-1].data == whole
    assert words(events) in ("", "A model answered.")  # on a slow machine it takes more than a moment


def test_a_cancelled_answer_is_kept_as_far_as_it_was_written(streaming: Stack, models: ModelServer, user: UUID) -> None:
    """It is not read to its end, and the exchange is remembered."""
    models.replies["responder"] = "A long story, part one."
    models.pause("responder")
    run_id = streaming.ask(user, "Tell me.")
    with followed(streaming, run_id) as received:
        assert next(one for one in received if one.type == "text").data["delta"] == "A long story, part "
        assert streaming.client.post(f"/v1/runs/{run_id}/cancel").status_code == 202
        rest = list(received)
    assert (rest[-1].type, rest[-1].data["limited"]) == ("done", "stopped")
    assert rest[-1].data["final_answer"] == "A long story, part"
    models.release("responder")
    streaming.wait_archived(run_id)
    kept = streaming.rows(
        "select content from raw_logs where run_id = %s and archived_at is not null order by seq", run_id
    )
    assert [one["content"] for one in kept] == ["Tell me.", "A long story, part"]
    (call,) = streaming.rows("select * from llm_calls where run_id = %s and role_name = 'FinalResponder'", run_id)
    assert (call["finish"], call["attempts"]) == ("stopped", 1) and call["tokens_in"] > 100 and call["tokens_out"] > 3
    assert streaming.client.post(f"/v1/runs/{run_id}/cancel").status_code == 409


def test_who_wants_no_stream_has_none(database: str, tmp_path: Path, models: ModelServer, user: UUID) -> None:
    with Stack(database, tmp_path) as stack:
        stack.start_server()
        stack.start_orchestrator(**models.settings(), MAAS_STREAM="off")
        assert read_events(stack, stack.ask(user, "Hello?"))[-1].data["final_answer"] == "A model answered."
    assert not any(request.get("stream") for request in models.requests)


async def test_an_answer_that_begins_anew_says_so(bare: Stack, engine: Engine) -> None:
    """What a broken attempt has said is void: the pieces of the next one bear another number."""
    run_id = insert(engine.connection)
    (run,) = engine.claim()
    async with open_database(bare.dsn, 2, "test") as db, RunEvents(EventLog(db), run_id, run["attempt"]) as events:
        events.begin()
        events.text("The heron ")
        await events.flush()
        events.text("is never written")
        events.begin()
        events.text("It is called Gustav.")
    engine.complete(run)
    received = [(one.data["attempt"], one.data["delta"]) for one in read_events(bare, run_id) if one.type == "text"]
    assert received == [("1.1", "The heron "), ("1.2", "It is called Gustav.")]
