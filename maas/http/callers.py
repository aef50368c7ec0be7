"""Who sends requests: a name, what it may do, and whose memory it is there for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from starlette.datastructures import Headers
from starlette.requests import Request

from maas.pipeline.identities import LOCAL_USER
from shared.errors import MaasError

Scope = Literal["open", "ask", "read", "metrics", "admin"]
LONGEST = 16_384
NOT_LOCAL = (
    "MAAS_AUTH=none is for this machine: call http://127.0.0.1 or localhost; for other names take MAAS_AUTH=keys"
)
FOREIGN = (
    "MAAS_AUTH=none serves this machine only, and a web page from elsewhere sent this; name its origin in "
    "MAAS_CORS_ORIGINS to let it in"
)
_HERE = r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?"
_LOCAL = re.compile(f"({_HERE})?", re.ASCII | re.IGNORECASE)
_LOCAL_ORIGIN = re.compile(f"https?://{_HERE}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Bound to one user, to users who have a name that begins with `prefix`, or to nobody; the audit keeps `name`.

    `default_user` is whose memory it is where a client of OpenAI's protocol names nobody.
    """

    name: str
    scopes: frozenset[str]
    user_id: UUID | None = None
    prefix: str | None = None
    per_minute: int | None = None
    default_user: UUID | None = None

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


class ForeignPage(Unauthenticated):
    """A browser sends this for a web page that is not from this machine: 403, for no key would help."""

    def __init__(self) -> None:
        super().__init__("origin", FOREIGN)
        self.code = "forbidden"


class OpenGate:
    """Everybody on this machine may do everything; a web page from elsewhere, or by another name, is not from here.

    `origins` are those of MAAS_CORS_ORIGINS. A page of any loopback port is a program of this machine.
    """

    _everybody = Caller("http", frozenset({"admin"}), default_user=LOCAL_USER)

    def __init__(self, origins: Sequence[str] = ()) -> None:
        self._origins = frozenset(origins)

    async def identify(self, request: Request) -> Caller:
        if not _LOCAL.fullmatch(request.headers.get("host", "")):
            raise Unauthenticated("host", NOT_LOCAL)
        if not self._is_page_of_ours(request.headers):
            raise ForeignPage
        return self._everybody

    def _is_page_of_ours(self, headers: Headers) -> bool:
        """Browsers leave `Origin` out of reads that the page cannot see; `Sec-Fetch-Site` tells of those."""
        sent = headers.getlist("origin")
        if not sent:
            return headers.get("sec-fetch-site", "none").lower() != "cross-site"
        return all(origin in self._origins or _LOCAL_ORIGIN.fullmatch(origin) for origin in sent)


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
