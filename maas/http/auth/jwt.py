"""Authenticator of MAAS_AUTH=jwt and local: requests send a token of an identity provider, or of our own sign-in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol
from uuid import UUID

import httpx2
import jwt
import structlog
from starlette.requests import Request

from maas import queries
from maas.accounts import signing_secret
from maas.accounts.apps import ACCESS_PREFIX
from maas.http.auth import KeyAuthenticator, Principal, TTLCache, Unauthenticated, read_credential
from maas.http.auth.apps import AppAuthenticator
from maas.settings.access import AccessSettings
from shared.db import Database
from shared.text import as_uuid

USER_SCOPES, ADMIN_SCOPES = frozenset({"ask", "read", "erase", "keys"}), frozenset({"admin"})
SUBJECT_IS_NO_USER = "the token's `sub` must be a UUID: it is the user_id whose memory this is"
JWKS_MIN_INTERVAL_S = 10.0  # between two requests, however many tokens name unknown keys
JWKS_TTL_S = 300.0  # a key that the provider has withdrawn is refused after this time
JWKS_TIMEOUT_S = 5.0
JWKS_ALGORITHMS = {
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
}
log = structlog.get_logger()


class SigningKeys(Protocol):
    """The keys that may have signed a token."""

    async def find(self, token: str) -> tuple[Any, list[str]]:
        """Return the key that must have signed this token, and the algorithms that it is used with."""
        ...


class SharedSecret:
    """The HS256 secret that the identity provider shares with this server (MAAS_JWT_SECRET)."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def find(self, token: str) -> tuple[Any, list[str]]:
        """Return the secret and its algorithm, whichever token it is."""
        return self._secret, ["HS256"]


class StoredSecret:
    """The HS256 secret of our own sign-in (MAAS_AUTH=local), which is read at the first token."""

    def __init__(self, db: Database, settings: AccessSettings) -> None:
        self._db = db
        self._settings = settings
        self._secret: str | None = None

    async def find(self, token: str) -> tuple[Any, list[str]]:
        """Return the signing secret of the database and its algorithm."""
        if self._secret is None:
            self._secret = await signing_secret(self._db, self._settings)
        return self._secret, ["HS256"]


class JwksCache:
    """The public keys of an identity provider (MAAS_JWKS_URL), by key id.

    The key set is fetched at the first token, for an unknown key id, and when it is older than JWKS_TTL_S. The present
    keys stay valid while the provider does not answer.
    """

    def __init__(self, url: str, client: httpx2.AsyncClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._client = client
        self._clock = clock
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetch_started_at = -JWKS_TTL_S
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, token: str) -> tuple[Any, list[str]]:
        """Return the key that the token names, and its algorithm. Raises Unauthenticated when it is unknown."""
        key_id = jwt.get_unverified_header(token).get("kid")
        age = self._clock() - self._fetch_started_at
        if age >= JWKS_TTL_S or (age >= JWKS_MIN_INTERVAL_S and self._choose(key_id) is None):
            self._fetch_started_at = self._clock()
            self._fetching = asyncio.create_task(self._fetch())
        key = self._choose(key_id)
        if key is None and self._fetching is not None:
            await asyncio.shield(self._fetching)
            key = self._choose(key_id)
        if key is None:
            raise Unauthenticated("unknown")
        return key, [key.algorithm_name]

    def _choose(self, key_id: object) -> jwt.PyJWK | None:
        if isinstance(key_id, str):
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(JWKS_TIMEOUT_S):
                response = await self._client.get(self._url)
            response.raise_for_status()
            keys = dict(_parse_keys(response.json()))
        except (httpx2.HTTPError, TimeoutError, ValueError, TypeError, AttributeError, LookupError) as error:
            log.warning("jwks_unreachable", cause=repr(error), keys=len(self._keys))
            return
        self._keys = keys
        log.info("jwks_loaded", keys=len(keys))


def _parse_keys(body: Any) -> Iterator[tuple[str | None, jwt.PyJWK]]:
    """Yield the public signing keys by id; shared secrets and keys of unsupported algorithms are left out."""
    for item in body["keys"]:
        if item.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(item)
        except jwt.PyJWTError as error:
            log.warning("jwks_key_skipped", cause=type(error).__name__)
            continue
        if key.algorithm_name in JWKS_ALGORITHMS:
            yield item.get("kid"), key


class JwtAuthenticator:
    """Verifies tokens, and keys of `maas keys create` and connected apps beside them.

    A user's token may ask and read for its `sub`; the role service_role and users listed as admins may do everything.
    Tokens of our own sign-in (MAAS_AUTH=local) are refused within CACHE_TTL_S of the end of their session.
    """

    def __init__(
        self, db: Database, settings: AccessSettings, signing_keys: SigningKeys, keys: KeyAuthenticator
    ) -> None:
        self._db = db
        self._settings = settings
        self._signing_keys = signing_keys
        self._keys = keys
        self._apps = AppAuthenticator(db, keys.roles)
        self._open_sessions = TTLCache(self._is_session_open)

    async def authenticate(self, request: Request) -> Principal:
        """Return the principal of the token or key of a request. Raises Unauthenticated, MaasError('forbidden')."""
        credential = read_credential(request)
        if credential.startswith("maas_"):
            return await self._keys.authenticate_key(credential)
        if credential.startswith(ACCESS_PREFIX) and self._settings.auth == "local":
            return await self._apps.authenticate(request, credential)
        claims = await self.verify(credential)
        role = claims.get("role")
        if role == "service_role":
            return Principal("jwt:service_role", ADMIN_SCOPES)
        if role == "anon":
            raise Unauthenticated("anonymous")
        user_id = parse_subject(claims.get("sub"))
        if self._settings.auth == "local":
            await self._check_session(user_id, claims)
        await self._keys.roles.check_blocked(user_id)
        if await self._keys.roles.is_admin(user_id):
            return Principal(f"jwt:{user_id}", ADMIN_SCOPES, default_user=user_id)
        return Principal(f"jwt:{user_id}", USER_SCOPES, user_id)

    async def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a valid token. Raises Unauthenticated."""
        settings = self._settings
        try:
            key, algorithms = await self._signing_keys.find(token)
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms,
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                leeway=settings.jwt_leeway,
                options={"require": ["exp"], "verify_aud": settings.jwt_audience is not None},
            )
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated("expired") from error
        except (jwt.InvalidAudienceError, jwt.InvalidIssuerError, jwt.MissingRequiredClaimError) as error:
            raise Unauthenticated("claims") from error
        except jwt.InvalidSignatureError as error:
            raise Unauthenticated("wrong") from error
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise Unauthenticated("malformed") from error
        return claims

    async def _check_session(self, user_id: UUID, claims: Mapping[str, Any]) -> None:
        session_id = parse_session(claims)
        if session_id is None or not await self._open_sessions.get((user_id, session_id)):
            raise Unauthenticated("session")

    async def _is_session_open(self, key: tuple[UUID, UUID]) -> bool:
        return await self._db.row(queries.auth_session, *key) is not None


def parse_subject(subject: object) -> UUID:
    """Return the user of a token. Raises Unauthenticated."""
    try:
        return UUID(str(subject))
    except ValueError as error:
        raise Unauthenticated("sub", SUBJECT_IS_NO_USER) from error


def parse_session(claims: Mapping[str, Any]) -> UUID | None:
    """Return the session of a token of our own sign-in."""
    return as_uuid(str(claims.get("session_id")))
