"""Operations of GenAI under the names of OpenTelemetry's conventions: each is a span, and its duration is measured.

The conventions are those of semantic-conventions-genai 0.1.0, or the last ones of semantic-conventions, 1.41.0. Spans
of memory are in the first alone; with the second they are called the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal
from uuid import UUID

from shared import tracing
from shared.models import Embeddings, Message, NamedModel, Reply, Request, ToolCall
from shared.tracing import Attributes, Conventions, Metric, Span

MemoryOperation = Literal["search_memory", "create_memory", "upsert_memory", "update_memory", "delete_memory"]
PROVIDERS = {"gemini": "gcp.gemini"}  # which the conventions call otherwise than we do
DURATION_BUCKETS_S = tuple(0.01 * 2**power for power in range(14))
TOKEN_BUCKETS = tuple(float(4**power) for power in range(14))
_LABELS = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.agent.name",
    "gen_ai.tool.name",
)
_CLIENT_DURATION = "gen_ai.client.operation.duration"
_DURATIONS: Mapping[Conventions, Mapping[str, str | None]] = {
    "0.1.0": {
        "chat": "gen_ai.client.inference.duration",
        "embeddings": "gen_ai.client.embeddings.duration",
        "execute_tool": "gen_ai.execute_tool.duration",
        "invoke_agent": "gen_ai.invoke_agent.duration",
    },
    "1.41.0": {"execute_tool": None, "invoke_agent": None},
}
_FIRST_CHUNKS: Mapping[Conventions, str] = {
    "0.1.0": "gen_ai.client.inference.time_to_first_chunk",
    "1.41.0": "gen_ai.client.operation.time_to_first_chunk",
}
_TOKEN_USAGE = Metric("gen_ai.client.token.usage", "{token}", "Tokens of an operation", TOKEN_BUCKETS)
_EMBEDDED_TOKENS = Metric(
    "gen_ai.client.embeddings.operation.input_tokens", "{token}", "Tokens of an operation", TOKEN_BUCKETS
)
_CACHED = "cache_read.input"


class Operation:
    """An operation that is under way; without an export it records nothing."""

    def __init__(self, span: Span, labels: Attributes, export: tracing.Export | None) -> None:
        self._span = span
        self._labels = labels
        self._export = export

    def note(self, attributes: Attributes) -> None:
        """Set attributes of the span; those that are None are left out."""
        self._span.note(attributes)

    def note_texts(self, read: Callable[[], Attributes]) -> None:
        """Set attributes that hold texts, if these are exported; otherwise they are not even read."""
        if self._export is not None and self._export.has_texts:
            self._span.note(read())

    def fail(self, code: str) -> None:
        """Mark it as failed with an error code."""
        self._span.fail(code)

    def note_result(self, result: object) -> None:
        """Note what a tool has returned, if texts are exported."""
        self.note_texts(lambda: {"gen_ai.tool.call.result": _json(result)})

    def answered(self, reply: Reply, first_chunk_s: float | None = None) -> None:
        """Note the reply of a model; `first_chunk_s`: seconds until its first piece, None unless it was streamed."""
        usage = reply.usage
        self.used(usage.tokens_in, usage.tokens_out, usage.tokens_cached, reply.finish)
        self.note_texts(lambda: {"gen_ai.output.messages": _json([self._output(reply)])})
        if first_chunk_s is not None and self._export is not None:
            self.note({"gen_ai.response.time_to_first_chunk": first_chunk_s})
            name = _FIRST_CHUNKS[self._export.conventions]
            metric = Metric(name, "s", "Time until the first piece of a streamed reply", DURATION_BUCKETS_S)
            tracing.measure(metric, first_chunk_s, self._labels)

    def used(self, tokens_in: int, tokens_out: int, tokens_cached: int, finish: str) -> None:
        """Note the tokens of a reply, as the provider counted them, and why it ended."""
        self.note(
            {
                "gen_ai.response.finish_reasons": (finish,),
                "gen_ai.usage.input_tokens": tokens_in,
                "gen_ai.usage.output_tokens": tokens_out,
                f"gen_ai.usage.{_CACHED}_tokens": tokens_cached or None,
            }
        )
        if self._is_old:
            self._measure_usage("input", tokens_in)
            self._measure_usage("output", tokens_out)
            return
        for kind, count in (("input", tokens_in), ("output", tokens_out), (_CACHED, tokens_cached)):
            metric = Metric(f"gen_ai.client.inference.usage.{kind}_tokens", "{token}", f"Tokens used: {kind}")
            tracing.measure(metric, count, {**self._labels, "gen_ai.token.modality": "text"})

    def embedded(self, result: Embeddings) -> None:
        """Note the vectors and tokens of embedded texts."""
        self.note(
            {
                "gen_ai.usage.input_tokens": result.tokens,
                "gen_ai.embeddings.dimension.count": len(result.vectors[0]) if result.vectors else None,
            }
        )
        if self._is_old:
            self._measure_usage("input", result.tokens)
        else:
            tracing.measure(_EMBEDDED_TOKENS, result.tokens, self._labels)

    @property
    def _is_old(self) -> bool:
        return self._export is not None and self._export.conventions == "1.41.0"

    def _measure_usage(self, kind: str, count: int) -> None:
        tracing.measure(_TOKEN_USAGE, count, {**self._labels, "gen_ai.token.type": kind})

    def _output(self, reply: Reply) -> dict[str, Any]:
        message = _message(reply.message())
        return message | {"finish_reason": reply.finish} if self._is_old else message


_NO_OPERATION = nullcontext(Operation(Span(), {}, None))


def operation(
    name: str, subject: str, attributes: Attributes, kind: tracing.Kind = "internal"
) -> AbstractContextManager[Operation]:
    """Record the block as an operation; its span is called by both, or by the name alone where there is no subject."""
    export = tracing.exported()
    return _NO_OPERATION if export is None else _record(export, name, subject, attributes, kind)


@contextmanager
def _record(
    export: tracing.Export, name: str, subject: str, attributes: Attributes, kind: tracing.Kind
) -> Iterator[Operation]:
    attributes = {"gen_ai.operation.name": name, **attributes}
    labels = {label: attributes[label] for label in _LABELS if label in attributes}
    began, span = time.monotonic(), Span()
    try:
        with tracing.span(f"{name} {subject}".strip(), attributes, kind) as span:
            yield Operation(span, labels, export)
    finally:
        if duration := _DURATIONS[export.conventions].get(name, _CLIENT_DURATION):
            metric = Metric(duration, "s", "Duration of an operation", DURATION_BUCKETS_S)
            tracing.measure(metric, time.monotonic() - began, {**labels, "error.type": span.error})


@contextmanager
def inference(model: NamedModel, request: Request, prompt: str, version: int, is_streamed: bool) -> Iterator[Operation]:
    """A call of a model with this request; `prompt` is the name of its prompt, and `version` that of its text."""
    attributes: Attributes = {
        **_of_model(model),
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.stream": is_streamed or None,
        "gen_ai.output.type": "json" if request.json_schema is not None else None,
        "gen_ai.prompt.name": prompt,
        "gen_ai.prompt.version": str(version),
    }
    with operation("chat", model.name, attributes, "client") as one:
        one.note_texts(lambda: _texts_of(request))
        yield one


def embedding(model: NamedModel) -> AbstractContextManager[Operation]:
    """A call of an embedding model."""
    return operation("embeddings", model.name, _of_model(model), "client")


def provider_call(name: Literal["chat", "embeddings"], provider: str, model: str) -> AbstractContextManager[Operation]:
    """A call that is sent on to a provider."""
    return operation(name, model, _of_provider(provider, model), "client")


@contextmanager
def tool(call: ToolCall, description: str, arguments: Mapping[str, Any]) -> Iterator[Operation]:
    """The execution of a tool call."""
    attributes: Attributes = {
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.description": description,
    }
    with operation("execute_tool", call.name, attributes) as one:
        one.note_texts(lambda: {"gen_ai.tool.call.arguments": _json(arguments)})
        yield one


def agent(name: str) -> AbstractContextManager[Operation]:
    """The answer of an assistant."""
    return operation("invoke_agent", name, {"gen_ai.agent.name": name})


@contextmanager
def retrieval(source: str, query: str, limit: int) -> Iterator[Operation]:
    """A search for at most `limit` passages of documents in a source."""
    with operation("retrieval", source, {"gen_ai.data_source.id": source}, "client") as one:
        one.note({"gen_ai.request.top_k" if one._is_old else "gen_ai.retrieval.top_k": limit})
        one.note_texts(lambda: {"gen_ai.retrieval.query.text": query})
        yield one


@contextmanager
def memory(
    name: MemoryOperation | Literal["delete_memory_store"],
    user_id: UUID | None,
    *,
    record_id: UUID | None = None,
    count: int | None = None,
    query: str | None = None,
) -> Iterator[Operation]:
    """An operation on the memory of a user, which is the store; on one record, or on `count` records."""
    user = None if user_id is None else str(user_id)
    attributes: Attributes = {
        "user.id": user,
        "gen_ai.memory.store.id": user,
        "gen_ai.memory.record.id": None if record_id is None else str(record_id),
        "gen_ai.memory.record.count": count,
    }
    with operation(name, "", attributes) as one:
        one.note_texts(lambda: {"gen_ai.memory.query.text": query})
        yield one


def _of_model(model: NamedModel) -> dict[str, str]:
    return _of_provider(model.provider, model.name)


def _of_provider(provider: str, model: str) -> dict[str, str]:
    return {"gen_ai.provider.name": PROVIDERS.get(provider, provider), "gen_ai.request.model": model}


def _texts_of(request: Request) -> Attributes:
    return {
        "gen_ai.system_instructions": _json([_text(request.system)]) if request.system else None,
        "gen_ai.input.messages": _json([_message(one) for one in request.messages]),
    }


def _message(message: Message) -> dict[str, Any]:
    """A message in the form of the conventions, a role and parts."""
    if message.role == "tool":
        return {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": message.call_id, "response": message.text}],
        }
    parts: Sequence[dict[str, Any]] = [_text(message.text)] if message.text else []
    calls = [{"type": "tool_call", "id": one.id, "name": one.name, "arguments": one.arguments} for one in message.calls]
    return {"role": message.role, "parts": [*parts, *calls]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
