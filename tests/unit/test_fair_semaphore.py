"""FairSemaphore: a share for each owner, turns among those that wait, bounded waiting, nothing lost by cancelling."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore

LONG_S = 30.0


async def take_turns() -> None:
    """Let every coroutine that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_owner_takes_its_share_and_no_more() -> None:
    exports = FairSemaphore("exports", 2, 1, 0)
    async with exports.hold("ann"):
        with pytest.raises(MaasError, match="exports: at most one at a time") as refused:
            await exports.acquire("ann")
        assert refused.value.code == "share_used"
        assert refused.value.details == {"retry_after": 1}
        async with exports.hold("bob"):
            with pytest.raises(MaasError) as full:
                await exports.acquire("carl")
            assert full.value.code == "busy"
    async with exports.hold("ann"):
        assert (exports.used, exports.waiting, exports.refused) == (1, 0, 2)


async def test_owners_that_wait_are_served_in_turn() -> None:
    reads = FairSemaphore("reads", 1, 1, LONG_S)
    served: list[str] = []

    async def read(owner: str) -> None:
        async with reads.hold(owner):
            served.append(owner)
            await asyncio.sleep(0)

    await reads.acquire("ann")
    tasks = [asyncio.create_task(read(owner)) for owner in ["ann"] * 4 + ["bob"] * 2 + ["carl"]]
    await take_turns()
    assert reads.waiting == 7
    reads.release("ann")
    await asyncio.gather(*tasks)
    assert served == ["ann", "bob", "carl", "ann", "bob", "ann", "ann"]


async def test_a_full_share_lets_others_pass() -> None:
    reads = FairSemaphore("reads", 3, 2, LONG_S)
    await reads.acquire("ann")
    await reads.acquire("ann")
    third = asyncio.create_task(reads.acquire("ann"))
    await take_turns()
    await asyncio.wait_for(reads.acquire("bob"), 1)
    assert not third.done()
    reads.release("ann")
    await asyncio.wait_for(third, 1)
    assert reads.used == 3


async def test_waiting_ends() -> None:
    reads = FairSemaphore("reads", 1, 1, 0.01)
    await reads.acquire("ann")
    with pytest.raises(MaasError, match="all slots") as refused:
        await reads.acquire("bob")
    assert refused.value.code == "busy"
    assert reads.waiting == 0
    with pytest.raises(MaasError, match="one at a time"):
        await reads.acquire("ann")


async def test_one_owner_does_not_fill_the_queue() -> None:
    reads = FairSemaphore("reads", 1, 1, LONG_S, waiting_each=2)
    await reads.acquire("ann")
    tasks = [asyncio.create_task(reads.acquire("ann")) for _ in range(2)]
    await take_turns()
    with pytest.raises(MaasError, match="one at a time"):
        await reads.acquire("ann")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert reads.waiting == 0


async def test_a_place_that_was_lent_to_a_cancelled_caller_is_lent_again() -> None:
    reads = FairSemaphore("reads", 1, 1, LONG_S)
    await reads.acquire("ann")
    bob, carl = (asyncio.create_task(reads.acquire(owner)) for owner in ("bob", "carl"))
    await take_turns()
    reads.release("ann")  # bob's now
    bob.cancel()
    with suppress(asyncio.CancelledError):
        await bob
    await asyncio.wait_for(carl, 1)
    assert reads.used == 1


async def test_a_place_can_be_asked_for_without_waiting() -> None:
    streams = FairSemaphore("event streams", 2, 1, LONG_S)
    with streams.hold_now("ann"), pytest.raises(MaasError, match="one at a time"), streams.hold_now("ann"):
        raise AssertionError
    with streams.hold_now("ann"):
        assert streams.used == 1


@given(
    places=st.integers(1, 4),
    each=st.integers(1, 4),
    owners=st.lists(st.sampled_from("abcd"), max_size=30),
    cancelled=st.sets(st.integers(0, 29)),
)
async def test_the_limits_hold_and_everybody_is_served(
    places: int, each: int, owners: list[str], cancelled: set[int]
) -> None:
    semaphore = FairSemaphore("reads", places, each, LONG_S)
    held: Counter[str] = Counter()

    async def work(owner: str) -> None:
        async with semaphore.hold(owner):
            held[owner] += 1
            try:
                assert held.total() <= places
                assert held[owner] <= each
                await asyncio.sleep(0)
            finally:
                held[owner] -= 1

    tasks = [asyncio.create_task(work(owner)) for owner in owners]
    await asyncio.sleep(0)
    for n in cancelled:
        if n < len(tasks):
            tasks[n].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert not [one for one in results if isinstance(one, Exception)]
    assert (semaphore.used, semaphore.waiting) == (0, 0)
