"""One request to /mcp: the doors of the same process are asked with the key of its caller, so they decide."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Send

from maas.clients.address import TIMEOUT
from maas.clients.async_http import AsyncHttp
from maas.clients.asynchronous import AsyncMaaS
from maas.clients.mcp.desk import Desk, Rights
from maas.clients.mcp.inside import Inside
from maas.clients.mcp.server import build_server
from maas.clients.users import Users

BODY_BYTES = 1024 * 1024
USER = "x-maas-user"
HANDED_ON = ("authorization", "x-api-key", "x-request-id")


class Caller(Protocol):
    """Who sends a request, as far as it matters here."""

    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def user_id(self) -> UUID | None: ...


class InsideLine(AsyncHttp):
    """Calls to the doors of this process: nothing is lost on the way, so nothing is sent twice."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._url, self._timeout, self._retries = str(http.base_url), TIMEOUT, 0
        self.client = http


class InsideMaaS(AsyncMaaS):
    """The client whose server is this process."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.users, self._retries, self._line = Users(), 0, InsideLine(http)


async def answer(request: Request, caller: Caller, send: Send) -> None:
    """Each request stands for itself: no session is kept, so any process may get the next one."""
    headers = {name: value for name in HANDED_ON if (value := request.headers.get(name)) is not None}
    host, port = request.client or ("127.0.0.1", 0)
    transport = Inside(request.app, (host, port))
    http = httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers, trust_env=False)
    async with InsideMaaS(http) as client:
        rights = _rights(caller, _name(request))

        async def known() -> Rights:
            return rights

        protocol = StreamableHTTPSessionManager(
            build_server(Desk(client, known)), stateless=True, max_request_body_size=BODY_BYTES
        )
        async with protocol.run():
            await protocol.handle_request(request.scope, request.receive, send)


def _rights(caller: Caller, named: str | None) -> Rights:
    if caller.user_id is None:
        return Rights(named, caller.scopes)
    return Rights(str(caller.user_id), caller.scopes, also_named=named)


def _name(request: Request) -> str | None:
    """The user in the header: UTF-8, as clients send it."""
    sent = request.headers.get(USER)
    try:
        return sent and sent.encode("latin-1").decode()
    except UnicodeDecodeError:
        return sent
