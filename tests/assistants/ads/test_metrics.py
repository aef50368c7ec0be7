"""Metrics of advertising: definitions, boundaries of tiers, the order of importance."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.assistants.ads.metrics import (
    DEFINITIONS,
    Figures,
    compare_to_target,
    cpl,
    cpm,
    ctr,
    qcpl,
    rank,
    rate,
    roi,
    rounded,
    tier,
)

D = Decimal
TARGET = D(10)


def test_metrics_are_what_their_definitions_say() -> None:
    assert roi(D(250), D(100)) == 150
    assert qcpl(D(100), 4) == 25
    assert cpl(D(100), 8) == D("12.5")
    assert cpm(D(5), 2000) == D("2.5")
    assert ctr(3, 200) == D("1.5")
    assert rounded(rate(4, 75)) == 5.33
    assert compare_to_target(D(12), D(10)) == 20
    assert compare_to_target(D(7), D(10)) == -30


def test_a_denominator_of_zero_gives_none() -> None:
    assert [roi(D(250), D(0)), qcpl(D(1), 0), cpl(D(1), 0), cpm(D(1), 0), ctr(1, 0), rate(0, 0)] == [None] * 6
    assert roi(None, D(100)) is None
    assert [compare_to_target(D(1), D(0)), compare_to_target(None, D(1)), compare_to_target(D(1), None)] == [None] * 3


def test_nothing_earned_is_a_total_loss() -> None:
    assert roi(D(0), D(100)) == -100


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("150.01", "A"),
        ("150", "B"),
        ("149.99", "B"),
        ("100", "B"),
        ("99.99", "C"),
        ("50", "C"),
        ("49.99", "D"),
        ("0", "D"),
        ("-100", "D"),
    ],
)
def test_tiers_by_roi(value: str, name: str) -> None:
    assert tier(D(value), None, None).name == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("0", "A"),
        ("6.99", "A"),
        ("7", "B"),
        ("9.99", "B"),
        ("10", "C"),
        ("13", "C"),
        ("15", "C"),
        ("15.01", "D"),
    ],
)
def test_tiers_by_qcpl(value: str, name: str) -> None:
    assert tier(None, D(value), TARGET).name == name


@pytest.mark.parametrize(
    ("roi_value", "qcpl_value", "name", "conflict", "advice"),
    [
        ("200", "5", "A", False, "scale"),
        ("200", "8", "A", False, "scale"),
        ("200", "12", "A", True, "review"),
        ("200", "20", "A", True, "review"),
        ("120", "20", "B", True, "review"),
        ("120", "8", "B", False, "keep"),
        ("60", "12", "C", False, "test"),
        ("10", "5", "A", True, "review"),
        ("10", "20", "D", False, "optimise"),
    ],
)
def test_the_better_tier_counts_but_a_conflict_is_never_scaled(
    roi_value: str, qcpl_value: str, name: str, conflict: bool, advice: str
) -> None:
    found = tier(D(roi_value), D(qcpl_value), TARGET)
    assert (found.name, found.conflict, found.advice) == (name, conflict, advice)


def test_without_data_there_is_no_tier() -> None:
    for nothing in (tier(None, None, TARGET), tier(None, D(5), None), tier(None, D(5), D(0))):
        assert nothing.shown() == {"tier": None, "tier_by": None, "conflict": False, "advice": None}


@pytest.mark.parametrize(
    ("roi_value", "cpl_value", "name", "by", "advice"),
    [(None, "2", "B", "cpl", "keep"), ("200", "9", "A", "roi", "scale"), ("10", "2", "B", "cpl", "review")],
)
def test_a_cheap_lead_alone_is_never_scaled(
    roi_value: str | None, cpl_value: str, name: str, by: str, advice: str
) -> None:
    found = tier(None if roi_value is None else D(roi_value), D(cpl_value), TARGET, "cpl")
    assert (found.name, found.by, found.advice) == (name, by, advice)


def test_a_cheap_lead_is_not_a_good_creative() -> None:
    """CPL 3 with QCPL 5 stands before CPL 2 with QCPL 10."""
    assert rank(None, D(5), D(3)) < rank(None, D(10), D(2))


def test_ten_hot_leads_stand_before_a_hundred_cold_ones() -> None:
    spend = D(100)
    hot, cold = rank(None, qcpl(spend, 10), cpl(spend, 10)), rank(None, qcpl(spend, 0), cpl(spend, 100))
    assert hot < cold


def test_return_counts_before_the_cost_of_leads() -> None:
    assert rank(D(120), D(10), D(5)) < rank(D(110), D(1), D(1)) < rank(None, D(1), D(1))
    assert rank(D(120), D(10), D(4)) < rank(D(120), D(10), D(5)) < rank(D(120), D(10), None)


def test_figures_add_up_before_they_are_divided() -> None:
    both = Figures(D(10), 1000, 10, 1) + Figures(D(20), 3000, 10, 4)
    assert both.shown() == {
        "spend": 30.0,
        "impressions": 4000,
        "clicks": 20,
        "leads": 5,
        "cpl": 6.0,
        "cpm": 7.5,
        "ctr": 0.5,
    }
    assert Figures().shown()["cpl"] is None


def test_numbers_are_rounded_once_and_halves_go_up() -> None:
    assert rounded(D("2.675")) == 2.68
    assert rounded(D("-2.675")) == -2.68
    assert rounded(D(1) / 3) == 0.33
    assert rounded(None) is None
    assert rounded(D(10) ** 40) == 1e40


def test_every_shown_metric_is_defined() -> None:
    assert {"cpl", "cpm", "ctr"} <= Figures().shown().keys() & DEFINITIONS.keys()


AMOUNTS = st.decimals(-(10**12), 10**12, places=4)


@given(st.none() | AMOUNTS, st.none() | AMOUNTS, st.none() | AMOUNTS)
def test_no_number_raises(first: Decimal | None, second: Decimal | None, third: Decimal | None) -> None:
    found = tier(first, second, third)
    assert (found.name is None) == (found.advice is None)
    assert rank(first, second, third) <= rank(first, second, third)
    compare_to_target(first, second)
    roi(first, D(0) if second is None else second)
