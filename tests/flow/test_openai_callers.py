"""Which memory a key gives access to through the OpenAI API, and the errors when there is no answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import openai
import psycopg
import pytest
import uvicorn
from openai import AsyncOpenAI
from psycopg.rows import DictRow
from starlette.requests import Request

from maas.engine.limits import Limits
from maas.http.app import create_app
from maas.http.auth import Principal
from maas.http.auth.access_audit import AccessAudit
from maas.http.openai.completions import stream_completion
from maas.http.server_sent_events import KEEP_ALIVE_COMMENT
from maas.http.shares import Shares
from maas.http.state import AppState, RateLimiter, RequestMetrics
from maas.passthrough.calls import ProviderCalls
from maas.passthrough.models import PassthroughModels
from maas.runs.event_stream import EventStream
from maas.runs.run_watcher import RunWatcher
from maas.runs.submit import Submission, Submitter
from maas.runs.user_events import UserEventStream
from maas.settings import load_settings
from shared.db import open_database
from shared.errors import MaasError
from tests.polling import apoll
from tests.stack import free_port

ANN = UUID(int=1)
CALLERS = {
    "for-ann": Principal("ann", frozenset({"ask", "read"}), user_id=ANN),
    "for-tenant": Principal("tenant", frozenset({"ask", "read"}), prefix="a-"),
    "for-hex": Principal("hex", frozenset({"ask", "read"}), prefix="0"),
    "for-all": Principal("all", frozenset({"ask", "read"})),
    "for-reading": Principal("reader", frozenset({"read"})),
}
Opener = Callable[..., AbstractAsyncContextManager[Callable[[str], AsyncOpenAI]]]


class FixedKeys:
    """An authenticator with a fixed set of keys."""

    async def authenticate(self, request: Request) -> Principal:
        found = CALLERS.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if found is None:
            raise MaasError("unauthenticated", "send a key: Authorization: Bearer ...")
        return found


@pytest.fixture
def opened(database: str) -> Opener:
    """A server over a database without an orchestrator; a client by key."""

    @asynccontextmanager
    async def open_server(**settings: Any) -> AsyncIterator[Callable[[str], AsyncOpenAI]]:
        port = free_port()
        async with (
            open_database(database, 4, "test") as db,
            openai.DefaultAsyncHttpxClient(trust_env=False, verify=False) as http,
        ):
            app = create_app(db, database, load_settings(**settings), FixedKeys())
            server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, access_log=False))
            serving = asyncio.create_task(server.serve())
            await apoll(lambda: server.started)
            url = f"http://127.0.0.1:{port}/v1"
            yield lambda key: AsyncOpenAI(base_url=url, api_key=key, max_retries=2, http_client=http)
            app.state.maas.run_watcher.close()
            server.should_exit = True
            await serving

    return open_server


async def ask(client: AsyncOpenAI, user: str | None, text: str = "Hello.", **more: Any) -> Any:
    messages: list[Any] = [{"role": "user", "content": text}]
    named = {} if user is None else {"user": user}
    return await client.chat.completions.create(model="mentor", messages=messages, **named | more)


async def test_whose_memory_a_key_opens(opened: Opener, connection: psycopg.Connection[DictRow]) -> None:
    """A caller who may not gets the error of a caller who names nobody, and leaves no trace."""
    other = uuid4()
    connection.execute("insert into user_identities values ('api', 'a-lice', %s), ('api', 'ann', %s)", (other, ANN))
    connection.execute("insert into user_identities values ('api', 'bob', %s)", (uuid4(),))
    refused = [
        *(("for-ann", user) for user in (str(other), "bob", "a-lice", "nobody yet", "'; drop table pipeline_runs; --")),
        *(("for-tenant", user) for user in (str(ANN), "bob", "ann", "A-lice", " a-lice", "nobody yet")),
        ("for-hex", str(ANN)),  # it begins like the prefix, and is no name
    ]
    async with opened(openai_wait=0.1) as client_of:
        for key, user in refused:
            with pytest.raises(openai.NotFoundError) as caught:
                await ask(client_of(key), user)
            assert (caught.value.code, caught.value.message.count(user)) == ("not_found", 1), (key, user)
        for key, wrong, code in (
            ("for-tenant", None, "user_required"),
            ("for-all", None, "user_required"),
            ("for-ann", "x" * 201, "bad_user"),
            ("for-tenant", "a-\x00", "bad_user"),
            ("for-tenant", "a-" * 5000, "bad_user"),
        ):
            with pytest.raises(openai.BadRequestError) as bad:
                await ask(client_of(key), wrong)
            assert bad.value.code == code
        with pytest.raises(openai.PermissionDeniedError) as denied:
            await ask(client_of("for-reading"), "ann")
        with pytest.raises(openai.AuthenticationError) as unknown:
            await client_of("wrong").models.list()
        assert "mentor" in {one.id async for one in client_of("for-reading").models.list()}
        assert (denied.value.type, unknown.value.type, unknown.value.code) == (
            "permission_error",
            "authentication_error",
            "invalid_api_key",
        )
        names = [row["external_id"] for row in connection.execute("select external_id from user_identities")]
        assert sorted(names) == ["a-lice", "ann", "bob"]
        assert connection.execute("select from pipeline_runs").fetchall() == []
        allowed = [
            ("for-ann", None),
            ("for-ann", "ann"),
            ("for-ann", str(ANN)),
            ("for-tenant", "a-lice"),
            ("for-tenant", str(other)),
            ("for-all", "bob"),
            ("for-all", str(ANN)),
        ]
        for number, (key, whom) in enumerate(allowed):
            with pytest.raises(openai.InternalServerError):
                await ask(client_of(key), whom, f"Hello {number}.")
    asked = [(row["user_id"], row["caller"]) for row in connection.execute("select * from pipeline_runs order by seq")]
    bob = connection.execute("select user_id from user_identities where external_id = 'bob'").fetchone()
    assert bob is not None
    assert asked == [
        (ANN, "ann"),
        (ANN, "ann"),
        (ANN, "ann"),
        (other, "tenant"),
        (other, "tenant"),
        (bob["user_id"], "all"),
        (ANN, "all"),
    ]


async def test_an_answer_that_does_not_come(opened: Opener, connection: psycopg.Connection[DictRow]) -> None:
    """504 names the run. The client's own retries leave it alone, but with a key, which leads them to the same run."""
    async with opened(openai_wait=0.2, user_queue_limit=2) as client_of:
        client = client_of("for-ann")
        with pytest.raises(openai.InternalServerError) as caught:
            await ask(client, None)
        with pytest.raises(openai.InternalServerError) as again:
            await ask(client, None, extra_headers={"Idempotency-Key": "k"})
        with pytest.raises(openai.RateLimitError) as full:
            await ask(client.with_options(max_retries=0), None, "Something else.")
    first, second = connection.execute("select id from pipeline_runs order by seq").fetchall()
    assert (caught.value.status_code, caught.value.code) == (504, "answer_timeout")
    assert f"/v1/runs/{first['id']}?wait=60" in caught.value.message
    assert f"/v1/runs/{second['id']}?wait=60" in again.value.message
    assert [one.value.request.headers["x-stainless-retry-count"] for one in (caught, again)] == ["0", "2"]
    assert (full.value.code, full.value.type) == ("rate_limit_exceeded", "rate_limit_error")
    assert int(full.value.response.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("code", "error", "status", "named"),
    [
        ("rate_limited", openai.RateLimitError, 429, "rate_limit_exceeded"),
        ("unreachable", openai.InternalServerError, 503, "unreachable"),
        ("too_slow", openai.InternalServerError, 504, "too_slow"),
        ("filtered", openai.BadRequestError, 400, "content_filter"),
        ("context_exceeded", openai.BadRequestError, 400, "context_length_exceeded"),
        ("cancelled", openai.ConflictError, 409, "cancelled"),
        ("bad_draft", openai.InternalServerError, 500, "bad_draft"),
    ],
)
async def test_a_failed_run_is_an_error_of_its_kind_and_asked_once(
    opened: Opener, connection: psycopg.Connection[DictRow], code: str, error: type[Exception], status: int, named: str
) -> None:
    fail = "update pipeline_runs set status = 'FAILED', error_code = %s, error_message = 'why', completed_at = now()"
    async with opened(openai_wait=20) as client_of:
        asking = asyncio.create_task(ask(client_of("for-ann").with_options(max_retries=2), None))
        await apoll(lambda: _count_runs(connection) == 1, what="the run is there")
        connection.execute(fail, (code,))
        with pytest.raises(error) as caught:
            await asking
    assert isinstance(caught.value, openai.APIStatusError)
    assert (caught.value.status_code, caught.value.code) == (status, named) and "why" in caught.value.message
    assert _count_runs(connection) == 1


