"""Pass-through models in Anthropic's Messages API, through its own SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anthropic
import pytest
from anthropic import Anthropic, DefaultHttpxClient
from werkzeug import Response

from tests.flow.test_access import new_key
from tests.polling import poll
from tests.provider import Provider, called, said
from tests.stack import Stack

MODEL = "anthropic:claude-sonnet-5"
WEATHER = {"name": "weather", "input_schema": {"type": "object", "properties": {"town": {"type": "string"}}}}
ROWS = "select message_type, content from raw_logs where user_id = %s order by seq"
USERS = "select user_id from user_identities where provider = 'api' and external_id = %s"


@pytest.fixture(scope="module")
def settings(provider: Provider) -> dict[str, str]:
    return provider.settings | {"MAAS_PASSTHROUGH": "*, claude-*=anthropic:*"}


@pytest.fixture(autouse=True)
def as_at_first(provider: Provider) -> None:
    provider.reset()


@pytest.fixture
def user() -> str:
    return str(uuid4())


def client_of(url: str, **headers: str) -> Anthropic:
    http = DefaultHttpxClient(trust_env=False, verify=False)
    return Anthropic(base_url=url, api_key="none", http_client=http, max_retries=0, default_headers=headers)


@pytest.fixture
def client(stack: Stack, user: str) -> Iterator[Anthropic]:
    with client_of(f"http://127.0.0.1:{stack.port}", **{"X-MaaS-User": user}) as client:
        yield client


def ask(client: Anthropic, *messages: Any, **more: Any) -> Any:
    """Ask with texts, which are the user's, and messages."""
    turns = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    body: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": turns}
    return client.messages.create(**body | more)


def archived(stack: Stack, user: str, count: int) -> None:
    query = "select from pipeline_runs where user_id = %s and kind = 'ask' and archive_status = 'ARCHIVED'"
    poll(lambda: len(stack.rows(query, user)) == count, what="archived")


def test_what_was_said_reaches_the_next_question(
    stack: Stack, client: Anthropic, provider: Provider, user: str
) -> None:
    first = ask(client, "My boat lies in Bergen.")
    assert first.content[0].text == "Noted: My boat lies in Bergen."
    assert first.model_extra["maas"]["remembered"] is True
    archived(stack, user, 1)
    fields: dict[str, Any] = {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "stop_sequences": ["END"],
        "metadata": {"user_id": "a session"},
        "extra_headers": {"anthropic-beta": "a-beta-2026"},
        "extra_body": {"of_tomorrow": [1, {"a": None}]},
    }
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    question = {"role": "user", "content": [picture, {"type": "text", "text": "Where does my boat lie?"}]}
    ask(client, "Hello", {"role": "assistant", "content": "Hello!"}, question, **fields)
    sent, headers = provider.sent[-1], provider.headers[-1]
    memory = sent["messages"][-1]["content"].pop(0)
    assert memory["type"] == "text" and "My boat lies in Bergen." in memory["text"]
    expected = {name: value for name, value in fields.items() if not name.startswith("extra_")} | fields["extra_body"]
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}, question]
    assert sent == {"model": "claude-sonnet-5", "max_tokens": 100, "messages": messages, **expected}
    assert headers["x-api-key"] == "sk-ant-test-key-1234567890" and "authorization" not in headers
    assert headers["anthropic-version"] == client.default_headers["anthropic-version"]
    assert headers["anthropic-beta"] == "a-beta-2026"
    assert [row["content"] for row in stack.rows(ROWS, user)][-2] == "Where does my boat lie?"
    call = "select c.* from llm_calls c join pipeline_runs r on r.id = c.run_id where r.user_id = %s order by r.seq"
    counted = [
        (one["provider"], one["model"], one["tokens_in"], one["tokens_cached"], one["tokens_out"])
        for one in stack.rows(call, user)
        if one["stage"] == "passthrough"
    ]
    assert counted == [("anthropic", "claude-sonnet-5", 40, 8, 7)] * 2


def test_a_stream(stack: Stack, client: Anthropic, provider: Provider, user: str) -> None:
    text = "I keep\n\n    two bees."
    messages: Any = [{"role": "user", "content": text}]
    with client.messages.stream(model="claude-opus-5", max_tokens=100, messages=messages) as stream:
        assert "".join(stream.text_stream) == f"Noted: {text}"
        final = stream.get_final_message()
    assert final.stop_reason == "end_turn" and final.usage.output_tokens == 7
    assert provider.sent[0]["model"] == "claude-opus-5"
    assert [row["content"] for row in stack.rows(ROWS, user)] == [text, f"Noted: {text}"]


