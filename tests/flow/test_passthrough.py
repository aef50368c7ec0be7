"""Pass-through models: the provider gets the client's request and memory, the client the provider's reply."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import httpx2
import openai
import pytest
from openai import OpenAI
from werkzeug import Response

from tests.http_server import HTTPServer
from tests.polling import poll
from tests.provider import JSON, Provider, called, last_text, openai_client, refused, said
from tests.stack import Stack

MODEL = "openai:gpt-4o"
ROWS = "select message_type, content, is_remembered from raw_logs where user_id = %s order by seq"
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "description": "The weather.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(autouse=True)
def as_at_first(provider: Provider) -> None:
    provider.reset()


@pytest.fixture(scope="module")
def settings(provider: Provider) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "sk-test-key-1234567890",
        "MAAS_PASSTHROUGH": "*, gpt-4o=openai:gpt-4o-2024-11-20",
        "MAAS_USER_DAILY_TOKENS": "10000",
    }


@pytest.fixture
def client(stack: Stack) -> Iterator[OpenAI]:
    with openai_client(stack) as client:
        yield client


@pytest.fixture
def user(stack: Stack) -> str:
    return str(uuid4())


def ask(client: OpenAI, user: str, *texts: str, **more: Any) -> Any:
    """Ask with a dialogue: user, assistant, user, ..."""
    roles = ("user", "assistant")
    messages: list[Any] = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return client.chat.completions.create(model=more.pop("model", MODEL), messages=messages, user=user, **more)


def archived(stack: Stack, user: str, count: int) -> None:
    """Wait until so many exchanges of a user are in memory."""
    query = (
        "select count(*) as n from pipeline_runs where user_id = %s and kind = 'ask' and archive_status = 'ARCHIVED'"
    )
    poll(lambda: stack.rows(query, user)[0]["n"] == count, what="archived")


def block_of(body: dict[str, Any]) -> str:
    """The one block of memory in a request; every other message is the client's."""
    blocks = [one for one in body["messages"] if str(one["content"]).startswith("<memory ")]
    assert len(blocks) <= 1
    return blocks[0]["content"] if blocks else ""


def test_what_was_said_reaches_the_next_conversation(
    stack: Stack, client: OpenAI, provider: Provider, user: str
) -> None:
    first = ask(client, user, "I am allergic to walnuts.")
    assert first.choices[0].message.content == "Noted: I am allergic to walnuts."
    assert first.model_extra["maas"]["memory"] == "ok"
    assert first.model_extra["maas"]["remembered"] is True
    assert provider.sent[0]["messages"] == [{"role": "user", "content": "I am allergic to walnuts."}]
    archived(stack, user, 1)
    ask(client, user, "Which nuts am I allergic to?")
    block = block_of(provider.sent[1])
    assert "I am allergic to walnuts." in block and "<memory date=" in block
    assert [one["role"] for one in provider.sent[1]["messages"]] == ["system", "user"]
    assert provider.headers[1]["authorization"] == "Bearer sk-test-key-1234567890"


def test_the_request_is_unchanged_but_for_memory(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    ask(client, user, "My bicycle is green.")
    archived(stack, user, 1)
    messages: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!", "name": "bot"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What colour is my bicycle?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
            ],
        },
    ]
    fields: dict[str, Any] = {
        "tools": [WEATHER],
        "tool_choice": "auto",
        "temperature": 0.3,
        "max_completion_tokens": 99,
        "response_format": {"type": "json_object"},
        "logit_bias": {"50256": -100},
        "seed": 7,
        "stop": ["END"],
        "metadata": {"conversation_id": "chat-17", "purpose": "test"},
        "user": user,
    }
    extra = {"maas": {"memory_tokens": 500}, "reasoning": {"effort": "low"}}
    reply = client.chat.completions.create(model=MODEL, messages=messages, extra_body=extra, **fields)
    sent = provider.sent[-1]
    block = block_of(sent)
    assert "My bicycle is green." in block
    assert sent["messages"][3] == {"role": "developer", "content": block}, "right before the question"
    rest = {**sent, "messages": [one for one in sent["messages"] if one["content"] != block]}
    assert rest == fields | {"model": "gpt-4o", "messages": messages, "reasoning": {"effort": "low"}}
    assert reply.system_fingerprint == "fp_1"


