"""OpenAI's own client, with nothing changed but its base URL."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID, uuid4

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion

from maas.engine.stages import MODEL_ERROR_MESSAGES
from maas.terminal.invocation import LOCAL_USER
from tests.aimock import FOLDER, Aimock, missing
from tests.http_server import HTTPServer
from tests.model_server import REPLIES, USAGE, ModelServer
from tests.pictures import picture
from tests.polling import poll
from tests.stack import NOBODY, Stack

ASSISTANT = "insert into assistants (name, role_name, definition) values (%s, 'Mentor', %s::jsonb)"
STATE = "select status, final_answer from pipeline_runs where id = %s"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    """What the assistant `poet` asks; all others ask the built-in model."""
    with HTTPServer() as http:
        server = ModelServer(http)
        yield server
        server.close()


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock | None]:
    """What the assistant `bard` asks, if it can run here."""
    if missing():
        yield None
        return
    with Aimock(tmp_path_factory.mktemp("aimock")) as server:
        yield server


@pytest.fixture(scope="module")
def stack(
    fresh_database: str, models: ModelServer, aimock: Aimock | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    keys = {"OPENAI_BASE_URL": models.url, "OPENAI_API_KEY": "sk-test-key-1234567890", "MAAS_RETRY_DELAY": "0.05"}
    if aimock:
        keys |= {"GEMINI_BASE_URL": aimock.gemini_url, "GEMINI_API_KEY": "sk-aimock-0123456789"}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **keys) as running:
        if aimock:
            running.rows(ASSISTANT, "bard", json.dumps({"model": "gemini:gemini-2.5-flash"}))
        running.rows(ASSISTANT, "poet", json.dumps({"model": "openai:responder"}))
        running.rows(ASSISTANT, "teller", json.dumps({"channels": ["cli"]}))
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture
def client(stack: Stack) -> Iterator[OpenAI]:
    with openai.DefaultHttpxClient(trust_env=False, verify=False) as http:
        yield OpenAI(base_url=f"http://127.0.0.1:{stack.port}/v1", api_key="none", http_client=http)


@pytest.fixture
async def async_client(stack: Stack) -> AsyncIterator[AsyncOpenAI]:
    async with openai.DefaultAsyncHttpxClient(trust_env=False, verify=False) as http:
        yield AsyncOpenAI(base_url=f"http://127.0.0.1:{stack.port}/v1", api_key="none", http_client=http)


@pytest.fixture
def name() -> str:
    """A user by a name of the client's own."""
    return f"Энн {uuid4()}@example.org"


def says(content: object) -> list[Any]:
    return [{"role": "user", "content": content}]


def run_of(reply: Any) -> UUID:
    return UUID(reply.id.removeprefix("chatcmpl-"))


def words(reply: ChatCompletion) -> str:
    return reply.choices[0].message.content or ""


def runs_of(stack: Stack, name: str) -> list[Any]:
    named = "select user_id from user_identities where provider = 'api' and external_id = %s"
    return stack.rows(f"select * from pipeline_runs where user_id in ({named}) order by seq", name)


async def test_what_one_client_tells_another_recalls(client: OpenAI, async_client: AsyncOpenAI, name: str) -> None:
    client.chat.completions.create(model="mentor", user=name, messages=says("My falcon is called Gerda."))
    question = says("What is my falcon called?")
    assert "Gerda" in words(await async_client.chat.completions.create(model="mentor", user=name, messages=question))
    stranger = await async_client.chat.completions.create(model="mentor", user=f"{name}!", messages=question)
    assert "Gerda" not in words(stranger)


