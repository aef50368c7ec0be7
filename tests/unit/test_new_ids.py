"""shared.ids: ids that begin with their time."""

from __future__ import annotations

import time
from uuid import RFC_4122

from shared.ids import new_id


def test_an_id_begins_with_its_time() -> None:
    before = time.time_ns() // 1_000_000
    one = new_id()
    assert (one.version, one.variant) == (7, RFC_4122)
    assert before <= one.int >> 80 <= time.time_ns() // 1_000_000


def test_ids_of_one_time_differ() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_the_rest_is_drawn_by_chance() -> None:
    """Every bit but those of time, version and variant is set in some ids and not in others."""
    ids = [new_id().int for _ in range(200)]
    drawn = (1 << 76) - 1 & ~(0b11 << 62)
    ever, always = 0, drawn
    for one in ids:
        ever, always = ever | one, always & one
    assert ever & drawn == drawn and not always