def test_a_turn_with_tools_is_remembered_once(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        has_result = body["messages"][-1]["role"] == "tool"
        return said("It snows in Bergen.") if has_result else called("weather", '{"town": "Bergen"}')

    provider.answer = answer
    messages: list[Any] = [{"role": "user", "content": "What is the weather in Bergen?"}]
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER], user=user)  # type: ignore[list-item]
    assert first.choices[0].finish_reason == "tool_calls"
    assert stack.rows(ROWS, user) == []
    messages += [
        first.choices[0].message.to_dict(),
        {"role": "tool", "tool_call_id": "call_1", "content": "Secret: snow"},
    ]
    second = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER], user=user)  # type: ignore[list-item]
    assert second.choices[0].message.content == "It snows in Bergen."
    assert provider.sent[1]["messages"][-1] == messages[-1]
    assert [(row["message_type"], row["content"]) for row in stack.rows(ROWS, user)] == [
        ("user_query", "What is the weather in Bergen?"),
        ("assistant_response", "It snows in Bergen."),
    ]
    runs = stack.rows("select kind, status, queue_state from pipeline_runs where user_id = %s order by seq", user)
    assert [(row["kind"], row["status"]) for row in runs] == [("call", "COMPLETED"), ("ask", "COMPLETED")]
    calls = stack.rows(
        "select c.provider, c.model, c.tokens_in, c.tokens_out from llm_calls c "
        "join pipeline_runs r on r.id = c.run_id where r.user_id = %s and c.stage = 'passthrough'",
        user,
    )
    assert [tuple(row.values()) for row in calls] == [("openai", "gpt-4o", 40, 7)] * 2
    archived(stack, user, 1)


@pytest.mark.parametrize("has_usage", [False, True])
def test_a_stream_is_that_of_the_provider(
    stack: Stack, client: OpenAI, provider: Provider, user: str, has_usage: bool
) -> None:
    more = {"stream_options": {"include_usage": True}} if has_usage else {}
    chunks = list(ask(client, user, "I keep bees.", stream=True, **more))
    assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices) == "Noted: I keep bees."
    assert chunks[0].model_extra["maas"]["memory"] == "ok"
    assert all("maas" not in (one.model_extra or {}) for one in chunks[1:])
    assert (chunks[-1].usage is not None) == has_usage
    assert [row["content"] for row in stack.rows(ROWS, user)] == ["I keep bees.", "Noted: I keep bees."]


def test_tool_calls_are_streamed(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    provider.answer = lambda body: called("weather", '{"town": "Bergen"}')
    chunks = list(ask(client, user, "Weather?", stream=True, tools=[WEATHER]))
    calls = [one for chunk in chunks for one in chunk.choices[0].delta.tool_calls or []]
    assert "".join(one.function.arguments or "" for one in calls) == '{"town": "Bergen"}'
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert stack.rows(ROWS, user) == []


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "invalid_api_key", openai.AuthenticationError),
        (429, "insufficient_quota", openai.RateLimitError),
        (400, "content_filter", openai.BadRequestError),
        (404, "model_not_found", openai.NotFoundError),
        (503, "overloaded", openai.InternalServerError),
    ],
)
def test_errors_keep_their_meaning_and_leave_no_memory(
    stack: Stack,
    client: OpenAI,
    provider: Provider,
    user: str,
    status: int,
    code: str,
    error: type[openai.APIStatusError],
) -> None:
    provider.answer = lambda body: refused(status, code, "No.", retry_after="17")
    with pytest.raises(error) as raised:
        ask(client, user, "I live in Bergen.")
    assert raised.value.status_code == status
    assert raised.value.code == code
    assert raised.value.response.headers["retry-after"] == "17"
    assert stack.rows(ROWS, user) == []
    rows = stack.rows("select kind, status, error_message from pipeline_runs where user_id = %s", user)
    assert [(row["kind"], row["status"]) for row in rows] == [("call", "FAILED")]
    assert "No." in rows[0]["error_message"]


