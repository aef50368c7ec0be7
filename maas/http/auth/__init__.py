"""Authentication and authorization: who sends a request, and what that principal may do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from maas.http.auth.authenticators import Authenticator, KeyAuthenticator, LocalAuthenticator
from shared.db import Database
from shared.settings import Settings


@asynccontextmanager
async def open_authenticator(db: Database, settings: Settings) -> AsyncIterator[Authenticator]:
    """Open the authenticator that MAAS_AUTH selects; its background tasks and connections end with the context."""
    if settings.auth == "none":
        yield LocalAuthenticator(settings.cors_origins)
        return
    async with AsyncExitStack() as stack:
        keys = KeyAuthenticator(db, await stack.enter_async_context(asyncio.TaskGroup()))
        if settings.auth == "keys":
            yield keys
            return
        import httpx2

        from maas.http.auth.jwt import JwksCache, JwtAuthenticator, SharedSecret, SigningKeys  # slow to load

        signing_keys: SigningKeys
        if settings.jwt_secret is not None:
            signing_keys = SharedSecret(settings.jwt_secret.get_secret_value())
        else:
            assert settings.jwks_url is not None
            signing_keys = JwksCache(settings.jwks_url, await stack.enter_async_context(httpx2.AsyncClient()))
        yield JwtAuthenticator(db, settings, signing_keys, keys)