def test_tools_are_the_clients(stack: Stack, client: Anthropic, provider: Provider, user: str) -> None:
    ask(client, "I live in Bergen.")
    archived(stack, user, 1)

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        has_result = '"tool_result"' in json.dumps(body["messages"])
        return said("It snows.") if has_result else called("weather", '{"town": "Bergen"}', "toolu_1")

    provider.answer = answer
    question = {
        "role": "user",
        "content": [
            {"type": "text", "text": "<system-reminder>The date is known.</system-reminder>"},
            {"type": "text", "text": "What is the weather where I live?"},
        ],
    }
    first = ask(client, question, tools=[WEATHER])
    (block,) = first.content
    assert (block.type, block.name, block.input) == ("tool_use", "weather", {"town": "Bergen"})
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "snow, and I am the weather"}
    note = {"type": "text", "text": "<system-reminder>Go on.</system-reminder>"}
    said_so_far = {"role": "assistant", "content": [block.model_dump()]}
    last = ask(client, question, said_so_far, {"role": "user", "content": [result, note]}, tools=[WEATHER])
    assert last.content[0].text == "It snows."
    assert provider.sent[-1]["messages"][2]["content"] == [result, note]
    for body in provider.sent[1:]:
        assert "I live in Bergen." in body["messages"][0]["content"][0]["text"]
    assert [row["content"] for row in stack.rows(ROWS, user)][2:] == ["What is the weather where I live?", "It snows."]


def test_a_question_beside_results(stack: Stack, client: Anthropic, provider: Provider, user: str) -> None:
    """Results of tools stay the first parts, as the API wants it."""
    ask(client, "I live in Bergen.")
    archived(stack, user, 1)
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "snow"}
    asked = {"role": "user", "content": [result, {"type": "text", "text": "Is it cold where I live?"}]}
    ask(client, "The weather?", {"role": "assistant", "content": [use]}, asked, tools=[WEATHER])
    parts = provider.sent[-1]["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["tool_result", "text", "text"]
    assert "I live in Bergen." in parts[1]["text"]


def refusal(status: int, kind: str, **headers: str) -> Response:
    error = {"type": "error", "error": {"type": kind, "message": "No, sk-ant-test-key-1234567890."}}
    return Response(json.dumps(error), status, headers, content_type="application/json")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_an_error_is_that_of_the_provider(
    stack: Stack, client: Anthropic, provider: Provider, user: str, status: int, kind: str
) -> None:
    provider.answer = lambda body: refusal(status, kind, **{"Retry-After": "7"})
    with client_of(provider.url.removesuffix("/v1")) as direct, pytest.raises(anthropic.APIStatusError) as expected:
        ask(direct, "Hello", model="claude-sonnet-5")
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask(client, "Hello")
    assert type(caught.value) is type(expected.value)
    assert caught.value.response.headers["retry-after"] == "7"
    assert "sk-ant" not in str(caught.value) and "No, ***." in str(caught.value)
    assert stack.rows(ROWS, user) == []


@pytest.mark.parametrize("count", [10**8, 2**31 - 1, 2**40, -1, True, "many", None])
def test_strange_counts_of_tokens_lose_nothing(stack: Stack, provider: Provider, user: str, count: object) -> None:
    message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "stop_reason": "end_turn"}
    message["content"] = [{"type": "text", "text": "Hello."}]
    message["usage"] = {name: count for name in ("input_tokens", "cache_read_input_tokens", "output_tokens")}
    provider.answer = lambda body: Response(json.dumps(message), content_type="application/json")
    body = {"model": MODEL, "user": user, "messages": [{"role": "user", "content": "Hi"}]}
    assert stack.client.post("/v1/messages", json=body).status_code == 200
    assert [row["content"] for row in stack.rows(ROWS, user)] == ["Hi", "Hello."]


def test_a_stream_that_fails_is_not_remembered(stack: Stack, client: Anthropic, provider: Provider, user: str) -> None:
    begun = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half of"}}
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in (begun, delta, error))
    provider.answer = lambda body: Response(events, content_type="text/event-stream")
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        for _ in ask(client, "Hello", stream=True):
            pass
    assert stack.rows(ROWS, user) == []


