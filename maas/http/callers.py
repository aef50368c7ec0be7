"""Who sends requests: a name, what it may do, and whose memory it is there for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from starlette.requests import Request

Scope = Literal["open", "ask", "read", "metrics", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Bound to one user, to users who have a name that begins with `prefix`, or to nobody; the audit keeps `name`."""

    name: str
    scopes: frozenset[str]
    user_id: UUID | None = None
    prefix: str | None = None
    per_minute: int | None = None

    @property
    def is_bound(self) -> bool:
        return self.user_id is not None or self.prefix is not None

    def may(self, scope: Scope) -> bool:
        return scope == "open" or scope in self.scopes or "admin" in self.scopes


class Gate(Protocol):
    """Tells from a request who sent it."""

    async def identify(self, request: Request) -> Caller:
        """Raises MaasError('unauthenticated')."""
        ...


class OpenGate:
    """Everybody may do everything; only for a door that nobody but this machine reaches."""

    _everybody = Caller("http", frozenset({"admin"}))

    async def identify(self, request: Request) -> Caller:
        return self._everybody
