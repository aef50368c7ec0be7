"""Authentication: the principal of a request, its credential, and the authenticators of MAAS_AUTH=none and keys."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable
from uuid import UUID

import asyncpg
import structlog
from starlette.datastructures import Headers
from starlette.requests import Request

from maas import queries
from maas.users import LOCAL_USER, is_secret_of, split_key
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError

Scope = Literal["open", "ask", "read", "erase", "keys", "metrics", "admin"]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
MAX_CREDENTIAL_CHARS = 16_384
MEM0_PATH = "/mem0/"
CACHE_TTL_S = 1.0
MAX_CACHE_ENTRIES = 10_000
TOUCH_INTERVAL_S = 60.0  # between two writes of when a key was last used
NOT_LOCAL = "MAAS_AUTH=none serves this machine only: call http://127.0.0.1 or http://localhost, or set MAAS_AUTH=keys"
FOREIGN_ORIGIN = (
    "MAAS_AUTH=none serves this machine only, and a web page of another origin sent this request; add its origin to "
    "MAAS_CORS_ORIGINS to allow it"
)
_LOOPBACK = r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?"
LOOPBACK_HOST = re.compile(f"({_LOOPBACK})?", re.ASCII | re.IGNORECASE)
_LOOPBACK_ORIGIN = re.compile(f"https?://{_LOOPBACK}", re.ASCII | re.IGNORECASE)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request; `name` is written to the audit log.

    A principal is bound to one user (`user_id`), to all users whose external id begins with `prefix`, or to nobody.
    `per_minute` limits its requests. `default_user` is the user when a request names none: of an administrator who
    signed in, their own. `is_anybody`: MAAS_AUTH=none, which distinguishes nobody.
    """

    name: str
    scopes: frozenset[str]
    user_id: UUID | None = None
    prefix: str | None = None
    per_minute: int | None = None
    default_user: UUID | None = None
    is_anybody: bool = False

    @property
    def is_administrator(self) -> bool:
        """Whether it may administrate all users; without access control nobody is an administrator."""
        return "admin" in self.scopes and not self.is_anybody

    @property
    def is_bound(self) -> bool:
        """Whether it may act for one user, or those of a prefix, only."""
        return self.user_id is not None or self.prefix is not None

    def may(self, scope: Scope) -> bool:
        """Return whether it may call a route of this scope; `admin` includes every scope."""
        return scope == "open" or scope in self.scopes or "admin" in self.scopes


class Unauthenticated(MaasError):
    """The request has no valid credential; `cause` is logged and counted, and the response does not reveal it."""

    def __init__(self, cause: str, message: str = "") -> None:
        default = "send a valid key or token as `Authorization: Bearer ...`, or a key as `X-API-Key: ...`"
        super().__init__("unauthenticated", message or default)
        self.cause = cause


class ForeignOrigin(Unauthenticated):
    """A browser sent the request for a web page of another machine: 403, because no key would help."""

    def __init__(self) -> None:
        super().__init__("origin", FOREIGN_ORIGIN)
        self.code = "forbidden"


class Authenticator(Protocol):
    """Finds out which principal sent a request."""

    async def authenticate(self, request: Request) -> Principal:
        """Return the sender. Raises Unauthenticated, MaasError('forbidden') for a user who is blocked."""
        ...


@runtime_checkable
class TokenVerifier(Protocol):
    """Verifies the tokens of MAAS_AUTH=jwt and local."""

    async def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a valid token. Raises Unauthenticated."""
        ...


def read_credential(request: Request) -> str:
    """Return the key or token of a request; mem0's SDKs send it as `Token`. Raises Unauthenticated."""
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    schemes = ("bearer", "token") if request.scope.get("path", "").startswith(MEM0_PATH) else ("bearer",)
    if scheme.lower() not in schemes:
        credential = request.headers.get("x-api-key", "")
    credential = credential.strip()
    if not credential:
        raise Unauthenticated("missing")
    if len(credential) > MAX_CREDENTIAL_CHARS or not credential.isascii() or not credential.isprintable():
        raise Unauthenticated("malformed")
    return credential


class LocalAuthenticator:
    """Authenticator of MAAS_AUTH=none: every program on this machine may do everything.

    Requests to another host name and requests of foreign web pages are refused. A page is accepted when its origin is
    on a loopback address, whatever its port, or is one of `origins` (MAAS_CORS_ORIGINS).
    """

    _principal = Principal("http", frozenset({"admin"}), default_user=LOCAL_USER, is_anybody=True)

    def __init__(self, origins: Sequence[str] = ()) -> None:
        self._origins = frozenset(origins)

    async def authenticate(self, request: Request) -> Principal:
        """Return the principal of this machine. Raises Unauthenticated, ForeignOrigin."""
        if not LOOPBACK_HOST.fullmatch(request.headers.get("host", "")):
            raise Unauthenticated("host", NOT_LOCAL)
        if not self._is_allowed_origin(request.headers):
            raise ForeignOrigin
        return self._principal

    def _is_allowed_origin(self, headers: Headers) -> bool:
        """Check `Origin`, or `Sec-Fetch-Site` when a browser omits it, as in reads that the page cannot see."""
        origins = headers.getlist("origin")
        if not origins:
            return headers.get("sec-fetch-site", "none").lower() != "cross-site"
        return all(origin in self._origins or _LOOPBACK_ORIGIN.fullmatch(origin) for origin in origins)


