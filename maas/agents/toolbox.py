"""The toolbox of a process: its own tools and those of MCP servers, which change while the process runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from maas.agents.mcp_client import SETTING, McpServer
from maas.agents.tools import SEPARATOR, Toolset
from shared.errors import MaasError

if TYPE_CHECKING:
    from maas.agents.mcp_client.connection import McpConnection

CONNECT_WAIT_S = 15.0


class Toolbox:
    """Raises MaasError('bad_setting') if the name of a server is a domain or the prefix of one of the own tools."""

    def __init__(self, own: Toolset, servers: Sequence[McpServer] = ()) -> None:
        self._own = own
        self._servers = tuple(server.name for server in servers)
        for name in self._servers:
            if name in own.domains() or any(one.name.startswith(name + SEPARATOR) for one in own):
                raise MaasError("bad_setting", f"{SETTING}: {name!r} names tools of MAAS_TOOLS, too; name it otherwise")
        self._connections = self._open_connections(servers)
        self._tools = Toolset(own, self._servers)
        self._change = asyncio.Event()

    def tools(self) -> Toolset:
        """All tools that are known now."""
        return self._tools

    def start(self) -> None:
        """Connect to every server now. Otherwise `reach` connects to each server when it first names it."""
        for connection in self._connections:
            connection.start()

    async def reach(self, names: Iterable[str]) -> Toolset:
        """Connect to the servers of the tools and domains in `names`, for CONNECT_WAIT_S at most; return all tools."""
        needed = {name.partition(SEPARATOR)[0] for name in names}
        attempts = [one.tried() for one in self._connections if one.server.name in needed]
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_WAIT_S):
                await asyncio.gather(*attempts)
        return self._tools

    def causes(self) -> dict[str, str | None]:
        """For each server the reason why it is not connected, None if it is connected."""
        return {one.server.name: one.cause for one in self._connections}

    async def change(self) -> None:
        """Return once the tools have changed since the last call."""
        await self._change.wait()
        self._change.clear()

    async def close(self) -> None:
        """Close all connections and stop the programs that were started for them."""
        await asyncio.gather(*(one.close() for one in self._connections))

    def _open_connections(self, servers: Sequence[McpServer]) -> tuple[McpConnection, ...]:
        if not servers:
            return ()
        from maas.agents.mcp_client.connection import McpConnection  # the SDK takes most of a second to import

        return tuple(McpConnection(server, self._update_tools) for server in servers)

    def _update_tools(self) -> None:
        remote = (tool for connection in self._connections for tool in connection.tools)
        self._tools = Toolset((*self._own, *remote), self._servers)
        self._change.set()
