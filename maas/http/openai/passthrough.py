"""Chat completions of pass-through models: the client's request with memory added, and the provider's reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas import queries
from maas.engine.spending import read_budget, read_spending
from maas.http.authorize import hold_stream, principal_of
from maas.http.openai import client_request_id, error_of_failed_run, openai_error_response
from maas.http.openai.caller import Caller, bad_parameter, read_caller, resolve_caller
from maas.http.openai.request import ignored_header
from maas.http.server_sent_events import EVENT_STREAM_HEADERS, KEEP_ALIVE_COMMENT
from maas.http.state import AppState, app_state
from maas.memory.health import MemoryReason
from maas.passthrough.apis import CHAT, MESSAGES, RESPONSES, Api
from maas.passthrough.calls import Head, ProviderCall, ProviderRequest, is_missing_endpoint
from maas.passthrough.dialogue import Dialogue, fingerprint
from maas.passthrough.exchanges import Exchange, check_conversation, left_out_of_memory, logs_to_replace
from maas.passthrough.memory import NO_MEMORY, MemoryBlock, recall
from maas.passthrough.models import ProviderModel
from maas.passthrough.replies import ProviderReply
from maas.runs.run_watcher import KEEP_ALIVE_S
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable

PROVIDER_KEY_HEADER = "x-maas-provider-key"
MAX_MEMORY_TOKENS = 32_000
log = structlog.get_logger()


def find_model(request: Request, body: object) -> ProviderModel | None:
    """The pass-through model that a request names; None if it names none."""
    if not isinstance(body, Mapping):
        return None
    key = request.headers.get(PROVIDER_KEY_HEADER) or None
    return app_state(request).passthrough.find(body.get("model"), key)


async def pass_through(request: Request, model: ProviderModel, body: Mapping[str, Any]) -> Response:
    """Send a chat completion request to its provider with memory in it, and the reply back.

    Raises MaasError: what `resolve_user` raises, `bad_parameter`, `over_budget`, `share_used`, `busy`.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad_parameter("messages: must be a list with at least one message", "messages")
    call = await open_call(request, model, body, messages, CHAT, read_caller(request, body))
    return await _respond(request, call)


async def pass_response_through(request: Request, model: ProviderModel, body: Mapping[str, Any]) -> Response | None:
    """Send a request of the Responses API to its provider with memory in it; None if the provider lacks this API."""
    value = body["input"]
    await _check_previous(request, body)
    items = [{"role": "user", "content": value}] if isinstance(value, str) else value
    call = await open_call(request, model, body, items, RESPONSES, read_caller(request, body))
    response = await _respond(request, call)
    if is_missing_endpoint(response.status_code, bytes(getattr(response, "body", b""))):
        app_state(request).passthrough.lacks_responses(model)
        return None
    return response


async def _check_previous(request: Request, body: Mapping[str, Any]) -> None:
    """Refuse to continue a response that the provider keeps for another user."""
    previous = body.get("previous_response_id")
    if not isinstance(previous, str) or not is_storable(previous):
        return
    user_id = await resolve_caller(request, read_caller(request, body))
    if await app_state(request).db.value(queries.is_kept_for_others, user_id, previous):
        message = f"previous_response_id: there is no stored response {previous[:80]!r} of this user"
        raise bad_parameter(message, "previous_response_id")


async def open_call(
    request: Request, model: ProviderModel, body: Mapping[str, Any], messages: list[Any], api: Api, caller: Caller
) -> ProviderCall:
    """The call that answers this request: one that was left by its client, or a new one.

    Raises MaasError: what `resolve_user` raises, `bad_parameter`, `over_budget`, `share_used`, `busy`.
    """
    state = app_state(request)
    if body.get("stream") is True:
        hold_stream(request)
    user_id = await resolve_caller(request, caller)
    await _check_budget(state, user_id)
    key = fingerprint([api.endpoint, principal_of(request).name, str(user_id), caller.conversation, body])
    call = state.provider_calls.take_left(key)
    if call is None:
        call = await _start(request, model, body, messages, caller, user_id, key, api)
    bind_contextvars(run_id=call.notes["request_id"])
    return call


