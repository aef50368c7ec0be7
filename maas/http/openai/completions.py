"""/v1/chat/completions and /v1/models: answers as JSON or as a stream of chat.completion.chunk."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas.engine.states import TERMINAL, Status
from maas.http.authorize import hold_stream, owner_of
from maas.http.openai import (
    ChatAnswer,
    ChatCompletion,
    Choice,
    CompletionUsage,
    DemandedAnswer,
    DemandedCall,
    FunctionCall,
    InactiveModel,
    MaasExtension,
    ModelInfo,
    ModelList,
    OpenAIError,
    OpenAIErrorDetail,
    client_request_id,
    error_detail,
    error_of_failed_run,
    openai_error_response,
)
from maas.http.openai.output import TEXT, WantedOutput
from maas.http.openai.passthrough import find_model, pass_through
from maas.http.openai.request import ignored_header, read_completion_request, unknown_model
from maas.http.request_input import MAX_JSON_BODY_BYTES, read_json
from maas.http.schemas import json_response
from maas.http.server_sent_events import (
    EVENT_STREAM,
    EVENT_STREAM_HEADERS,
    KEEP_ALIVE_COMMENT,
    data_line,
    still_answering,
)
from maas.http.state import AppState, app_state, until_sent
from maas.passthrough.models import ProviderModel
from maas.runs.answers import RunAnswer, read_answer
from maas.runs.run_watcher import KEEP_ALIVE_S, POLL_INTERVAL_S
from maas.runs.submit import Submission, list_assistants, list_inactive_assistants
from shared.db import CONNECTION_LOST
from shared.errors import MaasError

MAX_PASSTHROUGH_BYTES = 16 * 1024 * 1024
END_OF_STREAM = "data: [DONE]\n\n"


async def post_chat_completion(request: Request) -> Response:
    """Ask an assistant in OpenAI's format: the last user message is the query, and MaaS adds history and memory.

    With the name of a pass-through model the request goes to its provider as it is, but for memory that is added.
    """
    return await complete(request, await read_value(request))


async def complete(request: Request, value: object) -> Response:
    """Answer the body of a chat completion request."""
    if (model := await find_passthrough(request, value)) is not None:
        assert isinstance(value, dict)
        return await pass_through(request, model, value)
    completion_request = await read_completion_request(request, value)
    state, body, ignored = app_state(request), completion_request.body, completion_request.ignored
    output, submission = completion_request.output, completion_request.submission
    if body.stream:
        hold_stream(request)
    run_id = await submit(request, submission, completion_request.is_retry)
    bind_contextvars(run_id=run_id)  # for the log line of this request
    if body.stream:
        has_usage = bool(body.stream_options and body.stream_options.include_usage)
        chunks = stream_completion(state, run_id, body.model, has_usage, ignored, output)
        headers = EVENT_STREAM_HEADERS | client_request_id(request) | ignored_header(ignored)
        return StreamingResponse(chunks, media_type=EVENT_STREAM, headers=headers)
    completion = await wait_for_completion(state, run_id)
    if not await request.is_disconnected():
        state.sent_answers.add(run_id)
    if completion.status is Status.FAILED:
        status, error = error_of_failed_run(completion.error_code, f"{completion.error_message} (run {run_id})")
        return openai_error_response(request, status, error, {"x-should-retry": "false"})
    response = _with_request_id(request, json_response(_to_chat_completion(completion, ignored, output)))
    response.headers.update(ignored_header(ignored))
    response.headers["x-maas-memory"] = "; ".join((completion.memory, *completion.memory_reasons))
    return response


async def submit(request: Request, submission: Submission, is_retry: bool) -> UUID:
    """Insert a request and return its run; one that is sent again joins its run, or asks for another answer."""
    state = app_state(request)
    if submission.idempotency_key is not None:
        return await state.submissions.submit(submission)
    async with state.submissions.turn(submission):
        if earlier := await state.submissions.find_repeated(submission):
            if earlier.is_same_request(is_retry, earlier.id in state.sent_answers):
                return earlier.id
            submission = replace(submission, replaces=earlier.id)
        return await state.submissions.submit(submission)


async def read_value(request: Request) -> object:
    """Return the body as a JSON value; a large one holds a place until the request is answered.

    Raises MaasError('too_large') for a large one that names no pass-through model.
    """
    size = request.headers.get("content-length", "")
    if not (size.isascii() and size.isdigit() and int(size) > MAX_JSON_BODY_BYTES):
        return await read_json(request)
    state = app_state(request)
    await until_sent(request).enter_async_context(state.shares.large_bodies.hold(owner_of(request)))
    value = await read_json(request, MAX_PASSTHROUGH_BYTES)
    if await find_passthrough(request, value) is None:
        raise MaasError("too_large", f"the body exceeds {MAX_JSON_BODY_BYTES} bytes")
    return value


async def find_passthrough(request: Request, value: object) -> ProviderModel | None:
    """The pass-through model that a body names; an assistant of that name goes first, unless it has a provider."""
    model = find_model(request, value)
    if model is None or not isinstance(value, dict):
        return None
    name = str(value["model"])
    return None if ":" not in name and await list_assistants(app_state(request).db, name) else model


async def get_models(request: Request) -> Response:
    """List assistants and pass-through models that are named one by one, and assistants that are not configured."""
    db = app_state(request).reads
    models = [_to_model(name, one.updated_at) for name, one in (await list_assistants(db)).items()]
    models += [_to_passthrough_model(name) for name in app_state(request).passthrough.names()]
    if (embedder := app_state(request).query_embedder) is not None:
        models.append(ModelInfo(id=embedder.model, created=0))
    inactive = [InactiveModel(id=name, reason=why) for name, why in (await list_inactive_assistants(db)).items()]
    return _with_request_id(request, json_response(ModelList(data=models, inactive=inactive)))


async def get_model(request: Request) -> Response:
    """Return one active assistant as an OpenAI model."""
    name = request.path_params["model"]
    found = await list_assistants(app_state(request).reads, name)
    if not found and app_state(request).passthrough.find(name) is not None:
        return _with_request_id(request, json_response(_to_passthrough_model(name)))
    if not found:
        raise await unknown_model(request, name)
    return _with_request_id(request, json_response(_to_model(name, found[name].updated_at)))


async def wait_for_completion(state: AppState, run_id: UUID, seconds: float = math.inf) -> RunAnswer:
    """Wait until the run is finished, also across a lost database connection: a retry would insert a second run.

    It waits for `seconds` and for MAAS_OPENAI_WAIT at most.
    Raises MaasError: `answer_timeout`, `not_found` for a run that was erased.
    """
    deadline = time.monotonic() + min(seconds, state.settings.http.openai_wait)
    while (remaining_s := deadline - time.monotonic()) > 0 and not state.run_watcher.is_closing:
        try:
            await state.run_watcher.wait_for_answer(run_id, remaining_s)
            completion = await read_answer(state.db, run_id)
        except CONNECTION_LOST:
            await asyncio.sleep(min(POLL_INTERVAL_S, remaining_s))
            continue
        if completion.status in TERMINAL:
            return completion
    raise MaasError(
        "answer_timeout", f"there is no answer yet, it is still being written: GET /v1/runs/{run_id}?wait=60"
    )


def _to_chat_completion(completion: RunAnswer, ignored: Sequence[str], output: WantedOutput) -> ChatCompletion:
    message = ChatAnswer(content=completion.answer)
    if output.tool is not None:
        message = DemandedAnswer(content=None, tool_calls=[_call(completion.run_id, output.tool, completion.answer)])
    return ChatCompletion(
        id=f"chatcmpl-{completion.run_id}",
        created=int(completion.created_at.timestamp()),
        model=completion.assistant,
        choices=[Choice(message=message, finish_reason=_finish_reason(completion, output))],
        usage=CompletionUsage.of(completion.usage),
        maas=MaasExtension.of(completion, ignored),
    )


def _call(run_id: UUID, tool: str, arguments: str) -> DemandedCall:
    return DemandedCall(id=f"call_{run_id.hex}", function=FunctionCall(name=tool, arguments=arguments))


def _finish_reason(completion: RunAnswer, output: WantedOutput) -> Any:
    return "length" if completion.is_cut and output.stored is None else output.finish


def _to_model(name: str, updated_at: datetime) -> ModelInfo:
    return ModelInfo(id=name, created=int(updated_at.timestamp()))


def _to_passthrough_model(name: str) -> ModelInfo:
    return ModelInfo(id=name, created=0, owned_by="provider")


def _with_request_id(request: Request, response: Response) -> Response:
    response.headers.update(client_request_id(request))
    return response


class StreamedText:
    """The text that was sent of an answer; it cannot be taken back.

    When a new attempt repeats the text, only what is new is sent; when it differs, the new text is sent as a paragraph
    of its own. Trailing whitespace is held back until more text follows, because the final answer is stripped.
    """

    def __init__(self) -> None:
        self.is_exact = True  # what was sent is the beginning of the answer
        self._attempt = self._text = self._sent = ""

    def add(self, attempt: str, delta: str) -> str:
        """Return what must be sent for a delta of this attempt."""
        if attempt != self._attempt:
            self._attempt, self._text = attempt, ""
        self._text += delta
        text = self._text.strip()
        return "" if self._sent.startswith(text) else self._send(text)

    def finish(self, answer: str) -> str:
        """Return what must still be sent of the final answer."""
        return "" if answer == self._sent else self._send(answer)

    def _send(self, text: str) -> str:
        sent, self._sent = self._sent, text
        if text.startswith(sent):
            return text[len(sent) :]
        self.is_exact = False
        return f"\n\n{text}"


async def stream_completion(
    state: AppState,
    run_id: UUID,
    model: str,
    has_usage: bool,
    ignored: Sequence[str] = (),
    output: WantedOutput = TEXT,
    keep_alive_s: float = KEEP_ALIVE_S,
) -> AsyncGenerator[str, None]:
    """Yield the answer of a run as OpenAI chunks, up to [DONE] or an error. Disconnecting does not cancel the run."""
    chunks = _ChunkWriter(run_id, model, has_usage, ignored, output)
    text = StreamedText()
    yield chunks.content("", role="assistant")
    async with state.follow_run(run_id, keep_alive_s) as pages:
        async for events in pages:
            if not events:
                yield KEEP_ALIVE_COMMENT
            for event in events:
                data = json.loads(event.data)
                if event.type == "text" and (delta := text.add(data["attempt"], data["delta"])):
                    yield chunks.content(delta)
                elif event.type in ("done", "error"):
                    async for chunk in _finish(state, chunks, text, data):
                        yield chunk
                    state.sent_answers.add(run_id)
                    return
    yield chunks.error(error_detail(503, "leaving", still_answering(run_id)))


async def _finish(
    state: AppState, chunks: _ChunkWriter, text: StreamedText, data: dict[str, Any]
) -> AsyncGenerator[str, None]:
    if "final_answer" not in data:
        yield chunks.error(error_of_failed_run(data["code"], data["message"])[1])
        return
    if delta := text.finish(data["final_answer"]):
        yield chunks.content(delta)
    try:
        completion = await read_answer(state.db, chunks.run_id)
    except (MaasError, *CONNECTION_LOST):
        message = "the answer above is complete; its sources and usage cannot be read at the moment"
        yield chunks.error(error_detail(503, "database_unreachable", message))
        return
    for chunk in chunks.end(completion, None if text.is_exact else data["final_answer"]):
        yield chunk


class _ChunkWriter:
    """Writes the chunks of one answer."""

    def __init__(self, run_id: UUID, model: str, has_usage: bool, ignored: Sequence[str], output: WantedOutput) -> None:
        self.run_id = run_id
        self._output = output
        self._ignored = ignored
        self._has_usage = has_usage
        self._head = {
            "id": f"chatcmpl-{run_id}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }

    def content(self, content: str, role: str | None = None) -> str:
        if self._output.tool is not None and role is None:
            call = _call(self.run_id, self._output.tool, content).model_dump()
            return self._chunk({"tool_calls": [{"index": 0, **call}]})
        return self._chunk({"role": role, "content": content} if role else {"content": content})

    def end(self, completion: RunAnswer, final_answer: str | None) -> list[str]:
        """Return the last chunks: MaaS's extension, with the answer if other text was sent, and the requested usage."""
        extension = MaasExtension.of(completion, self._ignored).model_dump(mode="json")
        if final_answer:
            extension["final_answer"] = final_answer
        chunks = [self._chunk({}, _finish_reason(completion, self._output), maas=extension)]
        if self._has_usage:
            usage = CompletionUsage.of(completion.usage).model_dump()
            chunks.append(data_line(self._head | {"choices": [], "usage": usage}))
        return [*chunks, END_OF_STREAM]

    def error(self, error: OpenAIErrorDetail) -> str:
        return data_line(OpenAIError(error=error).model_dump())

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._has_usage else {}
        return data_line(self._head | {"choices": [choice]} | usage | more)
