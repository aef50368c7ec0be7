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
    poll(lambda: [row["archive_status"] for row in stack.rows(RUNS, user)].count("ARCHIVED") == count, what="archived")


def test_another_answer_replaces_the_first(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    answers = iter(["Try Lisbon.", "Try Porto."])
    provider.answer = lambda body: said(next(answers))
    assert ask(client, user) == "Try Lisbon."
    assert ask(client, user) == "Try Porto."
    assert "Lisbon" not in str(provider.sent[-1]), "the answer that was not wanted is no evidence"
    archived(stack, user, 2)
    poll(lambda: len(stack.rows(ROWS, user)) == 2, what="one exchange is left")
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
    poll(lambda: stack.rows(RUNS, user)[0]["status"] == "COMPLETED", what="answered")
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
    poll(lambda: stack.rows(RUNS, user)[0]["status"] == "COMPLETED", what="answered")
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
    poll(lambda: len(stack.rows(ROWS, user)) == 4, what="two turns are left")
    texts = [row["content"] for row in stack.rows(ROWS, user)]
    assert texts == ["Name a drink.", "Tea.", "And another?", "Water."]
    shown = stack.rows("select content from chat_messages where user_id = %s order by created_at, id", user)
    assert sorted(row["content"] for row in shown) == sorted(texts)


def send(stack: Stack, user: str, conversation: str, text: str, **more: Any) -> str:
    """Send a question and return its run when it is answered, or has failed."""
    body = {"user_id": user, "query": text, "conversation_id": conversation} | more
    reply = stack.client.post("/v1/runs", json=body)
    assert reply.status_code == 202, reply.text
    run: str = reply.json()["request_id"]
    stack.client.get(f"/v1/runs/{run}", params={"wait": 60})
    return run


def spoken(stack: Stack, conversation: str) -> list[str]:
    page = stack.client.get(f"/v1/conversations/{conversation}/messages").json()
    return [one["content"] for one in reversed(page["results"])]


@pytest.mark.parametrize("is_remembered", [True, False], ids=["remembered", "temporary"])
def test_an_edited_question_keeps_its_versions(
    client: OpenAI, provider: Provider, stack: Stack, user: str, is_remembered: bool
) -> None:
    """Earlier versions can be read by their runs, one that failed among them; conversation and memory have the last."""
    conversation = str(uuid4())
    answers: Iterator[Any] = iter(
        [said("Hello."), said("Try Lisbon."), refused(401, "invalid_api_key", "No."), said("Try Oslo.")]
    )
    provider.answer = lambda body: next(answers)
    send(stack, user, conversation, "Good morning!", is_remembered=is_remembered)
    first = send(stack, user, conversation, "Where is it warm?", is_remembered=is_remembered)
    failed = send(stack, user, conversation, "Where is it icy?", is_remembered=is_remembered, replaces=first)
    assert spoken(stack, conversation)[2:4] == ["Where is it warm?", "Try Lisbon."], "what failed replaces nothing"
    last = send(stack, user, conversation, "Where is it cold?", is_remembered=is_remembered, replaces=failed)
    assert "Lisbon" not in str(provider.sent[-1]), "the answer that was not wanted is no evidence"
    left = ["Good morning!", "Hello.", "Where is it cold?", "Try Oslo."]
    poll(lambda: spoken(stack, conversation) == left, what="one version is left")
    assert [row["content"] for row in stack.rows(ROWS, user)] == left
    assert stack.client.get(f"/v1/runs/{last}").json()["replaced"] == [first, failed]
    earlier = stack.client.get(f"/v1/runs/{first}").json()
    assert (earlier["query"], earlier["final_answer"], earlier["replaced"]) == ("Where is it warm?", "Try Lisbon.", [])
    newest = stack.client.get("/v1/runs", params={"user_id": user}).json()["results"][0]
    assert newest["replaces"] == failed


def test_an_earlier_question_is_asked_again_without_what_followed(
    client: OpenAI, provider: Provider, stack: Stack, user: str
) -> None:
    """The later exchanges leave with it, those that the rolling summary holds among them."""
    conversation = str(uuid4())
    send(stack, user, conversation, "Good morning!")
    provider.answer = lambda body: said("Try Lisbon.")
    first = send(stack, user, conversation, "Where is it warm?")
    follower = send(stack, user, conversation, "And by train?")
    edited = send(stack, user, conversation, "And by ship?", replaces=follower)
    last = send(stack, user, conversation, "What does it cost?")
    archived(stack, user, 5)
    stack.rows("update chat_messages set is_folded = true where run_id = any(%s)", [first, edited])
    stack.rows("update chat_conversations set rolling_summary = 'Lisbon by ship' where id = %s", conversation)
    provider.answer = lambda body: said("Try Oslo.")
    newest = send(stack, user, conversation, "Where is it cold?", replaces=first)
    sent = str(provider.sent[-1])
    assert "Lisbon" not in sent and "ship" not in sent and "What does it cost?" not in sent
    left = [*spoken(stack, conversation)[:2], "Where is it cold?", "Try Oslo."]
    poll(lambda: spoken(stack, conversation) == left, what="what followed is gone")
    assert [row["content"] for row in stack.rows(ROWS, user)] == left
    assert stack.rows("select rolling_summary from chat_conversations where id = %s", conversation) == [
        {"rolling_summary": ""}
    ]
    assert stack.client.get(f"/v1/runs/{newest}").json()["replaced"] == [first]
    assert stack.client.get(f"/v1/runs/{last}").json()["final_answer"] == "Try Lisbon.", "which one can still read"


def test_what_cannot_be_replaced(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    conversation = str(uuid4())
    earlier = send(stack, user, conversation, "Good morning!")
    newest = send(stack, user, conversation, "And good night!")

    def refusal(run: str, who: str = user, where: str | None = conversation) -> tuple[int, str]:
        body = {"user_id": who, "query": "Hi!", "conversation_id": where, "replaces": run}
        reply = stack.client.post("/v1/runs", json=body)
        return reply.status_code, reply.json()["error"]["code"]

    stack.rows("update pipeline_runs set kind = 'action' where id = %s", newest)
    assert refusal(earlier) == (409, "conflict"), "what was done since stays done"
    stack.rows("update pipeline_runs set kind = 'ask' where id = %s", newest)
    assert refusal(newest, where=str(uuid4())) == (404, "not_found")
    assert refusal(newest, where=None) == (404, "not_found")
    assert refusal(newest, who=str(uuid4())) == (404, "not_found")
    send(stack, user, conversation, "And good evening!", replaces=newest)
    assert refusal(newest) == (409, "conflict"), "another one took its place"
    later = {"user_id": user, "query": "Hello?", "conversation_id": conversation, "run_at": "2999-01-01T00:00:00Z"}
    assert refusal(stack.client.post("/v1/runs", json=later).json()["request_id"]) == (409, "conflict")


def test_a_replacement_that_is_sent_twice_is_one(client: OpenAI, stack: Stack, user: str) -> None:
    conversation = str(uuid4())
    first = send(stack, user, conversation, "Good morning!")
    body = {"user_id": user, "query": "Good evening!", "conversation_id": conversation, "replaces": first}
    replies = [stack.client.post("/v1/runs", json=body, headers={"Idempotency-Key": str(uuid4())})]
    key = {"Idempotency-Key": replies[0].request.headers["Idempotency-Key"]}
    replies.append(stack.client.post("/v1/runs", json=body, headers=key))
    assert replies[0].json() == replies[1].json()
