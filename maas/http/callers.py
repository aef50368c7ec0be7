"""Who sends requests: a name, what it may do, and whose memory it is there for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from starlette.requests import Request

from shared.errors import MaasError

Scope = Literal["open", "ask", "read", "metrics", "admin"]
LONGEST = 16_384
NOT_LOCAL = (
    "MAAS_AUTH=none is for this machine: call http://127.0.0.1 or localhost; for other names take MAAS_AUTH=keys"
)
_LOCAL = re.compile(r"((localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?)?", re.ASCII | re.IGNORECASE)


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


class Unauthenticated(MaasError):
    """Nobody that we know; `cause` is for the log and the metric, the reply says the same for most."""

    def __init__(self, cause: str, message: str = "") -> None:
        usual = "send a valid key or token as `Authorization: Bearer ...`, or a key as `X-API-Key: ...`"
        super().__init__("unauthenticated", message or usual)
        self.cause = cause


class Gate(Protocol):
    """Tells from a request who sent it."""

    async def identify(self, request: Request) -> Caller:
        """Raises Unauthenticated."""
        ...


class OpenGate:
    """Everybody on this machine may do everything; a page whose name was bent to this machine is not from here."""

    _everybody = Caller("http", frozenset({"admin"}))

    async def identify(self, request: Request) -> Caller:
        if not _LOCAL.fullmatch(request.headers.get("host", "")):
            raise Unauthenticated("host", NOT_LOCAL)
        return self._everybody


def read_credential(request: Request) -> str:
    """What the request shows: a key or a token. Raises Unauthenticated."""
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        credential = request.headers.get("x-api-key", "")
    credential = credential.strip()
    if not credential:
        raise Unauthenticated("missing")
    if len(credential) > LONGEST or not credential.isascii() or not credential.isprintable():
        raise Unauthenticated("malformed")
    return credential
