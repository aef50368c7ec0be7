"""What all stand-ins share: a program on a port with a state, a journal of requests and faults to order.

Control: `GET /__control/journal`; `POST /__control/faults` with a list of faults, an empty one drops them;
`GET /__control/state`, `POST /__control/state` with a JSON merge patch (null deletes); `POST /__control/reset` goes
back to the fixture.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

CONTROL = "/__control/"
SECRETS = ("authorization", "apikey", "x-api-key")
Json = dict[str, Any]
_transports: dict[tuple[str, int], asyncio.Transport] = {}


@dataclass(slots=True)
class Fault:
    """A fault of the next `times` requests whose path contains `path`, and whose method is `method` if that is set.

    `hang` never answers, `cut` closes the connection instead of answering, `status` refuses with a status and the
    vendor's `code`: the request is carried out before only if `is_done`. `truncate`, `malformed` and `slow` (a byte
    every `pause_s` seconds) damage the reply to a request that was carried out. `retry_after` is in seconds,
    `regain_minutes` what Facebook says instead.
    """

    kind: Literal["status", "hang", "cut", "truncate", "malformed", "slow"]
    path: str = ""
    method: str = ""
    times: int = 1
    status: int = 500
    code: int = 0
    subcode: int = 0
    message: str = "on purpose"
    retry_after: float | None = None
    regain_minutes: int = 0
    is_done: bool = False
    pause_s: float = 0.1

    def hits(self, method: str, path: str) -> bool:
        return self.times > 0 and self.path in path and self.method in ("", method)


class StandIn:
    """An ASGI application: `routes` get it as `request.app.state.standin`; `refuse` makes the vendor's errors."""

    def __init__(
        self,
        routes: list[BaseRoute],
        refuse: Callable[[Fault], Response],
        fixture: Json,
        on_errors: Mapping[type[Exception], Callable[[Request, Any], Awaitable[Response]]],
    ) -> None:
        self._app = Starlette(routes=routes, exception_handlers=dict(on_errors))
        self._app.state.standin = self
        self._refuse = refuse
        self._fixture = fixture
        self.reset()

    def reset(self) -> None:
        self.state: Json = copy.deepcopy(self._fixture)
        self.journal: list[Json] = []
        self.faults: list[Fault] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        content = await request.body()
        if request.url.path.startswith(CONTROL):
            await self._control(request, content)(scope, receive, send)
            return
        entry = {
            "method": request.method,
            "path": request.url.path,
            "params": dict(request.query_params),
            "headers": {name: request.headers[name] for name in SECRETS if name in request.headers},
            "body": _value(request.headers.get("content-type", ""), content),
            "status": None,
        }
        self.journal.append(entry)
        fault = next((one for one in self.faults if one.hits(request.method, request.url.path)), None)
        if fault is None:
            reply = await _answer(self._app, scope, content)
            entry["status"] = reply.status_code
            await reply(scope, receive, send)
            return
        fault.times -= 1
        if fault.is_done or fault.kind in ("truncate", "malformed", "slow"):
            reply = await _answer(self._app, scope, content)
        if fault.kind == "status":
            entry["status"] = fault.status
            await self._refusal(fault)(scope, receive, send)
        elif fault.kind == "hang":
            while (await receive())["type"] != "http.disconnect":
                pass
        elif fault.kind == "cut":
            _transports[_peer(scope)].abort()
        else:
            await _send_damaged(fault, reply, scope, receive, send)

    def _refusal(self, fault: Fault) -> Response:
        refusal = self._refuse(fault)
        if fault.status < 400:
            refusal.headers["location"] = "/elsewhere"
        if fault.retry_after is not None:
            refusal.headers["retry-after"] = f"{fault.retry_after:g}"
        return refusal

    def _control(self, request: Request, content: bytes) -> Response:
        what = request.url.path.removeprefix(CONTROL)
        if request.method == "POST":
            value: Any = json.loads(content or b"null")
            if what == "faults":
                self.faults = [*self.faults, *(Fault(**one) for one in value)] if value else []
            elif what == "state":
                self.state = merged(self.state, value)
            elif what == "reset":
                self.reset()
            else:
                return Response(status_code=404)
            return Response(status_code=204)
        return JSONResponse({"journal": self.journal, "state": self.state}.get(what, {}))


def standin_of(request: Request) -> StandIn:
    standin: StandIn = request.app.state.standin
    return standin


def _peer(scope: Scope) -> tuple[str, int]:
    host, port = scope["client"]
    return host, port


def merged(value: Any, patch: Any) -> Any:
    """The JSON merge patch of a value (RFC 7396): null deletes a member."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, one in patch.items():
        if one is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), one)
    return result


def _value(content_type: str, content: bytes) -> Any:
    if not content:
        return None
    if content_type.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(content.decode(), keep_blank_values=True))
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


async def _answer(app: Starlette, scope: Scope, content: bytes) -> Response:
    """The whole reply of the application."""
    reply = Response()
    pieces: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            reply.status_code, reply.raw_headers = message["status"], list(message["headers"])
        else:
            pieces.append(message.get("body", b""))

    await app(scope, receive, send)
    reply.body = b"".join(pieces)
    return reply


async def _send_damaged(fault: Fault, reply: Response, scope: Scope, receive: Receive, send: Send) -> None:
    content = bytes(reply.body)
    if fault.kind == "malformed":
        await Response(content[:-1] + b"#", reply.status_code, media_type="application/json")(scope, receive, send)
        return
    headers = [(b"content-length", str(len(content)).encode()), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": reply.status_code, "headers": headers})
    if fault.kind == "truncate":
        await send({"type": "http.response.body", "body": content[: len(content) // 2], "more_body": True})
        _transports[_peer(scope)].close()
        return
    for place in range(len(content)):
        await send({"type": "http.response.body", "body": content[place : place + 1], "more_body": True})
        await asyncio.sleep(fault.pause_s)
    await send({"type": "http.response.body", "body": b""})


class _Protocol(H11Protocol):
    """Keeps the transport of each connection, so that a fault can close it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer: tuple[str, int] = tuple(transport.get_extra_info("peername")[:2])
        _transports[self._peer] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        _transports.pop(self._peer, None)
        super().connection_lost(exc)


def run(make: Callable[[Json], StandIn], arguments: list[str] | None = None) -> None:
    """Serve on this machine until SIGTERM, after printing the URL in one line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="0: any")
    parser.add_argument("--fixture", type=Path, help="a JSON file with the state to begin with")
    options = parser.parse_args(arguments)
    fixture = json.loads(options.fixture.read_text()) if options.fixture else {}
    with socket.create_server(("127.0.0.1", options.port)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        config = uvicorn.Config(
            make(fixture), http=_Protocol, log_level="error", lifespan="off", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run([listening])