async def relay(request: Request, model: ProviderModel, body: Mapping[str, Any], api: Api) -> Response:
    """Send a request to another endpoint of a provider, without memory, and the reply back."""
    state, caller = app_state(request), read_caller(request, body)
    user_id = await resolve_caller(request, caller)
    await _check_budget(state, user_id)
    sent = {name: value for name, value in body.items() if name not in api.own_fields} | {"model": model.model}
    exchange = Exchange(user_id, principal_of(request).name, model, "", None, NO_MEMORY, [sent.get(api.field)])
    key = fingerprint([api.endpoint, exchange.caller, str(user_id), body])
    call = state.provider_calls.take_left(key) or _call(request, exchange, sent, api, key)
    return await _respond(request, call)


async def _start(
    request: Request,
    model: ProviderModel,
    body: Mapping[str, Any],
    messages: list[Any],
    caller: Caller,
    user_id: UUID,
    key: str,
    api: Api,
) -> ProviderCall:
    state, principal, dialogue = app_state(request), principal_of(request), Dialogue.of(messages)
    conversation_id = caller.conversation_id(user_id)
    if conversation_id is not None:
        await check_conversation(state.db, conversation_id, user_id)
    before = caller.conversation or body.get("previous_response_id") or ""
    turn = dialogue.key(principal.name, user_id, str(before))
    memory = await _recall(state, user_id, dialogue, _memory_tokens(body, state), (principal.name, turn))
    sent = {name: value for name, value in body.items() if name not in api.own_fields}
    sent["model"] = model.model
    if memory.text:
        add_memory = dialogue.with_memory_inside if api is MESSAGES else dialogue.with_memory
        sent[api.field] = add_memory(memory.text)
    exchange = Exchange(
        user_id=user_id,
        caller=principal.name,
        model=model,
        question=dialogue.question if dialogue.has_question else "",
        key=turn if caller.is_remembered else None,
        memory=memory,
        sent=messages,
        conversation_id=conversation_id,
        metadata=caller.metadata,
        is_remembered=caller.is_remembered,
    )
    return _call(request, exchange, sent, api, key)


def _call(request: Request, exchange: Exchange, sent: Mapping[str, Any], api: Api, key: str) -> ProviderCall:
    """Send a body to an endpoint of the provider."""
    state, model = app_state(request), exchange.model
    return state.provider_calls.start(
        key,
        ProviderRequest(
            api=api,
            url=f"{model.url}/{api.endpoint}",
            key=model.key,
            headers=api.headers_for(model, request.headers),
            body=sent,
            provider=model.provider,
            timeout_s=state.settings.http.openai_wait,
        ),
        _notes(exchange),
        partial(_store, exchange, state.db, api),
        state.shares.provider_calls.hold_now(exchange.user_id),
    )


async def _store(
    exchange: Exchange, db: Database, api: Api, reply: ProviderReply, failure: MaasError | None
) -> dict[str, Any]:
    """Store what came of a call, unless the provider does not have this API: then it is asked in another way."""
    status = (failure.details or {}).get("status") if failure is not None else None
    if api is RESPONSES and status and is_missing_endpoint(status, str(failure).encode()):
        return {}
    stored = await exchange.store(db, reply, failure)
    if api is RESPONSES and failure is None and reply.response_id is not None:
        kept = {"id": reply.response_id}
        await db.value(queries.store_response, exchange.user_id, exchange.id, None, {"kept_by": "provider"}, [], kept)
    return stored


async def _recall(
    state: AppState, user_id: UUID, dialogue: Dialogue, max_tokens: int, turn: tuple[str, str]
) -> MemoryBlock:
    """What memory holds for the question of a dialogue, but for an earlier answer to it; `turn`: caller and key."""
    if not dialogue.has_question or max_tokens == 0:
        return NO_MEMORY
    try:
        async with state.shares.recalls.hold(user_id):
            return await recall(
                state.reads,
                state.settings,
                user_id,
                dialogue.question,
                max_tokens,
                dialogue.texts(),
                state.query_embedder,
                await logs_to_replace(state.reads, user_id, *turn),
            )
    except MaasError as error:  # no place: the answer is worth more than the memory behind it
        log.warning("memory_unavailable", cause=error.message)
        return MemoryBlock(reasons=(MemoryReason.SEARCH_FAILED,))


