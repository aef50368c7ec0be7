"""Buckets that fill by the clock, and answers that are kept for a second."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.http import lately, rates
from maas.http.doors import DOORS
from maas.http.lately import Lately
from maas.http.rates import Rates
from shared.errors import MaasError
from shared.log import mask
from tests.http_calls import user_field

ROOT = Path(__file__).resolve().parents[2]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(buckets: Rates, name: str, per_minute: int) -> bool:
    try:
        buckets.take(name, per_minute, "this key")
    except MaasError as error:
        assert error.code == "rate_limited" and error.details is not None
        assert error.details["retry_after"] >= 1
        return False
    return True


def test_a_bucket_holds_a_minute_and_fills_steadily() -> None:
    clock = Clock()
    buckets = Rates(clock)
    assert [taken(buckets, "a", 6) for _ in range(8)] == [True] * 6 + [False] * 2
    clock.now += 9.9
    assert not taken(buckets, "a", 6) and taken(buckets, "b", 6)
    clock.now += 0.1
    assert [taken(buckets, "a", 6) for _ in range(2)] == [True, False]
    clock.now += 3600
    assert [taken(buckets, "a", 6) for _ in range(8)] == [True] * 6 + [False] * 2


@given(st.integers(1, 1000), st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_never_more_than_the_bucket_and_what_filled_it(per_minute: int, pauses: list[float]) -> None:
    """And who waits as long as they were told is let through."""
    clock = Clock()
    buckets, began, through = Rates(clock), clock.now, 0
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


def test_strangers_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was silent for the longest is forgotten first."""
    monkeypatch.setattr(rates, "MOST", 3)
    buckets = Rates(Clock())
    assert taken(buckets, "old", 1) and taken(buckets, "busy", 1)
    for number in range(50):
        taken(buckets, str(number), 1)
        assert not taken(buckets, "busy", 1)
    assert len(buckets._full_at) == 3 and taken(buckets, "old", 1)


async def test_many_share_one_look_and_a_failure_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lately, "MOST", 3)
    clock, asked = Clock(), list[str]()

    async def look_up(key: str) -> str:
        asked.append(key)
        await asyncio.sleep(0)
        if len(asked) == 1:
            raise ConnectionError
        return f"{key} {len(asked)}"

    kept = Lately(look_up, clock)
    lost = await asyncio.gather(*(kept.get("a") for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in lost] == [ConnectionError] * 5 and asked == ["a"]
    assert await asyncio.gather(*(kept.get("a") for _ in range(5))) == ["a 2"] * 5
    clock.now += lately.FOR - 0.01
    assert await kept.get("a") == "a 2"
    clock.now += 0.01
    assert await kept.get("a") == "a 3"
    for number in range(20):
        await kept.get(str(number))
    assert len(kept._kept) == 3 and await kept.get("a") == "a 24"


async def test_who_leaves_takes_nobody_along() -> None:
    """The look goes on for the others when the first who asked is cancelled."""
    gate = asyncio.Event()

    async def look_up(key: str) -> str:
        await gate.wait()
        return key

    kept = Lately(look_up)
    first, second = asyncio.create_task(kept.get("a")), asyncio.create_task(kept.get("a"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert await second == "a" and first.cancelled()


@pytest.mark.parametrize(
    "text", ["X-API-Key: maas_0123456789ab_{}", "maas_0123456789ab_{} maas_0123456789ab_{}", "eyJhbGciOi.{}.{}"]
)
def test_keys_and_tokens_are_masked(text: str) -> None:
    assert "deadbeef" not in mask(text.replace("{}", "deadbeef" * 8))


def scopes_of_all_doors() -> str:
    """The rows of the table in docs/access.md."""
    lines = []
    for door in DOORS:
        owns = [f"the {door.owned}"] if door.owned else []
        owns += [f"`{field}`"] if (field := user_field(door)) else []
        lines.append(f"| `{door.method} {door.path}` | {door.scope} | {', '.join(owns)} |\n")
    return "".join(lines)


def test_the_page_lists_every_door() -> None:
    """docs/access.md; what is missing there is what this prints."""
    assert scopes_of_all_doors() in (ROOT / "docs" / "access.md").read_text()