def test_a_reply_is_a_chat_completion(stack: Stack, client: OpenAI, name: str) -> None:
    history: list[Any] = [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "user", "content": "My dog is Rex."},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "42", "tool_call_id": "1"},
    ]
    parts = [{"type": "text", "text": "I have a boat,"}, {"type": "text", "text": "the Zephyr."}]
    raw = client.chat.completions.with_raw_response.create(
        model="mentor",
        user=name,
        messages=[*history, *says(parts), {"role": "developer", "content": "Be brief."}],
        temperature=0.1,
        max_tokens=5,
        seed=7,
        tool_choice="auto",
        tools=[{"type": "function", "function": {"name": "f"}}],
        metadata={"page": "7"},
        extra_body={"unheard_of": {"x": 1}},
        extra_headers={"X-Client-Request-Id": "mine-1", "X-MaaS-Ignore": "images, tools"},
    )
    reply = raw.parse()
    (run,) = runs_of(stack, name)
    assert raw.headers["x-client-request-id"] == "mine-1"
    assert (reply.object, reply.model, run_of(reply)) == ("chat.completion", "mentor", run["id"])
    assert (words(reply), reply.choices[0].finish_reason) == (run["final_answer"], "stop")
    assert reply.created == int(run["created_at"].timestamp())
    assert (run["user_query"], run["source"], run["metadata"]) == (
        "I have a boat,\nthe Zephyr.",
        "openai",
        {"page": "7"},
    )
    assert reply.usage and reply.usage.prompt_tokens > 10 and reply.usage.completion_tokens > 5
    added = reply.model_dump()["maas"]
    assert (added["request_id"], added["conversation_id"], added["usage_is_estimated"]) == (str(run["id"]), None, True)
    assert "Rex" not in stack.client.get(f"/v1/memories?user_id={run['user_id']}").text


def test_what_comes_along_reaches_the_model_and_no_memory(
    stack: Stack, client: OpenAI, models: ModelServer, name: str
) -> None:
    """System text and earlier messages shape this answer; what is not honoured is named, in the body and a header."""
    messages: list[Any] = [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "user", "content": "My dog is Rex."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]},
        {"role": "tool", "content": "Rex is three.", "tool_call_id": "1"},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "input_audio", "input_audio": {}}]},
        {"role": "assistant", "content": "A fine dog."},
        *says("How old is it?"),
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
    ]
    asked: dict[str, Any] = {
        "model": "poet",
        "user": name,
        "messages": messages,
        "temperature": 0,
        "seed": 7,
        "n": 1,
        "stop": None,
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "extra_body": {"имя": 1, "top_k": 5},
        "extra_headers": {"X-MaaS-Ignore": "tools"},
    }
    raw = client.chat.completions.with_raw_response.create(**asked)
    system, question = (one["content"] for one in models.said_to("responder")[-1]["messages"])
    role, _, memory = system.partition("\n<memory>\n")
    assert role.index("Speak like a pirate.\n\nBe brief.") > 100 and "Rex" not in role
    assert [line for line in memory.split("\n") if line.startswith("- ")] == [
        "- [earlier] user: My dog is Rex.",
        "- [earlier] tool: Rex is three.",
        "- [earlier] user: Look.",
        "- [earlier] assistant: A fine dog.",
    ]
    assert question == "How old is it?"
    ignored = ["seed", "temperature", "tools", "top_k", "имя", "messages[].input_audio", "messages[].tool_calls"]
    assert sorted(raw.parse().model_dump()["maas"]["ignored"]) == sorted(ignored)
    header = raw.headers["x-maas-ignored"].split(", ")
    assert sorted(header) == sorted(["%D0%B8%D0%BC%D1%8F" if one == "имя" else one for one in ignored])
    *_, last = client.chat.completions.create(stream=True, **asked)
    assert sorted(last.model_dump()["maas"]["ignored"]) == sorted(ignored)
    first, _ = runs_of(stack, name)
    user = first["user_id"]
    assert first["metadata"] is None and first["user_query"] == "How old is it?"
    said = stack.rows("select content from raw_logs where user_id = %s order by seq", user)
    assert {one["content"] for one in said} == {"How old is it?", REPLIES["responder"]}
    assert not any("Rex" in str(one) for one in stack.rows("select * from lsm_storage where user_id = %s", user))
    assert "Rex" not in stack.client.get(f"/v1/users/{user}/export").text
    plain = client.chat.completions.with_raw_response.create(model="poet", user=name, messages=says("Hi."))
    assert "x-maas-ignored" not in plain.headers and plain.parse().model_dump()["maas"]["ignored"] == []


