"""/v1/responses: create, read, continue, cancel and delete responses."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas import queries
from maas.engine.states import TERMINAL, Status
from maas.http.authorize import principal_of
from maas.http.openai import client_request_id
from maas.http.openai.caller import bad_parameter, read_caller, resolve_caller
from maas.http.openai.completions import complete, find_passthrough, read_value
from maas.http.openai.passthrough import pass_response_through
from maas.http.openai.request import ignored_header, read_completion_request
from maas.http.openai.responses import DeletedResponse, InputItems, ResponseObject, ResponseRequest
from maas.http.openai.responses.events import ResponseEvents
from maas.http.openai.responses.items import read_items, with_ids
from maas.http.openai.responses.request import to_chat
from maas.http.openai.responses.resource import failed, finished, new_resource, response_id, run_of, to_output
from maas.http.openai.responses.stored import (
    StoredResponse,
    can_be_stored,
    read_dialogue,
    read_stored,
    resolve_references,
    store,
)
from maas.http.request_input import read_limit, read_parameter, validate
from maas.http.schemas import json_response
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS
from maas.http.state import app_state
from maas.runs.answers import read_answer
from maas.runs.submit import cancel_run
from shared.errors import MaasError

DONE = "data: [DONE]\n\n"
_KEPT_HEADERS = ("x-maas-memory", "x-maas-memory-tokens", "x-maas-request", "x-client-request-id")


async def post_response(request: Request) -> Response:
    """Answer a request of the Responses API, by an assistant or by a pass-through model."""
    value = await read_value(request)
    validate(ResponseRequest, value)
    assert isinstance(value, dict)
    if (answered := await _answer_natively(request, value)) is not None:
        return answered
    items = read_items(value["input"])
    db, user_id = app_state(request).db, await resolve_caller(request, read_caller(request, value))
    items = await resolve_references(db, user_id, items)
    previous = value.get("previous_response_id")
    earlier = await read_dialogue(db, user_id, previous) if previous is not None else []
    chat, unused = to_chat(_with_conversation(value), items, earlier)
    writer = _ResponseWriter(request, user_id, value, with_ids(items), unused)
    if value.get("background") is True:
        return await _in_background(request, writer, chat)
    reply = await complete(request, chat)
    if reply.status_code >= 400:
        return reply
    headers = {name: reply.headers[name] for name in _KEPT_HEADERS if name in reply.headers}
    headers |= ignored_header([*filter(None, [reply.headers.get("x-maas-ignored")]), *unused])
    if isinstance(reply, StreamingResponse):
        events = writer.stream(reply.body_iterator)
        return StreamingResponse(events, media_type=EVENT_STREAM, headers=headers | EVENT_STREAM_HEADERS)
    response = _respond(await writer.whole(json.loads(bytes(reply.body))))
    response.headers.update(headers)
    return response


async def _answer_natively(request: Request, body: Mapping[str, Any]) -> Response | None:
    """The reply of a provider that has this API itself; None for all others, and to continue what is stored here."""
    model = await find_passthrough(request, body)
    if model is None or not app_state(request).passthrough.has_responses(model):
        return None
    run_id = run_of(body.get("previous_response_id"))
    if run_id is not None and await app_state(request).db.row(queries.response, run_id) is not None:
        return None
    return await pass_response_through(request, model, body)


async def get_response(request: Request) -> Response:
    """Return a stored response as it is now."""
    return _respond(await _present(request, await read_stored(request)))


async def delete_response(request: Request) -> Response:
    """Delete a stored response; what was said stays in memory."""
    one = await read_stored(request)
    await app_state(request).db.value(queries.delete_response, one.user_id, one.run_id)
    return json_response(DeletedResponse(id=response_id(str(one.run_id))))


async def cancel_response(request: Request) -> Response:
    """Cancel a response that is written in the background."""
    one = await read_stored(request)
    if one.response is not None:
        raise bad_parameter("only a response that is written in the background can be cancelled", "response")
    try:
        await cancel_run(app_state(request).db, one.run_id, principal_of(request).name)
    except MaasError as error:
        if error.code != "already_finished":
            raise
        return _respond(await _present(request, one))
    return _respond({**await _present(request, one), "status": "cancelled"})


async def get_input_items(request: Request) -> Response:
    """List the items that a client sent with a stored response, newest first unless order=asc."""
    one = await read_stored(request)
    order = read_parameter(request, "order", _to_order, "desc")
    limit, after = read_limit(request), read_parameter(request, "after", str)
    items = list(one.input) if order == "asc" else list(one.input)[::-1]
    if after is not None:
        places = [number for number, item in enumerate(items) if item.get("id") == after]
        if not places:
            raise bad_parameter(f"after: there is no item {after[:80]!r}", "after")
        items = items[places[0] + 1 :]
    page = items[:limit]
    ids: list[str | None] = [str(item.get("id")) for item in page] or [None]
    return json_response(
        InputItems(data=[dict(one) for one in page], first_id=ids[0], last_id=ids[-1], has_more=len(items) > limit)
    )


class _ResponseWriter:
    """Writes the response to one request, and keeps it if it is to be kept."""

    def __init__(
        self,
        request: Request,
        user_id: UUID,
        body: Mapping[str, Any],
        items: Sequence[Mapping[str, Any]],
        unused: Sequence[str],
    ) -> None:
        self.user_id = user_id
        self.body = body
        self._request = request
        self._db = app_state(request).db
        self._items = items
        self._unused = unused
        self._is_stored = can_be_stored(body, items)

    async def whole(self, completion: Mapping[str, Any]) -> dict[str, Any]:
        """The response that a chat completion is."""
        notes = self._notes(completion.get("maas"))
        resource = new_resource(notes["request_id"], _time(completion), self.body, self._is_stored)
        choice = completion["choices"][0]
        output = to_output(choice["message"], resource["id"])
        resource = finished(resource, output, choice["finish_reason"], completion.get("usage"), int(time.time()))
        resource["maas"] = notes
        await self._keep(resource, UUID(notes["request_id"]))
        return resource

    async def stream(self, chunks: AsyncIterable[str | bytes | memoryview]) -> AsyncGenerator[str, None]:
        """Yield the events of a response, made of the lines of a streamed chat completion."""
        events = ResponseEvents(self.body, self._is_stored)
        run_id: str | None = None
        async for line in chunks:
            text = line if isinstance(line, str) else bytes(line).decode()
            if not text.startswith("data:"):
                yield text  # a comment
                continue
            data = text.removeprefix("data:").strip()
            if data == "[DONE]":
                break
            chunk = json.loads(data)
            run_id = run_id or _run_of(chunk)
            if isinstance(chunk.get("maas"), Mapping):
                chunk["maas"] = self._notes(chunk["maas"])
            for event in events.feed(chunk, run_id):
                yield event
        last = list(events.end())
        if events.resource is not None and run_id is not None:
            await self._keep(events.resource, UUID(run_id))
        for event in last:
            yield event
        yield DONE

    async def begin(self, run_id: UUID) -> dict[str, Any]:
        """The response of a run that goes on in the background."""
        resource = new_resource(str(run_id), int(time.time()), self.body, True)
        await store(self._db, self.user_id, run_id, self.body, self._items, None)
        return {**resource, "status": "queued"}

    def _notes(self, notes: object) -> dict[str, Any]:
        known = dict(notes) if isinstance(notes, Mapping) else {}
        return {**known, "ignored": [*known.get("ignored", []), *self._unused]}

    async def _keep(self, resource: Mapping[str, Any], run_id: UUID) -> None:
        if self._is_stored:
            await store(self._db, self.user_id, run_id, self.body, self._items, resource)


async def _in_background(request: Request, writer: _ResponseWriter, chat: dict[str, Any]) -> Response:
    if writer.body.get("stream") is True or writer.body.get("store") is False:
        raise bad_parameter(
            "background: needs store, and no stream: GET /v1/responses/{id} has the answer", "background"
        )
    if await find_passthrough(request, chat) is not None:
        message = "background: only assistants answer in the background; leave it out"
        raise MaasError("unsupported_parameter", message, {"param": "background"})
    completion_request = await read_completion_request(request, chat)
    run_id = await app_state(request).submissions.submit(completion_request.submission)
    response = _respond(await writer.begin(run_id))
    response.headers.update(client_request_id(request))
    return response


async def _present(request: Request, one: StoredResponse) -> Mapping[str, Any]:
    """A stored response as it is now; one of the background is kept once it is finished."""
    if one.response is not None:
        return one.response
    db, answer = app_state(request).db, await read_answer(app_state(request).db, one.run_id)
    resource = new_resource(str(one.run_id), int(answer.created_at.timestamp()), one.request, True)
    if answer.status not in TERMINAL:
        return {**resource, "status": "queued" if answer.status is Status.NEW else "in_progress"}
    if answer.status is Status.FAILED:
        if answer.error_code == "cancelled":
            return {**resource, "status": "cancelled"}
        return failed(resource, answer.error_code, answer.error_message or "the run failed")
    usage = {
        "prompt_tokens": answer.usage.tokens_in,
        "completion_tokens": answer.usage.tokens_out,
        "prompt_tokens_details": {"cached_tokens": answer.usage.tokens_cached},
    }
    finish = "length" if answer.is_cut else "stop"
    resource = finished(
        resource, to_output({"content": answer.answer}, resource["id"]), finish, usage, int(time.time())
    )
    await store(db, one.user_id, one.run_id, one.request, one.input, resource)
    return resource


def _respond(resource: Mapping[str, Any]) -> Response:
    return json_response(ResponseObject.model_validate(resource))


def _with_conversation(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with the conversation that it names where a chat completion has it."""
    named = body.get("conversation")
    conversation = named.get("id") if isinstance(named, Mapping) else named
    ours = body.get("maas")
    if conversation is None or not (ours is None or isinstance(ours, Mapping)):
        return dict(body)
    return {**body, "maas": {**(ours or {}), "conversation_id": conversation}}


def _run_of(chunk: Mapping[str, Any]) -> str | None:
    """The run that a chunk belongs to: MaaS's own chunks name it in their id, others in `maas`."""
    notes = chunk.get("maas")
    if isinstance(notes, Mapping):
        return str(notes["request_id"])
    text = str(chunk.get("id", "")).removeprefix("chatcmpl-")
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _time(completion: Mapping[str, Any]) -> int:
    created_at = completion.get("created")
    return created_at if isinstance(created_at, int) and created_at > 1 else int(time.time())


def _to_order(text: str) -> str:
    if text not in ("asc", "desc"):
        raise ValueError("must be asc or desc")
    return text
