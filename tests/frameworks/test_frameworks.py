"""Real frameworks, at their defaults: beside the provider itself, through MaaS in front of it, and with an assistant.

A framework is given another base URL and another name of the model, nothing else. What the provider then gets must be
what it gets without MaaS, and one block of memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.frameworks.answers import PET, answer
from tests.frameworks.programs import AI_SDK, LITELLM, OPENAI_NODE, Framework, missing
from tests.http_server import HTTPServer
from tests.polling import poll
from tests.provider import Json, Provider, last_text, openai_client, said
from tests.stack import Stack

MODEL = "gpt-4o"
KNOWN = "My cat Gerda sleeps in the kitchen."
Assistant = Literal["text", "json", "refused"]


@dataclass(frozen=True, slots=True)
class Case:
    """`turns` end in text and are remembered; `assistant` is what the framework gets from one of MaaS."""

    framework: str
    name: str
    turns: int = 1
    assistant: Assistant = "text"

    @property
    def is_response(self) -> bool:
        return self.name.startswith("responses")

    def __str__(self) -> str:
        return f"{self.framework}: {self.name}"


def cases(framework: str, *names: str, **more: Any) -> list[Case]:
    return [Case(framework, name, **more) for name in names]


CASES = [
    *cases("langchain", "chat", "stream", "responses", "responses stream"),
    *cases("langchain", "function calling", turns=0, assistant="json"),
    *cases("langchain", "json mode", "json schema", "responses json schema", assistant="json"),
    *cases("langchain", "agent", "responses agent", assistant="refused"),
    *cases("pydantic_ai", "chat", "stream", "responses", "responses stream"),
    *cases("pydantic_ai", "history", "responses history", turns=2),
    *cases("pydantic_ai", "tool output", "responses tool output", turns=0, assistant="json"),
    *cases("pydantic_ai", "native output", "responses native output", "prompted output", assistant="json"),
    *cases("pydantic_ai", "tool", "responses tool", assistant="refused"),
    *cases("openai_agents", "chat", "responses chat"),
    *cases("openai_agents", "output", "responses output", assistant="json"),
    *cases("openai_agents", "tool", "handoff", "stream", assistant="refused"),
    *cases("openai_agents", "responses tool", "responses handoff", "responses stream", assistant="refused"),
    *cases("instructor", "tools", turns=0, assistant="json"),
    *cases("instructor", "json", "json schema", assistant="json"),
    *cases(LITELLM, "chat", "stream", "responses"),
    *cases(LITELLM, "tools", assistant="refused"),
    *cases("llm", "chat", "stream", "responses chat", "responses stream"),
    *cases("llm", "dialogue", "responses dialogue", turns=2),
    *cases("llm", "schema", "responses schema", assistant="json"),
    *cases("llm", "tool", "responses tool", assistant="refused"),
    *cases(OPENAI_NODE, "chat", "stream", "responses", "responses stream"),
    *cases(OPENAI_NODE, "parse", "responses parse", assistant="json"),
    *cases(OPENAI_NODE, "run tools", "responses tools", assistant="refused"),
    *(
        case
        for kind in ("", "compatible ", "responses ")
        for case in (
            *cases(AI_SDK, f"{kind}chat", f"{kind}stream"),
            *cases(AI_SDK, f"{kind}dialogue", turns=2),
            *cases(AI_SDK, f"{kind}dialogue with tools", turns=2, assistant="refused"),
            *cases(AI_SDK, f"{kind}output", f"{kind}object", assistant="json"),
            *cases(AI_SDK, f"{kind}tools", f"{kind}tools stream", assistant="refused"),
        )
    ),
]
FRAMEWORKS = tuple(dict.fromkeys(one.framework for one in CASES))
every = pytest.mark.parametrize("case", CASES, ids=str)
responses = pytest.mark.parametrize("case", [one for one in CASES if one.is_response], ids=str)


@dataclass(frozen=True, slots=True)
class Place:
    """A provider, and MaaS in front of it."""

    provider: Provider
    stack: Stack
    has_responses: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.stack.port}/v1"


@pytest.fixture(scope="module")
def frameworks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Framework]]:
    """Those that are installed; they import what they need side by side."""
    folder = tmp_path_factory.mktemp("frameworks")
    with ExitStack() as stack:
        names = [name for name in FRAMEWORKS if missing(name) is None]
        yield {name: stack.enter_context(Framework(name, folder / f"{name}.log")) for name in names}


@pytest.fixture
def framework(case: Case, frameworks: dict[str, Framework]) -> Framework:
    if reason := missing(case.framework):
        pytest.skip(reason)
    return frameworks[case.framework]


@pytest.fixture(scope="module")
def plain(
    frameworks: object, postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A provider with chat completions alone. Memory knows of Gerda."""
    with copy_of(template, postgres.dsn) as dsn, HTTPServer(threaded=True) as http:
        provider = Provider(http)
        with Stack(dsn, tmp_path_factory.mktemp("plain"), **_settings(provider)) as stack:
            stack.start_server()
            stack.start_orchestrator()
            said = {"model": MODEL, "messages": [{"role": "user", "content": KNOWN}]}
            assert stack.client.post("/v1/chat/completions", json=said).status_code == 200
            poll(lambda: stack.rows("select from lsm_storage"), what="archived")
            yield Place(provider, stack, has_responses=False)