@pytest.mark.parametrize(
    ("change", "status", "kind", "text"),
    [
        ({"model": "mentor"}, 404, "not_found_error", "there is no model 'mentor'"),
        ({"model": "gpt-9"}, 404, "not_found_error", "there is no model 'gpt-9'"),
        ({"messages": []}, 400, "invalid_request_error", "messages"),
        ({"messages": "hello"}, 400, "invalid_request_error", "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, 400, "invalid_request_error", "content"),
        ({"messages": ["hello"]}, 400, "invalid_request_error", "messages"),
        ({"metadata": {"user_id": 7}}, 400, "invalid_request_error", "metadata.user_id"),
        ({"metadata": {"user_id": "x" * 300}}, 400, "invalid_request_error", "user"),
        ({"maas": {"memory_tokens": -1}}, 400, "invalid_request_error", "memory_tokens"),
        ({"model": None}, 400, "invalid_request_error", "model"),
    ],
)
def test_bad_input_is_one_error(
    stack: Stack, provider: Provider, change: dict[str, Any], status: int, kind: str, text: str
) -> None:
    body = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]} | change
    answer = stack.client.post("/v1/messages", json=body)
    assert answer.status_code == status
    assert answer.json()["type"] == "error" and answer.json()["error"]["type"] == kind
    assert text in answer.json()["error"]["message"]
    assert provider.sent == []


def test_what_is_not_served_says_so(stack: Stack) -> None:
    answer = stack.client.post("/v1/messages/count_tokens", json={})
    assert answer.status_code == 404 and "neither batches nor counts of tokens" in answer.json()["error"]["message"]


def test_who_asks(stack: Stack, provider: Provider) -> None:
    """`user` goes before the header, and that before `metadata.user_id`."""
    first, second, third = (f"{name}-{uuid4()}" for name in ("kim", "alma", "ida"))
    url = f"http://127.0.0.1:{stack.port}"
    with client_of(url) as plain, client_of(url, **{"X-MaaS-User": second}) as named:
        ask(plain, "I am Kim.", metadata={"user_id": first})
        ask(named, "I am Alma.", metadata={"user_id": "session 7"})
        ask(named, "I am Ida.", extra_body={"user": third})
    assert all("user" not in body for body in provider.sent)
    for name, text in ((first, "I am Kim."), (second, "I am Alma."), (third, "I am Ida.")):
        (row,) = stack.rows(USERS, name)
        assert stack.rows(ROWS, row["user_id"])[0]["content"] == text
    assert stack.rows(USERS, "session 7") == []


def test_a_key_of_one_user_serves_no_other(
    fresh_database: str, stack: Stack, provider: Provider, tmp_path: Path
) -> None:
    name = f"ida-{uuid4()}"
    user = stack.rows("select maas_resolve_user('api', %s) as id", name)[0]["id"]
    key = new_key(stack, user=user)
    with Stack(fresh_database, tmp_path, **provider.settings, MAAS_AUTH="keys") as locked:
        locked.start_server()
        url = f"http://127.0.0.1:{locked.port}"
        with client_of(url) as nobody, pytest.raises(anthropic.AuthenticationError):
            ask(nobody, "Hello")
        with client_of(url).with_options(api_key=key) as own:
            ask(own, "I am Ida.", metadata={"user_id": "session 8"})
            with pytest.raises(anthropic.NotFoundError):
                ask(own, "I am Alma.", extra_headers={"X-MaaS-User": "alma"})
    assert [row["content"] for row in stack.rows(ROWS, user)] == ["I am Ida.", "Noted: I am Ida."]
    assert "sk-" not in json.dumps(provider.sent) and provider.headers[-1]["x-api-key"] != key


def test_the_clients_own_key(stack: Stack, client: Anthropic, provider: Provider) -> None:
    ask(client, "Hello", extra_headers={"X-MaaS-Provider-Key": "sk-ant-mine"})
    assert provider.headers[-1]["x-api-key"] == "sk-ant-mine"


def test_a_provider_that_cannot_be_reached(fresh_database: str, tmp_path: Path, unused_tcp_port: int) -> None:
    away = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{unused_tcp_port}", "ANTHROPIC_API_KEY": "sk-ant-1234567890"}
    with Stack(fresh_database, tmp_path, **away) as alone:
        alone.start_server()
        with client_of(f"http://127.0.0.1:{alone.port}") as client, pytest.raises(anthropic.APIStatusError) as caught:
            ask(client, "Hello")
    assert caught.value.status_code == 503 and "cannot be reached" in str(caught.value)


def test_a_local_server_gets_a_bearer_token(fresh_database: str, provider: Provider, tmp_path: Path, user: str) -> None:
    """Servers at home have this API, too, and their keys are tokens."""
    with Stack(fresh_database, tmp_path, MAAS_VLLM_URL=provider.url.removesuffix("/v1")) as local:
        local.start_server()
        with client_of(f"http://127.0.0.1:{local.port}", **{"X-MaaS-User": user}) as client:
            ask(client, "Hello", model="vllm:qwen3")
    assert provider.headers[-1]["authorization"] == "Bearer none" and "x-api-key" not in provider.headers[-1]
