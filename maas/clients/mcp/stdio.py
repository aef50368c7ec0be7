"""The MCP server as a program: it speaks through its pipes, and reaches MaaS over HTTP."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from maas.clients.asynchronous import AsyncMaaS
from maas.clients.errors import Forbidden, MaaSError
from maas.clients.mcp import plans
from maas.clients.mcp.desk import Desk, Rights
from maas.clients.mcp.server import build_server

RETRIES = 2  # a model can say what is wrong sooner than it is worth to wait


async def serve(url: str, api_key: str | None, user: str | None, usual_user: str) -> None:
    """Serve until standard input ends; `usual_user` is meant where neither `user` nor the key names one."""
    async with AsyncMaaS(url, api_key, retries=RETRIES) as client:
        rights = _Rights(client, user, usual_user)
        server = build_server(Desk(client, rights.find))
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


class _Rights:
    """Asks the server what the key may do, once it answers."""

    def __init__(self, client: AsyncMaaS, user: str | None, usual_user: str) -> None:
        self._client = client
        self._user = user
        self._usual_user = usual_user
        self._found: Rights | None = None

    async def find(self) -> Rights:
        if self._found is None:
            try:
                told = await self._client.carry(plans.read_caller(self._client.users))
            except Forbidden:  # to ask costs `read`
                self._found = Rights(self._user or self._usual_user, frozenset({"ask"}))
            except MaaSError:
                return Rights(self._user or self._usual_user, None)
            else:
                user = self._user or told["user_id"] or self._usual_user
                self._found = Rights(user, frozenset(told["scopes"]))
        return self._found
