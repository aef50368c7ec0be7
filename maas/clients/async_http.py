"""Calls over HTTP, for programs that do much at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import httpx2
from tenacity import AsyncRetrying

from maas.clients import address
from maas.clients.calls import Call, Reply
from maas.clients.errors import MaaSError, RateLimited, Unavailable
from maas.clients.following import Following, left
from maas.clients.results import Event
from maas.clients.retrying import lost, policy, read


class AsyncHttp:
    """Calls over HTTP, sent again where they may be lost."""

    def __init__(self, url: str, api_key: str | None, timeout: float, retries: int) -> None:
        self._url, self._timeout, self._retries = url, timeout, retries
        self.client = httpx2.AsyncClient(base_url=url, headers=address.headers(api_key), timeout=timeout)

    async def send(self, call: Call) -> Reply:
        async for attempt in AsyncRetrying(**policy(self._retries)):
            with attempt:
                try:
                    response = await self.client.request(**address.request_of(call, self._timeout))
                except httpx2.TransportError as error:
                    raise lost(error, self._url) from error
                return read(call, response, attempt.retry_state.attempt_number)
        raise AssertionError("tenacity returns or raises")

    async def follow(self, following: Following) -> AsyncGenerator[Event, None]:
        while not following.is_over:
            try:
                request = address.request_of(following.call, self._timeout)
                async with self.client.sse(**request) as source:
                    if not source.response.is_success:
                        await source.response.aread()
                    following.begin(source.response)
                    async for one in source:
                        yield following.hear(one)
                error: MaaSError = left(following.run_id)
            except httpx2.TransportError as cause:
                error = lost(cause, self._url)
            except (Unavailable, RateLimited) as cause:
                error = cause
            if not following.is_over:
                await asyncio.sleep(following.pause(error))

    async def close(self) -> None:
        await self.client.aclose()
