"""An MCP server that wants OAuth, made with the official SDK, and its authorization server, both on one port.

Tokens are given to programs with a secret (`program`, `planted-secret`) and to people: whoever opens the address of
authorization agrees. Fields change what the servers do, `asked` is what was asked of the authorization server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from tests.polling import apoll
from tests.stack import free_port

CLIENT_ID, CLIENT_SECRET = "program", "planted-secret"


@dataclass
class OAuthServer:
    """Both servers; `tokens` are those that the MCP server admits."""

    port: int
    expires_in: int | None = 3600
    host_of_tokens: str = "127.0.0.1"
    padding_bytes: int = 0
    has_refresh_tokens: bool = True
    answers: asyncio.Event = field(default_factory=asyncio.Event)  # until it is set no token is returned
    asked: list[str] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)
    _numbers: count[int] = field(default_factory=count)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def metadata(self, request: Request) -> Response:
        self.asked.append("metadata")
        token_endpoint = f"http://{self.host_of_tokens}:{self.port}/token"
        return JSONResponse(
            {
                "issuer": self.origin,
                "authorization_endpoint": f"{self.origin}/authorize",
                "token_endpoint": token_endpoint,
                "registration_endpoint": f"{self.origin}/register",
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
                "code_challenge_methods_supported": ["S256"],
                "op_policy_uri": f"{self.origin}/{'x' * self.padding_bytes}",
            }
        )

    def resource(self, request: Request) -> Response:
        return JSONResponse({"resource": self.url, "authorization_servers": [self.origin]})

    async def register(self, request: Request) -> Response:
        self.asked.append("register")
        wanted = await request.json()
        return JSONResponse({**wanted, "client_id": "registered", "token_endpoint_auth_method": "none"}, 201)

    def authorize(self, request: Request) -> Response:
        self.asked.append("authorize")
        query = {"code": "a-code", "state": request.query_params["state"]}
        return RedirectResponse(f"{request.query_params['redirect_uri']}?{urlencode(query)}")

    async def token(self, request: Request) -> Response:
        form = await request.form()
        grant = str(form["grant_type"])
        self.asked.append(grant)
        if grant == "refresh_token":
            old = str(form["refresh_token"])
            if old not in self.refresh_tokens:
                return JSONResponse({"error": "invalid_grant"}, 400)
            self.refresh_tokens.remove(old)
        number = next(self._numbers)
        answer: dict[str, Any] = {"access_token": f"planted-access-{number}-{self.port}", "token_type": "Bearer"}
        self.tokens[answer["access_token"]] = grant
        if self.expires_in is not None:
            answer["expires_in"] = self.expires_in
        if grant != "client_credentials" and self.has_refresh_tokens:
            answer["refresh_token"] = f"planted-refresh-{number}-{self.port}"
            self.refresh_tokens.add(answer["refresh_token"])
        await self.answers.wait()
        return JSONResponse(answer)


def _mcp_server() -> MCPServer:
    server = MCPServer("oauth", log_level="ERROR")
    both = asyncio.Barrier(2)

    @server.tool()
    async def meet() -> str:
        """Return when two calls are under way at the same time."""
        await both.wait()
        return "met"

    @server.tool()
    async def confess(context: Context[Any, Any]) -> dict[str, str]:
        """Return all headers of the request."""
        return dict(context.headers or {})

    return server


@asynccontextmanager
async def oauth_server() -> AsyncIterator[OAuthServer]:
    """Both servers, started."""
    known = OAuthServer(free_port())
    known.answers.set()
    application = _mcp_server().streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        if headers.get(b"authorization", b"").decode().removeprefix("Bearer ") in known.tokens:
            await application(scope, receive, send)
            return
        where = f"{known.origin}/.well-known/oauth-protected-resource/mcp"
        await Response(status_code=401, headers={"www-authenticate": f'Bearer resource_metadata="{where}"'})(
            scope, receive, send
        )

    routes = [
        Route("/.well-known/oauth-protected-resource/mcp", known.resource),
        Route("/.well-known/oauth-authorization-server", known.metadata),
        Route("/register", known.register, methods=["POST"]),
        Route("/authorize", known.authorize),
        Route("/token", known.token, methods=["POST"]),
        Mount("/", guarded),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with application.router.lifespan_context(application):
            yield

    app = Starlette(routes=routes, lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(app, port=known.port, log_config=None, timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve())
    await apoll(lambda: server.started)
    try:
        yield known
    finally:
        server.should_exit = True
        await serving


def settings_of(server: OAuthServer, **oauth: Any) -> str:
    """MAAS_MCP_SERVERS with this server as `crm`, entered as a program unless `oauth` says otherwise."""
    program = {"issuer": server.origin, "client_id": CLIENT_ID, "client_secret": "${CRM_SECRET}"}
    return json.dumps({"mcpServers": {"crm": {"url": server.url, "oauth": oauth or program}}})
