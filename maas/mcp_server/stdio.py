"""The MCP server as a program: it speaks MCP over standard input and output and calls MaaS over HTTP."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from maas.client.client import AsyncMaaS
from maas.client.errors import ClientError, Forbidden
from maas.mcp_server.context import McpContext, Rights, get_caller
from maas.mcp_server.server import build_server

RETRIES = 2  # fewer than the client's own: a model should be told of a failure soon


async def serve(url: str, api_key: str | None, user: str | None, default_user: str) -> None:
    """Serve until standard input ends. `default_user` is used if neither `user` nor the key names one."""
    async with AsyncMaaS(url, api_key, retries=RETRIES) as client:
        rights = _RightsOfKey(client, user, default_user)
        server = build_server(McpContext(client, rights.get))
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())


class _RightsOfKey:
    """The rights of the API key, read from the server on first use and cached once it has answered."""

    def __init__(self, client: AsyncMaaS, user: str | None, default_user: str) -> None:
        self._client = client
        self._user = user
        self._default_user = default_user
        self._cached: Rights | None = None

    async def get(self) -> Rights:
        if self._cached is None:
            try:
                caller = await self._client.run(get_caller(self._client.users))
            except Forbidden:  # reading them needs the scope `read`
                self._cached = Rights(self._user or self._default_user, frozenset({"ask"}))
            except ClientError:
                return Rights(self._user or self._default_user, None)
            else:
                user = self._user or caller["user_id"] or self._default_user
                self._cached = Rights(user, frozenset(caller["scopes"]))
        return self._cached