def test_what_is_left_out_is_said_with_its_size(stack: Stack, client: OpenAI, models: ModelServer, name: str) -> None:
    history: list[Any] = [{"role": "user", "content": "old " * 10_000}, {"role": "assistant", "content": "I see."}]
    raw = client.chat.completions.with_raw_response.create(
        model="poet", user=name, messages=[*history, *says("And now?")]
    )
    (named,) = raw.parse().model_dump()["maas"]["ignored"]
    assert named == f"messages[].content ({40_006 - 32_768} characters)" == raw.headers["x-maas-ignored"]
    dense = " ".join(f"{number * 2_654_435_761 % 2**28:07x}" for number in range(3_000))
    raw = client.chat.completions.with_raw_response.create(
        model="poet", user=f"{name} 2", messages=[{"role": "user", "content": dense}, *says("And now?")]
    )
    assert raw.parse().model_dump()["maas"]["memory_reasons"] == ["client_messages_cut"]
    assert "client_messages_cut" in raw.headers["x-maas-memory"]
    system = models.said_to("responder")[-1]["messages"][0]["content"]
    assert f"- [earlier] user: {dense[:400]}" in system, "its beginning"


def test_tools_and_pictures_are_refused_unless_the_client_agrees(client: OpenAI, name: str) -> None:
    tools: Any = [{"type": "function", "function": {"name": "f"}}]
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="mentor", user=name, messages=says("Hi."), tools=tools)
    assert (refused.value.code, refused.value.param) == ("unsupported_parameter", "tools")
    assert "X-MaaS-Ignore: tools" in refused.value.message
    url = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    looked: Any = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": url}}]
    with pytest.raises(openai.BadRequestError) as blind:
        client.chat.completions.create(model="mentor", user=name, messages=says(looked))
    assert (blind.value.code, blind.value.param) == ("unsupported_parameter", "messages")
    reply = client.chat.completions.create(
        model="mentor", user=name, messages=says(looked), tools=tools, extra_headers={"X-MaaS-Ignore": "tools,images"}
    )
    assert reply.model_dump()["maas"]["ignored"] == ["tools", "images (1)"]
    with pytest.raises(openai.BadRequestError, match="X-MaaS-Ignore"):
        client.chat.completions.create(
            model="mentor", user=name, messages=says("Hi."), extra_headers={"X-MaaS-Ignore": "everything"}
        )


@pytest.mark.parametrize("how", [{"extra_headers": {"X-MaaS-Remember": "off"}}, {"metadata": {"remember": "off"}}])
def test_what_is_not_to_be_remembered_is_answered_only(
    stack: Stack, client: OpenAI, name: str, how: dict[str, Any]
) -> None:
    client.chat.completions.create(model="mentor", user=name, messages=says("My falcon is called Gerda."))
    title = client.chat.completions.create(
        model="mentor", user=name, messages=says("Which title fits a talk of the falcon Hubert?"), **how
    )
    assert words(title)
    later = client.chat.completions.create(model="mentor", user=name, messages=says("What is my falcon called?"))
    assert "Gerda" in words(later) and "Hubert" not in words(later)
    user, metadata = (runs_of(stack, name)[1][one] for one in ("user_id", "metadata"))
    assert metadata is None
    assert "Hubert" not in stack.client.get(f"/v1/memories?user_id={user}").text
    asked = {"user_id": str(user), "query": "falcon title Hubert"}
    for route in ("memories/search", "context"):
        found = stack.client.post(f"/v1/{route}", json=asked).text
        assert "Gerda" in found and "Hubert" not in found


