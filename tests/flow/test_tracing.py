"""Spans as a receiver of OpenTelemetry gets them: the trace of a client goes on across the row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack, free_port

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
QUERY = "My greyhound Comet is to be written down."


def attributes(span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


async def test_a_trace_goes_on_from_the_client_to_models_and_tools(database: str, tmp_path: Path, user: UUID) -> None:
    port = free_port()
    receiver = OtelTapHttpProtobufReceiver(OtelTapHttpProtobufReceiverSettings(http_port=port))
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack:
        models = ModelServer(server)
        models.rounds["responder"] = [[("write_line", '{"text": "Comet"}')]]
        definition = json.dumps({"toolset": ["box"], "default_mode": "auto"})
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
        async with receiver:
            traces = receiver.stream_traces()
            endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
            stack.start_server(**endpoint)
            tools = {"MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(tmp_path)}
            orchestrator = stack.start_orchestrator(**models.settings(), **tools, **endpoint)
            body = {"user_id": str(user), "query": QUERY, "assistant": "clerk"}
            run_id = _post(stack, body, f"00-{TRACE}-{PARENT}-01")
            assert _post(stack, body, f"00-{TRACE}-{PARENT[::-1]}-01") == run_id, "the same request in another span"
            stack.wait_archived(UUID(run_id))
            models.statuses["responder"] = 401
            stack.answer(stack.ask(user, QUERY))
            stack.stop(orchestrator)
            spans = [await anext(traces) for _ in range(20)]
        models.close()
    _check(spans, run_id, user)


def _post(stack: Stack, body: dict[str, str], traceparent: str) -> str:
    headers = {"traceparent": traceparent, "idempotency-key": "once"}
    return str(stack.client.post("/v1/runs", json=body, headers=headers).json()["request_id"])


def _check(spans: list[Span], run_id: str, user: UUID) -> None:
    mine = [span for span in spans if span.trace_id.hex() == TRACE]
    (run,) = [span for span in mine if span.name == "run ask"]
    assert run.parent_span_id.hex() == PARENT
    about = attributes(run)
    assert (about["maas.run.id"], about["user.id"], about["gen_ai.agent.name"]) == (run_id, str(user), "clerk")
    stages = {span.span_id: span.name for span in mine if span.parent_span_id == run.span_id}
    assert sorted(stages.values()) == [
        "stage analyzer",
        "stage archivist",
        "stage assembler",
        "stage draft_builder",
        "stage final_responder",
    ]
    below = sorted((stages[span.parent_span_id], span.name) for span in mine if span.parent_span_id in stages)
    assert below == [
        ("stage analyzer", "chat analyzer"),
        ("stage archivist", "chat archivist"),
        ("stage assembler", "chat assembler"),
        ("stage final_responder", "chat responder"),
        ("stage final_responder", "chat responder"),
        ("stage final_responder", "execute_tool write_line"),
    ]
    chat = attributes(next(span for span in mine if span.name == "chat responder"))
    assert chat["gen_ai.operation.name"] == "chat" and chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.request.model"] == "responder"
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (11, 7)
    assert chat["gen_ai.response.finish_reasons"] == ["tool_calls"]

    failed = [span for span in spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert {span.name for span in failed} == {"run ask", "stage final_responder", "chat responder"}
    assert {attributes(span)["error.type"] for span in failed} == {"unauthorized"}
    assert all(span.trace_id.hex() != TRACE for span in failed), "who names no span begins a trace"
    assert not any("Comet" in str(span) for span in spans)


def test_without_an_endpoint_nothing_is_kept(stack: Stack) -> None:
    """The stack of this folder has none: the header is not stored."""
    run_id = _post(stack, {"user_id": str(uuid4()), "query": "Who is there?"}, f"00-{TRACE}-{PARENT}-01")
    assert stack.rows("select metadata from pipeline_runs where id = %s", run_id) == [{"metadata": None}]
