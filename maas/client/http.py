"""Calls over HTTP: the blocking and the asyncio transport, and reading the event stream of a run."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from tenacity import AsyncRetrying, Retrying

from .calls import BACKOFF_S, MAX_BACKOFF_S, ApiCall, ApiReply, retry_policy
from .results import (
    ClientError,
    Event,
    InvalidRequest,
    RateLimited,
    RunFailed,
    Unavailable,
    error_of,
)

DEFAULT_PORT = "8000"
TIMEOUT_S = 30.0
RETRIES = 4
STREAM_READ_TIMEOUT_S = 60.0  # the server sends a keep-alive every 15
JSON = {"content-type": "application/json"}


def find_url(url: str | None) -> str:
    """`url`, or MAAS_URL, or MAAS_PORT of this machine; without a slash at the end. Raises InvalidRequest."""
    port = os.environ.get("MAAS_PORT") or DEFAULT_PORT
    base_url = url or os.environ.get("MAAS_URL") or f"http://127.0.0.1:{port}"
    if not base_url.startswith(("http://", "https://")):
        raise InvalidRequest("invalid_request", f"url: {base_url!r} must begin with http:// or https://")
    return base_url.rstrip("/")


def connection_options(url: str | None, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """Arguments of httpx2.Client and httpx2.AsyncClient. Raises InvalidRequest for a bad url."""
    key = api_key or os.environ.get("MAAS_API_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return {"base_url": find_url(url), "headers": headers, "timeout": timeout_s}


class HttpTransport:
    """Blocking transport that retries lost calls. Threads may share it."""

    def __init__(self, client: httpx2.Client, timeout_s: float, retries: int) -> None:
        self._client, self._timeout_s, self._retries = client, timeout_s, retries

    def send(self, call: ApiCall) -> ApiReply:
        for attempt in Retrying(**retry_policy(self._retries, is_repeatable=call.is_repeatable)):
            with attempt:
                try:
                    response = self._client.request(**_request_args(call, self._timeout_s))
                except httpx2.TransportError as error:
                    raise _connection_lost(error, self._client.base_url) from error
                return _read_reply(call, response, attempt.retry_state.attempt_number)
        raise AssertionError("tenacity returns or raises")

    def events(self, run_id: str, last_event_id: str) -> Iterator[Event]:
        stream = EventStreamReader(run_id, self._retries, last_event_id)
        while not stream.is_over:
            try:
                with self._client.sse(**_request_args(stream.call, self._timeout_s)) as source:
                    if not source.response.is_success:
                        source.response.read()
                    stream.open(source.response)
                    for sent in source:
                        yield stream.read(sent)
                error: ClientError = stream.closed_early()
            except httpx2.TransportError as cause:
                error = _connection_lost(cause, self._client.base_url)
            except (Unavailable, RateLimited) as cause:
                error = cause
            if not stream.is_over:
                time.sleep(stream.reconnect_delay_s(error))

    def close(self) -> None:
        self._client.close()


class AsyncHttpTransport:
    """asyncio transport that retries lost calls."""

    def __init__(self, client: httpx2.AsyncClient, timeout_s: float, retries: int) -> None:
        self._client, self._timeout_s, self._retries = client, timeout_s, retries

    async def send(self, call: ApiCall) -> ApiReply:
        async for attempt in AsyncRetrying(**retry_policy(self._retries, is_repeatable=call.is_repeatable)):
            with attempt:
                try:
                    response = await self._client.request(**_request_args(call, self._timeout_s))
                except httpx2.TransportError as error:
                    raise _connection_lost(error, self._client.base_url) from error
                return _read_reply(call, response, attempt.retry_state.attempt_number)
        raise AssertionError("tenacity returns or raises")

    async def events(self, run_id: str, last_event_id: str) -> AsyncGenerator[Event, None]:
        stream = EventStreamReader(run_id, self._retries, last_event_id)
        while not stream.is_over:
            try:
                async with self._client.sse(**_request_args(stream.call, self._timeout_s)) as source:
                    if not source.response.is_success:
                        await source.response.aread()
                    stream.open(source.response)
                    async for sent in source:
                        yield stream.read(sent)
                error: ClientError = stream.closed_early()
            except httpx2.TransportError as cause:
                error = _connection_lost(cause, self._client.base_url)
            except (Unavailable, RateLimited) as cause:
                error = cause
            if not stream.is_over:
                await asyncio.sleep(stream.reconnect_delay_s(error))

    async def stream(self, call: ApiCall) -> AsyncGenerator[Event, None]:
        """The events of one response, until the server ends it. Raises ClientError."""
        try:
            async with self._client.sse(**_request_args(call, self._timeout_s)) as source:
                if not source.response.is_success:
                    await source.response.aread()
                    _read_reply(call, source.response, 1)
                async for sent in source:
                    yield Event.parse(sent.id, sent.event, sent.data)
        except httpx2.TransportError as cause:
            raise _connection_lost(cause, self._client.base_url) from cause

    async def close(self) -> None:
        await self._client.aclose()


@dataclass(slots=True)
class EventStreamReader:
    """The state of reading one event stream across reconnects; it does no I/O itself.

    `last_event_id` is the position to resume from, `failures` the number of connections since then without an event.
    """

    run_id: str
    retries: int
    last_event_id: str = ""
    failures: int = 0
    is_over: bool = False

    @property
    def call(self) -> ApiCall:
        """The call that opens the stream behind the last event."""
        headers = {"last-event-id": self.last_event_id} if self.last_event_id else {}
        path = f"/v1/runs/{self.run_id}/events"
        return ApiCall(method="GET", path=path, headers=headers, long_poll_s=STREAM_READ_TIMEOUT_S)

    def open(self, response: httpx2.Response) -> None:
        """Check the head of the response; 204 means that no event follows. Raises ClientError.

        The body of an unsuccessful response must have been read.
        """
        self.is_over = response.status_code == 204
        if not response.is_success:
            _read_reply(self.call, response, 1)

    def read(self, sent: httpx2.ServerSentEvent) -> Event:
        """The next event. Raises RunFailed when the run has ended without an answer."""
        event = Event.parse(sent.id, sent.event, sent.data)
        self.last_event_id, self.failures = event.id, 0
        if event.type == "error":
            code, message = event.data.get("code"), event.data.get("message")
            raise RunFailed(str(code or "failed"), str(message or "the request failed"), {"request_id": self.run_id})
        self.is_over = event.type == "done"
        return event

    def closed_early(self) -> Unavailable:
        """The error of a stream that the server closed before the run ended, as it does when it stops."""
        return Unavailable("left", f"the server closed the event stream before run {self.run_id} ended")

    def reconnect_delay_s(self, error: ClientError) -> float:
        """Seconds until the next connection. Raises `error` if it is permanent or the retries are used up."""
        self.failures += 1
        if not isinstance(error, Unavailable | RateLimited) or self.failures > self.retries:
            raise error
        return max(error.retry_after or 0.0, min(BACKOFF_S * 2.0**self.failures, MAX_BACKOFF_S))


def _request_args(call: ApiCall, timeout_s: float) -> dict[str, Any]:
    """Arguments of `request` and `sse` of httpx2."""
    return {
        "method": call.method,
        "url": call.path,
        "params": dict(call.params) or None,
        "content": call.content if call.body is None else _encode(call.body),
        "data": call.form,
        "files": None if call.file is None else {"file": call.file},
        "headers": ({} if call.body is None else JSON) | dict(call.headers),
        "timeout": httpx2.Timeout(timeout_s, read=timeout_s + call.long_poll_s),
    }


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, default=str).encode()
    except ValueError as error:
        raise InvalidRequest("invalid_request", f"this cannot be sent as JSON: {error}") from error


def _read_reply(call: ApiCall, response: httpx2.Response, attempt: int) -> ApiReply:
    """The reply of a successful response. Raises the ClientError that any other response stands for."""
    if response.is_success:
        return ApiReply(response.content)
    try:
        body = response.json()
    except ValueError:
        body = None
    error = error_of(response.status_code, body, response.headers.get("retry-after"))
    if call.done_code == error.code and attempt > 1:
        return ApiReply(b"")
    raise error


def _connection_lost(error: httpx2.TransportError, url: httpx2.URL) -> Unavailable:
    cause = str(error) or type(error).__name__
    return Unavailable("unreachable", f"{str(url).rstrip('/')} does not answer ({cause})")
