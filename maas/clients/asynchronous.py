"""AsyncMaaS: the client for programs that do much at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Any, Protocol, Self, TypeVar

from maas.clients import address
from maas.clients.address import RETRIES, TIMEOUT
from maas.clients.async_http import AsyncHttp
from maas.clients.calls import Call, Plan, Reply
from maas.clients.errors import MaaSError
from maas.clients.following import Following
from maas.clients.requests import Mode
from maas.clients.results import Event
from maas.clients.rows import refuse
from maas.clients.users import UserId, Users
from maas.clients.verbs import Verbs

T = TypeVar("T")


class AsyncLine(Protocol):
    """What calls go over."""

    async def send(self, call: Call) -> Reply:
        """Raises MaaSError."""
        ...

    async def close(self) -> None: ...


class AsyncMaaS(Verbs):
    """The same as MaaS, for asyncio: every method is awaited."""

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, dsn: str | None = None, timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:  # fmt: skip
        self.users = Users()
        self._retries = retries
        self._line: AsyncLine
        if dsn is None:
            self._line = AsyncHttp(address.find_url(url), api_key, timeout, retries)
        else:
            from maas.clients.async_rows import AsyncRows  # drivers take longer to load than all the rest

            self._line = AsyncRows(address.check_dsn(dsn, url), retries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give connections back."""
        await self._line.close()

    async def stream(
        self, query: str, *, user_id: UserId, assistant: str = "mentor", conversation_id: UserId | None = None,
        mode: Mode | None = None, metadata: Mapping[str, Any] | None = None, attachment_ids: Sequence[UserId] = (),
    ) -> AsyncGenerator[Event, None]:  # fmt: skip
        """Ask, and follow the answer as it comes: `event.text` is the next piece of it. Raises RunFailed."""
        request_id = await self.submit(
            query, user_id=user_id, assistant=assistant, conversation_id=conversation_id, mode=mode,
            metadata=metadata, attachment_ids=attachment_ids,
        )  # fmt: skip
        async with aclosing(self.follow(request_id)) as events:
            async for event in events:
                yield event

    async def follow(self, request_id: UserId, *, last_event_id: str = "") -> AsyncGenerator[Event, None]:
        """The events of a run from its start, or from behind one, until `done`; goes on where a connection broke.

        Who stops reading cancels nothing. Raises RunFailed, NotFound, Unavailable.
        """
        following = Following(str(request_id), self._retries, last_event_id)
        if not isinstance(self._line, AsyncHttp):
            raise refuse(following.call)
        async with aclosing(self._line.follow(following)) as events:
            async for event in events:
                yield event

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
