"""A connection to one MCP server over the pipes of a program or streamable HTTP, reopened whenever it is lost.

Only this file, `pipes`, `rounds`, `streams` and those of signing in import the SDK.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import Context
from time import monotonic
from typing import Any
from uuid import UUID

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, ToolListChangedNotification

from maas.tools.calls import ToolDoubt, ToolFailure
from maas.tools.mcp_client.error_output import open_error_output
from maas.tools.mcp_client.http_client import REFUSED_CODE, TOO_LARGE_CODE, HttpClient, call_in_progress, tls
from maas.tools.mcp_client.pipes import open_pipes
from maas.tools.mcp_client.program import program_of
from maas.tools.mcp_client.remote_tools import MAX_REPLY_BYTES, CallRemote, content_data, convert_tools
from maas.tools.mcp_client.rounds import call_in_rounds
from maas.tools.mcp_client.servers import McpServer
from maas.tools.mcp_client.sign_in import SignIn
from maas.tools.mcp_client.streams import ClosingStream
from maas.tools.tool import Tool
from maas.user_secrets import UserSecrets
from shared.json import map_texts
from shared.log import conceal, mask, masker
from shared.process import close_to_others
from shared.text import one_line, shorten

CONNECT_TIMEOUT_S = 10.0
MIN_BACKOFF_S, MAX_BACKOFF_S = 0.5, 30.0
REFRESH_INTERVAL_S = 1.0  # the shortest time between two lists of tools, however often a server says that they changed
MAX_PAGES = 20
_CODES_WITHOUT_EFFECT = (INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND)
_BROKEN_STREAM = (anyio.ClosedResourceError, anyio.BrokenResourceError)
log = structlog.get_logger()
# The SDK logs what servers send, at any length; what matters of it is logged here.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


class McpConnection:
    """The connection to one server, kept open by a task of its own.

    `tools` are those of the last list, also while the server is not connected; `cause` says why it is not. `on_change`
    is called when the tools have changed. The tools are called by `call_remote`, by default on this connection.
    `is_refused`: the server has answered 401 or 403.
    """

    def __init__(
        self,
        server: McpServer,
        on_change: Callable[[], object],
        call_remote: CallRemote | None = None,
        secrets: UserSecrets | None = None,
    ) -> None:
        self.server = server
        self.headers: Mapping[str, str] = server.shared_headers
        self.tools: tuple[Tool, ...] = ()
        self.cause: str | None = "it has not answered yet"
        self.is_refused = False
        self.sign_in = self._make_sign_in(secrets)
        self._on_change = on_change
        self._call_remote = call_remote or self._call_for_all
        self._conceal: Callable[[str], str] = conceal
        self._client: Client | None = None
        self._connected = asyncio.Event()
        self._tried = asyncio.Event()
        self._wake = asyncio.Event()
        self._is_over = False
        self._is_session_lost = False
        self._last_error_line = ""
        self._scope = anyio.CancelScope()
        self._task: asyncio.Task[None] | None = None

    def _make_sign_in(self, secrets: UserSecrets | None) -> SignIn | None:
        if (oauth := self.server.oauth) is None:
            return None
        from maas.tools.mcp_client.oauth import for_program, for_user  # they import cryptography

        if oauth.grant == "client_credentials":
            return self._sign_in_with(for_program(self.server))
        if oauth.list_user is None or secrets is None:
            return None
        return self._sign_in_with(for_user(self.server, secrets, oauth.list_user))

    def _sign_in_with(self, provider: OAuthClientProvider) -> SignIn:
        return SignIn(provider, self.server.trusted_urls, CONNECT_TIMEOUT_S, self._learn_tokens)

    def _learn_tokens(self, *tokens: str) -> None:
        self._conceal = masker(*tokens)

    def start(self) -> None:
        """Connect, and reconnect until `close`. A second call does nothing."""
        if self._task is None:
            name = f"mcp {self.server.name}"
            # An empty context: the connection outlives the run that asks for it.
            self._task = asyncio.create_task(self._keep_open(), name=name, context=Context())

    async def tried(self) -> None:
        """Return when the first attempt has listed the tools or failed."""
        self.start()
        await self._tried.wait()

    async def close(self) -> None:
        """Close the connection and stop the program, if there is one."""
        self._scope.cancel()
        if self._task is not None:
            await self._task

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool and return its data. A call in a session that the server has lost is repeated in a new session.

        Raises ToolFailure; ToolDoubt when the call may have taken effect.
        """
        try:
            return await self.call_once(name, arguments)
        except SessionLost:
            with suppress(TimeoutError):
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    await self._connected.wait()
        try:
            return await self.call_once(name, arguments)
        except SessionLost as error:
            raise self._unreachable() from error

    async def _call_for_all(self, _: UUID, name: str, arguments: Mapping[str, Any]) -> Any:
        return await self.call(name, arguments)

    async def call_once(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool in the present session. Raises SessionLost, ToolFailure, ToolDoubt as `call` does."""
        client = self._client
        if client is None:
            raise self._unreachable()
        try:
            with call_in_progress():
                result = await call_in_rounds(client, name, arguments, self._read_list)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._lost(client) from error
            if self._is_session_lost:
                self._drop(client)
                raise SessionLost from error
            if error.code == REFUSED_CODE:
                raise self.refusal() from error
            if error.code == TOO_LARGE_CODE:
                raise self._too_large() from error
            failure = ToolFailure if error.code in _CODES_WITHOUT_EFFECT else ToolDoubt
            raise failure(self._conceal(error.message)) from error
        except _BROKEN_STREAM as error:
            raise self._lost(client) from error
        except Exception as error:
            cause = self._conceal(root_cause(error))
            log.warning("mcp_response_rejected", server=self.server.name, tool=name, cause=cause)
            raise ToolDoubt(f"the server {self.server.name} answered what nobody can read") from error
        try:
            data = content_data(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        except ToolFailure as error:
            raise ToolFailure(self._conceal(error.message)) from None
        return data if self._conceal is conceal else map_texts(data, self._conceal)

    def refusal(self) -> ToolFailure:
        """The failure of a call that the server did not admit, so that nothing was done."""
        return ToolFailure(f"the server {self.server.name} refuses our access: tell the user, answer without it")

    def _lost(self, client: Client) -> ToolDoubt:
        self._drop(client)
        return ToolDoubt(f"the server {self.server.name} was lost during the call")

    def _too_large(self) -> ToolDoubt:
        name, most = self.server.name, MAX_REPLY_BYTES // 2**20
        return ToolDoubt(f"the server {name} answered with more than {most} MiB, which is not read: ask it for less")

    def _unreachable(self) -> ToolFailure:
        return ToolFailure(f"the server {self.server.name} is not reachable now: tell the user, answer without it")

    async def _keep_open(self) -> None:
        backoff = MIN_BACKOFF_S
        with self._scope:
            while True:
                started = monotonic()
                self._last_error_line = ""
                try:
                    await self._serve_one_connection()
                    self.cause = self._explain("it ended the connection")
                except Exception as error:
                    self.cause = self._explain(root_cause(error))
                finally:
                    self._client = None
                    self._connected.clear()
                self._tried.set()
                if monotonic() - started > MAX_BACKOFF_S:
                    backoff = MIN_BACKOFF_S
                log.warning("mcp_server_lost", server=self.server.name, cause=self.cause, again_in=backoff)
                await anyio.sleep(backoff * (0.5 + random.random()))
                backoff = min(backoff * 2, MAX_BACKOFF_S)

    async def _serve_one_connection(self) -> None:
        """Open one connection and use it until it ends."""
        self._is_over = self._is_session_lost = False
        self._wake.clear()
        with anyio.CancelScope(deadline=anyio.current_time() + CONNECT_TIMEOUT_S) as timeout:
            async with Client(_open_transport(self), cache=None, message_handler=self._on_message) as client:
                await self._list_tools(client)
                timeout.deadline = math.inf
                self._client, self.cause, self._last_error_line = client, None, ""
                self._connected.set()
                self._tried.set()
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen, client)
                    await self._follow_changes(client)
                    group.cancel_scope.cancel()
        if timeout.cancelled_caught:
            raise TimeoutError(f"no answer within {CONNECT_TIMEOUT_S:g} s")

    async def _follow_changes(self, client: Client) -> None:
        """List the tools again whenever they have changed, until the connection ends."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._is_over:
                return
            with anyio.fail_after(CONNECT_TIMEOUT_S):
                await self._list_tools(client)
            await anyio.sleep(REFRESH_INTERVAL_S)

    async def _list_tools(self, client: Client) -> None:
        listed = await self._read_list(client)
        shown = listed if self._conceal is conceal else map_texts(listed, self._conceal)
        tools = convert_tools(self.server, shown, self._call_remote)
        log.info("mcp_server_connected", server=self.server.name, tools=len(tools))
        if tools != self.tools:
            self.tools = tools
            self._on_change()

    @staticmethod
    async def _read_list(client: Client) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = []
        cursor = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            listed += [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        return listed

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes of the tools. Older servers have no subscriptions and notify every client."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._wake.set()
        except SubscriptionLost:
            self._drop(client)
        except (ListenNotSupportedError, MCPError):
            return

    async def _on_message(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._wake.set()

    def on_error_line(self, line: str) -> None:
        """The transport read an error line of the program, or the status of a refused request."""
        self._last_error_line = line

    def on_refused(self) -> None:
        """The server has not admitted a request."""
        self.is_refused = True

    def on_session_lost(self) -> None:
        """The server does not know the session any more."""
        self._is_session_lost = True

    def on_end(self) -> None:
        """The server has closed its stream."""
        self._is_over = True
        self._wake.set()

    def _drop(self, client: Client) -> None:
        """Give this connection up, unless a newer one has replaced it."""
        if client is self._client:
            self._client = None
            self._connected.clear()
            self.on_end()

    def _explain(self, cause: str) -> str:
        text = f"{cause}; its last words: {self._last_error_line}" if self._last_error_line else cause
        return shorten(one_line(mask(self._conceal(text))), 300)


class SessionLost(Exception):
    """The server does not know the session, so the call had no effect."""


def root_cause(error: BaseException) -> str:
    """The message of the first exception in a group, masked."""
    leaf = next(_leaves(error))
    return shorten(mask(f"{leaf}" or type(leaf).__name__), 300)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


@asynccontextmanager
async def _open_transport(connection: McpConnection) -> AsyncIterator[Any]:
    """The streams to read from and to write to. Raises OSError, LookupError if the program cannot be started."""
    server = connection.server
    async with AsyncExitStack() as stack:
        reader: Any
        writer: Any
        if server.url is None:
            stderr = await stack.enter_async_context(open_error_output(server.name, connection.on_error_line))
            close_to_others()
            program = program_of(server)
            reader, writer = await stack.enter_async_context(open_pipes(program, stderr, connection.on_error_line))
        else:
            if connection.sign_in is not None:
                await stack.enter_async_context(connection.sign_in.open(tls()))
            http = HttpClient(connection, CONNECT_TIMEOUT_S)
            await stack.enter_async_context(http)
            reader, writer = await stack.enter_async_context(
                streamable_http_client(server.url, http_client=http, max_sse_event_size=None)
            )
        yield ClosingStream(reader, connection.on_end), writer
