"""Calls of providers: one request sent on, its reply followed by the clients that wait for it.

A call belongs to no connection. A client that has given up and asks the same again within GRACE_S seconds follows the
call that is still running, or gets the reply that it has missed, so that nothing is asked and remembered twice.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
import structlog

from maas.passthrough.apis import EMBEDDINGS, Api
from maas.passthrough.replies import STREAM_ENDS, ProviderReply
from shared.bounded_http import MAX_STREAM_BYTES, MIB, ReplyTooLarge, bounded, is_event_stream
from shared.errors import MaasError
from shared.json import parse_json
from shared.models import gen_ai

GRACE_S = 15.0  # the official clients send a request again after 8 s at most
MAX_CALL_S = 3600.0
CONNECT_TIMEOUT_S = 10.0
MAX_ERROR_CHARS = 500
MIN_KEY_CHARS = 8  # a shorter text is no secret
MAX_REPLY_BYTES = 16 * MIB
DONE = b"[DONE]"
RELAYED_HEADERS = ("content-type", "request-id", "retry-after", "retry-after-ms", "x-should-retry")
RELAYED_PREFIXES = ("anthropic-", "openai-", "x-ratelimit-")
_CODES = {401: "unauthorized", 403: "unauthorized", 404: "unknown_model", 408: "timeout", 429: "rate_limited"}
OnEnd = Callable[[ProviderReply, MaasError | None], Awaitable[Mapping[str, Any]]]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What is sent to a provider: the URL of the endpoint of `api`, headers with its `key`, and the JSON body."""

    api: Api
    url: str
    key: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any]
    provider: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Head:
    """How a reply begins: its status, the headers that are passed on, and whether events follow."""

    status: int
    headers: Mapping[str, str]
    is_stream: bool