def test_a_provider_that_is_away(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    with HTTPServer() as gone:
        url = gone.url_for("/v1")
    with Stack(stack.dsn, stack.folder, OPENAI_BASE_URL=url, OPENAI_API_KEY="sk-away-1234567890") as other:
        other.start_server()
        reply = other.client.post(
            "/v1/chat/completions", json={"model": MODEL, "user": user, "messages": [{"role": "user", "content": "Hi"}]}
        )
    assert reply.status_code == 503
    assert reply.json()["error"]["code"] == "unreachable"
    assert reply.headers["x-should-retry"] == "true"


def test_asked_again_it_is_one_turn(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    answers = iter(["Try Lisbon.", "Try Porto."])
    provider.answer = lambda body: said(next(answers))
    ask(client, user, "Where shall I travel?")
    archived(stack, user, 1)
    second = ask(client, user, "Where shall I travel?")
    assert second.model_extra["maas"]["replaced"] is True
    poll(lambda: len(stack.rows(ROWS, user)) == 2, what="the first answer has left memory")
    assert [row["content"] for row in stack.rows(ROWS, user)] == ["Where shall I travel?", "Try Porto."]
    archived(stack, user, 2)
    texts = [row["summary"] for row in stack.rows("select summary from lsm_storage where user_id = %s", user)]
    assert not any("Lisbon" in text for text in texts)


def test_asked_again_before_the_first_answer_is_archived(
    stack: Stack, client: OpenAI, provider: Provider, user: str
) -> None:
    numbers = iter(range(9))
    provider.answer = lambda body: said(f"Number {next(numbers)}.")
    for _ in range(4):
        ask(client, user, "Tell me a number.")
    archived(stack, user, 4)
    poll(lambda: len(stack.rows(ROWS, user)) == 2, what="only the last answer is in memory")
    assert stack.rows(ROWS, user)[1]["content"] == "Number 3."


def test_a_branch_is_a_branch(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    ask(client, user, "I like tea.", "Good.", "Which drink?")
    ask(client, user, "I like tea.", "Excellent.", "Which drink?")
    assert len(stack.rows(ROWS, user)) == 4


def test_a_client_that_gave_up_gets_the_answer_that_it_missed(
    stack: Stack, client: OpenAI, provider: Provider, user: str
) -> None:
    provider.delay_s = 1.0
    patient = client.with_options(timeout=0.6, max_retries=4)
    assert ask(patient, user, "I own two dogs.").choices[0].message.content == "Noted: I own two dogs."
    assert len(provider.sent) == 1
    assert len(stack.rows(ROWS, user)) == 2


def test_side_by_side(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    """Requests of one user wait for memory, not for each other's answers."""
    provider.delay_s = 1.0
    began = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: ask(client, user, f"Fact {n}: I own {n} cats."), range(8)))
    assert time.monotonic() - began < 5
    archived(stack, user, 8)
    assert len(stack.rows(ROWS, user)) == 16


def test_one_question_side_by_side(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    """Whoever samples several answers gets them all, pays for them all, and one is remembered."""
    together = Barrier(8, timeout=20)

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return said(f"Number {together.wait()}.")

    provider.answer = answer
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: ask(client, user, "Tell me a number."), range(8)))
    assert len({reply.choices[0].message.content for reply in replies}) == 8
    assert all(reply.model_extra["maas"]["remembered"] for reply in replies)
    archived(stack, user, 8)
    poll(lambda: len(stack.rows(ROWS, user)) == 2, what="one answer is in memory")


@pytest.mark.parametrize(
    "headers",
    [{"X-MaaS-Remember": "off"}, {"X-MaaS-Task": "title_generation"}, {"X-OpenWebUI-Task": "tags_generation"}],
)
def test_housekeeping_is_not_remembered(
    stack: Stack, client: OpenAI, provider: Provider, user: str, headers: dict[str, str]
) -> None:
    ask(client, user, "Write a title for: tea in Bergen.", extra_headers=headers)
    assert [row["is_remembered"] for row in stack.rows(ROWS, user)] == [False, False]


def test_names_of_front_ends(stack: Stack, provider: Provider) -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "My boat is blue."}]}
    name, chat = f"webui-{uuid4()}", f"chat {uuid4()}"
    headers = {"X-OpenWebUI-User-Id": name, "X-OpenWebUI-Chat-Id": chat}
    reply = stack.client.post("/v1/chat/completions", json=body, headers=headers)
    assert reply.status_code == 200
    rows = stack.rows(
        "select r.conversation_id from user_identities i join pipeline_runs r using (user_id) where i.external_id = %s",
        name,
    )
    assert [str(row["conversation_id"]) for row in rows] == [reply.json()["maas"]["conversation_id"]]


