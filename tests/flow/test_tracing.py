"""Spans and metrics as a receiver of OpenTelemetry gets them: the trace of a client goes on across the row."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID, uuid4

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack
from tests.telemetry import Received, attributes, receiving

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
QUERY = "My greyhound Comet is to be written down."
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
METRICS = {
    "gen_ai.client.inference.duration",
    "gen_ai.client.inference.time_to_first_chunk",
    "gen_ai.client.inference.usage.input_tokens",
    "gen_ai.client.inference.usage.output_tokens",
    "gen_ai.client.operation.duration",
    "gen_ai.execute_tool.duration",
    "gen_ai.invoke_agent.duration",
}
RESPONDER = CHAT | {"gen_ai.request.model": "responder"}


async def test_a_trace_goes_on_from_the_client_to_models_tools_and_memory(
    database: str, tmp_path: Path, user: UUID
) -> None:
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack:
        models = ModelServer(server)
        models.rounds["responder"] = [[("write_line", '{"text": "Comet"}')]]
        definition = json.dumps({"toolset": ["box"], "default_mode": "auto"})
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
        async with receiving() as received:
            endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": received.endpoint}
            http = stack.start_server(**endpoint)
            tools = {"MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(tmp_path)}
            orchestrator = stack.start_orchestrator(**models.settings(), **tools, **endpoint)
            opened = stack.client.post("/v1/conversations", json={"user_id": str(user), "assistant": "clerk"}).json()
            body = {"user_id": str(user), "query": QUERY, "assistant": "clerk", "conversation_id": opened["id"]}
            run_id = _post(stack, body, f"00-{TRACE}-{PARENT}-01")
            assert _post(stack, body, f"00-{TRACE}-{PARENT[::-1]}-01") == run_id, "the same request in another span"
            stack.wait_archived(UUID(run_id))
            models.statuses["responder"] = 401
            stack.answer(stack.ask(user, QUERY))
            stack.client.post("/v1/memories/search", json={"user_id": str(user), "query": "Comet"})
            assert stack.client.delete(f"/v1/users/{user}").status_code == 200
            stack.stop(orchestrator)
            stack.stop(http)
            last = "DELETE /v1/users/{id}"
            await received.until(lambda it: len(it.named("run ask")) == 2 and bool(it.named(last)))
            await received.until(lambda it: {one.name for one in it.metrics} >= METRICS)
        models.close()
    _check_run(received, run_id, str(user), opened["id"])
    _check_failure(received)
    _check_requests(received, str(user))
    _check_metrics(received)
    assert not any("Comet" in str(one) for one in (*received.spans, *received.metrics))


def _post(stack: Stack, body: dict[str, str], traceparent: str) -> str:
    headers = {"traceparent": traceparent, "idempotency-key": "once"}
    return str(stack.client.post("/v1/runs", json=body, headers=headers).json()["request_id"])


def _check_run(received: Received, run_id: str, user: str, conversation: str) -> None:
    mine = [span for span in received.spans if span.trace_id.hex() == TRACE and span.kind != Span.SPAN_KIND_SERVER]
    (run,) = [span for span in mine if span.name == "run ask"]
    assert run.parent_span_id.hex() == PARENT
    about = attributes(run.attributes)
    assert (about["maas.run.id"], about["gen_ai.agent.name"]) == (run_id, "clerk")
    names = {span.span_id: span.name for span in mine}
    below = sorted((names[span.parent_span_id], span.name) for span in mine if span is not run)
    assert below == [
        ("invoke_agent clerk", "chat responder"),
        ("invoke_agent clerk", "chat responder"),
        ("invoke_agent clerk", "execute_tool write_line"),
        ("run ask", "stage analyzer"),
        ("run ask", "stage archivist"),
        ("run ask", "stage assembler"),
        ("run ask", "stage draft_builder"),
        ("run ask", "stage final_responder"),
        ("stage analyzer", "chat analyzer"),
        ("stage analyzer", "search_memory"),
        ("stage archivist", "upsert_memory"),
        ("stage assembler", "chat assembler"),
        ("stage final_responder", "invoke_agent clerk"),
        ("upsert_memory", "chat archivist"),
    ]
    for span in mine:
        said = attributes(span.attributes)
        assert (said["user.id"], said["session.id"], said["gen_ai.conversation.id"]) == (
            user,
            conversation,
            conversation,
        ), span.name
    chat = next(one for span in mine if (one := attributes(span.attributes)).items() >= RESPONDER.items())
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.usage.output_tokens"]) == (11, 7)
    assert chat["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert chat["gen_ai.request.stream"] and 0 < chat["gen_ai.response.time_to_first_chunk"] < 20
    assert chat["gen_ai.prompt.name"].startswith("FinalResponder") and chat["gen_ai.prompt.version"].isdigit()
    tool = attributes(next(span for span in mine if span.name == "execute_tool write_line").attributes)
    assert tool["gen_ai.tool.name"] == "write_line" and tool["gen_ai.tool.call.id"]
    (summary,) = [attributes(span.attributes) for span in mine if span.name == "upsert_memory"]
    assert (summary["gen_ai.memory.store.id"], summary["gen_ai.memory.record.count"]) == (user, 1)


def _check_failure(received: Received) -> None:
    failed = [span for span in received.spans if span.status.code == Status.STATUS_CODE_ERROR]
    names = {span.name for span in failed}
    assert names == {"run ask", "stage final_responder", "invoke_agent mentor", "chat responder"}
    assert {attributes(span.attributes)["error.type"] for span in failed} == {"unauthorized"}
    assert all(span.trace_id.hex() != TRACE for span in failed), "who names no span begins a trace"


def _check_requests(received: Received, user: str) -> None:
    """Servers tell of their requests, and of memory that is searched and deleted in them."""
    (post, again) = received.named("POST /v1/runs")[:2]
    assert post.parent_span_id.hex() == PARENT and post.trace_id == again.trace_id == bytes.fromhex(TRACE)
    assert attributes(post.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/runs",
        "http.response.status_code": 202,
    }
    for request, operation in {
        "POST /v1/memories/search": "search_memory",
        "DELETE /v1/users/{id}": "delete_memory_store",
    }.items():
        (parent,) = received.named(request)
        (span,) = [one for one in received.named(operation) if one.parent_span_id == parent.span_id]
        assert attributes(span.attributes)["gen_ai.memory.store.id"] == user


def _check_metrics(received: Received) -> None:
    durations = received.points("gen_ai.client.inference.duration")
    assert (RESPONDER, 2) in durations and (RESPONDER | {"error.type": "unauthorized"}, 1) in durations
    tokens = RESPONDER | {"gen_ai.token.modality": "text"}
    assert (tokens, 2 * 11) in received.points("gen_ai.client.inference.usage.input_tokens")
    assert (tokens, 2 * 7) in received.points("gen_ai.client.inference.usage.output_tokens")
    assert (RESPONDER, 2) in received.points("gen_ai.client.inference.time_to_first_chunk")
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write_line"}
    assert received.points("gen_ai.execute_tool.duration") == [(tool, 1)]
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
    assert (agent, 1) in received.points("gen_ai.invoke_agent.duration")


def test_without_an_endpoint_nothing_is_kept(stack: Stack) -> None:
    """The stack of this folder has none: the header is not stored."""
    run_id = _post(stack, {"user_id": str(uuid4()), "query": "Who is there?"}, f"00-{TRACE}-{PARENT}-01")
    assert stack.rows("select metadata from pipeline_runs where id = %s", run_id) == [{"metadata": None}]
