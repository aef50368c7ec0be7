"""Connections to the first of several Postgres servers that takes them.

asyncpg asks the hosts of an address one after another: one that says nothing, as after a power failure, uses up the
time for all, and one that is just starting ends the search.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

HOST_DELAY_S = 0.5  # a host that has not answered for so long is waited for beside the next one
LAST_DELAY_S = 2.0  # for so long a silent host is waited for when the others have refused


def hosts_of(dsn: str) -> list[str]:
    """The address of each host of `dsn`, which has several if they stand in its authority, separated by commas.

    One with `target_session_attrs=prefer-standby` stays whole: its hosts have to be compared.
    """
    parts = urlsplit(dsn)
    user, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts or parse_qs(parts.query).get("target_session_attrs") == ["prefer-standby"]:
        return [dsn]
    return [parts._replace(netloc=f"{user}{at}{host}").geturl() for host in hosts.split(",")]


async def connect_to_first(dsn: str, *, timeout: float, **options: Any) -> asyncpg.Connection:
    """Open a connection to the first host of `dsn` that takes it and is what `target_session_attrs` asks for.

    `timeout` in seconds is for all together. Raises the last host's error, or TimeoutError.
    """
    hosts = hosts_of(dsn)
    if len(hosts) == 1:
        return await asyncpg.connect(dsn, timeout=timeout, **options)
    attempts = _Attempts(partial(asyncpg.connect, timeout=timeout, **options))
    try:
        async with asyncio.timeout(timeout):
            return await attempts.first(hosts)
    finally:
        attempts.end()


class _Attempts:
    """Connections that are being opened, by the host that is asked."""

    def __init__(self, connect: Callable[[str], Coroutine[Any, Any, asyncpg.Connection]]) -> None:
        self._connect = connect
        self._asked: dict[asyncio.Task[asyncpg.Connection], str] = {}
        self._refused: list[str] = []  # since they were asked last
        self._error: BaseException | None = None

    async def first(self, hosts: Sequence[str]) -> asyncpg.Connection:
        """Ask one host after another, and those that have refused again as long as a silent one is waited for."""
        for host in hosts:
            self._ask(host)
            if opened := await self._look():
                return opened
        end = math.inf
        while self._asked and time.monotonic() < end:
            if self._error is not None:
                end = min(end, time.monotonic() + LAST_DELAY_S)
            if opened := await self._look():
                return opened
        assert self._error is not None
        raise self._error

    def end(self) -> None:
        """Close what is still being opened."""
        for task in self._asked:
            task.add_done_callback(_end)
            task.cancel()

    def _ask(self, host: str) -> None:
        self._asked[asyncio.ensure_future(self._connect(host))] = host

    async def _look(self) -> asyncpg.Connection | None:
        """Wait for the next answer; where there is none for a while, ask again who has refused: it may lead now."""
        done, _ = await asyncio.wait(self._asked, timeout=HOST_DELAY_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            for host in self._refused:
                self._ask(host)
            self._refused = []
        self._refused += [self._asked.pop(task) for task in done]
        self._error = next((task.exception() for task in done if task.exception()), self._error)
        opened = [task.result() for task in done if task.exception() is None]
        for other in opened[1:]:
            other.terminate()
        return opened[0] if opened else None


def _end(task: asyncio.Task[asyncpg.Connection]) -> None:
    """Close a connection that came too late."""
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()
