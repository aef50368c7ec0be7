"""A request that is sent again: one run for a retry, another answer for a wish, and no memory of what failed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import openai
import pytest
from openai import OpenAI

from tests.polling import poll
from tests.provider import Provider, openai_client, refused, said
from tests.stack import Stack

ROWS = "select content, is_remembered from raw_logs where user_id = %s order by seq"
RUNS = "select id, status, archive_status, replaces from pipeline_runs where user_id = %s order by seq"


@pytest.fixture(scope="module")
def settings(provider: Provider) -> dict[str, str]:
    return provider.settings


@pytest.fixture
def client(stack: Stack, provider: Provider) -> Iterator[OpenAI]:
    provider.reset()
    with openai_client(stack) as client:
        yield client


@pytest.fixture
def user() -> str:
    return str(uuid4())


def ask(client: OpenAI, user: str, text: str = "Where shall I travel?", **more: Any) -> str:
    messages: list[Any] = [{"role": "user", "content": text}]
    reply = client.chat.completions.create(model="mentor", user=user, messages=messages, **more)
    return reply.choices[0].message.content or ""


def archived(stack: Stack, user: str, count: int) -> None:
    poll(lambda: [row["archive_status"] for row in stack.rows(RUNS, user)].count("ARCHIVED") == count, 20, "archived")


def test_another_answer_replaces_the_first(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    answers = iter(["Try Lisbon.", "Try Porto."])
    provider.answer = lambda body: said(next(answers))
    assert ask(client, user) == "Try Lisbon."
    assert ask(client, user) == "Try Porto."
    assert "Lisbon" not in str(provider.sent[-1]), "the answer that was not wanted is no evidence"
    archived(stack, user, 2)
    poll(lambda: len(stack.rows(ROWS, user)) == 2, 10, "one exchange is left")
    assert [row["content"] for row in stack.rows(ROWS, user)] == ["Where shall I travel?", "Try Porto."]
    assert not any(
        "Lisbon" in row["summary"] for row in stack.rows("select * from lsm_storage where user_id = %s", user)
    )


def test_a_client_that_gave_up_joins_its_run(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    """Without the header by which OpenAI's SDK marks a retry."""
    provider.delay_s = 1.5
    hasty = client.with_options(timeout=0.5)
    for _ in range(2):
        with pytest.raises(openai.APITimeoutError):
            ask(hasty, user)
    assert ask(client, user)
    assert len(stack.rows(RUNS, user)) == 1 and len(provider.sent) == 1


def test_an_answer_that_nobody_read_is_given_again(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    provider.delay_s = 1.0
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=0.4), user)
    poll(lambda: stack.rows(RUNS, user)[0]["status"] == "COMPLETED", 10, "answered")
    ask(client, user)
    assert len(stack.rows(RUNS, user)) == 1


def test_side_by_side_it_is_one_request(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    provider.delay_s = 0.5
    ask(client, user, "Hello.")
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: ask(client, user), range(4)))
    assert len(set(answers)) == 1
    assert len(stack.rows(RUNS, user)) == 2, "the greeting, and one question"


def test_a_question_that_failed_is_not_remembered(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    provider.answer = lambda body: refused(401, "invalid_api_key", "No.")
    with pytest.raises(openai.AuthenticationError):
        ask(client, user, "My boat is blue.")
    assert [row["is_remembered"] for row in stack.rows(ROWS, user)] == [False]
    assert stack.rows("select summary from lsm_storage where user_id = %s", user) == []
    found = stack.client.post("/v1/memories/search", json={"user_id": user, "query": "boat"}).json()
    assert found["results"] == []
    provider.reset()
    run = stack.rows(RUNS, user)[0]["id"]
    assert stack.client.post(f"/v1/runs/{run}/retry").status_code == 202
    archived(stack, user, 1)
    assert [row["is_remembered"] for row in stack.rows(ROWS, user)] == [True, True]
    found = stack.client.post("/v1/memories/search", json={"user_id": user, "query": "boat"}).json()
    assert "My boat is blue." in [one["memory"] for one in found["results"]]


def test_what_is_not_to_be_remembered_stays_so(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    provider.answer = lambda body: refused(401, "invalid_api_key", "No.")
    with pytest.raises(openai.AuthenticationError):
        ask(client, user, "A title, please.", extra_headers={"X-MaaS-Remember": "off"})
    provider.reset()
    assert stack.client.post(f"/v1/runs/{stack.rows(RUNS, user)[0]['id']}/retry").status_code == 202
    poll(lambda: stack.rows(RUNS, user)[0]["status"] == "COMPLETED", 10, "answered")
    assert [row["is_remembered"] for row in stack.rows(ROWS, user)] == [False, False]


def test_a_chat_that_is_answered_anew(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    answers = iter(["Tea.", "Coffee.", "Water."])
    provider.answer = lambda body: said(next(answers))

    def send(*said_so_far: dict[str, Any], **more: Any) -> None:
        body = {"id": "chat", "user": user, "messages": said_so_far} | more
        reply = stack.client.post("/v1/ui/chat", json=body)
        assert "finish" in reply.text

    first: dict[str, Any] = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Name a drink."}]}
    second: dict[str, Any] = {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "And another?"}]}
    answer: dict[str, Any] = {"id": "m2", "role": "assistant", "parts": []}
    send(first)
    send(first, answer, second)
    send(first, answer, second, trigger="regenerate-message", messageId="m4")
    archived(stack, user, 3)
    poll(lambda: len(stack.rows(ROWS, user)) == 4, 10, "two turns are left")
    texts = [row["content"] for row in stack.rows(ROWS, user)]
    assert texts == ["Name a drink.", "Tea.", "And another?", "Water."]
    shown = stack.rows("select content from chat_messages where user_id = %s order by created_at, id", user)
    assert sorted(row["content"] for row in shown) == sorted(texts)
