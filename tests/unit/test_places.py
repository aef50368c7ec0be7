"""Calls at once of one model: questions go first, the background is not starved, and who gives up leaves no gap."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from shared.models.places import MAX_QUESTIONS_IN_A_ROW, Places


async def serve(places: Places, kinds: str) -> str:
    """Ask for a place for each letter, `q` for questions, while the only one is taken; return the order of service."""
    order: list[str] = []

    async def call(kind: str) -> None:
        async with places.hold(kind == "q"):
            order.append(kind)
            await asyncio.sleep(0)

    async with places.hold(True):
        tasks = [asyncio.create_task(call(kind)) for kind in kinds]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    return "".join(order)


async def test_questions_go_first() -> None:
    assert await serve(Places(1), "bbqbq") == "qqbbb"


async def test_the_background_is_not_starved() -> None:
    many = MAX_QUESTIONS_IN_A_ROW
    order = await serve(Places(1), "b" + "q" * 2 * many)
    assert order == "q" * many + "b" + "q" * many


async def test_no_more_than_there_are() -> None:
    places, held, most = Places(2), 0, 0

    async def call() -> None:
        nonlocal held, most
        async with places.hold(True):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    await asyncio.gather(*(call() for _ in range(9)))
    assert most == 2


async def test_who_gives_up_leaves_no_gap() -> None:
    places = Places(1)
    async with places.hold(True):
        waiting = [asyncio.create_task(serve(places, "")) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        with suppress(asyncio.CancelledError):
            await waiting[0]
    await waiting[1]
    held = places.hold(True)
    async with asyncio.timeout(1), held:
        waiter = asyncio.create_task(serve(places, ""))
        await asyncio.sleep(0)
    waiter.cancel()  # at the moment at which it was lent its place
    with suppress(asyncio.CancelledError):
        await waiter
    async with asyncio.timeout(1), places.hold(False):
        pass
