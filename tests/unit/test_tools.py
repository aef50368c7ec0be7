"""Declarations of tools, their schemas, and the arguments that models send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from maas.tools.arguments import MAX_ARGUMENT_CHARS, WrongArguments, fingerprint, read_arguments
from maas.tools.schema import plain_schema
from maas.tools.tool import Effect, NoArguments, Tool, ToolContext, Toolset, tool
from shared.errors import MaasError

WORDS = {
    "type",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "anyOf",
}


class Period(StrEnum):
    DAY = "day"
    WEEK = "week"


class Share(BaseModel):
    """Of a budget."""

    name: str
    percent: Annotated[float, Field(gt=0, le=100)]


class Budget(BaseModel):
    campaign_id: Annotated[str, Field(description="Of the campaign.", min_length=1)]
    cents: Annotated[int, Field(ge=100)]
    period: Period = Period.DAY
    start: date | None = None
    shares: list[Share] = []
    level: Literal[1, 2] = 1
    notes: dict[str, Any] | None = None
    is_final: bool = False


class Node(BaseModel):
    children: list[Node] = []


class Pair(BaseModel):
    pair: tuple[int, str]


class Anything(BaseModel):
    value: Any


@tool(domain="ads", effect="write", timeout=5, idempotent=True)
async def updateBudget(budget: Budget, context: ToolContext) -> Any:
    """Change what a campaign may spend.

    Applies from today.
    """
    return {"cents": budget.cents, "user": context.user_id}


@tool(domain="ads", effect="read")
async def getAccounts() -> Any:
    """List accounts."""
    return []


def declared(effect: Effect = "write", arguments: type[BaseModel] = Budget, name: str = "some") -> Tool:
    return Tool(name, "ads", "Do it.", effect, getAccounts.handler, arguments)


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for one in [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]:
        yield from nodes(one)
    if "items" in schema:
        yield from nodes(schema["items"])


async def test_declaration() -> None:
    """All that a tool is stands beside its function."""
    context = ToolContext(UUID(int=1), UUID(int=2))
    assert (updateBudget.name, updateBudget.domain, updateBudget.effect) == ("updateBudget", "ads", "write")
    assert updateBudget.description == "Change what a campaign may spend.\n\nApplies from today."
    assert updateBudget.timeout == 5 and updateBudget.is_idempotent
    assert await updateBudget.handler(Budget(campaign_id="1", cents=100), context) == {
        "cents": 100,
        "user": UUID(int=1),
    }
    assert await getAccounts.handler(NoArguments(), context) == []
    assert (getAccounts.timeout, getAccounts.is_idempotent) == (30, False)


def test_schema_is_plain() -> None:
    """No reference, no null, and what a provider refuses is said in words."""
    spec = updateBudget.spec
    name, description, schema = spec.name, spec.description, dict(spec.parameters)
    assert (name, description) == (updateBudget.name, updateBudget.description)
    assert schema["required"] == ["campaign_id", "cents"]
    assert schema["properties"] == {
        "campaign_id": {"type": "string", "minLength": 1, "description": "Of the campaign."},
        "cents": {"type": "integer", "minimum": 100},
        "period": {"type": "string", "enum": ["day", "week"]},
        "start": {"type": "string", "description": "Format: date."},
        "shares": {
            "type": "array",
            "items": {
                "type": "object",
                "description": "Of a budget.",
                "properties": {
                    "name": {"type": "string"},
                    "percent": {"type": "number", "maximum": 100, "description": "More than 0."},
                },
                "required": ["name", "percent"],
            },
        },
        "level": {"type": "integer", "description": "One of 1, 2."},
        "notes": {"type": "object"},
        "is_final": {"type": "boolean"},
    }


@pytest.mark.parametrize("one", [updateBudget, getAccounts])
def test_schema_suits_both_providers(one: Tool) -> None:
    """Gemini's own type takes it whole, and no word is left that OpenAI would not know."""
    name, description, schema = one.spec.name, one.spec.description, dict(one.spec.parameters)
    function = types.FunctionDeclaration(name=name, description=description, parameters=types.Schema(**schema))
    assert function.parameters is not None and function.parameters.type == types.Type.OBJECT
    assert all(node.keys() <= WORDS and ("type" in node or "anyOf" in node) for node in nodes(schema))
    assert json.loads(json.dumps(schema)) == schema
    assert plain_schema(schema) == schema


