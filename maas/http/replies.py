"""Every reply, errors of all kinds included: its id, the headers that browsers heed, a line in the log."""

from __future__ import annotations

import re
import time
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

REQUEST_ID = re.compile(r"[\w.:+/=@-]{1,100}", re.ASCII)
SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
QUIET = ("/healthz",)
log = structlog.get_logger()


class Replies:
    """ASGI middleware around the whole application, its answers to bugs included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = read_request_id(Headers(scope=scope).get("x-request-id"))
        status = 500
        began = time.perf_counter()

        async def complete(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SAFE.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/v1/"):
                    headers.setdefault("cache-control", "no-store")
                headers["x-request-id"] = request_id
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, complete)
            finally:
                path = getattr(scope.get("route"), "path", "unknown")
                if path not in QUIET:
                    log.info(
                        "request", method=scope["method"], path=path, status=status,
                        ms=round((time.perf_counter() - began) * 1000, 1),
                        caller=getattr(scope.get("state", {}).get("caller"), "name", None),
                    )  # fmt: skip


def read_request_id(sent: str | None) -> str:
    """What the client calls its request, if that is short and plain; else a name of ours."""
    return sent if sent is not None and REQUEST_ID.fullmatch(sent) else uuid4().hex