@dataclass(slots=True, eq=False)
class ProviderCall:
    """A call that runs or has just ended. `notes` are what MaaS adds to the reply: the member `maas`.

    `is_left`: whoever waited for it has gone without having read the reply to its end. `failure`: why a reply that is
    no stream broke off.
    """

    notes: Mapping[str, Any]
    head: asyncio.Future[Head]
    pieces: list[bytes] = field(default_factory=list)
    is_done: bool = False
    is_left: bool = False
    failure: MaasError | None = None
    ended_at: float = 0.0
    _followers: int = 0
    _was_read: bool = False
    _change: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _expiry: asyncio.TimerHandle | None = None

    def start(self, run: Awaitable[None]) -> None:
        """Make the call in a task of its own."""
        self._task = asyncio.ensure_future(run)

    async def follow(self) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of the reply, from the first one. Raises MaasError where there is no whole reply."""
        self._join()
        try:
            await asyncio.shield(self.head)
            sent = 0
            while True:
                while sent < len(self.pieces):
                    sent += 1
                    yield self.pieces[sent - 1]
                if self.is_done:
                    self._was_read = True
                    if self.failure is not None:
                        raise self.failure
                    return
                await self._change.wait()
        finally:
            self._leave()

    def add(self, piece: bytes) -> None:
        """Add a piece for all who follow."""
        self.pieces.append(piece)
        self._notify()

    def end(self) -> None:
        """Mark the reply as complete."""
        self.is_done, self.ended_at = True, time.monotonic()
        self._notify()

    async def cancel(self) -> None:
        """Stop the call; its provider stops, too."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _join(self) -> None:
        self._followers += 1
        self.is_left = False
        if self._expiry is not None:
            self._expiry.cancel()

    def _leave(self) -> None:
        self._followers -= 1
        self.is_left = self._followers == 0 and not self._was_read
        if self._followers == 0 and not self.is_done and self._task is not None:
            self._expiry = asyncio.get_running_loop().call_later(GRACE_S, self._task.cancel)

    def _notify(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


class ProviderCalls:
    """The calls of one process."""

    def __init__(self) -> None:
        self._http = httpx2.AsyncClient(
            event_hooks=bounded(MAX_REPLY_BYTES, MAX_STREAM_BYTES),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
        )
        self._calls: dict[str, ProviderCall] = {}  # the newest of each key
        self._running: set[ProviderCall] = set()

    def take_left(self, key: str) -> ProviderCall | None:
        """The call of the same request whose client has gone, if it may still be what a repeated request wants.

        Nobody else gets it then.
        """
        call = self._calls.get(key)
        if call is None or not call.is_left or (call.is_done and time.monotonic() - call.ended_at > GRACE_S):
            return None
        call.is_left = False
        return call

    def start(
        self,
        key: str,
        request: ProviderRequest,
        notes: Mapping[str, Any],
        on_end: OnEnd,
        place: AbstractContextManager[object],
    ) -> ProviderCall:
        """Send a request; `place` is held until the reply has ended, `on_end` stores what came of it before that.

        What `on_end` returns is added to the notes of a whole reply.
        """
        with ExitStack() as stack:
            stack.enter_context(place)
            call = ProviderCall(notes, asyncio.get_running_loop().create_future())
            self._drop_old()
            self._calls[key] = call
            self._running.add(call)
            call.start(self._run(call, request, on_end, stack.pop_all()))
        return call

    async def close(self) -> None:
        """Stop all calls."""
        await asyncio.gather(*(call.cancel() for call in self._running))
        await self._http.aclose()

    def _drop_old(self) -> None:
        now = time.monotonic()
        done = [(key, one) for key, one in self._calls.items() if one.is_done]
        old = [key for key, one in done if not one.is_left or now - one.ended_at > GRACE_S]
        for key in old:
            del self._calls[key]

    async def _run(self, call: ProviderCall, request: ProviderRequest, on_end: OnEnd, place: ExitStack) -> None:
        reply, failure = ProviderReply(), None
        with place:
            try:
                async with asyncio.timeout(MAX_CALL_S):
                    name: Literal["chat", "embeddings"] = "embeddings" if request.api is EMBEDDINGS else "chat"
                    with gen_ai.provider_call(name, request.provider, str(request.body["model"])) as operation:
                        await self._send(call, request, reply, on_end)
                        if (status := call.head.result().status) >= 400:
                            operation.fail(str(status))
                        if reply.tokens_in is not None:
                            operation.used(reply.tokens_in, reply.tokens_out or 0, reply.tokens_cached, reply.finish)
                return
            except (httpx2.HTTPError, TimeoutError, ValueError) as error:
                failure = _failure_of(error)
            except asyncio.CancelledError:
                failure = MaasError("cancelled", "the client disconnected")
                raise
            except Exception as error:
                log.error("passthrough_crashed", exc_info=error)
                failure = MaasError("internal", "an internal error; the log has the details")
            finally:
                if failure is not None:
                    await on_end(reply, failure)
                    self._fail(call, failure, request.api)
                call.end()
                self._running.discard(call)

    async def _send(self, call: ProviderCall, request: ProviderRequest, reply: ProviderReply, on_end: OnEnd) -> None:
        timeout = httpx2.Timeout(request.timeout_s, connect=CONNECT_TIMEOUT_S)
        headers = {"content-type": "application/json", **request.headers}
        content = json.dumps(request.body).encode()  # ASCII: what is no Unicode text arrives as the client wrote it
        async with self._http.stream(
            "POST", request.url, headers=headers, content=content, timeout=timeout
        ) as response:
            is_stream = response.status_code < 400 and is_event_stream(response)
            call.head.set_result(Head(response.status_code, _relayed(response.headers), is_stream))
            if is_stream:
                last = await self._relay_events(call, response, reply)
                await on_end(reply, None)
                for event in last:
                    call.add(event + b"\n\n")
                return
            raw = await response.aread()
            if response.status_code >= 400 and len(request.key) >= MIN_KEY_CHARS:
                raw = raw.replace(request.key.encode(), b"***")  # some servers quote the key that they refuse
            value = _parse(raw)
            if response.status_code >= 400:
                await on_end(reply, _refusal(response.status_code, value))
                call.add(raw)
                return
            reply.read(value)
            stored = await on_end(reply, None)
            call.add(raw if not isinstance(value, dict) else _json(value | {"maas": {**call.notes, **stored}}))

    async def _relay_events(self, call: ProviderCall, response: httpx2.Response, reply: ProviderReply) -> list[bytes]:
        """Pass on the events but for the last ones, which are returned; the notes are added to the first.

        The last ones are the end of a response or of a message, and [DONE].
        """
        is_first, last = True, list[bytes]()
        async with aclosing(_events(response)) as events:
            async for event in events:
                before, mark, data = event.partition(b"data:")
                value = _parse(data) if mark else None
                if isinstance(value, dict):
                    reply.read(value)
                    if is_first:
                        is_first = False
                        event = before + b"data: " + _json(value | {"maas": dict(call.notes)})
                if data.strip() == DONE or (isinstance(value, dict) and value.get("type") in STREAM_ENDS):
                    last.append(event)
                else:
                    call.add(event + b"\n\n")
        return last

    def _fail(self, call: ProviderCall, failure: MaasError, api: Api) -> None:
        """Tell who follows that there is no reply, or no more of it."""
        if not call.head.done():
            call.head.set_exception(failure)
            call.head.exception()  # nobody may be left to hear of it
        elif call.head.result().is_stream:
            call.add(api.error_event(failure))
        else:
            call.failure = failure


async def _events(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield server-sent events without the empty line that ends them."""
    lines: list[str] = []
    async for line in response.aiter_lines():
        if line:
            lines.append(line)
        elif lines:
            yield "\n".join(lines).encode()
            lines = []
    if lines:
        yield "\n".join(lines).encode()


def _parse(raw: bytes) -> object:
    """The JSON value of a text; None if it is none."""
    try:
        return parse_json(raw)
    except (ValueError, RecursionError):
        return None


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _relayed(headers: httpx2.Headers) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in RELAYED_HEADERS or name.lower().startswith(RELAYED_PREFIXES)
    }


def _refusal(status: int, value: object) -> MaasError:
    """The error with which a provider refused, by its status and the text of its body."""
    error = value.get("error") if isinstance(value, dict) else None
    text = error.get("message") if isinstance(error, dict) else error if isinstance(error, str) else None
    code = _CODES.get(status, "provider_error" if status >= 500 else "bad_request")
    message = f"the provider answered {status}: {text or 'no reason was given'}"[:MAX_ERROR_CHARS]
    return MaasError(code, message, {"status": status})


def is_missing_endpoint(status: int, raw: bytes) -> bool:
    """Whether a reply says that a server does not have an endpoint at all, and not that it lacks a model."""
    return status in (404, 405, 501) and b"model" not in raw[:MAX_ERROR_CHARS].lower()


def _failure_of(error: Exception) -> MaasError:
    if isinstance(error, ReplyTooLarge):
        return MaasError("reply_too_large", str(error))
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return MaasError("timeout", "the provider did not answer in time; ask again later")
    return MaasError("unreachable", f"the provider cannot be reached at the moment ({type(error).__name__})")
