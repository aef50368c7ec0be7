"""Calls and turns, before any provider sees them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models import (
    CallIds,
    Finish,
    Message,
    Reply,
    ToolCall,
    arguments_or_empty,
    finish_reason,
    group_messages,
    read_arguments,
    schema_instruction,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
WEATHER = ToolCall("call_1", "weather", '{"city": "Москва"}')
CLOCK = ToolCall("call_2", "clock", "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        ('{"city": "Москва 🗼"}', {"city": "Москва 🗼"}),
        (r'{"a": "x\u0000\ud800y", "b\u0000": ["\u0001"]}', {"a": "xy", "b": [""]}),
    ],
)
def test_arguments(text: str, found: dict[str, Any]) -> None:
    assert read_arguments(text) == found


@pytest.mark.parametrize(
    "text", ['{"city": "Mos', "null", "[1]", '"text"', "7", '{"a": NaN}', '{"a": -Infinity}', "{" * 9, "[" * 100_000]
)
def test_arguments_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        read_arguments(text)
    assert arguments_or_empty(ToolCall("1", "find", text)) == {}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_arguments(text)
    except ValueError:
        return
    assert isinstance(found, dict)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"])), VALUES))
def test_what_is_read_can_be_stored(values: dict[str, Any]) -> None:
    again = json.dumps(read_arguments(json.dumps(values)))
    assert "\\u0000" not in again.replace("\\\\", "")  # the six characters by themselves are no NUL
    assert read_arguments(again) == json.loads(again)


def test_a_reply_becomes_a_turn_and_a_call_a_result() -> None:
    reply = Reply("Let me look.", "tool_calls", (WEATHER,), raw={"provider": "openai"})
    assert reply.message() == Message("assistant", "Let me look.", calls=(WEATHER,), raw={"provider": "openai"})
    assert WEATHER.result("snow", is_error=True) == Message(
        "tool", "snow", call_id="call_1", name="weather", is_error=True
    )


def test_names_are_new_in_the_dialogue_and_the_same_again() -> None:
    nameless = ToolCall("", "clock", "")
    begun = (Message("user", "?"), Message("assistant", "", calls=(WEATHER,)))
    once, again = ([name(call) for call in (WEATHER, nameless, nameless)] for name in (CallIds(begun), CallIds(begun)))
    assert once == again
    ids = {call.id for call in once}
    assert len(ids) == 3 and not ids & {"", "call_1"}
    later = CallIds((*begun, Message("assistant", "", calls=tuple(once))))
    assert later(nameless).id not in ids
    assert CallIds(begun)(CLOCK) == CLOCK


def test_results_stand_together_in_the_order_of_their_calls() -> None:
    asked = Message("assistant", "", calls=(WEATHER, CLOCK), raw={"provider": "openai"})
    stray = Message("tool", "?", call_id="unknown")
    results = (stray, CLOCK.result("12"), WEATHER.result("snow"))
    last = Message("user", "Thanks")
    assert group_messages((Message("user", "?"), asked, *results, last), "openai") == [
        (Message("user", "?"),),
        (asked,),
        (WEATHER.result("snow"), CLOCK.result("12"), stray),
        (last,),
    ]


@pytest.mark.parametrize("call_id", ["functions.weather:0", "x" * 41, "id with spaces", "номер"])
def test_a_foreign_id_that_would_be_refused_is_rewritten_on_both_sides(call_id: str) -> None:
    call = ToolCall(call_id, "weather", "{}")
    dialogue = (Message("assistant", "", calls=(call,), raw={"provider": "openai"}), call.result("snow"))
    assert group_messages(dialogue, "openai") == [(dialogue[0],), (dialogue[1],)]
    (asked,), (answered,) = group_messages(dialogue, "anthropic")
    assert asked.raw == {}
    assert asked.calls[0].id == answered.call_id != call_id
    assert len(answered.call_id) <= 40


@pytest.mark.parametrize(
    ("said", "text", "calls", "finish"),
    [
        ("stop", "Hi", (), "stop"),
        ("tool_calls", "Hi", (), "stop"),
        ("stop", "", (WEATHER,), "tool_calls"),
        ("stop", "", (), "malformed"),
        ("tool_calls", "", (), "malformed"),
        ("length", "", (WEATHER,), "length"),
        ("filtered", "", (), "filtered"),
        ("error", "Hi", (), "error"),
    ],
)
def test_how_a_reply_ended(said: Finish, text: str, calls: tuple[ToolCall, ...], finish: str) -> None:
    assert finish_reason(said, text, calls) == finish


def test_a_schema_in_words_is_json() -> None:
    schema = {"type": "object", "properties": {"город": {"type": "string"}}}
    assert json.loads(schema_instruction(schema).partition("\n")[2]) == schema
