"""Misspelt words of a question."""

from __future__ import annotations

import pytest

from maas.memory.spelling import is_repairable, repair

KNOWN = {"kayak": 3, "basketbal": 9, "палатк": 4, "палатн": 1, "dinner": 5}


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("kayka", "kayak"), ("basketabl", "basketbal"), ("baskebal", "basketbal"), ("палтак", "палатк"),
        ("dinnerr", "dinner"), ("палати", "палатк"),
    ],
)  # fmt: skip
def test_one_slip_is_mended(typo: str, meant: str) -> None:
    assert repair([typo], KNOWN) == {typo: meant}


def test_what_is_two_slips_away_is_another_word() -> None:
    assert repair(["kyyak1", "window", "kayaks and"], KNOWN) == {}


def test_short_words_and_numbers_mean_themselves() -> None:
    assert not is_repairable("cat") and not is_repairable("20231") and is_repairable("kayak")