def test_no_arguments_are_an_empty_object() -> None:
    assert getAccounts.spec.parameters == {"type": "object", "properties": {}, "required": []}


def test_schemas_of_others_are_made_plain() -> None:
    schema = {
        "$schema": "x",
        "type": "object",
        "additionalProperties": False,
        "required": ["who", "gone"],
        "properties": {
            "at": {"type": ["string", "null"], "format": "date-time", "default": None},
            "who": {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "Who."},
            "kind": {"allOf": [{"$ref": "#/definitions/Kind"}]},
        },
        "definitions": {"Kind": {"type": "string", "const": "a"}},
    }
    assert plain_schema(schema) == {
        "type": "object",
        "properties": {
            "at": {"type": "string", "format": "date-time"},
            "who": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "Who."},
            "kind": {"type": "string", "enum": ["a"]},
        },
        "required": ["who"],
    }


@pytest.mark.parametrize("model", [Node, Pair, Anything])
def test_what_no_schema_can_say_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(MaasError) as caught:
        declared(arguments=model)
    assert caught.value.code == "wrong_tool"


@pytest.mark.parametrize(
    "one", [True, {}, {"type": "null"}, {"type": ["string", "integer"]}, {"type": "array"}, {"$ref": "#/$defs/None"}]
)
def test_a_value_without_one_type_is_refused(one: Any) -> None:
    with pytest.raises(MaasError, match=r"arguments\.x") as caught:
        plain_schema({"type": "object", "properties": {"x": one}})
    assert caught.value.code == "wrong_tool"


def test_version() -> None:
    """What was approved is void when name, schema or effect changed, and only then."""
    assert declared().version == declared().version
    assert len({declared().version, declared("dangerous").version, declared(name="other").version}) == 3
    assert declared(arguments=Share).version != declared().version


async def no_docstring() -> None: ...


async def text_argument(text: str) -> None:
    """Takes no model."""


async def two_models(one: Share, other: Budget) -> None:
    """Takes two."""


def not_async(one: Share) -> None:
    """Waits for nobody."""


async def fine() -> None:
    """Is fine."""


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (no_docstring, {}, "describe it"),
        (text_argument, {}, "text must be"),
        (two_models, {}, "at most one"),
        (not_async, {}, "async"),
        (fine, {"effect": "delete"}, "'delete'"),
        (fine, {"domain": " "}, "domain"),
        (fine, {"timeout": 0}, "timeout"),
        (fine, {"timeout": float("nan")}, "timeout"),
        (fine, {"name": "с пробелом"}, "Latin"),
        (fine, {"name": "a" * 65}, "64"),
    ],
)
def test_wrong_declarations(function: Any, options: dict[str, Any], said: str) -> None:
    """What is wrong is said where it is declared, not when a model calls."""
    with pytest.raises(MaasError, match=said) as caught:
        tool(**({"domain": "ads", "effect": "read"} | options))(function)
    assert caught.value.code == "wrong_tool"


def test_toolset() -> None:
    lead = tool(domain="crm", effect="read", name="getLeads")(fine)
    tools = Toolset([updateBudget, lead, getAccounts])
    assert (len(tools), tools.domains()) == (3, ("ads", "crm"))
    assert tools.of("ads") == (updateBudget, getAccounts) and tools.of("else") == ()
    assert tools.get("getLeads") is lead and tools.get("getleads") is None
    with pytest.raises(MaasError, match=r"'getLeads', in crm and in ads") as caught:
        Toolset([lead, tool(domain="ads", effect="read", name="getLeads")(fine)])
    assert caught.value.code == "wrong_tool"


def test_secrets_of_a_context_are_not_shown() -> None:
    assert "EAAB" not in repr(ToolContext(UUID(int=1), UUID(int=2), values={"accessToken": "EAAB"}))


