"""classifier: by keywords, by one question to a model, to several agents side by side."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from tests.agency import ADVISER, CHOOSING, SELLER, Agency
from tests.polling import poll

BOTH = json.dumps({"agents": ["adverts", "clients"]})


def test_keywords_ask_no_model(agency: Agency) -> None:
    """An agent that is only a row is reached by its keyword, in any inflection."""
    agency.open("classifier", [SELLER, ADVISER])
    conversation = uuid4()
    assert agency.answer(agency.ask("Покажи расходов за сегодня", conversation)) == "Ads say seventy."
    assert agency.models.calls["responder"] == 1
    (row,) = agency.stack.rows("select last_agent, last_domain from chat_conversations where id = %s", conversation)
    assert (row["last_agent"], row["last_domain"]) == ("adverts", "adverts")
    (said,) = agency.models.said_to("Adviser")
    assert "You are the Adviser." in said["messages"][0]["content"]


def test_an_agent_has_a_model_of_its_own(agency: Agency) -> None:
    agency.models.replies |= {"other": "", "third": "The third model answered."}
    agency.open("classifier", [SELLER, ADVISER | {"model": "openai:other"}], model="openai:third")
    run_id = agency.ask("Покажи расходы")
    assert agency.answer(run_id) == "Ads say seventy."
    assert agency.models.calls["other"] == 1 and not agency.models.calls["responder"]
    rows = agency.stack.rows("select model from llm_calls where run_id = %s and stage = 'final_responder'", run_id)
    assert [row["model"] for row in rows] == ["other"]


def test_a_plain_assistant_has_a_model_of_its_own(agency: Agency) -> None:
    agency.models.replies["third"] = "The third model answered."
    agency.open("single", [], model="openai:third", temperature=0.1)
    assert agency.answer(agency.ask("Who are you?")) == "The third model answered."
    (asked,) = [one for one in agency.models.requests if one["model"] == "third"]
    assert asked["temperature"] == 0.1


@pytest.mark.parametrize(
    ("reply", "words"), [('{"agents": ["clients"]}', "Sales say three."), ("Nobody.", "Ads say seventy.")]
)
def test_a_model_decides_where_keywords_do_not(agency: Agency, reply: str, words: str) -> None:
    """Exactly one call; who names no agent gets the first."""
    agency.models.replies[CHOOSING] = reply
    agency.open("classifier", [ADVISER, SELLER])
    run_id = agency.ask("How are we doing?")
    assert agency.answer(run_id) == words
    assert (agency.models.calls[CHOOSING], agency.models.calls["responder"]) == (1, 2)
    (asked,) = agency.models.said_to(CHOOSING)
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["agents"]["items"]["enum"] == [
        "adverts",
        "clients",
    ]
    assert "clients: leads, sales" in asked["messages"][0]["content"]


def test_several_agents_work_side_by_side(agency: Agency) -> None:
    """Each one's tool waits for the other's; one answer is made of both; calls have numbers of their own."""
    agency.models.replies[CHOOSING] = BOTH
    agency.models.rounds |= {"Adviser": [[("get_spend", "")]], "Seller": [[("get_leads", ""), ("get_spend", "")]]}
    agency.open("classifier", [ADVISER | {"toolset": ["adverts"]}, SELLER | {"toolset": ["clients"]}])
    run_id = agency.ask("How are we doing?")
    assert agency.answer(run_id) == "A model answered."
    messages = str(agency.models.said_to("responder")[-1]["messages"])
    assert "Ads say seventy." in messages and "Sales say three." in messages
    assert [number for number, _ in agency.rounds(run_id)] == list(range(6))
    assert sorted(role for _, role in agency.rounds(run_id)).count("Seller") == 2
    results = {one["tool"]: one["error_code"] for one in agency.events(run_id, "tool_result")}
    assert results == {"get_leads": None, "get_spend": "not_allowed"} or results == {
        "get_leads": None,
        "get_spend": None,
    }
    refused = [one for one in agency.events(run_id, "tool_result") if one["error_code"] == "not_allowed"]
    assert [one["tool"] for one in refused] == ["get_spend"]  # the Seller's


def test_what_two_agents_propose_are_two_actions(agency: Agency) -> None:
    """Their calls have one id and the same arguments, as servers number them that know no better."""
    agency.models.replies[CHOOSING] = BOTH
    agency.models.rounds["Adviser"] = [[("pause_campaign", '{"text": "one"}')]]
    agency.models.rounds["Seller"] = [[("drop_lead", '{"text": "one"}')]]
    agency.open("classifier", [ADVISER | {"toolset": ["adverts"]}, SELLER | {"toolset": ["clients"]}])
    run_id = agency.ask("Tidy up.")
    assert agency.answer(run_id).startswith("A model answered.\n\n⏸")
    actions = agency.stack.rows("select tool_name from chat_pending_actions where run_id = %s", run_id)
    assert sorted(one["tool_name"] for one in actions) == ["drop_lead", "pause_campaign"]
    assert len(agency.events(run_id, "approval_required")) == 2


def test_one_that_fails_leaves_the_others_words(agency: Agency) -> None:
    agency.models.replies[CHOOSING] = BOTH
    agency.models.statuses["Seller"] = 400
    agency.open("classifier", [ADVISER, SELLER])
    assert agency.answer(agency.ask("How are we doing?")) == "A model answered."
    messages = str(agency.models.said_to("responder")[-1]["messages"])
    assert "Ads say seventy." in messages and "(no answer)" in messages


def test_nobody_answers(agency: Agency) -> None:
    agency.models.replies[CHOOSING] = BOTH
    agency.models.statuses |= {"Seller": 400, "Adviser": 400}
    agency.open("classifier", [ADVISER, SELLER])
    assert agency.answer(agency.ask("How are we doing?")).startswith("bad_request: ")


def test_killed_while_two_work(agency: Agency) -> None:
    """kill -9 with one agent done and the other one held: the one is neither asked again nor does it act again."""
    agency.models.replies[CHOOSING] = BOTH
    agency.models.rounds["Adviser"] = [[("write_line", '{"text": "one"}')]]
    agency.models.hold("Seller")
    agency.open("classifier", [ADVISER | {"toolset": ["write_line"]}, SELLER])
    run_id = agency.ask("How are we doing?")
    pinned = "select from llm_calls where run_id = %s and role_name = 'Adviser'"
    poll(lambda: len(agency.stack.rows(pinned, run_id)) == 2 and agency.models.calls["Seller"] == 1)
    agency.kill()
    agency.models.release("Seller")
    agency.start()
    assert agency.answer(run_id) == "A model answered."
    calls = agency.models.calls
    assert (calls[CHOOSING], calls["Adviser"], calls["Seller"]) == (1, 2, 2)
    assert (agency.stack.folder / "lines").read_text().split() == ["one"]
    rounds = agency.rounds(run_id)
    assert len(rounds) == 5 and len({number for number, _ in rounds}) == 5


def test_killed_after_the_later_number_was_pinned(agency: Agency) -> None:
    """Who asked second answered first: the call that was lost takes a new number, not the one of the pinned reply."""
    agency.models.replies[CHOOSING] = BOTH
    agency.models.hold("Adviser")
    agency.open("classifier", [ADVISER, SELLER])
    run_id = agency.ask("How are we doing?")
    poll(lambda: len(agency.rounds(run_id)) == 2, what="the Seller's reply is pinned")
    agency.kill()
    agency.models.hold("responder")
    agency.models.release("Adviser")
    agency.start()
    poll(lambda: len(agency.rounds(run_id)) == 3, what="the Adviser's is, too")
    agency.kill()
    agency.models.release("responder")
    agency.start()
    assert agency.answer(run_id) == "A model answered."
    assert (agency.models.calls["Adviser"], agency.models.calls["Seller"]) == (2, 1)
    roles = [role for _, role in agency.rounds(run_id)]
    assert (roles.count("Adviser"), roles.count("Seller")) == (1, 1)
