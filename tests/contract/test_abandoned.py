"""An attempt that was given up is given up at the server, too: its connection ends before the next one begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from shared.models import ModelError
from shared.models.calls import complete
from tests.contract.dialects import Dialect, ask


class Nobody:
    """Takes up a stream."""

    def begin(self) -> None: ...

    def text(self, delta: str) -> None: ...


class Holding:
    """A server that answers nobody; `events` tells when requests began and connections ended."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.events.append("begun")
        while await reader.read(65_536):
            pass
        self.events.append("ended")
        writer.close()


@pytest.fixture
async def holding() -> AsyncIterator[Holding]:
    found = Holding()
    async with await asyncio.start_server(found.serve, "127.0.0.1", 0) as server:
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield found


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
async def test_the_next_attempt_finds_the_last_one_gone(dialect: Dialect, holding: Holding, is_streamed: bool) -> None:
    model, listener = dialect.open(holding.url), Nobody() if is_streamed else None
    with pytest.raises(ModelError) as caught:
        await complete(
            model,
            ask(),
            budget=9,
            attempt_timeout=0.3,
            first_delay=0.3,
            attempts=2,
            listener=listener,
        )
    assert (caught.value.code, caught.value.attempts) == ("timeout", 2)
    async with asyncio.timeout(5):
        while "begun" not in holding.events or len(holding.events) % 2:
            await asyncio.sleep(0.02)
    seen = len(holding.events) // 2  # one where the first attempt ended before it had connected
    assert holding.events == ["begun", "ended"] * seen and seen <= 2
    await model.close()


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
async def test_a_call_that_is_cancelled_ends_its_connection(
    dialect: Dialect, holding: Holding, is_streamed: bool
) -> None:
    model, listener = dialect.open(holding.url), Nobody() if is_streamed else None
    task = asyncio.create_task(complete(model, ask(), budget=9, attempt_timeout=9, listener=listener))
    async with asyncio.timeout(5):
        while not holding.events:
            await asyncio.sleep(0.02)
        task.cancel()
        while holding.events != ["begun", "ended"]:
            await asyncio.sleep(0.02)
    await model.close()
