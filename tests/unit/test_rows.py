"""Results that are too long: whole rows are left out, counted, and no number or JSON is cut in the middle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maas.tools.rows import fit_members, fit_rows, how_to_see_the_rest, merged, size

ROWS = [{"id": f"{number}", "name": f"Кампания {number}", "spend": 1234.56 + number} for number in range(100)]
JSON = st.recursive(
    st.text(max_size=200)
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.none(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=12), inner, max_size=12),
    max_leaves=60,
)


def numbers(value: Any) -> set[float]:
    """All numbers that stand in a JSON value."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()
    return found.union(*map(numbers, parts))


@settings(max_examples=300, deadline=None)
@given(JSON, st.integers(2, 3000))
def test_what_is_kept_is_whole(value: Any, limit: int) -> None:
    fitted, left_out = fit_rows(value, limit)
    assert fitted is None or size(fitted) <= limit
    assert numbers(fitted) <= numbers(value)
    assert fitted == value or left_out
    assert (fitted == value) == (size(value) <= limit) or fitted is None


@pytest.mark.parametrize("names", [("campaigns",), ("report", "campaigns")])
def test_rows_are_left_out_and_counted(names: tuple[str, ...]) -> None:
    """However deep they are; what stands beside them is kept."""
    data: Any = ROWS
    for name in reversed(names):
        data = {name: data, "total": {"spend": 128406.0}, "note": "of all campaigns"}
    fitted, left_out = fit_rows(data, 2000)
    rows = fitted
    for name in names:
        assert rows["total"] == {"spend": 128406.0}
        rows = rows[name]
    assert rows == ROWS[: len(rows)] and len(rows) > 10
    assert left_out == {".".join(names): {"rows": 100 - len(rows), "of": 100}}


def test_two_cuts_are_counted_as_one() -> None:
    once, first = fit_rows(ROWS, 4000)
    twice, second = fit_rows(once, 1000)
    assert merged(first, second) == {"data": {"rows": 100 - len(twice), "of": 100}}


def test_members_of_one_form_are_rows() -> None:
    days = {f"2026-10-{day:02}": {"spend": 1000.5 + day, "leads": day} for day in range(1, 32)}
    fitted, left_out = fit_rows({"days": days, "currency": "USD"}, 500)
    assert fitted["currency"] == "USD" and list(fitted["days"].items()) == list(days.items())[: len(fitted["days"])]
    assert left_out == {"days": {"rows": 31 - len(fitted["days"]), "of": 31}}


def test_a_long_text_does_not_cost_the_rows_beside_it() -> None:
    fitted, left_out = fit_rows({"rows": ROWS[:5], "text": "слово " * 1000}, 1500)
    assert fitted["rows"] == ROWS[:5] and fitted["text"].endswith("слово…")
    assert left_out["text"]["of"] == 6000


@pytest.mark.parametrize("text", ["Потратили 36 895,83 USD. " * 40, "1234567890" * 40, "a,1,234.5;" * 60])
def test_no_number_is_cut_in_a_text(text: str) -> None:
    for limit in range(40, 140):
        fitted, _ = fit_rows(text, limit)
        kept = "" if fitted is None else fitted.removesuffix("…")
        assert text.startswith(kept)
        assert not (kept and kept[-1].isdigit() and text[len(kept)] in "0123456789")
        assert not kept.endswith(("36", "1,", "1,234.")), kept


def test_a_text_that_is_json_stays_json() -> None:
    """As MCP servers write their results."""
    fitted, left_out = fit_rows(json.dumps({"rows": ROWS}), 1500)
    rows = json.loads(fitted)["rows"]
    assert rows == ROWS[: len(rows)] and left_out == {"rows": {"rows": 100 - len(rows), "of": 100}}


def test_a_result_within_a_result_says_itself_what_it_leaves_out() -> None:
    body = {"success": True, "data": {"rows": ROWS}, "_meta": {"left_out": {"rows": {"rows": 50, "of": 150}}}}
    fitted, left_out = fit_rows({"responses": {"ads": [body, body]}}, 4000)
    assert left_out == {}
    for one in fitted["responses"]["ads"]:
        assert one["_meta"]["left_out"] == {"rows": {"rows": 150 - len(one["data"]["rows"]), "of": 150}}


def test_how_to_see_the_rest() -> None:
    schema: dict[str, Any] = {"properties": {"period": {}, "limit": {}}}
    assert "call getLeads again with other arguments (period, limit)" in how_to_see_the_rest("getLeads", schema)
    assert "has no arguments" in how_to_see_the_rest("getLeads", {"properties": {}})


@pytest.mark.parametrize("depth", [99, 101, 900])
def test_what_is_nested_deeply_costs_no_more(depth: int) -> None:
    """Neither JSON nor a text that is JSON ends in an error."""
    deep: Any = ["word " * 4000]
    for _ in range(depth):
        deep = [deep]
    for value in (deep, json.dumps(deep), {"text": json.dumps(deep), "spend": 70}):
        fitted, left_out = fit_rows(value, 5000)
        assert left_out and size(fitted) <= 5000


def test_members_have_limits_of_their_own() -> None:
    """What was left out of each is counted under its name; the others stay as they are."""
    value = {"passages": ROWS, "answer": "слово " * 100, "by": {"day": ROWS, "n": 1}, "found": 7}
    fitted, left_out = fit_members(value, {"passages": 1000, "answer": 100, "by": 1000})
    passages, days = len(fitted["passages"]), len(fitted["by"]["day"])
    assert fitted["found"] == 7 and fitted["passages"] == ROWS[:passages]
    assert {name: size(fitted[name]) for name in ("passages", "answer", "by")} == pytest.approx(
        {"passages": 1000, "answer": 100, "by": 1000}, rel=0.15
    )
    assert left_out == {
        "passages": {"rows": 100 - passages, "of": 100},
        "answer": {"characters": 600 - len(fitted["answer"]) + 1, "of": 600},
        "by.day": {"rows": 100 - days, "of": 100},
    }
    assert fit_members({"found": [1]}, {"found": 100}) == ({"found": [1]}, {})