def test_a_degraded_answer_and_pending_actions_are_reported(stack: Stack, client: OpenAI, name: str) -> None:
    reply = client.chat.completions.create(model="poet", user=name, messages=says("Hello."))
    added = reply.model_dump()["maas"]
    assert (added["degraded"], added["actions"]) == ([], [])
    stack.rows("update pipeline_runs set degraded = '{Assembler}' where id = %s returning id", run_of(reply))
    stack.rows("select maas_propose_action(%s, 'c1', 'post', '{\"a\": 1}', 'write')", run_of(reply))
    key = {"Idempotency-Key": str(uuid4())}
    stack.rows("update pipeline_runs set idempotency_key = %s where id = %s returning id", *key.values(), run_of(reply))
    again = client.chat.completions.create(model="poet", user=name, messages=says("Hello."), extra_headers=key)
    added = again.model_dump()["maas"]
    assert (again.id, added["degraded"]) == (reply.id, ["Assembler"])
    assert [(one["tool"], one["arguments"]) for one in added["actions"]] == [("post", {"a": 1})]


def test_usage_is_that_of_the_models(client: OpenAI, name: str) -> None:
    reply = client.chat.completions.create(model="poet", user=name, messages=says("How are you?"))
    assert words(reply) == REPLIES["responder"]
    assert reply.usage and reply.usage.total_tokens == USAGE["total_tokens"]
    assert reply.model_dump()["maas"]["usage_is_estimated"] is False


