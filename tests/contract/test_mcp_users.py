"""Servers that act on accounts of users: every call goes out as its own user, whatever happens to connections."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from structlog.testing import capture_logs

from maas.agents.runtime import Toolbox
from maas.tools.calls import ToolDoubt, ToolFailure
from maas.tools.mcp_client.servers import read_servers
from maas.tools.mcp_client.user_connections import MAX_OPENING
from maas.tools.tool import ToolContext, Toolset
from maas.user_secrets import UserSecrets
from shared.db import open_database
from tests.contract.test_mcp import EVERYTHING, TIMEOUT_S, everything, serve
from tests.polling import apoll
from tests.stack import NOBODY, ROOT, free_port

ACCOUNTS = ROOT / "tests" / "mcp_accounts.py"
SERVICE = {"Authorization": "Bearer service-account"}
USERS = 200


def token(user: UUID) -> str:
    return f"planted-{user.hex}"


def account(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()[:16]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of the server of accounts."""
    port = free_port()
    process = serve(ACCOUNTS, port, tmp_path)
    yield port
    process.kill()
    process.wait()


class Box:
    """A toolbox with one server, `mail`, and the connections of its users."""

    def __init__(self, toolbox: Toolbox, connection: psycopg.Connection[DictRow]) -> None:
        self.toolbox = toolbox
        self._connection = connection
        (self.users,) = toolbox._user_connections

    def connect(self, *users: UUID, secret: Callable[[UUID], str] = token) -> None:
        """Give the users their secrets."""
        for user in users:
            self._connection.execute("select maas_set_secret(%s, 'mail', %s)", (user, secret(user)))

    async def call(self, user: UUID, name: str, **arguments: Any) -> Any:
        tool = self.toolbox.tools().get(name)
        assert tool is not None, self.toolbox.causes()
        return await tool.handler(arguments, ToolContext(user, NOBODY))

    async def call_until_served(self, user: UUID, name: str, **arguments: Any) -> Any:
        """Call again while there are too many users for a slow machine, as the error asks one to."""
        while True:
            try:
                return await self.call(user, name, **arguments)
            except ToolFailure as failure:
                assert "try again later" in str(failure)

    async def whoami(self, user: UUID, seconds: float = 0.0, secret: str | None = None) -> None:
        """Assert that the server sees this user and answers this call."""
        nonce = uuid4().hex
        answer = await self.call(user, "whoami", nonce=nonce, seconds=seconds)
        assert answer == {"result": f"{account(secret or token(user))} {nonce}"}


@asynccontextmanager
async def opened(
    database: str, connection: psycopg.Connection[DictRow], port: int, **fields: Any
) -> AsyncIterator[Box]:
    entry = {
        "url": f"http://127.0.0.1:{port}/mcp",
        "prefix": False,
        "headers": {"Authorization": "Bearer ${user.mail}"},
        "list_headers": SERVICE,
        "effects": {name: "read" for name in ("whoami", "confess", "complain", "die", "echo")},
    } | fields
    async with open_database(database, 4, "test") as db:
        servers = read_servers(json.dumps({"mcpServers": {"mail": entry}}), {})
        toolbox = Toolbox(Toolset([]), servers, secrets=UserSecrets(db))
        try:
            async with asyncio.timeout(TIMEOUT_S * 6):
                await toolbox.reach(["mail"])
                yield Box(toolbox, connection)
        finally:
            await toolbox.close()


Database = psycopg.Connection[DictRow]


