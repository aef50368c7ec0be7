"""An address of several servers: one that says nothing, and one that is just starting, keep nobody from the others."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import asyncpg
import psycopg
import pytest

from shared.db import open_database
from shared.errors import MaasError
from shared.hosts import HOST_DELAY_S, connect_to_first, hosts_of
from tests.cable import Cable
from tests.polling import poll
from tests.stack import free_port

STARTING = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"


@pytest.fixture
def silent() -> Iterator[str]:
    """A host that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def starting() -> Iterator[str]:
    """A host that refuses every session, as Postgres does while it recovers."""

    def refuse() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                if connection.recv(8)[4:] == b"\x04\xd2\x16\x2f":  # asks for TLS first
                    connection.sendall(b"N")
                    connection.recv(8)
                connection.recv(4096)
                connection.sendall(b"E" + (len(STARTING) + 4).to_bytes(4) + STARTING)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def among(dsn: str, *others: str) -> str:
    """The address of a server behind other hosts."""
    parts = urlsplit(dsn)
    user, at, host = parts.netloc.rpartition("@")
    return parts._replace(
        netloc=f"{user}{at}{','.join([*others, host])}", query="target_session_attrs=primary"
    ).geturl()


async def test_no_host_keeps_another_from_being_asked(database: str, silent: str, starting: str) -> None:
    gone = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    async with open_database(among(database, silent, starting, gone), 2, "hosts") as db:
        assert time.monotonic() - began < 5, f"a silent host is waited for {HOST_DELAY_S} s"
        assert db.connections == (1, 0)
    with psycopg.connect(among(database, starting, gone), connect_timeout=2, autocommit=True) as connection:
        left = "select count(*) from pg_stat_activity where application_name = 'hosts'"
        poll(lambda: connection.execute(left).fetchone() == (0,), what="those who lost are gone, too")


async def test_the_error_is_that_of_the_last_host(silent: str, starting: str) -> None:
    gone = f"127.0.0.1:{free_port()}"
    with pytest.raises(asyncpg.CannotConnectNowError):
        await connect_to_first(f"postgresql://maas@{gone},{starting}/maas", timeout=5)
    with pytest.raises(TimeoutError):
        await connect_to_first(f"postgresql://maas@{silent},{gone}/maas", timeout=1)
    began = time.monotonic()
    with pytest.raises(ConnectionRefusedError):
        await connect_to_first(f"postgresql://maas@{silent},{gone}/maas", timeout=20)
    assert time.monotonic() - began < 10, "who has refused is soon asked again"


async def test_a_host_that_refused_may_soon_lead(database: str, silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.hosts.LAST_DELAY_S", 30)
    port = free_port()
    parts = urlsplit(database)
    user, at, _ = parts.netloc.rpartition("@")
    both = parts._replace(netloc=f"{user}{at}{silent},127.0.0.1:{port}").geturl()
    asked = asyncio.create_task(connect_to_first(both, timeout=60))
    await asyncio.sleep(3 * HOST_DELAY_S)
    assert not asked.done(), "it has refused, and the silent one is waited for"
    with closing(Cable(database, port)):
        await (await asyncio.wait_for(asked, 20)).close()


async def test_no_host_is_what_is_asked_for(database: str) -> None:
    dsn = among(database, f"127.0.0.1:{free_port()}").replace("=primary", "=standby")
    with pytest.raises(MaasError) as raised:
        async with open_database(dsn, 2, "hosts"):
            pass
    assert raised.value.code == "database_unreachable"


@pytest.mark.parametrize(
    ("dsn", "hosts"),
    [
        ("postgresql://a:b@one:1/x", ["postgresql://a:b@one:1/x"]),
        ("postgresql://one:1,[::1]:2/x?a=b", ["postgresql://one:1/x?a=b", "postgresql://[::1]:2/x?a=b"]),
        ("postgresql://a:%2C@one,two/x", ["postgresql://a:%2C@one/x", "postgresql://a:%2C@two/x"]),
        ("postgresql:///x?host=one,two", ["postgresql:///x?host=one,two"]),
        (
            "postgresql://one,two/x?target_session_attrs=prefer-standby",
            ["postgresql://one,two/x?target_session_attrs=prefer-standby"],
        ),
    ],
)
def test_hosts_of_an_address(dsn: str, hosts: list[str]) -> None:
    assert hosts_of(dsn) == hosts
