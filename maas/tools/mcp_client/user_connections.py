"""Connections of users to one MCP server: each has the headers of one user, and no other user's call goes through it.

A connection is opened by the first call of its user. It ends when it is idle, when others need its place, when it is
lost, and when the secrets that its headers hold change or are deleted. The next call opens a new one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import anyio
import structlog

from maas.tools.calls import ToolFailure
from maas.tools.mcp_client.connection import McpConnection, SessionLost, root_cause
from maas.tools.mcp_client.servers import McpServer
from maas.user_secrets import UserSecret, UserSecrets
from shared.db import UNAVAILABLE
from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore
from shared.log import masker

CHECK_INTERVAL_S = 2.0
PLACE_TIMEOUT_S = 20.0
END_TIMEOUT_S = 2.0
MAX_OPENING = 16  # connections to one server that are opened at the same time: the time limit of each is for itself
OPENING_TIMEOUT_S = 60.0  # for which a call waits until its connection may be opened; its own limit may end it before
log = structlog.get_logger()


class UserConnection(McpConnection):
    """One connection for one user: it is opened once, and another object takes its place when it is lost."""

    def __init__(
        self, server: McpServer, values: Mapping[str, str], secrets: UserSecrets | None, user_id: UUID
    ) -> None:
        super().__init__(server, lambda: None)
        self.headers = server.headers_of(values)
        self._values = tuple(values.values())
        self._conceal = masker(*self._values)
        if server.grant_secret is not None and secrets is not None:
            from maas.tools.mcp_client.oauth import for_user  # it imports cryptography

            self.sign_in = self._sign_in_with(for_user(server, secrets, user_id))

    @property
    def is_tried(self) -> bool:
        """Whether it was opened, or could not be."""
        return self._tried.is_set()

    @property
    def is_lost(self) -> bool:
        return self._tried.is_set() and self._client is None

    def _learn_tokens(self, *tokens: str) -> None:
        self._conceal = masker(*self._values, *tokens)

    async def end(self) -> None:
        """Close the session with the server; cancel what does not end by itself."""
        self._client = None
        self.on_end()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=END_TIMEOUT_S)
        await self.close()

    async def _keep_open(self) -> None:
        with self._scope:
            try:
                await self._serve_one_connection()
                self.cause = self._explain("it ended the connection")
            except Exception as error:
                self.cause = self._explain(root_cause(error))
        self._client = None
        self._tried.set()

    async def _list_tools(self, client: Any) -> None:
        await self._read_list(client)  # the SDK needs it to check results; the tools of users are not shown to others

    async def _listen(self, client: Any) -> None:
        return

    def refusal(self) -> ToolFailure:
        return not_connected(self.server, "the server refuses the user's access")


@dataclass(slots=True, eq=False)
class _Place:
    """An open connection of a user: its calls in progress, and when the last one ended."""

    user_id: UUID
    set_at: Mapping[str, datetime]
    connection: UserConnection
    calls: int = 0
    used_at: float = 0.0


class UserConnections:
    """The connections of all users to one server, at most `max_connections` of it.

    The least recently used one gives its place to another user, one with a call in progress never does.
    """

    def __init__(self, server: McpServer, secrets: UserSecrets | None) -> None:
        self._server = server
        self._secrets = secrets
        self._current: dict[UUID, _Place] = {}
        self._open: set[_Place] = set()  # also those that were replaced and have calls in progress
        self._waiters: deque[asyncio.Future[None]] = deque()  # calls of users for whom there is no place
        self._opening = FairSemaphore("connections", MAX_OPENING, 1, OPENING_TIMEOUT_S)
        self._ends: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    async def call(self, user_id: UUID, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool on the connection of this user and return its data.

        Raises ToolFailure, also for a user without the secrets; ToolDoubt when the call may have taken effect.
        """
        for _ in range(2):  # in a session that the server has lost nothing is done: once more in a new one
            place = await self._take(user_id)
            try:
                await self._open_once(place)
                if place.connection.is_lost:
                    raise self._failure(place.connection)
                return await place.connection.call_once(name, arguments)
            except SessionLost:
                continue
            finally:
                self._give_back(place)
        raise unreachable(self._server)

    async def close(self) -> None:
        """End all connections."""
        if self._watcher is not None:
            self._watcher.cancel()
        for place in tuple(self._open):
            self._end(place)
        await asyncio.gather(*self._ends, return_exceptions=True)

    async def _open_once(self, place: _Place) -> None:
        """Return when the connection is open, or could not be opened. Raises ToolFailure."""
        if place.connection.is_tried:
            return
        try:
            async with self._opening.hold(place.user_id):
                await place.connection.tried()
        except MaasError as error:
            raise self._no_place() from error

    def _failure(self, connection: UserConnection) -> ToolFailure:
        if connection.is_refused:
            return connection.refusal()
        log.warning("mcp_user_connection_lost", server=self._server.name, cause=connection.cause)
        return unreachable(self._server)

    async def _take(self, user_id: UUID) -> _Place:
        """The place of this user, with one more call in progress. Raises ToolFailure."""
        deadline = _now() + PLACE_TIMEOUT_S
        has_waited = False
        while True:
            secrets = await self._read(user_id)
            set_at = {name: secret.changed_at for name, secret in secrets.items()}
            place = self._current.get(user_id)
            if place is not None and (place.connection.is_lost or _is_older(place.set_at, set_at)):
                self._retire(place)
                place = None
            if place is None and (has_waited or not self._waiters) and self._has_room():
                values = {name: secret.value for name, secret in secrets.items()}
                connection = UserConnection(self._server, values, self._secrets, user_id)
                place = _Place(user_id, set_at, connection, used_at=_now())
                self._current[user_id] = place
                self._open.add(place)
                self._watch()
            if place is not None:
                place.calls += 1
                return place
            await self._wait_for_place(deadline, is_first=has_waited)
            has_waited = True

    async def _wait_for_place(self, deadline: float, is_first: bool) -> None:
        """Return when a place may be free and it is this call's turn. Raises ToolFailure."""
        waiter = asyncio.get_running_loop().create_future()
        if is_first:
            self._waiters.appendleft(waiter)
        else:
            self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except (TimeoutError, asyncio.CancelledError) as error:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            else:
                self._wake()  # it was its turn: now it is that of the next one
            if isinstance(error, TimeoutError):
                raise self._no_place() from None
            raise

    def _no_place(self) -> ToolFailure:
        return ToolFailure(f"the server {self._server.name} has no place for one more user now: try again later")

    def _wake(self) -> None:
        """Let the call that waits for the longest time look for a place."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _read(self, user_id: UUID) -> Mapping[str, UserSecret]:
        """All secrets that the server needs. Raises ToolFailure if the user lacks one."""
        names = self._server.user_variables
        secrets = await self._secrets.read(user_id, names) if self._secrets is not None else {}
        if missing := sorted(names - secrets.keys()):
            if (place := self._current.get(user_id)) is not None:
                self._end(place)
            is_grant = missing[0] == self._server.grant_secret
            cause = "the user has not signed in" if is_grant else f"the user has no secret {missing[0]}"
            raise not_connected(self._server, cause)
        return secrets

    def _has_room(self) -> bool:
        """Whether one more connection may be opened; ends the one that was idle for the longest time if need be."""
        if len(self._open) >= self._server.max_connections:
            idle = [place for place in self._open if not place.calls]
            if not idle:
                return False
            self._end(min(idle, key=lambda place: place.used_at))
        return True

    def _give_back(self, place: _Place) -> None:
        place.calls -= 1
        place.used_at = _now()
        if not place.calls and (place.connection.is_lost or self._current.get(place.user_id) is not place):
            self._end(place)
        self._wake()

    def _retire(self, place: _Place) -> None:
        """Give a connection no more calls, and end it after those in progress."""
        if self._current.get(place.user_id) is place:
            del self._current[place.user_id]
        if not place.calls:
            self._end(place)

    def _end(self, place: _Place) -> None:
        if self._current.get(place.user_id) is place:
            del self._current[place.user_id]
        if place in self._open:
            self._open.remove(place)
            task = asyncio.create_task(place.connection.end(), context=Context())
            self._ends.add(task)
            task.add_done_callback(self._ends.discard)
        self._wake()

    def _watch(self) -> None:
        if self._watcher is None or self._watcher.done():
            name = f"mcp {self._server.name} users"
            self._watcher = asyncio.create_task(self._keep_checking(), name=name, context=Context())

    async def _keep_checking(self) -> None:
        """End what is idle, lost, or has other headers than its user's secrets say, until nothing is open."""
        while self._open:
            await anyio.sleep(min(CHECK_INTERVAL_S, self._server.idle_seconds / 2))
            for place in tuple(self._open):
                is_idle = _now() - place.used_at >= self._server.idle_seconds or place.connection.is_lost
                if is_idle and not place.calls:
                    self._end(place)
            try:
                await self._check_secrets()
            except (MaasError, *UNAVAILABLE) as error:
                log.warning("mcp_secrets_unavailable", server=self._server.name, cause=str(error))

    async def _check_secrets(self) -> None:
        """End connections at once whose secrets were deleted, and after their calls those whose secrets were set."""
        if self._secrets is None or not self._open:
            return
        places = tuple(self._open)
        times = await self._secrets.times({place.user_id for place in places})
        for place in places:
            now = {name: at for name in place.set_at if (at := times.get((place.user_id, name))) is not None}
            if len(now) < len(place.set_at):
                self._end(place)
            elif _is_older(place.set_at, now):
                self._retire(place)


def not_connected(server: McpServer, cause: str) -> ToolFailure:
    """The failure of a call by a user who must connect the server first; nothing was sent."""
    return ToolFailure(
        f"not connected: {cause}, so {server.name} cannot be used: tell the user to connect it, do not call it again"
    )


def unreachable(server: McpServer) -> ToolFailure:
    return ToolFailure(f"the server {server.name} is not reachable now: tell the user, answer without it")


def _is_older(opened: Mapping[str, datetime], now: Mapping[str, datetime]) -> bool:
    """Whether some secret was set after the connection was opened with it."""
    return any(now[name] > at for name, at in opened.items() if name in now)


def _now() -> float:
    return asyncio.get_running_loop().time()
