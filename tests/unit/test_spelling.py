"""Misspelt words of a question."""

from __future__ import annotations

import pytest

from maas.memory.spelling import count_lexemes, is_repairable, likely_prefixes, repair_terms, swaps

KNOWN = {"kayak": 3, "basketbal": 9, "палатк": 4, "палатн": 1, "dinner": 5}


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("kayka", "kayak"),
        ("basketabl", "basketbal"),
        ("baskebal", "basketbal"),
        ("палтак", "палатк"),
        ("dinnerr", "dinner"),
        ("палати", "палатк"),
    ],
)
def test_one_slip_is_mended(typo: str, meant: str) -> None:
    assert repair_terms({typo: ()}, KNOWN) == {typo: meant}


def test_what_is_two_slips_away_is_another_word() -> None:
    assert repair_terms({"kyyak1": (), "window": (), "kayaks and": ()}, KNOWN) == {}


def test_short_words_numbers_and_frequent_words_mean_themselves() -> None:
    for word in ("cat", "20231", "kayak", "february", "mentioned", "politics"):
        assert not is_repairable(word)
    for typo in ("kayka", "febuary", "mnetioned", "плаатка"):
        assert is_repairable(typo)


def test_two_letters_in_the_wrong_order_mend_a_stem_that_was_cut_elsewhere() -> None:
    assert "running" in swaps("rnuning") and "rnuning" not in swaps("rnuning")
    assert repair_terms({"rnune": ("run", "rnunin")}, {"run": 4, "dinner": 5}) == {"rnune": "run"}
    assert repair_terms({"capm": ("camp",)}, {"camp": 2}) == {"capm": "camp"}
    assert repair_terms({"capm": ()}, {"camp": 2}) == {}  # a stem this short is mended by its word alone


def test_what_was_meant_may_begin_otherwise() -> None:
    for typo, meant in (("kayka", "kayak"), ("akyak", "kayak"), ("kyaak", "kayak"), ("xkayak", "kayak")):
        assert meant[:2] in likely_prefixes(typo)


def test_lexemes_are_read_from_what_postgres_prints() -> None:
    texts = [r"'#time' 'kayak' 'don''t' 'c:\\\\x'", "'kayak' 'kayaking' 'катер'"]
    assert count_lexemes(texts, ["ka", "ка", "(?"], 6) == {"kayak": 2, "катер": 1}
