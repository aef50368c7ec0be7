"""Rate limits refill with time, and cached look-ups expire after a second."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.http import auth, state
from maas.http.auth import TTLCache
from maas.http.routes import all_routes
from maas.http.state import RateLimiter
from shared.errors import MaasError
from shared.log import mask
from tests.http_calls import user_field

ROOT = Path(__file__).resolve().parents[2]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(buckets: RateLimiter, name: str, per_minute: int) -> bool:
    try:
        buckets.take(name, per_minute, "this key")
    except MaasError as error:
        assert error.code == "rate_limited" and error.details is not None
        assert error.details["retry_after"] >= 1
        return False
    return True


def test_a_bucket_holds_a_minute_and_fills_steadily() -> None:
    clock = Clock()
    buckets = RateLimiter(clock)
    assert [taken(buckets, "a", 6) for _ in range(8)] == [True] * 6 + [False] * 2
    clock.now += 9.9
    assert not taken(buckets, "a", 6) and taken(buckets, "b", 6)
    clock.now += 0.1
    assert [taken(buckets, "a", 6) for _ in range(2)] == [True, False]
    clock.now += 3600
    assert [taken(buckets, "a", 6) for _ in range(8)] == [True] * 6 + [False] * 2


@given(st.integers(1, 1000), st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_never_more_than_the_bucket_and_what_filled_it(per_minute: int, pauses: list[float]) -> None:
    """A client that waits for `retry_after` seconds is not refused."""
    clock = Clock()
    buckets, began, through = RateLimiter(clock), clock.now, 0
    for pause in pauses:
        clock.now += pause
        through += taken(buckets, "a", per_minute)
        assert through <= per_minute + (clock.now - began) * per_minute / 60 + 1e-6
    while taken(buckets, "a", per_minute):
        pass
    with pytest.raises(MaasError) as caught:
        buckets.take("a", per_minute, "this key")
    assert caught.value.details is not None
    clock.now += caught.value.details["retry_after"]
    assert taken(buckets, "a", per_minute)


def test_the_number_of_buckets_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used bucket is dropped first."""
    monkeypatch.setattr(state, "MAX_RATE_BUCKETS", 3)
    buckets = RateLimiter(Clock())
    assert taken(buckets, "old", 1) and taken(buckets, "busy", 1)
    for number in range(50):
        taken(buckets, str(number), 1)
        assert not taken(buckets, "busy", 1)
    assert len(buckets._full_at) == 3 and taken(buckets, "old", 1)


async def test_concurrent_look_ups_are_one_and_a_failure_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "MAX_CACHE_ENTRIES", 3)
    clock, keys = Clock(), list[str]()

    async def look_up(key: str) -> str:
        keys.append(key)
        await asyncio.sleep(0)
        if len(keys) == 1:
            raise ConnectionError
        return f"{key} {len(keys)}"

    cache = TTLCache(look_up, clock)
    results = await asyncio.gather(*(cache.get("a") for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in results] == [ConnectionError] * 5 and keys == ["a"]
    assert await asyncio.gather(*(cache.get("a") for _ in range(5))) == ["a 2"] * 5
    clock.now += auth.CACHE_TTL_S - 0.01
    assert await cache.get("a") == "a 2"
    clock.now += 0.01
    assert await cache.get("a") == "a 3"
    for number in range(20):
        await cache.get(str(number))
    assert len(cache._entries) == 3 and await cache.get("a") == "a 24"


async def test_a_cancelled_waiter_does_not_cancel_the_look_up() -> None:
    """The look-up continues for the others when the first waiter is cancelled."""
    gate = asyncio.Event()

    async def look_up(key: str) -> str:
        await gate.wait()
        return key

    cache = TTLCache(look_up)
    first, second = asyncio.create_task(cache.get("a")), asyncio.create_task(cache.get("a"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await second == "a" and first.cancelled()


@pytest.mark.parametrize(
    "text", ["X-API-Key: maas_a1c9e7b3d5f2_{}", "maas_a1c9e7b3d5f2_{} maas_a1c9e7b3d5f2_{}", "eyJhbGciOi.{}.{}"]
)
def test_keys_and_tokens_are_masked(text: str) -> None:
    assert "deadbeef" not in mask(text.replace("{}", "deadbeef" * 8))


def scopes_of_all_routes() -> str:
    """The rows of the table in docs/access.md."""
    lines = []
    for route in all_routes():
        owns = [f"the {route.resource}"] if route.resource else []
        owns += [f"`{field}`"] if (field := user_field(route)) else []
        lines.append(f"| `{route.method} {route.path}` | {route.scope} | {', '.join(owns)} |\n")
    return "".join(lines)


def test_the_page_lists_every_route() -> None:
    """docs/access.md; what is missing there is what this prints."""
    assert scopes_of_all_routes() in (ROOT / "docs" / "access.md").read_text()
