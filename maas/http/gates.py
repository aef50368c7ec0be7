"""The gate that MAAS_AUTH names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from maas.http.callers import Gate, OpenGate
from maas.http.key_gate import KeyGate
from shared.db import Database
from shared.settings import Settings


@asynccontextmanager
async def open_gate(db: Database, settings: Settings) -> AsyncIterator[Gate]:
    """Who may call; what it does beside the requests ends with it."""
    if settings.auth == "none":
        yield OpenGate(settings.cors_origins)
        return
    async with AsyncExitStack() as stack:
        keys = KeyGate(db, await stack.enter_async_context(asyncio.TaskGroup()))
        if settings.auth == "keys":
            yield keys
            return
        from maas.http.token_gate import OneSecret, Signers, TokenGate  # slow to load, and few need it

        signers: Signers
        if settings.jwt_secret is not None:
            signers = OneSecret(settings.jwt_secret.get_secret_value())
        else:
            import httpx2

            from maas.http.key_set import KeySet

            assert settings.jwks_url is not None
            signers = KeySet(settings.jwks_url, await stack.enter_async_context(httpx2.AsyncClient()))
        yield TokenGate(db, settings, signers, keys)
