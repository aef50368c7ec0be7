"""A server kept at hand: one task opens its connection, hears what changes, and opens it anew when it was lost."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import Context
from time import monotonic
from typing import Any

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, ToolListChangedNotification

from maas.agents.mcp.content import content_data
from maas.agents.mcp.remote import remote_tools
from maas.agents.mcp.servers import Server
from maas.agents.mcp.transport import open_transport
from maas.agents.results import ToolDoubt, ToolFailure
from maas.agents.tools import Tool
from shared.log import conceal, mask
from shared.text import one_line, shorten

CONNECT = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
BREATH = 1.0  # between two lists of tools, however often a server says that they changed
PAGES = 20
_NOTHING_DONE = (INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND)
_BROKEN = (anyio.ClosedResourceError, anyio.BrokenResourceError)
log = structlog.get_logger()


class Connection:
    """One server. `tools` are those that it named last, whether it is reachable or not; `cause` says why it is not.

    `changed` is called when `tools` are others than before.
    """

    def __init__(self, server: Server, changed: Callable[[], None]) -> None:
        self.server = server
        self.tools: tuple[Tool, ...] = ()
        self.cause: str | None = "it has not answered yet"
        self._changed = changed
        self._client: Client | None = None
        self._reached = asyncio.Event()
        self._tried = asyncio.Event()
        self._wake = asyncio.Event()
        self._is_over = False
        self._is_forgotten = False
        self._last_words = ""
        self._scope = anyio.CancelScope()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Keep it reachable from now on, until `close`."""
        if self._task is None:
            name = f"mcp {self.server.name}"
            self._task = asyncio.create_task(self._own(), name=name, context=Context())  # not that of the run that asks

    async def tried(self) -> None:
        """Return when it has told its tools, or could not be reached."""
        self.start()
        await self._tried.wait()

    async def close(self) -> None:
        """End the connection, and the program if it is one."""
        self._scope.cancel()
        if self._task is not None:
            await self._task

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """What a tool gives. A session that the server has forgotten did nothing, so the call is made in a new one.

        Raises ToolFailure; ToolDoubt when the call may have taken effect.
        """
        try:
            return await self._called(name, arguments)
        except _ForgottenSession:
            with suppress(TimeoutError):
                async with asyncio.timeout(CONNECT):
                    await self._reached.wait()
        try:
            return await self._called(name, arguments)
        except _ForgottenSession as error:
            raise self._unreachable() from error

    async def _called(self, name: str, arguments: Mapping[str, Any]) -> Any:
        client = self._client
        if client is None:
            raise self._unreachable()
        try:
            result = await client.call_tool(name, dict(arguments))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._lost(client) from error
            if self._is_forgotten:
                self._end(client)
                raise _ForgottenSession from error
            failure = ToolFailure if error.code in _NOTHING_DONE else ToolDoubt
            raise failure(conceal(error.message)) from error
        except _BROKEN as error:
            raise self._lost(client) from error
        except Exception as error:
            log.warning("mcp_answer_refused", server=self.server.name, tool=name, cause=_words(error))
            raise ToolDoubt(f"the server {self.server.name} answered what nobody can read") from error
        return content_data(result.model_dump(mode="json", by_alias=True, exclude_none=True))

    def _lost(self, client: Client) -> ToolDoubt:
        self._end(client)
        return ToolDoubt(f"the server {self.server.name} was lost during the call")

    def _unreachable(self) -> ToolFailure:
        return ToolFailure(f"the server {self.server.name} is not reachable now: tell the user, answer without it")

    async def _own(self) -> None:
        pause = FIRST_PAUSE
        with self._scope:
            while True:
                started = monotonic()
                self._last_words = ""
                try:
                    await self._attend()
                    self.cause = self._explained("it ended the connection")
                except Exception as error:
                    self.cause = self._explained(_words(error))
                finally:
                    self._client = None
                    self._reached.clear()
                self._tried.set()
                if monotonic() - started > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
                log.warning("mcp_server_lost", server=self.server.name, cause=self.cause, again_in=pause)
                await anyio.sleep(pause * (0.5 + random.random()))
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _attend(self) -> None:
        """One connection, until it ends."""
        self._is_over = self._is_forgotten = False
        self._wake.clear()
        with anyio.CancelScope(deadline=anyio.current_time() + CONNECT) as clock:
            transport = open_transport(self.server, self)
            async with Client(transport, cache=None, message_handler=self._hear) as client:
                await self._discover(client)
                clock.deadline = math.inf
                self._client, self.cause, self._last_words = client, None, ""
                self._reached.set()
                self._tried.set()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen, client)
                    await self._follow(client)
                    group.cancel_scope.cancel()
        if clock.cancelled_caught:
            raise TimeoutError(f"no answer within {CONNECT:g} s")

    async def _follow(self, client: Client) -> None:
        """Ask for the tools again whenever they changed."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._is_over:
                return
            with anyio.fail_after(CONNECT):
                await self._discover(client)
            await anyio.sleep(BREATH)

    async def _discover(self, client: Client) -> None:
        told: list[dict[str, Any]] = []
        cursor = None
        for _ in range(PAGES):
            page = await client.list_tools(cursor=cursor)
            told += [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        tools = remote_tools(self.server, told, self.call)
        log.info("mcp_server_reached", server=self.server.name, tools=len(tools))
        if tools != self.tools:
            self.tools = tools
            self._changed()

    async def _listen(self, client: Client) -> None:
        """Newer servers tell of changes only whom they were asked to; older ones tell everybody."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._wake.set()
        except SubscriptionLost:
            self._end(client)
        except (ListenNotSupportedError, MCPError):
            return

    async def _hear(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._wake.set()

    def muttered(self, words: str) -> None:
        self._last_words = words

    def forgotten(self) -> None:
        self._is_forgotten = True

    def ended(self) -> None:
        self._is_over = True
        self._wake.set()

    def _end(self, client: Client) -> None:
        """Give this connection up; a newer one stays."""
        if client is self._client:
            self._client = None
            self._reached.clear()
            self.ended()

    def _explained(self, cause: str) -> str:
        said = f"{cause}; its last words: {self._last_words}" if self._last_words else cause
        return shorten(one_line(mask(said)), 300)


class _ForgottenSession(Exception):
    """The server knows nothing of the session, so it did nothing."""


def _words(error: BaseException) -> str:
    """The first cause of all."""
    leaf = next(_leaves(error))
    return shorten(mask(f"{leaf}" or type(leaf).__name__), 300)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
