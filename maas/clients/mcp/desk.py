"""Before what a client of MCP stands: the doors of MaaS, for whom, and with which rights."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from maas.clients.asynchronous import AsyncMaaS
from maas.clients.errors import Forbidden, InvalidRequest, NotFound
from maas.clients.mcp import plans


@dataclass(frozen=True, slots=True)
class Rights:
    """Where `user` is None, each call names one; `scopes` are None where only the doors know them.

    `also_named`: who named a user beside the one of the key must mean the same.
    """

    user: str | None
    scopes: frozenset[str] | None
    also_named: str | None = None

    def may(self, scope: str) -> bool:
        return self.scopes is None or not self.scopes.isdisjoint({scope, "admin"})


@dataclass(frozen=True, slots=True)
class Desk:
    """`rights` may have to ask for them first."""

    client: AsyncMaaS
    rights: Callable[[], Awaitable[Rights]]

    async def admit(self, scope: str, named: str | None) -> str:
        """The user whom a call is for. Raises Forbidden, InvalidRequest, NotFound."""
        rights = await self.rights()
        if not rights.may(scope):
            raise Forbidden("forbidden", f"this needs a key with the scope {scope}")
        if rights.user is None:
            if named is None:
                raise InvalidRequest("invalid_request", "user_id is required: say whose memory it is")
            return named
        for name in (rights.also_named, named):
            if name and not await self.client.carry(plans.are_same(self.client.users, rights.user, name)):
                raise NotFound("not_found", f"there is no user {name}")
        return rights.user
