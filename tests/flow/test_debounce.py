"""Messages that come in a burst, by every way in which a request is sent: one request, one answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

from maas import MaaS
from tests.stack import Stack

COUNT = 50


def test_fifty_posts_at_once_are_one_request(stack: Stack, user: UUID) -> None:
    """Every text is in it once, and there is one answer; each of them sent again is the same request."""
    words = [f"message {number}" for number in range(COUNT)]

    def post(word: str) -> str:
        body = {"user_id": str(user), "query": word, "debounce": 1}
        reply = stack.client.post("/v1/runs", json=body, headers={"idempotency-key": f"{user} {word}"})
        assert reply.status_code == 202, reply.text
        return str(reply.json()["request_id"])

    with ThreadPoolExecutor(COUNT) as pool:
        sent = set(pool.map(post, words))
    (run_id,) = sent
    state = stack.answer(UUID(run_id))
    assert state["status"] == "COMPLETED"
    logs = stack.rows("select message_type, content from raw_logs where user_id = %s order by seq", user)
    assert [row["message_type"] for row in logs] == ["user_query", "assistant_response"]
    assert sorted(logs[0]["content"].splitlines()) == sorted(words)
    assert {post(word) for word in words} == sent
    assert len(stack.rows("select from pipeline_runs where user_id = %s", user)) == 1


def test_one_after_another_keeps_the_order(stack: Stack, user: UUID) -> None:
    """By both transports of the client, in a conversation, whose messages show one question."""
    with MaaS(str(stack.client.base_url)) as http, MaaS(dsn=stack.dsn) as direct:
        for maas in (http, direct):
            dialogue = uuid4()
            parts = ("I have a cat.", "It is called Miso.", "What is it called?")
            runs = {maas.submit(part, user_id=user, conversation_id=dialogue, debounce=1) for part in parts}
            (run_id,) = runs
            assert maas.wait(run_id).status == "COMPLETED"
            shown = stack.rows("select role, content from chat_messages where conversation_id = %s", dialogue)
            assert [row["content"] for row in shown if row["role"] == "user"] == ["\n".join(parts)]


def test_what_cannot_be_together_is_refused(stack: Stack, user: UUID) -> None:
    body = {"user_id": str(user), "query": "hello"}
    for wrong in ({"debounce": 0}, {"debounce": 61}, {"debounce": 1, "run_at": "2999-01-01T00:00:00Z"}):
        reply = stack.client.post("/v1/runs", json=body | wrong)
        assert reply.status_code == 422 and "debounce" in reply.text
