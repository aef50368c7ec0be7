"""Which authenticator checks requests: the one that MAAS_AUTH selects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from maas.http.auth import Authenticator, KeyAuthenticator, LocalAuthenticator
from maas.settings import Settings
from shared.db import Database


@asynccontextmanager
async def open_authenticator(db: Database, settings: Settings) -> AsyncIterator[Authenticator]:
    """Open the authenticator that MAAS_AUTH selects; its background tasks and connections end with the context."""
    if settings.access.auth == "none":
        yield LocalAuthenticator(settings.http.cors_origins)
        return
    async with AsyncExitStack() as stack:
        keys = KeyAuthenticator(db, await stack.enter_async_context(asyncio.TaskGroup()))
        if settings.access.auth == "keys":
            yield keys
            return
        from maas.http.auth.jwt import (  # slow to load, as is bounded_http
            JwksCache,
            JwtAuthenticator,
            SharedSecret,
            SigningKeys,
            StoredSecret,
        )
        from shared.bounded_http import MAX_KEY_SET_BYTES, open_bounded

        signing_keys: SigningKeys
        if settings.access.auth == "local":
            signing_keys = StoredSecret(db, settings.access)
        elif settings.access.jwt_secret is not None:
            signing_keys = SharedSecret(settings.access.jwt_secret.get_secret_value())
        else:
            assert settings.access.jwks_url is not None
            signing_keys = JwksCache(
                settings.access.jwks_url, await stack.enter_async_context(open_bounded(MAX_KEY_SET_BYTES))
            )
        yield JwtAuthenticator(db, settings.access, signing_keys, keys)
