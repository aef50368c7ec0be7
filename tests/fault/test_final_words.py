"""The words of a tool as the answer: byte for byte, streamed once, and no model is asked after them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from maas.tools.calls import MAX_FINAL_CHARS, ToolAnswer
from tests.agency import ADVISER, CHOOSING, FINAL, SELLER, Agency

SPEAK = ("speak", "{}")
BY_META = ("executeTools", json.dumps({"tools": [{"name": "speak"}], "user_question": "?"}))
ROUTER = {"name": "router", "role_prompt": "Router", "about": "all", "toolset": ["adverts"]}
DOMAIN = {"name": "adverts", "role_prompt": "Adviser", "about": "campaigns"}


@pytest.mark.parametrize(
    ("routing", "agents", "speaker", "call"),
    [
        ("single", [], "responder", SPEAK),
        ("classifier", [ADVISER | {"toolset": ["adverts"]}], "Adviser", SPEAK),
        ("handoff", [ROUTER], "Router", SPEAK),
        ("meta_tools", [], "responder", BY_META),
        ("meta_tools", [DOMAIN], "responder", BY_META),
    ],
)
def test_the_words_of_a_tool_are_the_answer(
    agency: Agency,
    routing: str,
    agents: Sequence[dict[str, Any]],
    speaker: str,
    call: tuple[str, str],
) -> None:
    agency.models.rounds[speaker] = [[call], [call]]
    definition: dict[str, Any] = {} if any("toolset" in one for one in agents) else {"toolset": ["adverts"]}
    agency.open(routing, agents, **definition)
    run_id = agency.ask("Tell me about the budget")
    assert agency.answer(run_id) == FINAL
    assert len(agency.rounds(run_id)) == 1
    assert "".join(one["delta"] for one in agency.events(run_id, "text")) in (FINAL, "")
    query = "select content from raw_logs where run_id = %s and message_type <> 'user_query'"
    (message,) = agency.stack.rows(query, run_id)
    assert message["content"] == FINAL


def test_one_of_several_agents_has_such_words(agency: Agency) -> None:
    """There is nothing to make one answer of."""
    agency.models.replies[CHOOSING] = json.dumps({"agents": ["adverts", "clients"]})
    agency.models.rounds["Adviser"] = [[SPEAK]]
    agency.open("classifier", [ADVISER | {"toolset": ["adverts"]}, SELLER | {"toolset": ["clients"]}])
    run_id = agency.ask("How are we doing?")
    assert agency.answer(run_id) == FINAL
    assert len(agency.rounds(run_id)) == 3


@pytest.mark.parametrize("text", ["", " \n\0", "\u200b", "a" * (MAX_FINAL_CHARS + 1)])
def test_words_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="1 to 16000 characters"):
        ToolAnswer(None, final=text)
