"""Tokens of connected apps: they are valid at /mcp only, for one user, as long as the app is connected."""

from __future__ import annotations

from starlette.requests import Request

from maas import queries
from maas.accounts import hash_token
from maas.http.auth import Principal, Roles, TTLCache, Unauthenticated
from shared.db import Database

MCP_PATH = "/mcp"


def origin_of(request: Request) -> str:
    """Return the address of this server as the client has it, without a slash at its end: the issuer of its tokens."""
    return str(request.base_url).rstrip("/")


def mcp_address(request: Request) -> str:
    """Return the address of /mcp as the client has it: the resource that tokens are for."""
    return origin_of(request) + MCP_PATH


class AppAuthenticator:
    """Finds the app of an access token; a disconnected one is refused within CACHE_TTL_S."""

    def __init__(self, db: Database, roles: Roles) -> None:
        self._db = db
        self._roles = roles
        self._rows = TTLCache(self._find)

    async def authenticate(self, request: Request, token: str) -> Principal:
        """Return the app as the principal. Raises Unauthenticated, MaasError('forbidden') where its user is blocked.

        The token of an app is for /mcp at the address where it was connected. Its tools call the other routes inside
        of this process.
        """
        from maas.mcp_server import IN_PROCESS  # is loaded with the first request to /mcp

        is_inside = IN_PROCESS in request.scope
        if not is_inside and request.scope["path"] != MCP_PATH:
            raise Unauthenticated("audience")
        row = await self._rows.get(hash_token(token))
        if row is None:
            raise Unauthenticated("unknown")
        if not is_inside and row["resource"] != mcp_address(request):
            raise Unauthenticated("audience")
        await self._roles.check_blocked(row["user_id"])
        return Principal(f"app:{row['app_id']}", frozenset(row["scopes"]), row["user_id"])

    async def _find(self, token_hash: bytes) -> queries.AppOfTokenRow | None:
        return await self._db.row(queries.app_of_token, token_hash)
