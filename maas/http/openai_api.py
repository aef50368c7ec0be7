"""/v1/chat/completions and /v1/models: any client of OpenAI's gets memory by another base URL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas.http.access import caller
from maas.http.changes import LOOK
from maas.http.events import EVENT_STREAM, HEADERS, check_followers, counted
from maas.http.openai_bodies import ChatAnswer, ChatCompletion, Choice, Given, OpenAIModel, OpenAIModels, Usage
from maas.http.openai_context import header_of
from maas.http.openai_errors import echo, failure, refuse
from maas.http.openai_question import read_question
from maas.http.openai_stream import stream
from maas.http.rooms import Rooms, rooms
from maas.http.sending import send
from maas.pipeline.completions import Completion, find_assistants, read_completion
from maas.pipeline.states import TERMINAL, Status
from shared.db import CONNECTION_LOST
from shared.errors import MaasError


async def post_chat_completion(request: Request) -> Response:
    """Ask an assistant as OpenAI's clients do: the last user message is the query, history and memory are ours."""
    question = await read_question(request)
    parts, body = rooms(request), question.body
    who = caller(request)
    if body.stream:
        check_followers(parts, who)
    else:
        parts.followers.check(who)
    run_id = await parts.submissions.find_repeated(question.submission) if question.is_retry else None
    run_id = run_id or await parts.submissions.submit(question.submission)
    bind_contextvars(run_id=run_id)  # the line of this request names its run
    if body.stream:
        has_usage = bool(body.stream_options and body.stream_options.include_usage)
        lines = counted(parts, who, stream(parts, run_id, body.model, has_usage, question.ignored))
        headers = HEADERS | echo(request) | header_of(question.ignored)
        return StreamingResponse(lines, media_type=EVENT_STREAM, headers=headers)
    with parts.followers.counting(who):
        done = await _answered(parts, run_id)
    if done.status is Status.FAILED:
        status, error = failure(done.error_code, f"{done.error_message} (run {run_id})")
        return refuse(request, status, error, {"x-should-retry": "false"})
    response = _echoing(request, send(_completion(done, question.ignored)))
    response.headers.update(header_of(question.ignored))
    return response


async def get_models(request: Request) -> Response:
    """The assistants that answer here, as models."""
    found = await find_assistants(rooms(request).db)
    return _echoing(request, send(OpenAIModels(data=[_model(name, at) for name, at in found.items()])))


async def get_model(request: Request) -> Response:
    """One assistant, as a model."""
    name = request.path_params["model"]
    found = await find_assistants(rooms(request).db, name)
    if not found:
        raise MaasError("unknown_assistant", f"there is no model {name[:80]!r}; GET /v1/models lists them")
    return _echoing(request, send(_model(name, found[name])))


async def _answered(parts: Rooms, run_id: UUID) -> Completion:
    """The run at its end. A lost connection to the database is waited for: who asks again would ask once more.

    Raises MaasError: `answer_timeout`, `not_found` for a run that was erased.
    """
    end = time.monotonic() + parts.settings.openai_wait
    while (left := end - time.monotonic()) > 0 and not parts.changes.is_leaving:
        try:
            await parts.changes.wait_for_answer(run_id, left)
            done = await read_completion(parts.db, run_id)
        except CONNECTION_LOST:
            await asyncio.sleep(min(LOOK, left))
            continue
        if done.status in TERMINAL:
            return done
    raise MaasError("answer_timeout", f"there is no answer yet; it is worked on: GET /v1/runs/{run_id}?wait=60")


def _completion(done: Completion, ignored: Sequence[str]) -> ChatCompletion:
    choice = Choice(message=ChatAnswer(content=done.answer), finish_reason="length" if done.is_cut else "stop")
    return ChatCompletion(
        id=f"chatcmpl-{done.run_id}", created=int(done.created_at.timestamp()), model=done.assistant, choices=[choice],
        usage=Usage.of(done.spent), maas=Given.of(done, ignored),
    )  # fmt: skip


def _model(name: str, at: datetime) -> OpenAIModel:
    return OpenAIModel(id=name, created=int(at.timestamp()))


def _echoing(request: Request, response: Response) -> Response:
    response.headers.update(echo(request))
    return response
