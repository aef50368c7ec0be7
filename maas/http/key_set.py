"""The public keys of an identity provider (JWKS), by the ids that its tokens name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx2
import jwt
import structlog

from maas.http.callers import Unauthenticated

PAUSE = 10.0  # seconds between two readings, however many tokens name keys that are not there
MAX_AGE = 300.0  # what the provider takes away is refused after so long
PATIENCE = 5.0
ALGORITHMS = {
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}  # fmt: skip
log = structlog.get_logger()


class KeySet:
    """Read at the first token, again for an unknown key id or when old; what is there stays while nobody answers."""

    def __init__(self, url: str, client: httpx2.AsyncClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._client = client
        self._clock = clock
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._asked_at = -MAX_AGE
        self._reading: asyncio.Task[None] | None = None

    async def find(self, token: str) -> tuple[Any, list[str]]:
        """The key that the token names, and its algorithm. Raises Unauthenticated for one that is not there."""
        kid = jwt.get_unverified_header(token).get("kid")
        age = self._clock() - self._asked_at
        if age >= MAX_AGE or (age >= PAUSE and self._choose(kid) is None):
            self._asked_at = self._clock()
            self._reading = asyncio.create_task(self._read())
        key = self._choose(kid)
        if key is None and self._reading is not None:
            await asyncio.shield(self._reading)
            key = self._choose(kid)
        if key is None:
            raise Unauthenticated("unknown")
        return key, [key.algorithm_name]

    def _choose(self, kid: object) -> jwt.PyJWK | None:
        if isinstance(kid, str):
            return self._keys.get(kid)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                reply = await self._client.get(self._url)
            reply.raise_for_status()
            found = dict(_read_keys(reply.json()))
        except (httpx2.HTTPError, TimeoutError, ValueError, TypeError, AttributeError, LookupError) as error:
            log.warning("jwks_unreachable", cause=repr(error), keys=len(self._keys))
            return
        self._keys = found
        log.info("jwks_read", keys=len(found))


def _read_keys(body: Any) -> Any:
    """Keys to check signatures with; a shared secret is none, and what we cannot use is left out."""
    for one in body["keys"]:
        if one.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(one)
        except jwt.PyJWTError as error:
            log.warning("jwks_key_left_out", cause=type(error).__name__)
            continue
        if key.algorithm_name in ALGORITHMS:
            yield one.get("kid"), key