def test_a_name_of_ones_own_and_the_clients_key(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    headers = {"X-MaaS-Provider-Key": "sk-of-the-client"}
    ask(client, user, "Hello there.", model="gpt-4o", extra_headers=headers)
    assert provider.sent[-1]["model"] == "gpt-4o-2024-11-20"
    assert provider.headers[-1]["authorization"] == "Bearer sk-of-the-client"
    assert "x-maas-provider-key" not in provider.headers[-1]
    rows = stack.rows("select row_to_json(r)::text as t from pipeline_runs r where user_id = %s", user)
    assert not any("sk-of-the-client" in row["t"] for row in rows)
    assert "sk-of-the-client" not in stack.log()
    assert "gpt-4o" in [one.id for one in client.models.list()]


def test_long_histories_arrive_whole(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    for chars in (33_000, 60_000, 200_000):
        text = "word " * (chars // 5)
        ask(client, user, text, "Yes.", "And now?")
        assert provider.sent[-1]["messages"][0]["content"] == text
    long = "A long question. " * 12_000
    reply = ask(client, user, long)
    assert last_text(provider.sent[-1]) == long
    assert reply.model_extra["maas"]["ignored"] == [f"memory of messages[].content ({len(long) - 65_536} characters)"]


def test_a_picture_of_megabytes_arrives(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    url = "data:image/png;base64," + "A" * 3_000_000
    content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    client.chat.completions.create(model=MODEL, user=user, messages=[{"role": "user", "content": content}])  # type: ignore[list-item,misc]
    assert provider.sent[-1]["messages"][-1]["content"] == content
    body = {"model": "mentor", "user": user, "messages": [{"role": "user", "content": content}]}
    assert stack.client.post("/v1/chat/completions", json=body).status_code == 413


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({}, "messages"),
        ({"user": 7}, "user"),
        ({"user": " "}, "user"),
        ({"maas": []}, "maas"),
        ({"maas": {"memory_tokens": -1}}, "memory_tokens"),
        ({"maas": {"memory_tokens": True}}, "memory_tokens"),
        ({"metadata": {"conversation_id": 5}}, "conversation_id"),
        ({"metadata": {"remember": "maybe"}}, "remember"),
        ({"metadata": {"long": "x" * 70_000}}, "metadata"),
    ],
)
def test_bad_input(stack: Stack, provider: Provider, user: str, body: dict[str, Any], message: str) -> None:
    usual = {} if body == {} else {"messages": [{"role": "user", "content": "Hi"}]}
    reply = stack.client.post("/v1/chat/completions", json={"model": MODEL, "user": user} | usual | body)
    assert reply.status_code == 400, reply.text
    assert message in reply.json()["error"]["message"]
    assert provider.sent == []
    assert stack.rows("select 1 from pipeline_runs where user_id = %s", user) == []


@pytest.mark.parametrize("content", [None, 7, [], [{"type": "text"}], [None], {"text": "x"}, "\x00", "\ud800"])
def test_strange_messages_are_the_providers_to_judge(
    stack: Stack, provider: Provider, user: str, content: object
) -> None:
    provider.answer = lambda body: said("Hm.")
    raw = json.dumps({"model": MODEL, "user": user, "messages": [{"role": "user", "content": content}, 5]})
    reply = stack.client.post("/v1/chat/completions", content=raw, headers={"content-type": "application/json"})
    assert reply.status_code == 200, reply.text
    assert provider.sent[-1]["messages"][-1] == 5


def test_a_stream_that_breaks(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    def broken() -> Iterator[bytes]:
        yield b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"I be"}}]}\n\n'
        raise ConnectionResetError

    provider.answer = lambda body: Response(broken(), content_type="text/event-stream")
    with pytest.raises((openai.APIError, httpx2.HTTPError)):
        list(ask(client, user, "Go on.", stream=True))
    poll(lambda: stack.rows("select status from pipeline_runs where user_id = %s", user), what="noted")
    assert stack.rows("select status from pipeline_runs where user_id = %s", user)[0]["status"] == "FAILED"
    assert stack.rows(ROWS, user) == []


