"""Waiting with a deadline."""

from __future__ import annotations

import pytest

from tests.polling import NotWithin, apoll, poll


def test_returns_the_first_true_value() -> None:
    values = iter([0, "", 3])
    assert poll(lambda: next(values)) == 3


def test_names_what_did_not_happen() -> None:
    with pytest.raises(NotWithin, match=r"not within 0 s: a light is on; last value 0"):
        poll(lambda: 0, 0, "a light is on")
    with pytest.raises(NotWithin, match=r"lambda: 1 > 2"):
        poll(lambda: 1 > 2, 0)


async def test_takes_coroutines_and_functions() -> None:
    values = iter([0, 5])

    async def attempt() -> int:
        return next(values)

    assert await apoll(attempt) == 5
    assert await apoll(lambda: 6) == 6
    with pytest.raises(NotWithin):
        await apoll(lambda: 0, 0)
