"""Agents: what is wrong with a definition, whose keywords a question holds, what of a dialogue is handed over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from maas.agents.definition import Agent, read_definition
from maas.agents.routing import TAKEN_OVER, by_keywords, without_calls
from maas.tools.tool import Toolset, tool
from shared.errors import MaasError
from shared.models import Message, ToolCall
from shared.text import is_blank


@tool(domain="ads", effect="read")
async def get_spend() -> None:
    """Spend of today."""


@tool(domain="ads", effect="read", name="transfer_to_crm")
async def moving() -> None:
    """Move a lead."""


@tool(domain="survey", effect="write")
async def end_survey() -> None:
    """Use the values."""


@tool(domain="survey", effect="dangerous", reason="It is sent")
async def send_survey() -> None:
    """Send the values."""


class Line(BaseModel):
    text: str


@tool(domain="survey", effect="write")
async def write_survey(line: Line) -> None:
    """Write a line."""


KNOWN = Toolset([get_spend, moving, end_survey, send_survey, write_survey])
SLOT = {"name": "city", "label": "City", "question": {"ru": "Какой город?", "en": "Which city?"}}
SURVEY = {"slots": [SLOT], "completion": "end_survey"}


def agent(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "role_prompt": name.title(), "about": "some words"} | fields


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"routing": "guess"}, "routing: Input should be 'single', 'meta_tools', 'classifier' or 'handoff'"),
        ({"agents": [agent("ads")]}, "agents: the routing single has none"),
        ({"routing": "classifier", "agents": [agent("ads")], "history": 3}, "history: classifier does not read it"),
        (SURVEY | {"history": 3}, "history: single does not read it here"),
        ({"routing": "classifier"}, "agents: classifier needs at least one"),
        ({"routing": "handoff"}, "agents: handoff needs at least one"),
        ({"routing": "classifier", "agents": [agent("ads"), agent("ads")]}, "two are named 'ads'"),
        ({"routing": "classifier", "agents": [agent("a b")]}, "agents.0.name: String should match pattern"),
        ({"routing": "classifier", "agents": [agent("ads", colour="red")]}, "agents.0.colour: Extra inputs"),
        ({"routing": "classifier", "agents": [agent("ads", toolset=["fly"])]}, "agents.ads.toolset: there is no tool"),
        ({"routing": "classifier", "agents": [agent("ads", handoffs=["ads"])]}, "classifier does not read it"),
        ({"routing": "handoff", "agents": [agent("ads", keywords=["x"])]}, "agents.ads.keywords: handoff does not"),
        ({"routing": "handoff", "agents": [agent("ads", handoffs=["crm"])]}, "no other agent 'crm'; there are: none"),
        ({"routing": "handoff", "agents": [agent("ads", handoffs=["ads"]), agent("crm")]}, "there are: crm"),
        ({"routing": "handoff", "agents": [agent("crm", toolset=["ads"])]}, "'transfer_to_crm' is a tool and the name"),
        ({"routing": "meta_tools"}, "toolset: meta_tools needs at least one tool"),
        ({"routing": "meta_tools", "toolset": ["ads"], "agents": [agent("crm")]}, "'crm' is not a domain of its tools"),
        (
            {"routing": "meta_tools", "toolset": ["ads"], "agents": [agent("ads", toolset=["ads"])]},
            "agents.ads.toolset: meta_tools does not read it",
        ),
        (
            {"routing": "meta_tools", "toolset": ["ads"], "agents": [agent("ads", **SURVEY)]},
            "agents.ads.slots: meta_tools does not read it; leave it out",
        ),
        (
            {"routing": "handoff", "agents": [agent("ads")]} | SURVEY,
            "slots: under handoff the assistant does not speak itself",
        ),
        (
            {"routing": "handoff", "agents": [agent("ads", **SURVEY)]},
            "agents.ads.completion: 'end_survey' is not a tool of its toolset",
        ),
        (
            {"routing": "handoff", "agents": [agent("ads", slots=[SLOT])]},
            "agents.0: slots and completion belong together",
        ),
        ({"toolset": ["survey"]} | SURVEY | {"completion": "send_survey"}, "completion: 'send_survey' is dangerous"),
        ({"toolset": ["survey"]} | SURVEY | {"completion": "write_survey"}, "'write_survey' must need no arguments"),
        (SURVEY | {"optional": "offer"}, "optional: 'offer' needs a slot with required: false"),
        (SURVEY | {"session": "world"}, "session: Input should be 'conversation', 'latest' or 'user'"),
    ],
)
def test_a_wrong_definition_is_named(definition: dict[str, Any], words: str) -> None:
    with pytest.raises(MaasError) as error:
        read_definition("desk", "Mentor", definition).tools(KNOWN)
    assert words in error.value.message and "'desk'" in error.value.message


def test_an_agent_has_the_assistants_tools_and_its_own() -> None:
    agents = [agent("ads", toolset=["get_spend"]), agent("crm")]
    definition = read_definition("desk", "Mentor", {"routing": "classifier", "agents": agents})
    tools = definition.tools(KNOWN)
    assert [[one.name for one in definition.tools_of(one, tools)] for one in definition.agents] == [["get_spend"], []]
    shared = read_definition("desk", "Mentor", {"routing": "classifier", "agents": agents, "toolset": ["ads"]})
    assert [len(shared.tools_of(one, shared.tools(KNOWN))) for one in shared.agents] == [2, 2]


ADS = Agent(name="ads", role_prompt="Ads", about="ads", keywords=("расходы", "кампания", "spend", "cost per lead"))
CRM = Agent(name="crm", role_prompt="Crm", about="crm", keywords=("лиды", "воронка", "leads"))


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Покажи расходы за сегодня", "ads"),
        ("РАСХОДОВ сколько?", "ads"),
        ("Что с кампаниями, и какие расходы?", "ads"),
        ("Сколько лидов пришло?", "crm"),
        ("Что в воронке?", "crm"),
        ("Кто лидер рынка?", None),
        ("What did we spend?", "ads"),
        ("What are we spending?", None),
        ("Cost, per lead!", "ads"),
        ("cost of a lead", None),
        ("Сравни расходы и лиды", None),
        ("Расходы кампаний на лиды", "ads"),
        ("Как дела?", None),
        ("", None),
    ],
)
def test_keywords(question: str, name: str | None) -> None:
    """Whole words, in any case and inflection; a tie decides nothing."""
    chosen = by_keywords(question, [CRM, ADS])
    assert (chosen.name if chosen else None) == name


CALLS = st.lists(st.builds(ToolCall, st.sampled_from("abc"), st.just("act"), st.just("{}")), max_size=2).map(tuple)
TURNS = st.one_of(
    st.builds(Message, st.just("user"), st.text(min_size=1)),
    st.builds(Message, st.just("assistant"), st.text(), CALLS, st.just({"provider": "openai"})),
    st.builds(Message, st.just("tool"), st.text(), call_id=st.sampled_from("abc")),
)


@given(st.lists(TURNS))
def test_what_is_handed_over_holds_words_only(turns: list[Message]) -> None:
    """No call, no result, no part of a provider; what was said stays in its order, and a user has the last word."""
    given_turns = [Message("user", "first"), *turns]
    found = without_calls(given_turns)
    assert not [one for one in found if one.calls or one.raw or one.role == "tool"]
    assert found[-1].role == "user"
    said = [one.text for one in found if one.text != TAKEN_OVER]
    assert said == [
        one.text for one in given_turns if one.role == "user" or (one.role == "assistant" and not is_blank(one.text))
    ]
