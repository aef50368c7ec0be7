"""The Python client against a real server: every method, at once and awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type, cast
from uuid import UUID, uuid4

import httpx2
import pytest

from maas import AsyncMaaS, ClientError, MaaS
from maas.client import (
    AddResult,
    Answer,
    Context,
    Forbidden,
    InvalidRequest,
    Memories,
    NotFound,
    RateLimited,
    RunFailed,
    TimedOut,
    Unauthenticated,
    Unavailable,
)
from maas.users import NewKey, create_key
from shared.db import open_database
from tests.breaking_proxy import Fault, breaking_proxy
from tests.polling import poll
from tests.stack import NOBODY, Stack, free_port

TALK: list[Mapping[str, Any]] = [
    {"role": "system", "content": "You are a diary."},
    {"role": "user", "content": "My sister Alma moved to Lisbon.", "name": "Ann"},
    {"role": "assistant", "content": "Lisbon is a fine place for a painter."},
    {"role": "user", "content": [{"type": "text", "text": "She paints boats in the harbour."}]},
]


@pytest.fixture(scope="module")
def url(stack: Stack) -> str:
    return str(stack.client.base_url)


@pytest.fixture(scope="module")
def maas(url: str) -> Iterator[MaaS]:
    with MaaS(url) as maas:
        yield maas


@pytest.fixture
def name() -> str:
    """A user whom nobody knows."""
    return f"ann-{uuid4().hex}@example.org"


def test_a_new_user_is_answered_and_remembered(maas: MaaS, name: str) -> None:
    first = maas.ask("My cat is called Pixel.", user_id=name, metadata={"channel": "web"})
    answer = maas.ask("What is my cat called?", user_id=name)
    assert_type(answer, Answer)
    assert "Pixel" in answer.text and str(answer) == answer.text
    assert (answer.status, answer.assistant, answer.degraded) == ("COMPLETED", "mentor", ())
    assert answer.sources and answer.request_id != first.request_id


def test_what_was_said_is_added_found_listed_and_forgotten(maas: MaaS, name: str) -> None:
    added = maas.add(TALK, user_id=name, run_id="spring", wait=True)
    assert_type(added, AddResult)
    assert [one["memory"] for one in added["results"]] == [
        TALK[1]["content"],
        TALK[2]["content"],
        "She paints boats in the harbour.",
    ]
    found = maas.search("Where does Alma live?", user_id=name)
    assert_type(found, Memories)
    best = found["results"][0]
    assert (best["memory"], best["user_id"], best["id"]) == (TALK[1]["content"], name, added["results"][0]["id"])
    assert best["score"] > 0 and best["metadata"]["kind"] == "turn"
    records = maas.get_all(user_id=name)["results"]
    assert {log for record in records for log in record["metadata"]["raw_log_ids"]} == {
        one["id"] for one in added["results"]
    }
    assert maas.get(best["id"])["memory"] == best["memory"]
    assert maas.delete(best["id"])["deleted"]["logs"] == 1
    with pytest.raises(NotFound) as gone:
        maas.get(best["id"])
    assert (gone.value.code, gone.value.status) == ("not_found", 404)


def test_a_history_leads_from_words_to_records(maas: MaaS, stack: Stack, name: str) -> None:
    words = maas.add(TALK[1:3], user_id=name, wait=True)["results"]
    (record,) = maas.get_all(user_id=name)["results"]
    day = uuid4()
    stack.rows(
        """with made as (
             insert into lsm_storage
               (id, user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
             select %s, user_id, 1, time_bucket_start, time_bucket_end, tags, 'A day with Alma.', raw_log_ids
             from lsm_storage where id = %s returning id)
           update lsm_storage set superseded_by = %s, superseded_at = now() where id = %s""",
        day,
        record["id"],
        day,
        record["id"],
    )
    for memory_id in (words[0]["id"], record["id"], day):
        history = maas.history(memory_id)
        assert history[0]["event"] == "ADD" and history[0]["new_memory"] == words[0]["memory"]
        assert [one["new_memory"] for one in history[-2:]] == [record["memory"], "A day with Alma."]
        assert history[-1]["old_memory"] == record["memory"]
        assert [one["is_deleted"] for one in history[-2:]] == [True, False]
    assert len(maas.history(day)) == len(words) + 2
    assert words[1]["memory"] in (maas.history(record["id"])[-2]["old_memory"] or "")


def test_context_goes_before_ones_own_messages(maas: MaaS, name: str) -> None:
    maas.add("The boat is called Zephyr.", user_id=name)
    context = maas.context("What is the boat called?", user_id=name, max_tokens=200)
    assert_type(context, Context)
    assert "Zephyr" in context.text and 0 < context.tokens <= 200 and context.sources
    (message,) = context.to_openai()
    assert message["role"] == "system" and message["content"].endswith(context.text)
    assert context.to_anthropic() == [{"type": "text", "text": message["content"]}]


def test_who_is_unknown_has_no_memory_and_gets_none_by_reading(maas: MaaS, stack: Stack, name: str) -> None:
    assert maas.search("anything", user_id=name) == {"results": []}
    assert maas.get_all(user_id=name) == {"results": []}
    assert maas.context("anything", user_id=name).to_openai() == []
    assert maas.export(user_id=name) == b""
    assert maas.delete_all(user_id=name)["deleted"] == {}
    assert not stack.rows("select from user_identities where external_id = %s", name)


def test_pages_are_put_together(maas: MaaS, stack: Stack, user: UUID) -> None:
    stack.rows(
        """insert into lsm_storage
             (user_id, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids, occurred_at)
           select %s, '2024-03-01', '2024-03-01', '{}', 'day ' || n, array[gen_random_uuid()], now()
           from generate_series(1, 205) n""",
        user,
    )
    assert len(maas.get_all(user_id=user, limit=1000)["results"]) == 205
    assert len({one["id"] for one in maas.get_all(user_id=str(user), top_k=150)["results"]}) == 150


def test_a_user_moves_and_is_erased(maas: MaaS, name: str) -> None:
    maas.add([{"role": "user", "content": "I adopted a greyhound.", "at": "2024-03-02T09:12:00Z"}], user_id=name)
    taken = maas.export(user_id=name)
    other = f"{name}-elsewhere"
    assert maas.import_([{"role": "user", "content": "Her name is Comet."}], user_id=other)["added"] == 1
    assert maas.delete_all(user_id=name)["deleted"]["raw_logs"] == 1
    assert maas.search("greyhound", user_id=name) == {"results": []}
    assert maas.import_(taken, user_id=name)["added"] == 1
    assert maas.search("greyhound", user_id=name)["results"][0]["user_id"] == name


def test_a_trace_tells_how_it_went(maas: MaaS, user: UUID) -> None:
    request_id = maas.submit("My sister Alma moved to Lisbon.", user_id=user)
    maas.wait(request_id)
    assert maas.trace(request_id)["run"]["user_query"] == "My sister Alma moved to Lisbon."


def test_a_request_has_a_priority_a_time_and_attributes(maas: MaaS, stack: Stack, user: UUID) -> None:
    tomorrow = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    later = maas.submit("Later?", user_id=user, priority="low", run_at=tomorrow, attributes={"batch": 7, "dry": True})
    maas.ask("Now?", user_id=user, priority="high", attributes={"batch": 8})
    list(maas.stream("Now?", user_id=user, run_at=tomorrow - timedelta(days=2), attributes={"batch": 9}))
    runs = stack.client.get("/v1/runs", params={"user_id": str(user), "limit": 3}).json()["results"]
    assert [one["attributes"] for one in runs] == [{"batch": 9}, {"batch": 8}, {"batch": 7, "dry": True}]
    scheduled = stack.client.get(f"/v1/runs/{later}").json()
    assert (scheduled["priority"], datetime.fromisoformat(scheduled["run_at"])) == ("low", tomorrow)
    maas.cancel(later)
    with pytest.raises(InvalidRequest, match="priority"):
        maas.submit("?", user_id=user, priority=cast(Any, "urgent"))


def test_the_same_key_is_the_same_request(maas: MaaS, user: UUID) -> None:
    first = maas.submit("Who am I?", user_id=user, idempotency_key=f"k-{user}")
    assert maas.submit("Who am I?", user_id=user, idempotency_key=f"k-{user}") == first
    with pytest.raises(InvalidRequest) as conflict:
        maas.submit("Who are you?", user_id=user, idempotency_key=f"k-{user}")
    assert (conflict.value.code, conflict.value.status) == ("idempotency_conflict", 409)


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda maas: maas.get(NOBODY), NotFound, "not_found"),
        (lambda maas: maas.delete(NOBODY), NotFound, "not_found"),
        (lambda maas: maas.history(NOBODY), NotFound, "not_found"),
        (lambda maas: maas.wait(NOBODY), NotFound, "not_found"),
        (lambda maas: maas.get("no id"), InvalidRequest, "invalid_request"),
        (lambda maas: maas.search("what"), InvalidRequest, "invalid_request"),
        (lambda maas: maas.search("what", filters={"user_id": "a", "app": 1}), InvalidRequest, "invalid_request"),
        (lambda maas: maas.add([{"role": "tool", "content": "7"}], user_id="a"), InvalidRequest, "invalid_request"),
        (lambda maas: maas.ask("  ", user_id=uuid4()), InvalidRequest, "invalid_request"),
        (lambda maas: maas.ask("?", user_id=uuid4(), assistant="nobody"), InvalidRequest, "unknown_assistant"),
        (lambda maas: maas.ask("\ud800", user_id=uuid4()), InvalidRequest, "invalid_request"),
        (lambda maas: maas.add("a", user_id="x" * 201), InvalidRequest, "invalid_request"),
    ],
)
def test_errors_have_a_kind_and_a_code(
    maas: MaaS, call: Callable[[MaaS], object], kind: type[ClientError], code: str
) -> None:
    with pytest.raises(kind) as found:
        call(maas)
    assert (type(found.value), found.value.code) == (kind, code)


def test_an_answer_that_is_late_is_named(maas: MaaS, stack: Stack) -> None:
    run_id = uuid4()
    stack.rows(
        f"""begin;
        insert into pipeline_runs (id, user_id, user_query) values ('{run_id}', '{run_id}', 'nobody claims me');
        update pipeline_runs set queue_state = 2 where id = '{run_id}';
        commit"""
    )
    with pytest.raises(TimedOut) as late:
        maas.wait(run_id, timeout=0.1)
    assert late.value.details == {"request_id": str(run_id)}


def test_nobody_at_home_is_one_error() -> None:
    with (
        MaaS(f"http://127.0.0.1:{free_port()}", retries=1) as maas,
        pytest.raises(Unavailable, match="does not answer"),
    ):
        maas.get(NOBODY)


def test_lost_replies_make_nothing_twice(url: str, stack: Stack, user: UUID) -> None:
    """The server did it and its reply was lost; then the request was lost, too."""
    faults: list[Fault] = ["lost", "unsent"]
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as maas:
        proxy.faults += faults
        request_id = maas.submit("My cat is called Pixel.", user_id=user)
        assert proxy.seen == ["POST /v1/runs"] * 3
        proxy.faults += faults
        added = maas.add(TALK, user_id=user)
        assert len(proxy.seen) == 6
        stack.wait_archived(UUID(request_id), UUID(added["request_ids"][0]))
        proxy.faults += faults
        assert maas.delete(added["results"][0]["id"])["deleted"] == {}  # the first attempt did it
        proxy.faults += ["lost"]
        assert maas.search("cat", user_id=user)["results"]
    runs = stack.rows("select id, kind from pipeline_runs where user_id = %s order by created_at", user)
    assert [(str(run["id"]), run["kind"]) for run in runs] == [
        (request_id, "ask"),
        (added["request_ids"][0], "archive"),
    ]
    turns = stack.rows("select from raw_logs where user_id = %s and external_id is not null", user)
    assert len(turns) == len(added["results"]) - 1


def test_who_has_too_much_is_waited_for(url: str, user: UUID) -> None:
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as maas:
        proxy.faults += ["limited", "busy"]
        began = time.monotonic()
        assert maas.get_all(user_id=user) == {"results": []}
        assert time.monotonic() - began >= 2
        with MaaS(proxy.url, retries=0) as hasty:
            proxy.faults += ["limited"]
            with pytest.raises(RateLimited) as limited:
                hasty.get_all(user_id=user)
        assert (limited.value.retry_after, limited.value.status) == (1, 429)


def test_a_stream_goes_on_where_it_broke(url: str, user: UUID) -> None:
    with breaking_proxy(url) as proxy, MaaS(proxy.url) as maas:
        request_id = maas.submit("My cat is called Pixel.", user_id=user)
        maas.wait(request_id)
        whole = list(maas.follow(request_id))
        assert (whole[0].type, whole[-1].type) == ("status", "done")
        assert list(maas.follow(request_id, last_event_id=whole[2].id)) == whole[3:]
        assert list(maas.follow(request_id, last_event_id=whole[-1].id)) == []
        proxy.faults += ["cut", "lost"]
        assert list(maas.follow(request_id)) == whole
        events = list(maas.stream("What is my cat called?", user_id=user))
        assert "Pixel" in events[-1].data["final_answer"]
        assert "".join(event.text for event in events) in ("", events[-1].data["final_answer"])
        with pytest.raises(NotFound):
            next(maas.follow(NOBODY))


def test_a_stream_of_what_failed_says_so(maas: MaaS, user: UUID, stack: Stack) -> None:
    stack.rows(
        f"""begin;
        insert into pipeline_runs (id, user_id, user_query) values ('{user}', '{user}', 'nobody claims me');
        update pipeline_runs set queue_state = 2, status = 'FAILED', error_code = 'tired', error_message = 'too tired'
        where id = '{user}';
        commit"""
    )
    for failing in (lambda: list(maas.follow(user)), lambda: maas.wait(user)):
        with pytest.raises(RunFailed, match="tired: too tired") as failed:
            failing()
        assert failed.value.details == {"request_id": str(user)}


async def test_the_other_client_repeats_and_streams(url: str, stack: Stack, user: UUID) -> None:
    with breaking_proxy(url) as proxy:
        async with AsyncMaaS(proxy.url) as maas:
            proxy.faults += ["lost", "unsent"]
            await maas.ask("My cat is called Pixel.", user_id=user)
            proxy.faults += ["lost", "cut"]
            stream = maas.stream("What is my cat called?", user_id=user, priority="low", attributes={"batch": 7})
            events = [event async for event in stream]
            assert "Pixel" in events[-1].data["final_answer"] and len({event.id for event in events}) == len(events)
    rows = stack.rows("select priority, attributes from pipeline_runs where user_id = %s order by created_at", user)
    assert [(row["priority"], row["attributes"]) for row in rows] == [(0, None), (-1, {"batch": 7})]


def test_a_key_opens_what_it_may(stack: Stack, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def make(**fields: Any) -> str:
        async with open_database(stack.dsn, 1, "test") as db:
            return await create_key(db, NewKey("client", **fields), "test")

    url = f"http://127.0.0.1:{(port := free_port())}"
    stack.launch("server.py", MAAS_AUTH="keys", MAAS_PORT=str(port))
    poll(lambda: _is_ready(url), what="the other server is ready")
    with MaaS(url) as nobody, pytest.raises(Unauthenticated):
        nobody.search("cat", user_id=name)
    monkeypatch.setenv("MAAS_API_KEY", asyncio.run(make(prefix="ann-")))
    with MaaS(url) as app:
        app.add("My cat is called Pixel.", user_id=name)
        assert app.search("cat", user_id=name)["results"]
        assert app.search("cat", user_id=f"bob-{name}") == {"results": []}
        with pytest.raises(NotFound):
            app.add("My cat is called Pixel.", user_id=f"bob-{name}")
        with pytest.raises(Forbidden):
            app.delete_all(user_id=name)
    with MaaS(url, asyncio.run(make(per_minute=1)), retries=0) as hasty:
        hasty.search("cat", user_id=NOBODY)
        with pytest.raises(RateLimited) as limited:
            hasty.search("cat", user_id=NOBODY)
        assert limited.value.retry_after


def _is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", trust_env=False, verify=False).status_code == 200
    except httpx2.TransportError:
        return False


def test_memories_are_filtered_by_their_metadata(maas: MaaS, stack: Stack, user: UUID) -> None:
    """AND, OR, NOT and ranges, as of mem0; what has none, and what fits only in kind, is left out."""
    for price, topic in ((3, "tea"), (8, "tea"), (5, "coffee")):
        said = f"I paid {price} euros for {topic} in the village."
        maas.add(said, user_id=user, metadata={"topic": topic, "price": price, "tags": ["shop"]})
    maas.add("In the village I paid nothing for the tea.", user_id=user)
    maas.add("I paid 9 euros for bread in the village.", user_id=user, agent_id="baker", app_id="till", run_id="may")

    def found(filters: dict[str, Any]) -> set[str]:
        results = maas.search("What did I pay in the village?", user_id=user, filters=filters)["results"]
        return {one["memory"].split()[2] for one in results}

    assert found({"metadata": {"topic": "tea"}}) == {"3", "8"}
    assert found({"metadata": {"price": {"gte": 5, "lt": 8}}}) == {"5"}
    assert found({"AND": [{"metadata": {"topic": "tea"}}, {"NOT": {"metadata": {"price": 8}}}]}) == {"3"}
    assert found({"OR": [{"metadata": {"price": 3}}, {"metadata": {"topic": "coffee"}}]}) == {"3", "5"}
    assert found({"metadata": {"tags": {"contains": "shop"}, "topic": {"ne": "tea"}}}) == {"5"}
    assert found({"metadata": {"price": "3"}}) == set()
    assert found({"agent_id": "baker"}) == found({"app_id": {"in": ["till"]}}) == found({"run_id": "may"}) == {"9"}
    assert found({"AND": [{"agent_id": "*"}, {"NOT": {"app_id": "till"}}]}) == set()
    body = {"user_id": str(user), "query": "village", "filters": {"metadata": {"topic": "coffee"}}}
    (result,) = stack.client.post("/v1/memories/search", json=body).json()["results"]
    assert result["metadata"] == {"topic": "coffee", "price": 5, "tags": ["shop"]}
    for wrong in ({"price": 3}, {"metadata": 3}, {"metadata": {"price": {"near": 3}}}, {"user_id": "ann"}):
        assert stack.client.post("/v1/memories/search", json=body | {"filters": wrong}).status_code == 400
    with pytest.raises(InvalidRequest):
        maas.add("I like tea.", user_id=user, metadata={"much": "x" * 5000})


async def test_the_other_client_awaits_the_same(url: str, name: str) -> None:
    async with AsyncMaaS(url) as maas:
        added = await maas.add(TALK, user_id=name)
        assert_type(added, AddResult)
        found = await maas.search("Where does Alma live?", filters={"AND": [{"user_id": name}]})
        assert found["results"][0]["id"] == added["results"][0]["id"]
        answer = await maas.ask("Where does Alma live?", user_id=name)
        assert_type(answer, Answer)
        assert "Lisbon" in answer.text
        for _ in range(100):  # until what was said is summarised
            if (await maas.get_all(user_id=name))["results"]:
                break
            await asyncio.sleep(0.1)
        else:
            pytest.fail("there is no memory")
        with pytest.raises(NotFound):
            await maas.get(NOBODY)