async def _check_budget(state: AppState, user_id: UUID) -> None:
    budget = await read_budget(state.db, state.settings, user_id)
    if budget.is_unlimited:
        return
    spending = await read_spending(state.db, state.settings, user_id, budget)
    if spending.is_spent:
        raise MaasError("over_budget", f"the user's budget for today is spent; it is renewed at {spending.renewed_at}")


def _memory_tokens(body: Mapping[str, Any], state: AppState) -> int:
    value = (body.get("maas") or {}).get("memory_tokens")
    if value is None:
        return state.settings.passthrough.memory_tokens
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_MEMORY_TOKENS:
        raise bad_parameter(f"maas.memory_tokens: must be a whole number from 0 to {MAX_MEMORY_TOKENS}", "maas")
    return value


def _notes(exchange: Exchange) -> dict[str, Any]:
    """What MaaS says of a request in the member `maas` of its reply."""
    memory = exchange.memory
    left_out = left_out_of_memory(exchange.question) if exchange.is_remembered else 0
    return {
        "request_id": str(exchange.id),
        "conversation_id": None if exchange.conversation_id is None else str(exchange.conversation_id),
        "memory": "unavailable" if "search_failed" in memory.reasons else "degraded" if memory.reasons else "ok",
        "memory_reasons": list(memory.reasons),
        "memory_tokens": memory.tokens,
        "sources": list(memory.sources),
        "ignored": [f"memory of messages[].content ({left_out} characters)"] if left_out else [],
    }


async def _respond(request: Request, call: ProviderCall) -> Response:
    """What the provider answers, or why it does not, in OpenAI's form."""
    try:
        return await follow(request, call)
    except MaasError as error:
        status, detail = error_of_failed_run(error.code, f"{error.message} (run {call.notes['request_id']})")
        return openai_error_response(request, status, detail, {"x-should-retry": "true"})


async def follow(request: Request, call: ProviderCall) -> Response:
    """What the provider answers, as it writes it. Raises MaasError where there is no answer."""
    pieces = call.follow()
    head = await _unless_left(request, _first(pieces))
    headers = _headers(request, call.head.result(), call.notes)
    if call.head.result().is_stream:
        return StreamingResponse(_stream(head, pieces), headers=headers | EVENT_STREAM_HEADERS)
    async with aclosing(pieces):
        rest = await _unless_left(request, _read(pieces))
    return Response(head + rest, call.head.result().status, headers=headers)


async def _first(pieces: AsyncGenerator[bytes, None]) -> bytes:
    return await anext(pieces, b"")


async def _read(pieces: AsyncGenerator[bytes, None]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def _stream(first: bytes, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the pieces, with a comment after each silence, so that no proxy takes the connection for dead."""
    async with aclosing(pieces):
        yield first
        waiting: asyncio.Task[bytes] | None = None
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(_first(pieces))
                done, _ = await asyncio.wait([waiting], timeout=KEEP_ALIVE_S)
                if not done:
                    yield KEEP_ALIVE_COMMENT.encode()
                    continue
                piece, waiting = waiting.result(), None
                if not piece:
                    return
                yield piece
        finally:
            if waiting is not None:
                waiting.cancel()
                with suppress(asyncio.CancelledError):
                    await waiting


async def _unless_left(request: Request, wanted: Any) -> bytes:
    """Wait for a reply as long as the client is there. Raises ClientDisconnect."""
    work = asyncio.ensure_future(wanted)
    leaving = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait([work, leaving], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            result: bytes = work.result()
            return result
        raise ClientDisconnect
    finally:
        for task in (work, leaving):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _headers(request: Request, head: Head, notes: Mapping[str, Any]) -> dict[str, str]:
    memory = "; ".join((notes["memory"], *notes["memory_reasons"]))
    ours = {"x-maas-request": notes["request_id"], "x-maas-memory": memory}
    ours["x-maas-memory-tokens"] = str(notes["memory_tokens"])
    return {**head.headers, **ours, **client_request_id(request), **ignored_header(notes["ignored"])}