@pytest.fixture(scope="module")
def whole(plain: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A provider that has the Responses API, too; the same memory."""
    with HTTPServer(threaded=True) as http:
        provider = Provider(http)
        with Stack(plain.stack.dsn, tmp_path_factory.mktemp("whole"), **_settings(provider)) as stack:
            stack.start_server()
            yield Place(provider, stack, has_responses=True)


def _settings(provider: Provider) -> dict[str, str]:
    return {
        "MAAS_PASSTHROUGH": f"*, {MODEL}=openai:{MODEL}",
        "MAAS_RESPONDER_MODEL": f"openai:{MODEL}",
        "OPENAI_API_KEY": "sk-test-key-1234567890",
        "OPENAI_BASE_URL": provider.url,
    }


def ask(framework: Framework, case: Case, place: Place, url: str, model: str, text: str) -> tuple[Json, list[Json]]:
    """What a framework gets, and what the provider got."""
    place.provider.reset()
    place.provider.has_responses = place.has_responses
    place.provider.answer = answer
    outcome = framework.run(case.name, url, model, text)
    return outcome, list(place.provider.sent)


def newest(stack: Stack) -> int:
    return int(stack.rows("select coalesce(max(seq), 0) as seq from raw_logs")[0]["seq"])


def assert_remembered(stack: Stack, seq: int, text: str, turns: int) -> None:
    """Since `seq` each turn is there once: the question as the framework was given it, and the answer."""
    rows = stack.rows("select message_type, content from raw_logs where seq > %s order by seq", seq)
    assert [row["message_type"] for row in rows] == ["user_query", "assistant_response"] * turns
    assert all(row["content"].startswith(text) for row in rows if row["message_type"] == "user_query")


def without_memory(body: Json) -> Json:
    """A request as it was before MaaS put the one block of memory right before the user's last message."""
    field = "messages" if "messages" in body else "input"
    blocks = [one for one in body[field] if str(one.get("content", "")).startswith("<memory ")]
    assert len(blocks) == 1 and KNOWN in blocks[0]["content"], body
    place = body[field].index(blocks[0])
    assert body[field][place + 1]["role"] == "user"
    return body | {field: [one for one in body[field] if one is not blocks[0]]}


def with_items(body: Json) -> Json:
    """A request whose input is a list: MaaS makes a message of a text to put memory before it."""
    text = body.get("input")
    return body | {"input": [{"role": "user", "content": text}]} if isinstance(text, str) else body


def joined(value: Any) -> Any:
    """An outcome whatever pieces its texts came in."""
    if isinstance(value, list):
        return [joined(one) for one in value]
    if isinstance(value, dict):
        return "".join(value["pieces"]) if "pieces" in value else {key: joined(one) for key, one in value.items()}
    return value


@pytest.mark.parametrize("model", [MODEL, f"openai:{MODEL}"])
@every
def test_the_provider_gets_the_same_and_memory(
    case: Case, model: str, framework: Framework, plain: Place, whole: Place
) -> None:
    place = whole if case.is_response else plain
    text = f"Where does Gerda sleep? ({case}, {model})"
    direct, expected = ask(framework, case, place, place.provider.url, model, text)
    assert "result" in direct, direct
    seq = newest(place.stack)
    through, sent = ask(framework, case, place, place.url, model, text)
    assert through == direct
    assert [without_memory(body) for body in sent] == [with_items(body) | {"model": MODEL} for body in expected]
    assert_remembered(place.stack, seq, text, case.turns)


@responses
def test_a_provider_with_chat_completions_alone(case: Case, framework: Framework, plain: Place, whole: Place) -> None:
    """MaaS makes chat completions of the responses; the framework sees what a provider with both would give."""
    text = f"Where does Gerda sleep? ({case}, without responses)"
    direct, expected = ask(framework, case, whole, whole.provider.url, MODEL, text)
    seq = newest(plain.stack)
    through, sent = ask(framework, case, plain, plain.url, MODEL, text)
    assert joined(through) == joined(direct)
    assert len(sent) == len(expected)
    assert all("messages" in without_memory(body) for body in sent)
    assert_remembered(plain.stack, seq, text, case.turns)


@every
def test_an_assistant(case: Case, framework: Framework, plain: Place) -> None:
    text = f"Where does Gerda sleep? ({case}, mentor)"
    seq = newest(plain.stack)
    outcome, sent = ask(framework, case, plain, plain.url, "mentor", text)
    if case.assistant == "refused":
        assert outcome["status"] == 400 and "an assistant calls tools of its own" in outcome["error"], outcome
        assert sent == [] and newest(plain.stack) == seq
        return
    assert "result" in outcome, outcome
    if case.assistant == "json":
        assert outcome["result"] == PET
    else:
        assert text in json.dumps(joined(outcome)), "the model repeats the question"
    assert_remembered(plain.stack, seq, text, max(case.turns, 1))


@pytest.mark.parametrize("client", ["openai", "litellm"])
@pytest.mark.parametrize("model", [MODEL, "mentor"])
def test_a_client_that_does_not_wait(model: str, client: str, frameworks: dict[str, Framework], plain: Place) -> None:
    """A third of the answers takes longer than the client waits: it asks again, and each question is one exchange."""
    if reason := missing(LITELLM):
        pytest.skip(reason)

    def late(body: Json) -> Json:
        if last_text(body).endswith("0"):
            time.sleep(1.2)
        return said("Noted.")

    plain.provider.reset()
    plain.provider.answer = late
    seq, questions = newest(plain.stack), [f"{client} asks {model}: {number}" for number in (1, 2, 10, 3, 4, 20)]
    with openai_client(plain.stack) as direct:
        patient = direct.with_options(timeout=0.8, max_retries=3)
        for question in questions:
            if client == "openai":
                patient.chat.completions.create(model=model, messages=[{"role": "user", "content": question}])
            else:
                outcome = frameworks[LITELLM].run("hasty", plain.url, model, question)
                assert outcome.get("result") == "Noted.", outcome
    asked = "select content from raw_logs where seq > %s and message_type = 'user_query' order by seq"
    assert [row["content"] for row in plain.stack.rows(asked, seq)] == questions
    assert len(plain.provider.sent) == len(questions)


@pytest.mark.parametrize("model", [f"openai:{MODEL}", "mentor"])
def test_a_user_whom_litellm_names(model: str, frameworks: dict[str, Framework], plain: Place) -> None:
    if reason := missing(LITELLM):
        pytest.skip(reason)
    plain.provider.reset()
    name = f"Kim asks {model}"
    assert "result" in frameworks[LITELLM].run("named", plain.url, model, name)
    asked = """
        select i.external_id from raw_logs l join user_identities i using (user_id)
        where l.content = %s and l.message_type = 'user_query'
    """
    assert plain.stack.rows(asked, name) == [{"external_id": name}]