def _count_runs(connection: psycopg.Connection[DictRow]) -> int:
    (row,) = connection.execute("select count(*)::int as runs from pipeline_runs").fetchall()
    return int(row["runs"])


async def test_a_retry_of_the_client_joins_its_run(opened: Opener, connection: psycopg.Connection[DictRow]) -> None:
    """Whether or not it is marked as one. Another caller's, or another question, is a run of its own."""
    async with opened(openai_wait=20, user_queue_limit=50) as client_of:
        for key, user in (("for-ann", None), ("for-all", str(ANN))):
            with pytest.raises(openai.APITimeoutError) as caught:
                await ask(client_of(key).with_options(timeout=0.4, max_retries=2), user)
        marked = {"x-stainless-retry-count": "1"}
        hurried = client_of("for-ann").with_options(timeout=0.4, max_retries=0)
        others: list[dict[str, Any]] = [
            {"extra_headers": marked, "metadata": {"a": "b"}},
            {"extra_headers": marked | {"Idempotency-Key": "k"}},
            {
                "extra_headers": marked,
                "extra_body": {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Hello."}]},
            },
        ]
        same: list[dict[str, Any]] = [{}, {"extra_headers": {"x-stainless-retry-count": "x"}}]
        for more in (*others, *same):
            with pytest.raises(openai.APITimeoutError):
                await ask(hurried, None, **more)
    callers = [row["caller"] for row in connection.execute("select caller from pipeline_runs order by seq")]
    assert caught.value.request.headers["x-stainless-retry-count"] == "2"
    assert callers == ["ann", "all", *["ann"] * len(others)]


async def test_a_process_that_ends_says_so_in_its_streams(
    opened: Opener, connection: psycopg.Connection[DictRow]
) -> None:
    """And one that streams to as many as it may refuses the next before anything is asked."""
    async with opened(followers=1) as client_of:
        client = client_of("for-ann").with_options(max_retries=0)
        chunks = await ask(client, None, stream=True)
        first = await anext(aiter(chunks))
        assert first.choices[0].delta.role == "assistant"
        with pytest.raises(openai.InternalServerError) as refused:
            await ask(client_of("for-all").with_options(max_retries=0), "bob", stream=True)
        rest = asyncio.create_task(_drain(chunks))
    with pytest.raises(openai.APIError) as caught:
        await rest
    (run,) = connection.execute("select id from pipeline_runs").fetchall()
    assert f"/v1/runs/{run['id']}" in caught.value.message
    assert (refused.value.status_code, refused.value.code) == (503, "busy")


async def test_one_user_leaves_places_to_follow_for_others(opened: Opener) -> None:
    """A key for all users counts for the user whom it names."""
    async with opened(followers=10) as client_of:
        everybodys = client_of("for-all").with_options(max_retries=0)
        streams = []
        for client, user in ((client_of("for-ann").with_options(max_retries=0), None), (everybodys, "bob")):
            streams.append(await ask(client, user, stream=True))
            await anext(aiter(streams[-1]))
            with pytest.raises(openai.RateLimitError) as refused:
                await ask(client, user, stream=True)
            assert refused.value.response.json()["error"]["code"] == "share_used"
        streams.append(await ask(everybodys, "carl", stream=True))
        await anext(aiter(streams[-1]))
        for stream in streams:
            await stream.close()


async def test_silence_is_broken_by_comments(database: str) -> None:
    async with open_database(database, 2, "test") as db:
        state = AppState(
            db,
            db,
            db,
            db,
            load_settings(),
            FixedKeys(),
            Submitter(db),
            Limits(load_settings()),
            RunWatcher(db, database),
            EventStream(db),
            UserEventStream(db),
            RequestMetrics(),
            RateLimiter(),
            Shares.of(load_settings()),
            AccessAudit(db),
            PassthroughModels(load_settings()),
            ProviderCalls(),
        )
        run_id = await state.submissions.submit(Submission(ANN, "Hello."))
        async with aclosing(stream_completion(state, run_id, "mentor", False, keep_alive_s=0.05)) as lines:
            role = await anext(lines)
            assert [await anext(lines), await anext(lines)] == [KEEP_ALIVE_COMMENT, KEEP_ALIVE_COMMENT]
    assert '"role": "assistant"' in role


async def _drain(chunks: AsyncIterator[object]) -> None:
    async for _ in chunks:
        pass


async def test_a_lost_connection_is_waited_for(
    opened: Opener, database: str, connection: psycopg.Connection[DictRow]
) -> None:
    """The question is in the table: to ask it again would be to ask it twice."""
    select = "select id from pipeline_runs"
    cut = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and state = 'active'"
    async with opened(openai_wait=10) as client_of:
        asking = asyncio.create_task(ask(client_of("for-ann"), None))
        await apoll(lambda: connection.execute(select).fetchall())
        with psycopg.connect(database) as holder:
            # In a thread: a transaction of the server may have to end first, and the server runs in this loop.
            await asyncio.to_thread(holder.execute, "lock table pipeline_runs in access exclusive mode")
            await apoll(lambda: connection.execute(cut).fetchall(), what="a look that waits is cut off")
        connection.execute("set maas.maintenance = on")
        failed = "update pipeline_runs set status = 'FAILED', error_code = 'over_budget'"
        await asyncio.to_thread(connection.execute, failed)
        with pytest.raises(openai.RateLimitError) as caught:
            await asking
    assert len(connection.execute(select).fetchall()) == 1
    retries = caught.value.request.headers["x-stainless-retry-count"]
    assert (caught.value.code, retries) == ("insufficient_quota", "0")
