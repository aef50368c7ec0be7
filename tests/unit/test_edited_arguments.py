"""Edited arguments against the schema of a tool: errors are found, and nothing that the tool accepts is refused."""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from maas.conversations.actions import check_arguments
from maas.tools.schema import plain_schema
from shared.errors import MaasError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]+$")]
    weight: Annotated[float, Field(ge=0, le=10)] = 1.0


class Order(BaseModel):
    parts: Annotated[list[Part], Field(min_length=1, max_length=3)]
    copies: Annotated[int, Field(ge=1, le=9)]
    colour: Colour | None = None
    is_urgent: bool = False
    target: int | str = 0
    notes: dict[str, int] = {}
    at: datetime | None = None


SCHEMA = json.loads(json.dumps(plain_schema(Order.model_json_schema())))
GOOD: dict[str, Any] = {"parts": [{"name": "a"}], "copies": 1}
orders = st.builds(
    Order,
    parts=st.lists(
        st.builds(Part, name=st.text("abc", min_size=1, max_size=5), weight=st.floats(0, 10)), min_size=1, max_size=3
    ),
    notes=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@pytest.fixture(scope="module", autouse=True)
def validator() -> None:
    """Load the validator before hypothesis measures the first example."""
    check_arguments(GOOD, SCHEMA)


@given(orders)
def test_what_the_tool_takes_is_let_in(order: Order) -> None:
    check_arguments(order.model_dump(mode="json"), SCHEMA)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parts": []}, "arguments.parts: [] should be non-empty"),
        (
            {"parts": [{"name": "a"}] * 4},
            "arguments.parts: [{'name': 'a'}, {'name': 'a'}, {'name': 'a'}, {'name': 'a'}] is too long",
        ),
        ({"parts": [{"name": "a"}, {}]}, "arguments.parts.1.name: is required"),
        ({"parts": [{"name": "abcdef"}]}, "arguments.parts.0.name: 'abcdef' is too long"),
        ({"parts": [{"name": "a", "weight": -1}]}, "arguments.parts.0.weight: -1 is less than the minimum of 0"),
        ({"parts": "a"}, "arguments.parts: 'a' is not of type 'array'"),
        ({"copies": True}, "arguments.copies: True is not of type 'integer'"),
        ({"copies": "1"}, "arguments.copies: '1' is not of type 'integer'"),
        ({"copies": None}, "arguments.copies: None is not of type 'integer'"),
        ({"colour": "green"}, "arguments.colour: 'green' is not one of ['red', 'blue']"),
        ({"is_urgent": 1}, "arguments.is_urgent: 1 is not of type 'boolean'"),
        ({"target": []}, "arguments.target: [] is not valid under any of the given schemas"),
        ({"notes": []}, "arguments.notes: [] is not of type 'object'"),
        ({"size": 1}, "arguments.size: is not an argument of the tool"),
    ],
)
def test_what_it_does_not_take_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(MaasError) as caught:
        check_arguments(GOOD | change, SCHEMA)
    assert (caught.value.code, caught.value.message) == ("invalid_request", words)


def test_all_that_is_wrong_is_named() -> None:
    with pytest.raises(MaasError) as caught:
        check_arguments({"size": 1}, SCHEMA)
    assert set(caught.value.details or {}) == {"arguments.parts", "arguments.copies", "arguments.size"}


def test_a_pattern_is_left_to_the_tool() -> None:
    """One of a stranger may take for ever, or be of another dialect."""
    for pattern in ("\\p{L}(", "^(a+)+$"):
        schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": []}
        check_arguments({"a": "a" * 50 + "b"}, schema)
