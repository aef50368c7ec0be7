"""Replies of services outside: their bytes are counted decompressed, while they are read, before anything parses them.

Every HTTP client of the product has the hooks of `bounded`, so a reply without an end costs no more than its limit. A
test walks the code for clients without them.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from time import monotonic
from typing import Any

import httpx2

MIB = 1024 * 1024
MAX_TEXT_REPLY_BYTES = 4 * MIB  # a model's whole reply
MAX_STREAM_BYTES = 32 * MIB  # a model's reply in events, each of which repeats what frames it
MAX_EVENT_BYTES = 4 * MIB  # one event of a stream
MAX_VECTORS_BYTES = 16 * MIB
MAX_IMAGE_REPLY_BYTES = 48 * MIB  # a picture in base64, in JSON
MAX_KEY_SET_BYTES = MIB
MAX_VENDOR_REPLY_BYTES = 20 * MIB  # the largest of the limits of vendors, each of which sets its own
CONTAINER_BYTES = 40  # what a list or an object of JSON counts beside its characters: so much it takes, and more
LIMIT_EXTENSION = "max_reply_bytes"  # of a request, in place of the limit of its client
FILE_EXTENSION = "is_file"  # of a request whose reply is no JSON
EVENT_STREAM = "text/event-stream"
Hook = Callable[[Any], Awaitable[None]]


class ReplyTooLarge(httpx2.TransportError):
    """A reply is larger than it may be, so the rest is not read; `max_bytes` is the limit."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"the reply is larger than {max_bytes:,} bytes, so it was not read to its end")
        self.max_bytes = max_bytes


def bounded(max_bytes: int, max_stream_bytes: int | None = None) -> dict[str, list[Hook]]:
    """The event hooks of a client whose replies have at most `max_bytes`, event streams `max_stream_bytes`.

    Reading more raises ReplyTooLarge.
    """

    async def limit(response: httpx2.Response) -> None:
        is_stream = is_event_stream(response)
        most = max_stream_bytes if is_stream and max_stream_bytes else max_bytes
        extensions = response.request.extensions
        container_bytes = 0 if extensions.get(FILE_EXTENSION) else CONTAINER_BYTES
        most = extensions.get(LIMIT_EXTENSION, most)
        count_bytes(response, Allowance(most, MAX_EVENT_BYTES if is_stream else None, container_bytes))

    return {"request": [ask_uncompressed], "response": [limit]}


async def ask_uncompressed(request: httpx2.Request) -> None:
    """Ask for a reply that is not compressed."""
    request.headers["accept-encoding"] = "identity"


def is_event_stream(response: httpx2.Response) -> bool:
    """Return whether a response is a stream of server-sent events."""
    media_type: str = response.headers.get("content-type", "")
    return media_type.lower().startswith(EVENT_STREAM)


def too_large(error: BaseException | None) -> ReplyTooLarge | None:
    """The ReplyTooLarge that an SDK has wrapped into its own error, None if it is another failure."""
    for _ in range(10):
        if error is None or isinstance(error, ReplyTooLarge):
            return error
        error = error.__cause__ or error.__context__
    return None


def is_unconnected(error: BaseException | None) -> bool:
    """Whether a failure is that no server accepted a connection; a refused certificate is another failure."""
    is_found = False
    for _ in range(10):
        if error is None or isinstance(error, ssl.SSLError):
            break
        is_found = is_found or isinstance(error, httpx2.ConnectError)
        error = error.__cause__ or error.__context__
    return is_found and not isinstance(error, ssl.SSLError)


class Allowance:
    """Counts the bytes of one reply, and `container_bytes` more for each list and object of JSON.

    `refill_bytes_per_s` is added to `max_bytes` as time passes: a stream that stays open for days may send more, but
    never at once. An event may have `max_event_bytes`.
    """

    def __init__(
        self,
        max_bytes: int,
        max_event_bytes: int | None = None,
        container_bytes: int = CONTAINER_BYTES,
        refill_bytes_per_s: int = 0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.max_bytes = max_bytes
        self._max_event_bytes = max_event_bytes
        self._container_bytes = container_bytes
        self._refill_bytes_per_s = refill_bytes_per_s
        self._clock = clock
        self._counted_at = clock()
        self._used = 0.0
        self._event = 0
        self._held = b""
        self._is_line_ended = False

    def take(self, piece: bytes) -> None:
        """Count a piece. Raises ReplyTooLarge."""
        now = self._clock()
        refilled = (now - self._counted_at) * self._refill_bytes_per_s
        self._used = max(self._used - refilled, 0.0) + weigh(piece, self._container_bytes)
        self._counted_at = now
        if self._used > self.max_bytes:
            raise ReplyTooLarge(self.max_bytes)
        if self._max_event_bytes is not None and self._longest_event(piece) > self._max_event_bytes:
            raise ReplyTooLarge(self._max_event_bytes)

    def _longest_event(self, piece: bytes) -> int:
        """The length so far of the longest event that the piece belongs to; an empty line ends one."""
        text = self._held + piece
        self._held = b"\r" if text.endswith(b"\r") else b""  # it may be the first half of a line's end
        lines = text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not lines:
            return self._event
        if self._is_line_ended and lines.startswith(b"\n"):
            self._event = 0
        first, *events = lines.split(b"\n\n")
        longest = max(self._event + len(first), max(map(len, events), default=0))
        self._event = len(events[-1]) if events else self._event + len(first)
        self._is_line_ended = lines.endswith(b"\n")
        return longest


def weigh(piece: bytes, container_bytes: int = CONTAINER_BYTES) -> int:
    """The bytes of a piece, and `container_bytes` more for each list and object of JSON that begins in it."""
    containers = piece.count(b"[") + piece.count(b"{") if container_bytes else 0
    return len(piece) + container_bytes * containers


def count_bytes(response: httpx2.Response, allowance: Allowance) -> None:
    """Decompress the body of a response here and count it, so that whoever reads it gets no more than is allowed."""
    raw = response.stream
    assert isinstance(raw, httpx2.AsyncByteStream)
    if response.headers.get("content-encoding", "identity").strip().lower() == "identity":
        response.stream = _Counted(raw, raw, allowance)
        return
    # What is left over after the end of a compressed body never becomes a piece, so both sides are counted.
    sent = _Counted(raw, raw, Allowance(allowance.max_bytes, container_bytes=0))
    unpacked = httpx2.Response(response.status_code, headers=response.headers, stream=sent, request=response.request)
    response.stream = _Counted(_Decoded(unpacked), raw, allowance)
    del response.headers["content-encoding"]


class _Decoded(httpx2.AsyncByteStream):
    """The decompressed body of a response, at most 1 MiB at a time."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._response.aiter_bytes()) as pieces:
            async for piece in pieces:
                yield piece


class _Counted(httpx2.AsyncByteStream):
    """A stream that counts; closing it closes `source`."""

    def __init__(self, stream: httpx2.AsyncByteStream, source: httpx2.AsyncByteStream, allowance: Allowance) -> None:
        self._stream = stream
        self._source = source
        self._allowance = allowance

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        async for piece in self._stream:
            self._allowance.take(piece)
            yield piece

    async def aclose(self) -> None:
        await self._source.aclose()


def open_bounded(max_bytes: int, **options: Any) -> httpx2.AsyncClient:
    """Open a client of our own whose replies have at most `max_bytes`; the caller closes it."""
    hooks: Mapping[str, list[Hook]] = bounded(max_bytes)
    return httpx2.AsyncClient(event_hooks=hooks, **options)
