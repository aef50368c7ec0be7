"""The tools that a process has at hand: its own, and those of servers, which come and go while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from maas.agents.mcp.servers import SETTING, Server
from maas.agents.tools import SEPARATOR, Toolset
from shared.errors import MaasError

if TYPE_CHECKING:
    from maas.agents.mcp.connection import Connection

PATIENCE = 15.0


class Toolbox:
    """Raises MaasError('bad_setting') for a server whose name is taken by tools of our own."""

    def __init__(self, own: Toolset, servers: Sequence[Server] = ()) -> None:
        self._own = own
        self._servers = tuple(server.name for server in servers)
        for name in self._servers:
            if name in own.domains() or any(one.name.startswith(name + SEPARATOR) for one in own):
                raise MaasError("bad_setting", f"{SETTING}: {name!r} names tools of MAAS_TOOLS, too; name it otherwise")
        self._connections = self._connected(servers)
        self._tools = Toolset(own, self._servers)
        self._change = asyncio.Event()

    def tools(self) -> Toolset:
        """All that is known now."""
        return self._tools

    def start(self) -> None:
        """Go to every server at once; without, each is gone to when `reach` first names it."""
        for connection in self._connections:
            connection.start()

    async def reach(self, names: Iterable[str]) -> Toolset:
        """The tools, after every server that a toolset of these names needs was tried."""
        needed = {name.partition(SEPARATOR)[0] for name in names}
        waits = [one.tried() for one in self._connections if one.server.name in needed]
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*waits)
        return self._tools

    def causes(self) -> dict[str, str | None]:
        """Of each server why it is not reachable; None for one that is."""
        return {one.server.name: one.cause for one in self._connections}

    async def change(self) -> None:
        """Return when the tools are others than when this was last called."""
        await self._change.wait()
        self._change.clear()

    async def close(self) -> None:
        """End every connection, and the programs that were started."""
        await asyncio.gather(*(one.close() for one in self._connections))

    def _connected(self, servers: Sequence[Server]) -> tuple[Connection, ...]:
        if not servers:
            return ()
        from maas.agents.mcp.connection import Connection  # the SDK costs most of a second

        return tuple(Connection(server, self._renew) for server in servers)

    def _renew(self) -> None:
        remote = (tool for connection in self._connections for tool in connection.tools)
        self._tools = Toolset((*self._own, *remote), self._servers)
        self._change.set()