@pytest.mark.parametrize(("max_connections", "rounds"), [(USERS, 2), (80, 1)])
async def test_many_users_at_once(
    connection: Database, database: str, port: int, max_connections: int, rounds: int
) -> None:
    """Each of 200 users makes calls at random moments, some calls are cancelled: no answer is another's."""
    users = [uuid4() for _ in range(USERS)]
    async with opened(database, connection, port, max_connections=max_connections) as box:
        box.connect(*users)

        async def use(user: UUID) -> None:
            for _ in range(rounds):
                await asyncio.sleep(random.random() / 10)
                late = asyncio.create_task(box.call(user, "whoami", nonce="late", seconds=0.2))
                await asyncio.sleep(random.random() / 10)
                if random.random() < 0.3:
                    late.cancel()
                await box.whoami(user, random.random() / 20)
                await asyncio.gather(late, return_exceptions=True)

        await asyncio.gather(*map(use, users))
        assert 0 < len(box.users) <= max_connections


@pytest.mark.skipif(not EVERYTHING.exists(), reason="needs Node; make test installs the server")
async def test_many_users_of_a_server_with_sessions(connection: Database, database: str) -> None:
    """The reference server keeps a session for each connection; it is started anew in between."""
    users = [uuid4() for _ in range(USERS // 4)]
    port = free_port()
    process = everything(port)
    try:
        async with opened(database, connection, port, max_connections=USERS // 8, list_headers={}) as box:
            box.connect(*users)

            async def use(user: UUID) -> None:
                for _ in range(3):
                    words = f"{user} {uuid4()}"
                    assert await box.call_until_served(user, "echo", message=words) == f"Echo: {words}"

            await asyncio.gather(*map(use, users))
            process.kill()
            process.wait()
            process = everything(port)
            await asyncio.gather(*map(use, users[: USERS // 8]))
    finally:
        process.kill()
        process.wait()


def calls(folder: Path) -> int:
    path = folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


async def test_a_user_without_the_secret(connection: Database, database: str, port: int, tmp_path: Path) -> None:
    """No call, no connection; that of another user is not lent."""
    ann, ben = uuid4(), uuid4()
    async with opened(database, connection, port) as box:
        box.connect(ann)
        await box.whoami(ann)
        with pytest.raises(ToolFailure, match=r"not connected: the user has no secret mail, so mail cannot be used"):
            await box.whoami(ben)
        assert len(box.users) == 1 and calls(tmp_path) == 1
        box.connect(ben)
        await box.whoami(ben)


async def test_a_new_secret_is_used_at_once(connection: Database, database: str, port: int) -> None:
    """A call in progress ends on the old connection."""
    ann = uuid4()
    async with opened(database, connection, port) as box:
        box.connect(ann)
        slow = asyncio.create_task(box.whoami(ann, 3.0))
        await asyncio.sleep(0.5)
        box.connect(ann, secret=lambda _: "planted-second")
        await box.whoami(ann, secret="planted-second")
        assert len(box.users) == 2
        await slow
        await apoll(lambda: len(box.users) == 1)


async def test_a_refused_user(connection: Database, database: str, port: int, tmp_path: Path) -> None:
    """401 is a failure without doubt, for this user alone, until there is a new secret."""
    ann, ben = uuid4(), uuid4()
    async with opened(database, connection, port) as box:
        box.connect(ann, ben)
        await asyncio.gather(box.whoami(ann), box.whoami(ben))
        (tmp_path / f"refused-{account(token(ann))}").touch()
        for _ in range(2):  # on the open connection, then on a new one
            with pytest.raises(ToolFailure, match=r"not connected: the server refuses the user's access") as caught:
                await box.whoami(ann)
            assert not isinstance(caught.value, ToolDoubt) and "planted" not in str(caught.value)
        await box.whoami(ben)
        box.connect(ann, secret=lambda _: "planted-second")
        await box.whoami(ann, secret="planted-second")


async def test_a_user_whose_connection_hangs_delays_no_other(
    connection: Database, database: str, port: int, tmp_path: Path
) -> None:
    """However many calls wait for it to open."""
    ann, ben = uuid4(), uuid4()
    held = tmp_path / f"held-{account(token(ann))}"
    held.touch()
    async with opened(database, connection, port) as box:
        box.connect(ann, ben)
        calls = [asyncio.create_task(box.whoami(ann)) for _ in range(MAX_OPENING + 4)]
        await apoll(lambda: len(box.users) == 1)
        await box.whoami(ben)
        assert not any(call.done() for call in calls)
        held.unlink()
        await asyncio.gather(*calls)


async def test_erasing_a_user_closes_the_connection(connection: Database, database: str, port: int) -> None:
    """Also one with a call in progress, whose effect is in doubt."""
    ann, ben = uuid4(), uuid4()
    async with opened(database, connection, port) as box:
        box.connect(ann, ben)
        await asyncio.gather(box.whoami(ann), box.whoami(ben))
        slow = asyncio.create_task(box.whoami(ann, 30.0))
        await asyncio.sleep(0.3)
        connection.execute("select maas_erase(%s)", (ann,))
        await apoll(lambda: len(box.users) == 1)
        with pytest.raises(ToolFailure):
            await slow
        with pytest.raises(ToolFailure, match="not connected"):
            await box.whoami(ann)
        await box.whoami(ben)


async def test_a_lost_server(connection: Database, database: str, port: int, tmp_path: Path) -> None:
    users = [uuid4() for _ in range(5)]
    other = free_port()
    process = serve(ACCOUNTS, other, tmp_path)
    try:
        async with opened(database, connection, other) as box:
            box.connect(*users)
            await asyncio.gather(*map(box.whoami, users))
            with pytest.raises(ToolDoubt, match="was lost during the call"):
                await box.call(users[0], "die")
            process.wait()
            with pytest.raises(ToolFailure, match="the server mail"):
                await box.whoami(users[1])
            process = serve(ACCOUNTS, other, tmp_path)
            await asyncio.gather(*map(box.whoami, users))
    finally:
        process.kill()
        process.wait()


async def test_an_idle_connection_ends(connection: Database, database: str, port: int) -> None:
    ann = uuid4()
    async with opened(database, connection, port, idle_seconds=0.5) as box:
        box.connect(ann)
        await box.whoami(ann, 1.5)  # a busy one is not idle
        await apoll(lambda: len(box.users) == 0)
        await box.whoami(ann)


async def test_the_least_recently_used_gives_its_place(
    connection: Database, database: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy one never does: a user for whom there is no place gets a failure, and no call is made."""
    monkeypatch.setattr("maas.tools.mcp_client.user_connections.PLACE_TIMEOUT_S", 0.5)
    first, second, third = uuid4(), uuid4(), uuid4()
    async with opened(database, connection, port, max_connections=2) as box:
        box.connect(first, second, third)
        for user in (first, second, first, third):
            await box.whoami(user)
        assert {place.user_id for place in box.users._open} == {first, third}
        busy = [asyncio.create_task(box.whoami(user, 2.0)) for user in (first, third)]
        await asyncio.sleep(0.2)
        with pytest.raises(ToolFailure, match="no place for one more user now"):
            await box.whoami(second)
        await asyncio.gather(*busy)
        await box.whoami(second)


async def test_a_token_never_comes_back(connection: Database, database: str, port: int) -> None:
    """Neither in data nor in errors nor in logs."""
    ann = uuid4()
    with capture_logs() as logs:
        async with opened(database, connection, port) as box:
            box.connect(ann)
            data = await box.call(ann, "confess")
            assert data["authorization"] == "Bearer ***"
            with pytest.raises(ToolFailure, match=r"refused: \*\*\*"):
                await box.call(ann, "complain")
            (place,) = box.users._open
            assert "planted" not in f"{place!r} {place.connection!r}"
    assert "planted" not in str(logs)


async def test_no_tools_without_an_account_for_the_list(connection: Database, database: str, port: int) -> None:
    """A list is not asked for with the token of a user, whose tools others would see."""
    async with opened(database, connection, port, list_headers={}) as box:
        assert len(box.toolbox.tools()) == 0
        assert "HTTP 401" in str(box.toolbox.causes()["mail"])
