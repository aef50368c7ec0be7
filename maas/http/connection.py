"""One TCP connection: what uvicorn leaves unlimited, the head of a request and the patience with who is slow."""

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

from shared.settings import Settings

URL_BYTES = 16 * 1024
HEADERS = 100
HEAD_BYTES = 64 * 1024
SURPLUS = 64  # connections that are told why they are refused; those after them are dropped
log = structlog.get_logger()


class _Refused(Exception):
    """The parser is to stop; send_400_response says why."""


class Connection(HttpToolsProtocol):
    """Refuses heads that are too large, too slow or one connection too many; gives up readers that do not read."""

    head_timeout: float
    write_timeout: float
    most: int

    _refusal = (400, "bad_request", "this is not HTTP/1.1")
    _is_surplus = False
    _has_moved = False
    _idle_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_surplus = len(self.connections) > self.most
        if len(self.connections) > self.most + SURPLUS:
            transport.abort()
            return
        self._head_timer = self.loop.call_later(self.head_timeout, self._on_slow_head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._head_timer = self.loop.call_later(self.head_timeout, self._on_slow_head)
        self._has_moved = False
        super().data_received(data)
        self._idle_bytes = 0 if self._has_moved else self._idle_bytes + len(data)
        if self._idle_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431, "headers_too_large", f"the headers exceed {HEAD_BYTES} bytes")

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > URL_BYTES:
            self._stop(414, "uri_too_long", f"path and query exceed {URL_BYTES} bytes; what is long goes into the body")

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > HEADERS:
            self._stop(431, "headers_too_large", f"there are more than {HEADERS} headers")

    def on_headers_complete(self) -> None:
        self._has_moved = True
        self._stop_head_timer()
        if sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            self._stop(431, "headers_too_large", f"the headers exceed {HEAD_BYTES} bytes")
        if self._is_surplus:
            self._stop(503, "busy", "this process has all the connections it may have; try again")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_moved = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._await_reader()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._await_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(*self._refusal)

    def _stop(self, status: int, code: str, message: str) -> None:
        self._refusal = (status, code, message)
        raise _Refused

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Say why, unless an answer is on its way, and close."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = json.dumps({"error": {"code": code, "message": message}}).encode()
            lines = [b"content-type: application/json", b"x-content-type-options: nosniff", b"connection: close"]
            lines += [b"content-length: %d" % len(body), b"x-request-id: " + uuid4().hex.encode()]
            if status == 503:
                lines.append(b"retry-after: 1")
            log.info("request_refused", status=status, code=code)
            self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + body)
            if self.cycle is not None:
                self.cycle.disconnected = True  # what a handler answers from now on is nobody's
                self.cycle.message_event.set()
        self.transport.close()
        self._await_reader()

    def _on_slow_head(self) -> None:
        self._head_timer = None
        if self._idle_bytes:
            self._refuse(408, "timeout", f"the headers took longer than {self.head_timeout:g} s")
        else:
            self.transport.close()
            self._await_reader()

    def _await_reader(self) -> None:
        """From now on what was written has so long to be read."""
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_timeout, self._abort)

    def _abort(self) -> None:
        """Leave nothing behind: what the kernel still holds for a reader that does not read goes, too."""
        if (line := self.transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def limited(settings: Settings) -> type[asyncio.Protocol]:
    """The protocol that uvicorn is to speak, with the limits of these settings."""
    limits: dict[str, Any] = {
        "head_timeout": settings.head_timeout, "write_timeout": settings.write_timeout, "most": settings.connections,
    }  # fmt: skip
    return type("Limited", (Connection,), limits)