def test_a_stream_of_the_built_in_model(stack: Stack, client: OpenAI, name: str) -> None:
    chunks = list(
        client.chat.completions.create(
            model="mentor",
            user=name,
            messages=says("My owl is Bo."),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    first, *middle, last, usage = chunks
    assert (first.choices[0].delta.role, first.choices[0].finish_reason) == ("assistant", None)
    (run,) = runs_of(stack, name)
    assert "".join(one.choices[0].delta.content or "" for one in middle) == run["final_answer"]
    assert (last.choices[0].finish_reason, last.choices[0].delta.content) == ("stop", None)
    assert last.model_dump()["maas"]["request_id"] == str(run["id"])
    assert (usage.choices, usage.usage and usage.usage.completion_tokens > 5) == ([], True)
    assert {(one.id, one.object, one.model) for one in chunks} == {
        (f"chatcmpl-{run['id']}", "chat.completion.chunk", "mentor")
    }


def test_words_come_while_the_model_speaks_and_who_leaves_cancels_nothing(
    stack: Stack, client: OpenAI, models: ModelServer, name: str
) -> None:
    models.pause("responder")
    with client.chat.completions.create(model="poet", user=name, messages=says("Sing."), stream=True) as stream:
        chunks = [next(stream), next(stream)]
    said = chunks[1].choices[0].delta.content
    assert said and REPLIES["responder"].startswith(said) and said != REPLIES["responder"]
    models.release("responder")
    poll(lambda: stack.rows(STATE, run_of(chunks[0]))[0]["status"] == "COMPLETED")
    assert stack.rows(STATE, run_of(chunks[0]))[0]["final_answer"] == REPLIES["responder"]


def test_a_stream_of_a_model_that_others_wrote(client: OpenAI, aimock: Aimock | None, name: str) -> None:
    if aimock is None:
        pytest.skip(str(missing()))
    song = "Поёт сверчок за печкой, и тихо догорает наша свеча в медном подсвечнике у окна."
    aimock.say(song, to="Sing of a cricket")
    body: dict[str, Any] = {"model": "bard", "user": name, "messages": says("Sing of a cricket.")}
    pieces = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(stream=True, **body)]
    assert "".join(piece or "" for piece in pieces) == song
    assert words(client.chat.completions.create(**body)) == song


def test_clients_of_node_recall_what_one_of_python_said(stack: Stack, client: OpenAI) -> None:
    if reason := missing():
        pytest.skip(reason)
    user = f"node-{uuid4()}"  # the AI SDK names its user in a header, which takes no other letters
    client.chat.completions.create(model="mentor", user=user, messages=says("My falcon is called Gerda."))
    done = subprocess.run(
        ["node", "clients.mjs", f"http://127.0.0.1:{stack.port}/v1", user, "What is my falcon called?"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout.splitlines()[-1])
    assert {one for one in got if "Gerda" in got[one].get("text", "")} == {"openai", "openai-stream", "ai", "ai-stream"}
    assert (got["openai"]["status"], got["openai"]["id"].startswith("chatcmpl-")) == (200, True)
    assert got["openai"]["tokens"] > 10 and got["ai"]["tokens"] > 10
    assert "mentor" in got["openai-models"]["models"]
    assert got["openai-error"] == {"is": True, "code": "model_not_found", "type": "not_found_error"}
    assert len(runs_of(stack, user)) == 5


def test_a_stream_ends_with_done_and_repeats_the_answer_word_for_word(stack: Stack, name: str) -> None:
    body = {"model": "poet", "user": name, "messages": says("Sing."), "stream": True}
    reply = stack.client.post("/v1/chat/completions", json=body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    *lines, last = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line.startswith("data: ")]
    assert last == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
    assert "".join(one.get("content", "") for one in deltas) == REPLIES["responder"]
    assert "usage" not in json.loads(lines[-1])


@pytest.mark.parametrize(
    ("answered", "error", "code"),
    [(400, openai.BadRequestError, "bad_request"), (404, openai.NotFoundError, "model_not_found")],
)
def test_a_provider_refuses_as_if_it_had_been_called(
    stack: Stack, client: OpenAI, models: ModelServer, name: str, answered: int, error: type[Exception], code: str
) -> None:
    """The SDK raises the class that it raises without us, and asks once: MaaS has repeated the call itself."""
    models.statuses["responder"] = answered
    try:
        with pytest.raises(error) as caught:
            client.chat.completions.create(model="poet", user=name, messages=says("Fail."))
    finally:
        del models.statuses["responder"]
    assert isinstance(caught.value, openai.APIStatusError)
    assert (caught.value.status_code, caught.value.code) == (answered, code) and len(runs_of(stack, name)) == 1


def test_a_run_that_fails_is_an_error_and_is_not_sent_again(
    stack: Stack, client: OpenAI, models: ModelServer, name: str
) -> None:
    models.statuses["responder"] = 401
    try:
        with pytest.raises(openai.AuthenticationError) as caught:
            client.chat.completions.create(model="poet", user=name, messages=says("Fail."))
        stream = client.chat.completions.create(model="poet", user=name, messages=says("Again."), stream=True)
        with pytest.raises(openai.APIError) as broken:
            list(stream)
    finally:
        del models.statuses["responder"]
    first, second = runs_of(stack, name)
    assert (caught.value.code, caught.value.type) == ("unauthorized", "authentication_error")
    assert str(first["id"]) in caught.value.message
    assert (broken.value.code, broken.value.message) == ("unauthorized", second["error_message"])
    assert second["error_message"] == f"final_responder: {MODEL_ERROR_MESSAGES['unauthorized']}"
    path = f"/v1/runs/{second['id']}"
    for said in (caught.value.message, stack.client.get(path).text, stack.client.get(f"{path}/events").text):
        assert MODEL_ERROR_MESSAGES["unauthorized"] in said and "on purpose" not in said and "answered" not in said
    trace = stack.client.get(f"{path}/trace").json()
    assert "answered 401: on purpose" in trace["calls"][-1]["error"]
    assert "answered 401: on purpose" in next(one["why"] for one in trace["stages"] if one["state"] == "failed")


def test_what_is_too_long_is_a_bad_request(client: OpenAI, name: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="mentor", user=name, messages=says("я" * 32_768))
    assert caught.value.code == "context_length_exceeded"


REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    ({"n": 2}, "unsupported_parameter", "n"),
    ({"tool_choice": "required"}, "unsupported_parameter", "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "unsupported_parameter", "tool_choice"),
    ({"response_format": {"type": "xml"}}, "unsupported_parameter", "response_format"),
    ({"modalities": ["text", "audio"]}, "unsupported_parameter", "modalities"),
    ({"audio": {"voice": "alloy", "format": "mp3"}}, "unsupported_parameter", "audio"),
    ({"logprobs": True}, "unsupported_parameter", "logprobs"),
    ({"stop": ["."]}, "unsupported_parameter", "stop"),
    ({"messages": says([{"type": "input_audio", "input_audio": {}}])}, "unsupported_parameter", "messages"),
    ({"messages": []}, "invalid_request", "messages"),
    ({"messages": [{"role": "system", "content": "Hi"}]}, "bad_parameter", "messages"),
    ({"messages": [*says("Hi"), {"role": "assistant", "content": "Well, "}]}, "bad_parameter", "messages"),
    ({"messages": [*says("Hi"), {"role": "tool", "content": "4", "tool_call_id": "1"}]}, "bad_parameter", "messages"),
    ({"messages": says(" \u200b\n")}, "bad_parameter", "messages"),
    ({"messages": says(None)}, "bad_parameter", "messages"),
    ({"messages": says("a\x00b")}, "bad_parameter", "messages"),
    ({"messages": says([{"type": "text", "text": 7}])}, "bad_parameter", "messages"),
    ({"messages": says("я" * 32_769)}, "bad_parameter", "messages"),
    ({"messages": [{"role": "king", "content": "Hi"}]}, "invalid_request", "messages.0.role"),
    ({"messages": says([{"type": "image_url", "image_url": {"url": "http://127.0.0.1/a.png"}}])}, "bad_parameter",
     "messages"),
    ({"messages": says([{"type": "image_url", "image_url": {"url": "data:image/png;base64,é"}}])}, "bad_parameter",
     "messages"),
    ({"model": "stickers", "messages": says([{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {
        "url": "data:image/png;base64,AAAA"}}])}, "bad_image", None),
    ({"messages": [{"role": "system", "content": "x" * 65_537}, *says("Hi")]}, "context_length_exceeded", None),
    ({"metadata": {"conversation_id": " "}}, "bad_parameter", "metadata.conversation_id"),
    ({"metadata": {"conversation_id": "x" * 201}}, "bad_parameter", "metadata.conversation_id"),
    ({"metadata": {"conversation_id": 7}}, "bad_parameter", "metadata.conversation_id"),
    ({"metadata": {"a": "\x00"}}, "bad_parameter", "metadata"),
    ({"metadata": {"remember": False}}, "bad_parameter", "metadata.remember"),
    ({"model": 7}, "invalid_request", "model"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "param"), REFUSED)
def test_what_would_silently_be_wrong_is_refused(
    stack: Stack, client: OpenAI, name: str, change: dict[str, Any], code: str, param: str | None
) -> None:
    body = {"model": "mentor", "messages": says("Hi"), "user": name} | change
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/chat/completions", body=body, cast_to=ChatCompletion)
    assert (caught.value.code, caught.value.param, caught.value.type) == (code, param, "invalid_request_error")
    assert set(caught.value.response.json()) == {"error"}
    assert runs_of(stack, name) == []


@pytest.mark.parametrize(
    ("user", "code"),
    [
        ("x" * 10_000, "bad_user"),
        ("a\x00b", "bad_user"),
        (" \u200b", "bad_user"),
        (7, "invalid_request"),
        ({"id": 1}, "invalid_request"),
    ],
)
def test_no_user(stack: Stack, client: OpenAI, user: Any, code: str) -> None:
    count = "select count(*) from user_identities"
    before = stack.rows(count)
    body = {"model": "mentor", "messages": says("Hi"), "user": user}
    with pytest.raises(openai.BadRequestError) as caught:
        client.post("/chat/completions", body=body, cast_to=ChatCompletion)
    assert caught.value.code == code
    assert stack.rows(count) == before


@pytest.mark.parametrize("user", [{"user": ""}, {"user": None}, {}])
def test_nobody_named_is_the_user_of_this_machine(stack: Stack, client: OpenAI, user: dict[str, Any]) -> None:
    """Where everybody on this machine may do everything: whom the command line means, too."""
    body = {"model": "mentor", "messages": says("Hello."), **user}
    reply = client.post("/chat/completions", body=body, cast_to=ChatCompletion)
    assert stack.answer(run_of(reply))["user_id"] == LOCAL_USER


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("completions", "/v1/chat/completions"),
    ],
)
def test_missing_endpoints_name_the_existing_one(client: OpenAI, path: str, instead: str) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.post(f"/{path}", body={"model": "mentor", "input": "Hi."}, cast_to=ChatCompletion)
    assert (caught.value.code, caught.value.type) == ("unsupported_endpoint", "not_found_error")
    assert f"use POST {instead}" in caught.value.message or f"or POST {instead}" in caught.value.message


