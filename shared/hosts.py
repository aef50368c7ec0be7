"""Connections to the first of several Postgres servers that takes them.

asyncpg asks the hosts of an address one after another: one that says nothing, as after a power failure, uses up the
time for all, and one that is just starting ends the search.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg

HOST_DELAY_S = 0.5  # a host that has not answered for so long is waited for beside the next one
LAST_DELAY_S = 2.0  # for so long silent ones are waited for when the others have refused; those are asked again meanwhile


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
    waiting = hosts_of(dsn)
    if len(waiting) == 1:
        return await asyncpg.connect(dsn, timeout=timeout, **options)
    asked: dict[asyncio.Task[asyncpg.Connection], str] = {}
    last_error: BaseException | None = None
    refused: list[str] = []  # since they were asked last
    give_up_at = math.inf

    def ask(host: str) -> None:
        asked[asyncio.ensure_future(asyncpg.connect(host, timeout=timeout, **options))] = host

    try:
        async with asyncio.timeout(timeout):
            while (waiting or asked) and time.monotonic() < give_up_at:
                if waiting:
                    ask(waiting.pop(0))
                done, _ = await asyncio.wait(asked, timeout=HOST_DELAY_S, return_when=asyncio.FIRST_COMPLETED)
                refused += [asked.pop(task) for task in done]
                opened = [task.result() for task in done if task.exception() is None]
                for other in opened[1:]:
                    other.terminate()
                if opened:
                    return opened[0]
                last_error = next((task.exception() for task in done), last_error)
                if not waiting and last_error is not None:
                    give_up_at = min(give_up_at, time.monotonic() + LAST_DELAY_S)
                    if not done:  # one that follows may soon lead
                        for host in refused:
                            ask(host)
                        refused = []
    finally:
        for task in asked:
            task.add_done_callback(_end)
            task.cancel()
    assert last_error is not None
    raise last_error


def _end(task: asyncio.Task[asyncpg.Connection]) -> None:
    """Close a connection that came too late."""
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()
