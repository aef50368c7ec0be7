"""What is kept of tool calls for people: ids stay, secrets and phone numbers do not, and the size is bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.tools.calls import MAX_DIAGNOSTIC_BYTES, diagnostic
from maas.tools.rows import size
from shared.json import is_storable
from shared.log import redact

PHONE = "79161234567"
KEY = "sk-abcdefgh12345678"


@pytest.mark.parametrize(
    "value",
    [
        {"id": 120210000000001},
        {"campaign_id": "120210000000001", "adAccountIds": ["1234567890", 1234567891]},
        {"created_at": 1_700_000_000_000, "lastSeenAt": 1_700_000_000_000, "latency_ms": 12345678901},
        {"_entityMap": {"Summer": "120210000000001", "Winter": {"ad": 1234567890}}},
        {"items": [{"leadId": "1234567890", "name": "Ann"}]},
        {"fb_id": "act_120210000000001"},
    ],
)
def test_ids_and_stamps_stay(value: dict[str, Any]) -> None:
    assert redact(value) == value


@pytest.mark.parametrize(
    "value",
    [
        {"phone": PHONE},
        {"phone_id": PHONE},
        {"text": f"call {PHONE}"},
        {"id": f"+{PHONE}"},
        {"user_id": "7 916 123-45-67"},
        {"chat_id": PHONE, "senderId": PHONE, "contact": {"id": PHONE}},
        {"_entityMap": {"Ann": {"phone": int(PHONE)}}},
        {"paid": int(PHONE), "grid": PHONE},
        [int(PHONE)],
    ],
)
def test_phones_stay_masked(value: Any) -> None:
    text = json.dumps(redact(value))
    assert "***" in text and "9161234" not in text and "123-45" not in text


def test_a_secret_in_a_member_that_is_named_as_an_id_is_masked() -> None:
    assert KEY not in str(redact({"client_id": KEY, "api_key": {"id": KEY}, "id": [KEY]}))


def test_the_longest_parts_are_cut_first() -> None:
    """A list keeps whole items, and the short parts stay as they are."""
    body: dict[str, Any] = {
        "success": True,
        "data": [{"n": n, "text": "слово " * 20} for n in range(500)],
        "verification": {"status": "PAUSED"},
        "_entityMap": {"Summer": "120210000000001"},
    }
    kept = diagnostic(body)
    assert size(kept) <= MAX_DIAGNOSTIC_BYTES
    assert {name: kept[name] for name in body if name != "data"} == {
        name: body[name] for name in body if name != "data"
    }
    assert kept["data"] == body["data"][: len(kept["data"])] and len(kept["data"]) > 10
    assert kept["_left_out"] == {"data": {"rows": 500 - len(kept["data"]), "of": 500}}


def test_a_secret_at_the_cut_is_not_halved() -> None:
    for chars in range(MAX_DIAGNOSTIC_BYTES - 40, MAX_DIAGNOSTIC_BYTES + 10):
        text = json.dumps(diagnostic({"data": f"{'w ' * (chars // 2)}{KEY} end"}))
        assert "abcdef" not in text


def test_hostile_values() -> None:
    """NUL, 5 MB, thousands of members, nesting: one bounded value that Postgres can hold."""
    deep: Any = "x"
    for _ in range(400):
        deep = {"a": deep}
    for parts in (
        {"data": "a\x00b\ud800"},
        {"data": "слово" * 1_000_000},
        {f"n{n}": n for n in range(20_000)},
        {"data": deep},
        {"x" * 50_000: 1},
        {"data": ["\x00" * 100_000] * 3},
        {"data": [float("inf"), {"id": float("nan")}]},
    ):
        kept = diagnostic(parts)
        assert size(kept) <= MAX_DIAGNOSTIC_BYTES and is_storable(kept)
    assert diagnostic({"data": "a\x00b"}) == {"data": "ab"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON), st.integers(60, 400))
def test_any_value_is_bounded(parts: dict[str, Any], limit: int) -> None:
    kept = diagnostic(parts, limit)
    assert size(kept) <= limit and is_storable(kept)