@pytest.mark.parametrize("part", ["user", "model", "messages", "metadata"])
def test_lone_surrogates_are_refused(stack: Stack, name: str, part: str) -> None:
    values = {"user": name, "model": "mentor", "messages": says("Hi"), "metadata": {}} | {part: "?"}
    if part == "messages":
        values[part] = says("?")
    elif part == "metadata":
        values[part] = {"a": "?"}
    reply = stack.client.post("/v1/chat/completions", content=json.dumps(values).replace("?", "\\ud800"), headers=JSON)
    assert reply.status_code in (400, 404)
    assert set(reply.json()["error"]) == {"message", "type", "param", "code"}
    assert runs_of(stack, name) == []


@pytest.mark.parametrize(
    "user", ["'; drop table user_identities; --", "../../etc/passwd", "{{7*7}}", "🦉" * 200, "<b>%s</b>"]
)
def test_any_text_is_a_user(stack: Stack, client: OpenAI, user: str) -> None:
    reply = client.chat.completions.create(model="mentor", user=user, messages=says("Hello."))
    assert [one["id"] for one in runs_of(stack, user)] == [run_of(reply)]


def test_ways_to_name_a_user(stack: Stack, client: OpenAI, name: str) -> None:
    """`user`, else `safety_identifier`, else the header; a UUID is the user whom the other endpoints know by it."""
    header = {"extra_headers": {"X-MaaS-User": "c"}}
    ways: list[dict[str, Any]] = [{"user": name}, {"safety_identifier": name}, {"user": name, **header}, header]
    asked = [run_of(client.chat.completions.create(model="mentor", messages=says("Hi."), **way)) for way in ways]
    body = {"model": "mentor", "messages": says("Hi.")}
    bare = stack.client.post("/v1/chat/completions", json=body, headers={b"x-maas-user": name.encode()}).json()
    assert [one["id"] for one in runs_of(stack, name)] == [*asked[:3], UUID(bare["maas"]["request_id"])]
    assert [one["id"] for one in runs_of(stack, "c")] == asked[3:]
    odd = stack.client.post("/v1/chat/completions", json=body, headers={b"x-maas-user": b"\xff"})
    assert (odd.status_code, odd.json()["error"]["code"]) == (400, "bad_user")
    user = uuid4()
    reply = client.chat.completions.create(model="mentor", user=str(user).upper(), messages=says("Hi."))
    assert stack.answer(run_of(reply))["user_id"] == str(user)


