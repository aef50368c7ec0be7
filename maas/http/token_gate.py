"""MAAS_AUTH=jwt: requests show a token that an identity provider has signed; those of Supabase work as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

import jwt
from starlette.requests import Request

from maas.http.callers import Caller, Unauthenticated, read_credential
from maas.http.key_gate import KeyGate
from maas.http.lately import Lately
from shared.db import Database
from shared.settings import Settings

USER, ADMIN = frozenset({"ask", "read"}), frozenset({"admin"})
NO_USER = "the token's `sub` must be a UUID: it is the user_id whose memory this is"


class Signers(Protocol):
    """Who may sign tokens."""

    async def find(self, token: str) -> tuple[Any, list[str]]:
        """The key that this token must be signed by, and the algorithms that go with it."""
        ...


class OneSecret:
    """HS256 with a secret that the provider and we know."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def find(self, token: str) -> tuple[Any, list[str]]:
        return self._secret, ["HS256"]


class TokenGate:
    """A token's user may ask and read for `sub`; service_role and users who are admins may do everything."""

    def __init__(self, db: Database, settings: Settings, signers: Signers, keys: KeyGate) -> None:
        self._db = db
        self._settings = settings
        self._signers = signers
        self._keys = keys
        self._admins = Lately(self._find_admins)

    async def identify(self, request: Request) -> Caller:
        credential = read_credential(request)
        if credential.startswith("maas_"):
            return await self._keys.know(credential)
        claims = await self._read(credential)
        role = claims.get("role")
        if role == "service_role":
            return Caller("jwt:service_role", ADMIN)
        if role == "anon":
            raise Unauthenticated("anonymous")
        user_id = _read_user(claims.get("sub"))
        if user_id in await self._admins.get(None):
            return Caller(f"jwt:{user_id}", ADMIN)
        return Caller(f"jwt:{user_id}", USER, user_id)

    async def _read(self, token: str) -> Mapping[str, Any]:
        settings = self._settings
        try:
            key, algorithms = await self._signers.find(token)
            claims: Mapping[str, Any] = jwt.decode(
                token, key, algorithms, audience=settings.jwt_audience, issuer=settings.jwt_issuer,
                leeway=settings.jwt_leeway,
                options={"require": ["exp"], "verify_aud": settings.jwt_audience is not None},
            )  # fmt: skip
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated("expired") from error
        except (jwt.InvalidAudienceError, jwt.InvalidIssuerError, jwt.MissingRequiredClaimError) as error:
            raise Unauthenticated("claims") from error
        except jwt.InvalidSignatureError as error:
            raise Unauthenticated("wrong") from error
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise Unauthenticated("malformed") from error
        return claims

    async def _find_admins(self, _: None) -> frozenset[UUID]:
        return frozenset(row["user_id"] for row in await self._db.rows("admins"))


def _read_user(sub: object) -> UUID:
    try:
        return UUID(str(sub))
    except ValueError as error:
        raise Unauthenticated("sub", NO_USER) from error
