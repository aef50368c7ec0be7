"""AsyncMaaS: the client for programs that do much at once."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Protocol, Self, TypeVar

import httpx2
from tenacity import AsyncRetrying

from maas.clients import address
from maas.clients.address import RETRIES, TIMEOUT
from maas.clients.async_rows import AsyncRows
from maas.clients.calls import Call, Plan, Reply
from maas.clients.errors import MaaSError
from maas.clients.retrying import lost, policy, read
from maas.clients.users import Users
from maas.clients.verbs import Verbs

T = TypeVar("T")


class AsyncLine(Protocol):
    """What calls go over."""

    async def send(self, call: Call) -> Reply:
        """Raises MaaSError."""
        ...

    async def close(self) -> None: ...


class AsyncHttp:
    """Calls over HTTP, repeated where that is safe."""

    def __init__(self, url: str, api_key: str | None, timeout: float, retries: int) -> None:
        self._url, self._timeout, self._retries = url, timeout, retries
        self.client = httpx2.AsyncClient(base_url=url, headers=address.headers(api_key), timeout=timeout)

    async def send(self, call: Call) -> Reply:
        async for attempt in AsyncRetrying(**policy(call, self._retries)):
            with attempt:
                try:
                    response = await self.client.request(**address.request_of(call, self._timeout))
                except httpx2.TransportError as error:
                    raise lost(error, self._url) from error
                return read(call, response, attempt.retry_state.attempt_number)
        raise AssertionError("tenacity returns or raises")

    async def close(self) -> None:
        await self.client.aclose()


class AsyncMaaS(Verbs):
    """The same as MaaS, for asyncio: every method is awaited."""

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, dsn: str | None = None, timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:  # fmt: skip
        self.users = Users()
        self._line: AsyncLine
        if dsn is None:
            self._line = AsyncHttp(address.find_url(url), api_key, timeout, retries)
        else:
            self._line = AsyncRows(address.check_dsn(dsn, url), retries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give connections back."""
        await self._line.close()

    async def carry(self, plan: Plan[T]) -> T:
        """Send what the plan asks for, tell it what came, until it is done."""
        with closing(plan):
            try:
                call = next(plan)
                while True:
                    try:
                        await asyncio.sleep(call.pause)
                        reply = await self._line.send(call)
                    except MaaSError as error:
                        call = plan.throw(error)
                    else:
                        call = plan.send(reply)
            except StopIteration as done:
                value: T = done.value
                return value
