"""Tools that are called when a dialogue begins: once a conversation, told in every turn, choosing who begins."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.agency import SELLER, Agency

ROUTER = {"name": "router", "role_prompt": "Router", "about": "all", "toolset": ["adverts"], "handoffs": ["clients"]}
SALES = {name: value for name, value in SELLER.items() if name != "keywords"}
ROUTE = {"tool": "speak", "field": "said", "equals": True, "agent": "clients"}


def calls(agency: Agency) -> int:
    query = (
        "select from tool_executions e join pipeline_runs r on r.id = e.run_id "
        "where r.user_id = %s and e.tool = 'speak' and e.status = 'done'"
    )
    return len(agency.stack.rows(query, agency.user))


def are_given(agency: Agency) -> list[bool]:
    """Whether each call of a model was given what the tool said."""
    return ["said" in str(one["messages"][0]["content"]) for one in agency.models.said_to("responder")]


def test_once_a_conversation(agency: Agency) -> None:
    agency.open("single", [], toolset=["adverts"], opening_tools=["speak"])
    conversation, other = uuid4(), uuid4()
    for expected, where in ((1, conversation), (1, conversation), (2, other), (3, None), (4, None)):
        run_id = agency.ask("And now?", where)
        agency.answer(run_id)
        assert calls(agency) == expected
        assert not agency.events(run_id, "tool_start")
    assert are_given(agency) == [True] * 5


def test_cleared_it_begins_anew(agency: Agency) -> None:
    agency.open("single", [], toolset=["adverts"], opening_tools=["speak"])
    conversation = uuid4()
    agency.answer(agency.ask("And now?", conversation))
    agency.stack.rows("select maas_clear_conversation(%s)", conversation)
    agency.answer(agency.ask("And now?", conversation))
    assert calls(agency) == 2


@pytest.mark.parametrize(
    ("route", "words"),
    [({}, "Sales say three."), ({"equals": 1}, "The router speaks."), ({"field": "no"}, "The router speaks.")],
)
def test_a_route_chooses_who_begins(agency: Agency, route: dict[str, Any], words: str) -> None:
    """It is no transfer: all of them are left."""
    agency.open("handoff", [ROUTER, SALES], opening_tools=["speak"], opening_routes=[ROUTE | route])
    conversation = uuid4()
    assert agency.answer(agency.ask("Hello", conversation)) == words
    assert agency.answer(agency.ask("Go on", conversation)) == words
