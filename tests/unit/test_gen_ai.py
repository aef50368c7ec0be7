"""Operations of GenAI as a receiver of OpenTelemetry gets them: names by the version of the conventions, and texts."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from maas.passthrough.apis import CHAT as CHAT_API
from maas.passthrough.calls import ProviderCalls, ProviderRequest
from maas.passthrough.replies import ProviderReply
from shared import tracing
from shared.errors import MaasError
from shared.models import Embeddings, Message, Reply, Request, ToolCall, Usage, gen_ai
from shared.tracing import Conventions, Export
from tests.http_server import HTTPServer
from tests.polling import apoll
from tests.telemetry import Received, attributes, receiving

USER = UUID(int=7)
CALL = ToolCall("c1", "weather", '{"city": "Oslo"}')
REQUEST = Request(
    "Responder",
    (Message("user", "Is it cold?"), Message("assistant", "", (CALL,)), CALL.result("-4")),
    system="You are a mentor.",
    json_schema={"type": "object"},
)
REPLY = Reply("Yes.", "stop", usage=Usage(30, 4, 10))
METRICS = {"0.1.0": 9, "1.41.0": 3}  # that all operations have together
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
SECRETS = ("Is it cold?", "Oslo", "mentor", "Yes.", "salary", "rain")
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "gcp.gemini",
    "gen_ai.request.model": "gemini-3",
}


class Model:
    provider, name = "gemini", "gemini-3"


class Embedder:
    provider, name = "openai", "text-embedding-3-small"


async def exported(conventions: Conventions, *, has_texts: bool = False) -> Received:
    """What arrives when every operation is made once."""
    async with receiving() as received:
        with tracing.exporting(Export(received.endpoint, "test", conventions, has_texts)):
            make_operations()
        await received.until(lambda it: (len(it.spans), len(it.metrics)) == (6, METRICS[conventions]))
    return received


def make_operations() -> None:
    with gen_ai.inference(Model(), REQUEST, "Mentor", 3, True) as chat:
        chat.answered(REPLY, 0.25)
    with gen_ai.embedding(Embedder()) as embedding:
        embedding.embedded(Embeddings(([0.5, 0.5],), 9))
    with gen_ai.tool(CALL, "The weather of a city", {"city": "Oslo"}) as tool:
        tool.note_result({"weather": "rain"})
    with gen_ai.retrieval("knowledge", "salary", 5):
        pass
    with gen_ai.memory("search_memory", USER, query="salary"):
        pass
    with pytest.raises(MaasError), gen_ai.memory("delete_memory", USER, record_id=UUID(int=8)):
        raise MaasError("in_use", "wait")


def of(received: Received, name: str) -> dict[str, Any]:
    (span,) = received.named(name)
    return attributes(span.attributes)


async def test_names_are_those_of_the_conventions() -> None:
    received = await exported("0.1.0")
    chat = of(received, "chat gemini-3")
    assert chat.items() >= (CHAT | {"gen_ai.prompt.name": "Mentor", "gen_ai.prompt.version": "3"}).items()
    assert (chat["gen_ai.usage.cache_read.input_tokens"], chat["gen_ai.output.type"]) == (10, "json")
    assert received.named("chat gemini-3")[0].kind == Span.SPAN_KIND_CLIENT
    assert of(received, "embeddings text-embedding-3-small")["gen_ai.embeddings.dimension.count"] == 2
    assert of(received, "retrieval knowledge")["gen_ai.retrieval.top_k"] == 5
    assert of(received, "delete_memory") == {
        "gen_ai.operation.name": "delete_memory",
        "gen_ai.memory.store.id": str(USER),
        "gen_ai.memory.record.id": str(UUID(int=8)),
        "user.id": str(USER),
        "error.type": "in_use",
    }
    tokens = CHAT | {"gen_ai.token.modality": "text"}
    assert received.points("gen_ai.client.inference.usage.input_tokens") == [(tokens, 30)]
    assert received.points("gen_ai.client.inference.usage.output_tokens") == [(tokens, 4)]
    assert received.points("gen_ai.client.inference.usage.cache_read.input_tokens") == [(tokens, 10)]
    assert received.points("gen_ai.client.inference.duration") == [(CHAT, 1)]
    assert received.points("gen_ai.client.embeddings.operation.input_tokens")[0][1] == 1
    others = dict((one["gen_ai.operation.name"], one) for one, _ in received.points("gen_ai.client.operation.duration"))
    assert others.keys() == {"retrieval", "search_memory", "delete_memory"}
    assert others["delete_memory"]["error.type"] == "in_use" and "error.type" not in others["search_memory"]
    assert not received.points("gen_ai.client.token.usage")


async def test_one_setting_switches_to_the_names_before_they_moved() -> None:
    received = await exported("1.41.0")
    assert of(received, "retrieval knowledge")["gen_ai.request.top_k"] == 5
    usage = received.points("gen_ai.client.token.usage")
    assert (CHAT | {"gen_ai.token.type": "input"}, 1) in usage and len(usage) == 3
    durations = {one["gen_ai.operation.name"] for one, _ in received.points("gen_ai.client.operation.duration")}
    assert durations == {"chat", "embeddings", "retrieval", "search_memory", "delete_memory"}
    assert received.points("gen_ai.client.operation.time_to_first_chunk") == [(CHAT, 1)]
    assert not received.points("gen_ai.execute_tool.duration")
    assert not [one.name for one in received.metrics if ".inference." in one.name]


@pytest.mark.parametrize("conventions", ["0.1.0", "1.41.0"])
async def test_texts_are_exported_only_when_they_are_asked_for(conventions: Conventions) -> None:
    silent = await exported(conventions)
    assert not [secret for secret in SECRETS if any(secret in str(one) for one in (*silent.spans, *silent.metrics))]
    received = await exported(conventions, has_texts=True)
    chat = of(received, "chat gemini-3")
    assert json.loads(chat["gen_ai.system_instructions"]) == [{"type": "text", "content": "You are a mentor."}]
    arguments = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}
    assert json.loads(chat["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "Is it cold?"}]},
        {"role": "assistant", "parts": [arguments]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "-4"}]},
    ]
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}
    ending = {"finish_reason": "stop"} if conventions == "1.41.0" else {}
    assert json.loads(chat["gen_ai.output.messages"]) == [said | ending]
    tool = of(received, "execute_tool weather")
    assert json.loads(tool["gen_ai.tool.call.arguments"]) == {"city": "Oslo"}
    assert json.loads(tool["gen_ai.tool.call.result"]) == {"weather": "rain"}
    assert of(received, "retrieval knowledge")["gen_ai.retrieval.query.text"] == "salary"
    assert of(received, "search_memory")["gen_ai.memory.query.text"] == "salary"


async def test_metrics_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver of traces alone refuses metrics."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    async with receiving() as received:
        with tracing.exporting(Export(received.endpoint, "test")):
            make_operations()
        await received.until(lambda it: len(it.spans) == 6)
    assert not received.metrics


@pytest.mark.parametrize(("status", "error"), [(200, None), (401, "401")])
async def test_a_call_that_is_passed_through_is_a_span(httpserver: HTTPServer, status: int, error: str | None) -> None:
    reply = {"choices": [{"index": 0, "message": {"content": "Yes."}, "finish_reason": "stop"}], "usage": USAGE}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(reply, status)
    request = ProviderRequest(
        api=CHAT_API,
        url=httpserver.url_for("/v1/chat/completions"),
        key="sk-test-key",
        headers={},
        body={"model": "gpt-4o", "messages": []},
        provider="openai",
        timeout_s=5,
    )

    async def store(_: ProviderReply, __: MaasError | None) -> dict[str, Any]:
        return {}

    async with receiving() as received:
        with tracing.exporting(Export(received.endpoint, "test")):
            calls = ProviderCalls()
            call = calls.start("key", request, {}, store, nullcontext())
            await apoll(lambda: call.is_done)
            await calls.close()
        await received.until(lambda it: bool(it.spans and it.points("gen_ai.client.inference.duration")))
    said = of(received, "chat gpt-4o")
    assert (said.get("error.type"), said["gen_ai.provider.name"]) == (error, "openai")
    assert said.get("gen_ai.usage.input_tokens") == (None if error else 3)
    duration = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}
    failure = {} if error is None else {"error.type": error}
    assert received.points("gen_ai.client.inference.duration") == [(duration | failure, 1)]