def test_arguments_are_coerced() -> None:
    sent = {
        "campaign_id": 120210000000000001,
        "cents": "500",
        "period": "week",
        "start": None,
        "shares": '[{"name": "a", "percent": "40"}]',
        "is_final": "true",
        "level": None,
    }
    read = read_arguments(updateBudget, json.dumps(sent))
    assert read.values == {
        "campaign_id": "120210000000000001",
        "cents": 500,
        "period": "week",
        "start": None,
        "shares": [{"name": "a", "percent": 40.0}],
        "level": 1,
        "notes": None,
        "is_final": True,
    }
    assert read_arguments(updateBudget, json.dumps(read.values)).values == read.values


@pytest.mark.parametrize("text", ["", "  ", "{}", '{"text": "old"}'])
def test_no_arguments(text: str) -> None:
    assert read_arguments(getAccounts, text).values == {}


def test_unknown_arguments_are_dropped_and_named() -> None:
    share = {"name": "a", "percent": 1, "color": "red"}
    read = read_arguments(updateBudget, json.dumps({"campaign_id": "1", "cents": 100, "text": "x", "shares": [share]}))
    assert read.ignored == ("text", "shares[0].color")
    assert "text" not in read.values


def test_a_dangerous_tool_takes_no_unknown_argument() -> None:
    with pytest.raises(WrongArguments, match="currency"):
        read_arguments(declared("dangerous"), '{"campaign_id": "1", "cents": 100, "currency": "EUR"}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cents": 100}', "campaign_id: Field required"),
        ('{"campaign_id": null, "cents": 100}', "campaign_id"),
        ('{"campaign_id": "1", "cents": "many"}', "cents"),
        ('{"campaign_id": "1", "cents": 100.5}', "cents"),
        ('{"campaign_id": "1", "cents": true}', "cents: must be a number"),
        ('{"campaign_id": ["1"], "cents": 100}', "campaign_id"),
        ('{"campaign_id": "1", "cents": 100, "shares": [{"name": "a", "percent": 0}]}', r"shares\.0\.percent"),
        ('{"campaign_id": "1", "cents": 100, "period": "year"}', "period: .*'day' or 'week'"),
        ('{"campaign_id": "a\\u0000b", "cents": 100}', "NUL"),
        ('{"campaign_id": "\\ud83d", "cents": 100}', "surrogate"),
        ('{"campaign_id": "1", "cents": 1e999}', "infinite"),
        ('{"campaign_id": "1", "cents": NaN}', "not JSON"),
        ('{"campaign_id": "' + "a" * MAX_ARGUMENT_CHARS + '"}', "exceed"),
        ("[" * 60_000, "not JSON"),
        ("cents=100", "not JSON"),
        ("[1]", "one JSON object"),
    ],
)
def test_wrong_arguments_are_named(text: str, said: str) -> None:
    with pytest.raises(WrongArguments, match=said) as caught:
        read_arguments(updateBudget, text)
    assert len(str(caught.value)) < 1100


def test_deep_values_are_refused() -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    with pytest.raises(WrongArguments, match="deep"):
        read_arguments(updateBudget, f'{{"campaign_id": "1", "cents": 100, "notes": {deep}}}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)
FIELDS = st.sampled_from([*Budget.model_fields, "other"])


@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_whatever_is_sent_is_taken_or_refused_in_words(sent: dict[str, Any]) -> None:
    text = json.dumps({"campaign_id": "1", "cents": 100} | sent)
    try:
        read = read_arguments(updateBudget, text)
    except WrongArguments as error:
        assert str(error)
    else:
        again = read_arguments(updateBudget, json.dumps(read.values))
        assert again.values == read.values
        assert fingerprint(updateBudget, again.values) == fingerprint(updateBudget, read.values)


def test_fingerprint_knows_the_arguments_and_not_their_order() -> None:
    one = read_arguments(updateBudget, '{"campaign_id": "1", "cents": 100}').values
    other = read_arguments(updateBudget, '{"cents": "100", "campaign_id": 1, "level": 1}').values
    assert fingerprint(updateBudget, one) == fingerprint(updateBudget, other)
    assert fingerprint(updateBudget, one) != fingerprint(updateBudget, dict(one) | {"cents": 101})
    assert fingerprint(updateBudget, one) != fingerprint(declared(), one)