class TTLCache(Generic[Key, Value]):
    """A cache that also coalesces concurrent look-ups of one key.

    Values expire after `ttl_s` seconds, at most MAX_CACHE_ENTRIES are held, and a failed look-up is not cached.
    """

    def __init__(
        self,
        look_up: Callable[[Key], Awaitable[Value]],
        clock: Callable[[], float] = time.monotonic,
        ttl_s: float = CACHE_TTL_S,
    ) -> None:
        self._look_up = look_up
        self._clock = clock
        self._ttl_s = ttl_s
        self._entries: dict[Key, tuple[float, asyncio.Task[Value]]] = {}

    async def get(self, key: Key) -> Value:
        """Return the value of `key`. Raises what `look_up` raises."""
        now = self._clock()
        started_at, task = self._entries.get(key, (now, None))
        if task is None or now - started_at >= self._ttl_s or (task.done() and (task.cancelled() or task.exception())):
            self._entries.pop(key, None)
            task = asyncio.ensure_future(self._start(key))
            self._entries[key] = (now, task)
            if len(self._entries) > MAX_CACHE_ENTRIES:
                del self._entries[next(iter(self._entries))]
        return task.result() if task.done() else await asyncio.shield(task)

    async def _start(self, key: Key) -> Value:
        return await self._look_up(key)


class Roles:
    """Who is an administrator and who is blocked, as of at most CACHE_TTL_S ago."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._users = TTLCache(self._read)

    async def is_admin(self, user_id: UUID) -> bool:
        """Return whether this user is an administrator."""
        return user_id in (await self._users.get(None)).get("admin", ())

    async def check_blocked(self, user_id: UUID) -> None:
        """Raise MaasError('forbidden') for a user who is blocked."""
        if user_id in (await self._users.get(None)).get("blocked", ()):
            raise MaasError("forbidden", "this user is blocked; ask an administrator")

    async def _read(self, _: None) -> Mapping[str, set[UUID]]:
        users: dict[str, set[UUID]] = {}
        for row in await self._db.rows(queries.roles):
            users.setdefault(row["role"], set()).add(row["user_id"])
        return users


class KeyAuthenticator:
    """Authenticator of MAAS_AUTH=keys: requests send a key that `maas keys create` has made.

    Key rows are cached for CACHE_TTL_S, so a revoked key works that much longer. When a key was last used is written
    in the background, at most once in TOUCH_INTERVAL_S.
    """

    def __init__(self, db: Database, group: asyncio.TaskGroup) -> None:
        self._db = db
        self._group = group
        self.roles = Roles(db)
        self._rows = TTLCache(self._find)
        self._touched_at: dict[str, float] = {}

    async def authenticate(self, request: Request) -> Principal:
        """Return the principal of the key that the request carries. Raises as `authenticate_key` does."""
        return await self.authenticate_key(read_credential(request))

    async def authenticate_key(self, key: str) -> Principal:
        """Return the principal of a key. Raises Unauthenticated, MaasError('forbidden') where its user is blocked."""
        parts = split_key(key)
        if parts is None:
            raise Unauthenticated("malformed")
        key_id, secret = parts
        row = await self._rows.get(key_id)
        if not is_secret_of(row, secret) or row is None:
            raise Unauthenticated("unknown" if row is None else "wrong")
        if row["state"] != "active":
            raise Unauthenticated(row["state"])
        if row["user_id"] is not None:
            await self.roles.check_blocked(row["user_id"])
        self._touch(key_id)
        return Principal(f"key:{key_id}", frozenset(row["scopes"]), row["user_id"], row["prefix"], row["per_minute"])

    async def _find(self, key_id: str) -> queries.FindKeyRow | None:
        return await self._db.row(queries.find_key, key_id)

    def _touch(self, key_id: str) -> None:
        now = time.monotonic()
        if now - self._touched_at.get(key_id, -TOUCH_INTERVAL_S) >= TOUCH_INTERVAL_S:
            self._touched_at[key_id] = now
            self._group.create_task(self._write_touch(key_id))

    async def _write_touch(self, key_id: str) -> None:
        try:
            await self._db.value(queries.touch_key, key_id)
        except (asyncpg.PostgresError, *CONNECTION_LOST) as error:
            log.warning("key_use_not_recorded", key=key_id, cause=repr(error))