def test_a_conversation(stack: Stack, client: OpenAI, name: str) -> None:
    conversation = str(uuid4())
    within: dict[str, Any] = {"model": "mentor", "user": name, "metadata": {"conversation_id": conversation}}
    reply = client.chat.completions.create(messages=says("I like figs."), **within)
    client.chat.completions.create(messages=says("And dates."), **within)
    assert reply.model_dump()["maas"]["conversation_id"] == conversation
    said = stack.client.get(f"/v1/conversations/{conversation}/messages").json()["results"]
    assert [one["content"] for one in said if one["role"] == "user"] == ["And dates.", "I like figs."]
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(messages=says("Hi."), **within | {"user": f"{name}!"})
    assert (caught.value.code, caught.value.type) == ("not_found", "not_found_error")


def test_a_key_makes_a_repetition_harmless(stack: Stack, client: OpenAI, name: str) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first, again = (
        client.chat.completions.create(model="mentor", user=name, messages=says("Once."), extra_headers=key)
        for _ in range(2)
    )
    assert (first.id, words(first), first.created) == (again.id, words(again), again.created)
    with pytest.raises(openai.ConflictError) as caught:
        client.chat.completions.create(model="mentor", user=name, messages=says("Twice."), extra_headers=key)
    assert caught.value.code == "idempotency_conflict"
    assert len(runs_of(stack, name)) == 1


