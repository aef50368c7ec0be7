"""Replies of the Analyzer's model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.prompting.analysis import MAX_KEYWORDS, Choice, parse_choice

LABELS = ("#alma-porto", "#dentist")
WHOLE = {
    "needs_context": True,
    "context_type": "NEED_CONTEXT",
    "time_scope": "cold",
    "search_keywords": ["dentist"],
    "context_found": {"period": "x", "summary": "y", "relevance_score": 17, "lsm_record_id": "#dentist"},
}


@pytest.mark.parametrize("wrapping", ["{}", "```json\n{}\n```", "Sure! {} Anything else?", "<think>{ hm</think>{}"])
def test_the_three_fields(wrapping: str) -> None:
    reply = json.dumps({"about": "person", "record": "#dentist", "keywords": ["dentist", " date\n "]})
    assert parse_choice(wrapping.replace("{}", reply), LABELS) == Choice(True, "#dentist", ("dentist", "date"))


@pytest.mark.parametrize("record", ["none", "", None, 7, "#stranger", "8f7c1a6e-2c39", ["#dentist"]])
def test_a_record_that_was_not_shown_is_none(record: object) -> None:
    reply = json.dumps({"about": "Person ", "record": record, "keywords": "dentist"})
    assert parse_choice(reply, LABELS) == Choice(True, None)


@pytest.mark.parametrize("cut", ['["dentist", "appo', "[", '["a","b"'])
def test_a_reply_that_is_cut_in_its_keywords_is_read_up_to_there(cut: str) -> None:
    assert parse_choice('{"about": "person",\n "record": "#dentist", "keywords": ' + cut, LABELS) == Choice(
        True, "#dentist"
    )


def test_the_whole_result_is_read_too() -> None:
    """Prompts of operators ask for it."""
    assert parse_choice(json.dumps(WHOLE), LABELS) == Choice(True, "#dentist", ("dentist",), 1.0)
    nothing = {"needs_context": False, "context_type": "GENERAL", "context_found": None}
    assert parse_choice(json.dumps(nothing), LABELS) == Choice(False, None, (), 0.0)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "no JSON object"),
        ("I would rather not.", "no JSON object"),
        ('{"about": "perso', "no JSON object"),
        ('{"about": "dentist", "record": "none", "keywords": []}', "about"),
        ('{"record": "#dentist"}', "about"),
        ('{"needs_context": 5}', "needs_context"),
    ],
)
def test_what_cannot_be_used_says_why(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_choice(reply, LABELS)


@given(
    st.text()
    | st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda one: (
            st.dictionaries(st.sampled_from(["about", "record", "keywords", "needs_context", "x"]), one) | st.lists(one)
        ),
        max_leaves=8,
    ).map(json.dumps)
)
def test_whatever_a_model_says_is_read_or_refused(reply: str) -> None:
    try:
        choice = parse_choice(reply, LABELS)
    except ValueError:
        return
    assert choice.label in (None, *LABELS) and len(choice.keywords) <= 8
    assert choice.relevance is None or 0 <= choice.relevance <= 1


def test_long_keywords_are_cut() -> None:
    reply = json.dumps({"about": "world", "record": "none", "keywords": ["word " * 1000] * 50})
    assert [len(one) for one in parse_choice(reply, LABELS).keywords] == [100] * MAX_KEYWORDS
