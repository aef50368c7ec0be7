"""What a number of users takes: sums that a person can do, and that more never takes less."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.simulation import simulate
from maas.capacity import Load, capacity_for
from maas.cli.capacity import size


def test_a_few_users_take_one_of_each() -> None:
    found = capacity_for(Load(users=100, runs_a_day=10))
    assert (found.databases, found.postgres_cores, found.orchestrators, found.servers) == (1, 1, 1, 1)
    assert found.connections == 24
    assert found.disk_bytes == pytest.approx(100 * 10 * 365 * 19_800)


def test_a_rate_that_is_known() -> None:
    """A tenth of 864,000 requests in an hour are 24 a second; with 4.5 s each, 108 are in flight: 3 times 38 places."""
    load = Load(users=86_400, runs_a_day=10, answer_s=4.5)
    found = capacity_for(load)
    assert (load.mean_rate, load.peak_rate) == (10, 24)
    assert (found.in_flight, found.orchestrators, found.databases) == (108, 3, 1)
    assert capacity_for(replace(load, answer_s=0)).orchestrators == 1


def test_one_queue_carries_some_2400_a_second() -> None:
    load = Load(users=2400 * 8640, runs_a_day=10, answer_s=0, busiest_hour=1 / 24)
    assert capacity_for(load).databases == 1
    found = capacity_for(replace(load, users=2401 * 8640))
    assert found.databases == 2 and found.servers >= 2


@pytest.mark.parametrize("users", [10_000, 1_000_000])
def test_what_is_planned_carries_half_as_much_again(users: int) -> None:
    """Played through: at and beyond the busiest hour runs wait for their models only."""
    load = Load(users, runs_a_day=10, answer_s=1)
    assert simulate(load, 1, seconds=10).p99 < 0.1
    assert simulate(load, 1.5, seconds=10).p99 < 1


def test_what_is_not_planned_waits() -> None:
    assert simulate(Load(1_000_000, runs_a_day=10, answer_s=1), 4, seconds=10).p99 > 1


loads = st.builds(
    Load,
    users=st.integers(1, 10**9),
    runs_a_day=st.floats(0.01, 1000),
    answer_s=st.floats(0, 600),
    busiest_hour=st.floats(0.01, 1),
    days=st.integers(1, 3650),
    has_embeddings=st.booleans(),
)


@given(loads, st.integers(1, 1000))
def test_more_users_never_take_less(load: Load, times: int) -> None:
    more = capacity_for(replace(load, users=load.users * times))
    assert all(a <= b for a, b in zip(astuple(capacity_for(load)), astuple(more), strict=True))


@pytest.mark.parametrize(
    ("bytes_", "text"), [(0, "0 B"), (999, "999 B"), (28_000, "28 kB"), (5.98e12, "5.98 TB"), (2e20, "200 EB")]
)
def test_sizes_are_read_by_people(bytes_: float, text: str) -> None:
    assert size(bytes_) == text