def test_images_come_along(stack: Stack, client: OpenAI, name: str) -> None:
    url = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    image = {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
    with pytest.raises(openai.InternalServerError, match="needs a model"):  # to look at it
        client.chat.completions.create(
            model="stickers", user=name, messages=says([{"type": "text", "text": "My owl."}, image, image])
        )
    (run,) = runs_of(stack, name)
    (kept,) = run["attachment_ids"]
    shown = stack.client.get(f"/v1/attachments/{kept}", params={"user_id": str(run["user_id"])}).json()
    assert (shown["media_type"], shown["width"]) == ("image/png", 40)


def test_assistants_are_models(client: OpenAI, name: str) -> None:
    listed = {one.id: one for one in client.models.list()}
    assert {"mentor", "poet", "stickers"} <= listed.keys()
    assert client.models.retrieve("poet") == listed["poet"]
    assert (listed["poet"].object, listed["poet"].owned_by, listed["poet"].created > 1_700_000_000) == (
        "model",
        "maas",
        True,
    )
    for unknown in ("gpt-4o", "teller", "a\x00b"):  # the second answers requests of the command line only
        with pytest.raises(openai.NotFoundError) as caught:
            client.models.retrieve(unknown)
        assert caught.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model=unknown, user=name, messages=says("Hi."))
        assert caught.value.code == "model_not_found"
    assert "teller" not in listed


@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "status"),
    [
        ("POST", "/v1/chat/completions", b"not json", JSON, 400),
        ("POST", "/v1/chat/completions", b"[]", JSON, 400),
        ("POST", "/v1/chat/completions", b"{}", {"content-type": "text/plain"}, 415),
        ("POST", "/v1/chat/completions", b'"' + b"x" * 1_100_000 + b'"', JSON, 413),
        ("GET", "/v1/chat/completions", b"", {}, 405),
        ("POST", "/v1/models", b"{}", JSON, 405),
        ("GET", f"/v1/models/{NOBODY}", b"", {}, 404),
        ("GET", "/v1/models/a/b", b"", {}, 404),
    ],
)
def test_every_error_has_the_shape_of_openai(
    stack: Stack, method: str, path: str, content: bytes, headers: dict[str, str], status: int
) -> None:
    sent = headers | {"X-Client-Request-Id": "mine-2"}
    reply = stack.client.request(method, path, content=content, headers=sent)
    assert reply.status_code == status
    assert reply.headers["x-client-request-id"] == "mine-2"
    assert reply.headers["content-length"] == str(len(reply.content))
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")


def test_it_is_described(stack: Stack) -> None:
    paths = stack.client.get("/openapi.json").json()["paths"]
    asking = paths["/v1/chat/completions"]["post"]
    assert {"application/json", "text/event-stream"} == asking["responses"]["200"]["content"].keys()
    refusal = asking["responses"]["429"]["content"]["application/json"]["schema"]["$ref"]
    assert refusal.endswith("/OpenAIError") and "Idempotency-Key" in str(asking["parameters"])
    assert paths["/v1/models/{model}"]["get"]["parameters"][0]["schema"]["type"] == "string"