def test_a_reply_that_breaks_off_is_an_error(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    length = {"Content-Length": "1000"}
    provider.answer = lambda body: Response(iter(['{"id": ']), headers=length, content_type=JSON)
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, user, "Go on.")
    assert caught.value.status_code == 503 and "cannot be reached" in str(caught.value)
    assert stack.rows(ROWS, user) == []


def test_a_spent_budget(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    ask(client, user, "Hello.")
    stack.rows("update token_usage set tokens = 10000 where user_id = %s", user)
    with pytest.raises(openai.RateLimitError) as raised:
        ask(client, user, "Hello again.")
    assert raised.value.code == "insufficient_quota"
    assert len(provider.sent) == 1


def test_passthrough_is_no_assistant(stack: Stack, user: str) -> None:
    reply = stack.client.post("/v1/runs", json={"user_id": user, "query": "Hello?", "assistant": "passthrough"})
    assert reply.json()["error"]["code"] == "unknown_assistant"
    assert "passthrough" not in [one["id"] for one in stack.client.get("/v1/models").json()["data"]]


def test_a_conversation_that_is_not_ones_own(stack: Stack, client: OpenAI, provider: Provider, user: str) -> None:
    other = str(uuid4())
    headers = {"X-MaaS-Conversation": str(uuid4())}
    ask(client, other, "Hello.", extra_headers=headers)
    with pytest.raises(openai.NotFoundError):
        ask(client, user, "Hello.", extra_headers=headers)
    mine = stack.client.post("/v1/conversations", json={"user_id": user}).json()["id"]
    with pytest.raises(openai.ConflictError):
        ask(client, user, "Hello.", extra_headers={"X-MaaS-Conversation": mine})
    assert len(provider.sent) == 1


def test_a_key_that_the_provider_quotes_is_not_shown(
    stack: Stack, client: OpenAI, provider: Provider, user: str
) -> None:
    provider.answer = lambda body: refused(401, "invalid_api_key", "sk-test-key-1234567890 is wrong")
    with pytest.raises(openai.AuthenticationError) as raised:
        ask(client, user, "Hello.")
    assert "*** is wrong" in raised.value.message and "sk-test-key" not in raised.value.message
    rows = stack.rows("select row_to_json(r)::text as t from pipeline_runs r where user_id = %s", user)
    assert not any("sk-test-key" in row["t"] for row in rows)


def test_a_body_of_lists_is_refused_before_it_is_parsed(stack: Stack, provider: Provider) -> None:
    body = b'{"model": "openai:gpt-4o", "messages": [' + b"[]," * 5_000_000 + b"[]]}"
    reply = stack.client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 413
    assert provider.sent == []
