"""The HTTP/1.1 protocol of one TCP connection, with the limits that uvicorn lacks: request heads and slow clients.

The class inherits uvicorn's internal `HttpToolsProtocol`: it overrides its parser callbacks, timers and
`send_400_response`, and reads `cycle`, `connections`, `headers` and `url`. None of them is a public interface, so
uvicorn's minor version is pinned; read its `httptools_impl.py` before raising it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from contextlib import suppress
from typing import Any
from uuid import uuid4

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from maas.settings.http import HttpSettings

MAX_URL_BYTES = 16 * 1024
MAX_HEADERS = 100
MAX_HEAD_BYTES = 64 * 1024
MAX_REFUSED_CONNECTIONS = 64  # beyond the limit, answered with 503; later ones are dropped
log = structlog.get_logger()


class _StopParsing(Exception):
    """Makes the parser stop and call send_400_response, which sends the refusal."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """Refuses request heads that are too large or too slow, and connections beyond the limit; aborts slow readers."""

    head_timeout_s: float
    write_timeout_s: float
    max_connections: int

    _refusal = (400, "bad_request", "this is not HTTP/1.1")
    _exceeds_limit = False
    _has_progressed = False
    _unparsed_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._exceeds_limit = len(self.connections) > self.max_connections
        if len(self.connections) > self.max_connections + MAX_REFUSED_CONNECTIONS:
            transport.abort()
            return
        self._head_timer = self.loop.call_later(self.head_timeout_s, self._on_slow_head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._head_timer = self.loop.call_later(self.head_timeout_s, self._on_slow_head)
        self._has_progressed = False
        super().data_received(data)
        self._unparsed_bytes = 0 if self._has_progressed else self._unparsed_bytes + len(data)
        if self._unparsed_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431, "headers_too_large", f"the headers exceed {MAX_HEAD_BYTES} bytes")

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL_BYTES:
            self._stop(414, "uri_too_long", f"path and query exceed {MAX_URL_BYTES} bytes; send long text in the body")

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.strip(b" \t"))  # RFC 9110 5.5; the parser leaves what follows a value
        if len(self.headers) > MAX_HEADERS:
            self._stop(431, "headers_too_large", f"there are more than {MAX_HEADERS} headers")

    def on_headers_complete(self) -> None:
        self._has_progressed = True
        self._stop_head_timer()
        if sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            self._stop(431, "headers_too_large", f"the headers exceed {MAX_HEAD_BYTES} bytes")
        if self._exceeds_limit:
            self._stop(503, "busy", "this process has reached its connection limit; try again")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._has_progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_progressed = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_write_timer()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._start_write_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(*self._refusal)

    def _stop(self, status: int, code: str, message: str) -> None:
        self._refusal = (status, code, message)
        raise _StopParsing

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Send the error, unless a response has started, and close the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = json.dumps({"error": {"code": code, "message": message}}).encode()
            lines = [b"content-type: application/json", b"x-content-type-options: nosniff", b"connection: close"]
            lines += [b"content-length: %d" % len(body), b"x-request-id: " + uuid4().hex.encode()]
            if status == 503:
                lines.append(b"retry-after: 1")
            log.info("request_rejected", status=status, code=code)
            self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + body)
            if self.cycle is not None:
                self.cycle.disconnected = True  # drops what the handler still sends
                self.cycle.message_event.set()
        self.transport.close()
        self._start_write_timer()

    def _on_slow_head(self) -> None:
        self._head_timer = None
        if self._unparsed_bytes:
            self._refuse(408, "timeout", f"the headers took longer than {self.head_timeout_s:g} s")
        else:
            self.transport.close()
            self._start_write_timer()

    def _start_write_timer(self) -> None:
        """Abort the connection unless the client reads what was written within write_timeout_s."""
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_timeout_s, self._abort)

    def _abort(self) -> None:
        """Reset the connection; SO_LINGER 0 makes the kernel drop the bytes that the client has not read."""
        if (connected := self.transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def limited_protocol(settings: HttpSettings) -> type[asyncio.Protocol]:
    """Return the protocol class for uvicorn, with the limits of these settings."""
    limits: dict[str, Any] = {
        "head_timeout_s": settings.head_timeout,
        "write_timeout_s": settings.write_timeout,
        "max_connections": settings.connections,
    }
    return type("LimitedHttpProtocol", (LimitedHttpProtocol,), limits)
