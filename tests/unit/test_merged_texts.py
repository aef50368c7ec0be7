"""What is used of a Compactor's reply: it can lose no day, whatever it says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.builtin_model.day_texts import count_words, cut_words, join_days, split_days
from maas.builtin_model.merged_texts import DayRecords, MergedReply, word_limit

FIRST, SECOND, THIRD = "2026-08-03", "2026-08-04", "2026-08-05"
WEEK = DayRecords.of(
    [
        (FIRST, FIRST, "Ann sold the piano to Ruben for 900 crowns."),
        (SECOND, SECOND, "Ann bought a boat. The boat is called Selma."),
        (THIRD, THIRD, "The boat leaks."),
    ],
    10_000,
    100,
)
GOOD = {FIRST: "Ann sold the piano to Ruben for 900.", SECOND: "Ann bought the boat Selma.", THIRD: "The boat leaks."}


def days_of(text: str) -> dict[str, str]:
    return split_days(text)[1]


def test_a_good_reply_is_taken_word_for_word() -> None:
    assert MergedReply(WEEK, 100).parse(json.dumps(GOOD)) == (join_days(GOOD), ())


@pytest.mark.parametrize("bad", ["", " ", "Мы говорили о лодке.", "Lorem ipsum dolor.", None, 7, ["The boat leaks."]])
def test_a_day_without_a_usable_text_keeps_its_own(bad: object) -> None:
    """Left out, empty, in another language or about something else."""
    reply = json.dumps(GOOD | {SECOND: bad} if bad is not None else {FIRST: GOOD[FIRST], THIRD: GOOD[THIRD]})
    text, left_out = MergedReply(WEEK, 100).parse(reply)
    assert left_out == (SECOND,)
    assert days_of(text) == GOOD | {SECOND: "Ann bought a boat. The boat is called Selma."}


def test_a_text_of_another_day_is_not_taken() -> None:
    """Small models write the first days into one field and go on from there."""
    shifted = {
        FIRST: f"{GOOD[FIRST]} {GOOD[SECOND]}",
        SECOND: "Ann sold the piano to Ruben for 900.",
        THIRD: GOOD[THIRD],
    }
    text, left_out = MergedReply(WEEK, 100).parse(json.dumps(shifted))
    assert left_out == (SECOND,) and days_of(text)[SECOND].startswith("Ann bought a boat.")


@pytest.mark.parametrize(
    "reply", ["I would rather not.", "{}", '{"summary": " "}', '{"2020-01-01": "The boat leaks."}', "[1]"]
)
def test_a_reply_without_any_is_refused(reply: str) -> None:
    with pytest.raises(ValueError, match="there is no"):
        MergedReply(WEEK, 100).parse(reply)


def test_what_is_too_long_is_refused_once_then_cut_by_day() -> None:
    reader = MergedReply(WEEK, 30)
    chatty = json.dumps({day: f"{text} {'The boat is nice. ' * 200}" for day, text in GOOD.items()})
    with pytest.raises(ValueError, match=r"too long by \d{3} words: shorten all days alike, to 30 words in all"):
        reader.parse(chatty)
    text, left_out = reader.parse(chatty)
    assert list(days_of(text)) == list(GOOD) and left_out == ()
    assert sum(map(count_words, days_of(text).values())) <= 30
    assert "900" in text and "Selma" in text


def test_a_repair_that_is_worse_does_not_replace_what_was_too_long() -> None:
    reader = MergedReply(WEEK, 20)
    with pytest.raises(ValueError, match="too long"):
        reader.parse(json.dumps(GOOD | {THIRD: "The boat leaks. " * 50}))
    assert list(days_of(reader.parse("Sorry.")[0])) == list(GOOD)


def test_prose_that_names_no_day_stands_before_the_days_own_texts() -> None:
    """As prompts of operators may still ask for it."""
    text, left_out = MergedReply(WEEK, 100).parse(json.dumps({"summary": "Ann sold a piano and has a boat now."}))
    assert text.startswith("Ann sold a piano and has a boat now. 2026-08-03: ") and len(left_out) == 3
    assert list(days_of(text)) == list(GOOD)


def test_prose_that_names_its_days_is_read_by_day() -> None:
    assert MergedReply(WEEK, 100).parse(json.dumps({"summary": join_days(GOOD)})) == (join_days(GOOD), ())


def test_one_day_needs_no_date() -> None:
    day = DayRecords.of([(FIRST, FIRST, "Ann sold the piano."), (FIRST, FIRST, "Ann bought a boat.")], 10_000, 100)
    assert day.fields == ["summary"]
    assert MergedReply(day, 50).parse('{"summary": "Ann sold the piano."}') == ("Ann sold the piano.", ())


def test_a_date_in_a_text_is_no_day_of_it() -> None:
    """A user may write as our summaries do."""
    records = DayRecords.of([(FIRST, FIRST, f"Ann noted: {THIRD}: boat."), (SECOND, SECOND, "Ann rests.")], 10_000, 100)
    assert list(records.days) == [FIRST, SECOND] and list(records.by_rule(50)) == [FIRST, SECOND]
    text, left_out = MergedReply(records, 50).parse(json.dumps({FIRST: f"{THIRD}: boat.", SECOND: "Ann rests."}))
    assert list(days_of(text)) == [FIRST, SECOND] and left_out == ()


def test_a_week_is_read_by_its_days() -> None:
    records = DayRecords.of([(FIRST, THIRD, join_days(GOOD)), ("2026-08-10", "2026-08-10", "Ann rests.")], 10_000, 100)
    assert list(records.days) == [*GOOD, "2026-08-10"]


def test_limits_grow_with_what_is_covered() -> None:
    for level in (1, 2, 3):
        limits = [word_limit(level, messages, days) for messages, days in ((2, 1), (40, 7), (120, 30), (10_000, 31))]
        assert limits == sorted(limits) and limits[0] < limits[1] < limits[2]


@given(st.text(max_size=300), st.integers(2, 30))
def test_cut_texts_keep_the_limit(text: str, limit: int) -> None:
    assert count_words(cut_words(text, limit)) <= limit + 1


@given(
    st.one_of(
        st.text(max_size=200),
        st.dictionaries(st.sampled_from([*GOOD, "summary", "2020-01-01"]), st.text(max_size=200)).map(json.dumps),
    ),
    st.sampled_from([json.dumps(GOOD), "", json.dumps({"summary": "Ann. " * 400})]),
)
def test_no_reply_loses_a_day(first: str, second: str) -> None:
    reader = MergedReply(WEEK, 40)
    for reply in (first, second):
        try:
            text, _ = reader.parse(reply)
        except ValueError:
            continue
        assert set(days_of(text)) == set(GOOD)
