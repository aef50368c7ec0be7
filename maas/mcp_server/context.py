"""The caller for whom the tools of MCP work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mcp import MCPError
from mcp_types import INVALID_PARAMS

from maas.client import calls
from maas.client.calls import PAGE_SIZE, ApiCall, Operation
from maas.client.client import AsyncMaaS
from maas.client.results import ClientError, Forbidden, InvalidRequest, NotFound
from maas.client.users import Users

ReportProgress = Callable[[float, float, str], Awaitable[None]]  # progress, total, message


@dataclass(frozen=True, slots=True)
class Rights:
    """The user and the scopes of a caller.

    `user` is None if each tool call has to name one; `scopes` is None if only the HTTP API knows them.
    `header_user` is named by the request beside the user of the key, and must be the same user.
    """

    user: str | None
    scopes: frozenset[str] | None
    header_user: str | None = None

    def allow(self, scope: str) -> bool:
        return self.scopes is None or not self.scopes.isdisjoint({scope, "admin"})


@dataclass(frozen=True, slots=True)
class McpContext:
    """The client and the rights of one caller; `rights` may ask the HTTP API for them."""

    client: AsyncMaaS
    rights: Callable[[], Awaitable[Rights]]

    async def authorize(self, scope: str, user_id: str | None) -> str:
        """The user whom a tool call is for; `user_id` is its argument. Raises Forbidden, InvalidRequest, NotFound."""
        rights = await self.rights()
        if not rights.allow(scope):
            raise Forbidden("forbidden", f"this requires a key with the scope {scope}")
        if rights.user is None:
            if user_id is None:
                raise InvalidRequest("invalid_request", "user_id is required: say whose memory it is")
            return user_id
        for name in (rights.header_user, user_id):
            if name and not await self.client.run(_is_same_user(self.client.users, rights.user, name)):
                raise NotFound("not_found", f"there is no user {name}")
        return rights.user

    async def get_run(self, run_id: UUID, user: str, wait_s: float = 0.0) -> dict[str, Any]:
        """A run of the user, at its end or after `wait_s` seconds. Raises NotFound, also for another user's run."""
        return await self.client.run(_get_run(self.client.users, run_id, user, wait_s))

    async def list_memories(self, user: str, limit: int, before: str | None) -> dict[str, Any]:
        """A page of the summaries of the user, newest first."""
        return await self.client.run(_list_memories(self.client.users, user, limit, before))

    async def list_documents(self, user: str, limit: int) -> list[dict[str, Any]]:
        """The newest documents that the user may read, everybody's included."""
        return await self.client.run(_list_documents(self.client.users, user, limit))

    async def get_pieces(self, document_id: UUID, user: str, after: int) -> dict[str, Any]:
        """A page of what a document says. Raises NotFound, also for another user's document."""
        return await self.client.run(_get_pieces(self.client.users, document_id, user, after))

    async def get_sources(self, memory_id: UUID, user: str) -> list[dict[str, Any]]:
        """The messages that a memory of the user was made from. Raises NotFound, also for another user's memory."""
        return await self.client.run(_get_sources(self.client.users, memory_id, user))


@contextmanager
def protocol_errors(uri: str | None = None) -> Iterator[None]:
    """Report a failure of the HTTP API as an error of the protocol: where there is no result that could say it."""
    try:
        yield
    except ClientError as error:
        raise MCPError(INVALID_PARAMS, error.message, {"uri": uri} if uri else None) from error


def _get_run(users: Users, run_id: UUID, user: str, wait_s: float) -> Operation[dict[str, Any]]:
    not_found = f"there is no run {run_id}"
    owner = yield from _find_owner(users, user, not_found)
    run = (yield calls.get_run(str(run_id), wait_s)).json
    if UUID(run["user_id"]) != owner:
        raise NotFound("not_found", not_found)
    return dict(run)


def _list_memories(users: Users, user: str, limit: int, before: str | None) -> Operation[dict[str, Any]]:
    owner = yield from users.find(user)
    if owner is None:
        return {"results": [], "next": None}
    params = {"user_id": str(owner), "limit": limit} | ({"before": before} if before else {})
    return dict((yield ApiCall(method="GET", path="/v1/memories", params=params)).json)


def _list_documents(users: Users, user: str, limit: int) -> Operation[list[dict[str, Any]]]:
    owner = yield from users.find(user)
    if owner is None:
        return []
    params = {"user_id": str(owner), "limit": limit}
    return list((yield ApiCall(method="GET", path="/v1/knowledge", params=params)).json["results"])


def _get_pieces(users: Users, document_id: UUID, user: str, after: int) -> Operation[dict[str, Any]]:
    owner = yield from _find_owner(users, user, f"there is no document {document_id}")
    path, params = f"/v1/knowledge/{document_id}/text", {"user_id": str(owner), "after": after, "limit": PAGE_SIZE}
    return dict((yield ApiCall(method="GET", path=path, params=params)).json)


def _get_sources(users: Users, memory_id: UUID, user: str) -> Operation[list[dict[str, Any]]]:
    owner = yield from _find_owner(users, user, f"there is no memory {memory_id}")
    path, params = f"/v1/memories/{memory_id}/sources", {"user_id": str(owner)}
    return list((yield ApiCall(method="GET", path=path, params=params)).json["results"])


def _is_same_user(users: Users, name: str, other: str) -> Operation[bool]:
    """Whether two names stand for one user."""
    if name == other:
        return True
    user = yield from users.find(other)
    return user is not None and user == (yield from users.find(name))


def _find_owner(users: Users, user: str, not_found: str) -> Operation[UUID]:
    owner = yield from users.find(user)
    if owner is None:
        raise NotFound("not_found", not_found)
    return owner
