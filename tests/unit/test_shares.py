"""The shares of a process: one user never holds all places, searches leave connections to other requests."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from maas.http.errors import STATUS, headers_of
from maas.http.shares import LONG_POOL_SIZE, MIN_REQUESTS_OF_ONE, Shares
from maas.runs.submit import LARGE_INSERT_TIMEOUT_S, MAX_LARGE_INSERTS
from maas.settings import load_settings
from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore

ANN, BOB = UUID(int=1), UUID(int=2)
ALONE = {"images"}  # of which there is one place: users take turns


def shares(**settings: Any) -> Shares:
    return Shares.of(load_settings(**settings))


@pytest.mark.parametrize(("name", "share"), [pytest.param(*one, id=one[0]) for one in shares().by_name()])
def test_one_user_never_holds_all_places(name: str, share: FairSemaphore) -> None:
    assert share.places_each < share.places or name in ALONE


@pytest.mark.parametrize("pool_size", [2, 3, 8, 200])
def test_searches_leave_connections_to_other_requests(pool_size: int) -> None:
    assert 1 <= shares(pool_size=pool_size).reads.places <= pool_size // 2


def test_the_documented_numbers() -> None:
    """Those of docs/security.md, but for the places that follow settings and for the share of `long_requests`."""
    text = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    documented = dict(re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]* \| [^|]* \| [^|]*) \|$", text, re.MULTILINE))
    large = (MAX_LARGE_INSERTS, MAX_LARGE_INSERTS, LARGE_INSERT_TIMEOUT_S)
    numbers = {name: (one.places, one.places_each, one.wait_s) for name, one in shares().by_name()}
    for name, (places, each, wait_s) in {**numbers, "long_requests": large}.items():
        expected = [str(places), str(each), f"{wait_s:.0f} s" if wait_s else "-"]
        found = documented.pop(name).split(" | ")
        settings = 2 if name in ("requests", "streams", "provider_calls") else 1 if name in ("reads", "recalls") else 0
        assert found[settings:] == expected[settings:], name
    assert documented == {}


def test_work_on_all_data_of_users_always_finds_a_connection_of_its_pool() -> None:
    one = shares()
    assert one.exports.places + one.imports.places + one.deletions.places == LONG_POOL_SIZE


def test_a_small_process_serves_everybody() -> None:
    one = shares(connections=20, followers=1)
    assert (one.requests.places_each, one.streams.places_each) == (MIN_REQUESTS_OF_ONE, 1)


def test_a_user_is_refused_beyond_the_share_and_others_are_not() -> None:
    streams = shares(followers=30).streams
    with ExitStack() as stack:
        for owner in (*[ANN] * 3, BOB, *(object() for _ in range(26))):
            stack.enter_context(streams.hold_now(owner))
        refusals = []
        for owner in (ANN, object()):
            with pytest.raises(MaasError) as refused, streams.hold_now(owner):
                pass
            refusals.append((STATUS[refused.value.code], refused.value.code, headers_of(refused.value)))
    assert refusals == [(429, "share_used", {"Retry-After": "1"}), (503, "busy", {"Retry-After": "1"})]
    with streams.hold_now(ANN):
        assert streams.used == 1
