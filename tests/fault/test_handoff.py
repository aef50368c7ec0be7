"""handoff: who holds a dialogue, to whom it goes, and who holds it after a crash."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg

from tests.agency import ADVISER, SELLER, Agency
from tests.polling import poll

FIELDS = ("name", "role_prompt", "about")
ROUTER = {"name": "router", "role_prompt": "Router", "about": "who is asked first", "handoffs": ["adverts", "clients"]}
ADS = {name: ADVISER[name] for name in FIELDS} | {"handoffs": ["router"], "toolset": ["write_line"]}
CRM = {name: SELLER[name] for name in FIELDS} | {"handoffs": ["router"]}
AGENTS: list[dict[str, Any]] = [ROUTER, ADS, CRM]
TO_ADS = [("write_line", '{"text": "one"}'), ("transfer_to_adverts", "")]


def holder(agency: Agency, conversation: UUID) -> str | None:
    (row,) = agency.stack.rows("select last_agent from chat_conversations where id = %s", conversation)
    return None if row["last_agent"] is None else str(row["last_agent"])


def names(asked: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in asked.get("tools", [])]


def test_who_was_given_the_dialogue_keeps_it(agency: Agency) -> None:
    """The new agent sees no call of the other; the next question goes to it at once; one event a transfer."""
    agency.models.rounds["Router"] = [TO_ADS]
    agency.open("handoff", AGENTS)
    conversation = uuid4()
    run_id = agency.ask("My campaign is slow.", conversation)
    assert agency.answer(run_id) == "Ads say seventy."
    (first,) = agency.models.said_to("Router")
    assert names(first) == ["transfer_to_adverts", "transfer_to_clients"]
    (second,) = agency.models.said_to("Adviser")
    assert names(second) == ["write_line", "transfer_to_router"]
    assert [turn["role"] for turn in second["messages"]] == ["system", "user"]
    events = {one["tool"]: one["error_code"] for one in agency.events(run_id, "tool_result")}
    assert events == {"write_line": "not_allowed", "transfer_to_adverts": None}
    assert holder(agency, conversation) == "adverts"
    rows = agency.stack.rows("select role, agent from chat_messages where run_id = %s order by role", run_id)
    assert [(row["role"], row["agent"]) for row in rows] == [
        ("assistant", "adverts"),
        ("tool", "router"),
        ("tool", "router"),
        ("user", None),
    ]
    assert agency.answer(agency.ask("And now?", conversation)) == "Ads say seventy."
    assert (agency.models.calls["Router"], agency.models.calls["Adviser"]) == (1, 2)
    agency.answer(agency.ask("Another dialogue.", uuid4()))
    assert agency.models.calls["Router"] == 2


def test_a_dialogue_is_handed_over_twice_at_most(agency: Agency) -> None:
    """Then no transfer is offered; the rounds are those of the turn, whoever speaks."""
    agency.models.rounds |= {
        "Router": [[("transfer_to_adverts", "")]],
        "Adviser": [[("transfer_to_router", ""), ("transfer_to_router", "")]],
    }
    agency.open("handoff", AGENTS, limits={"rounds": 4})
    conversation = uuid4()
    run_id = agency.ask("My campaign is slow.", conversation)
    assert agency.answer(run_id) == "The router speaks."
    assert [names(one) for one in agency.models.said_to("Router")] == [
        ["transfer_to_adverts", "transfer_to_clients"],
        [],
        [],
    ]
    assert agency.models.calls["responder"] == 4
    codes = [(one["tool"], one["error_code"]) for one in agency.events(run_id, "tool_result")]
    assert codes == [
        ("transfer_to_adverts", None),
        ("transfer_to_router", None),
        ("transfer_to_router", "failed"),
        ("transfer_to_adverts", "not_allowed"),
    ]
    assert holder(agency, conversation) == "router"


def test_a_crash_leaves_the_dialogue_where_it_was(agency: Agency) -> None:
    """kill -9 after a transfer: it belongs to nobody yet; the transfer is not asked for again."""
    agency.models.rounds["Router"] = [TO_ADS]
    agency.models.hold("Adviser")
    agency.open("handoff", AGENTS)
    conversation = uuid4()
    run_id = agency.ask("My campaign is slow.", conversation)
    poll(lambda: agency.models.calls["Adviser"] == 1)
    agency.kill()
    assert holder(agency, conversation) is None
    agency.models.release("Adviser")
    agency.start()
    assert agency.answer(run_id) == "Ads say seventy."
    assert holder(agency, conversation) == "adverts"
    assert (agency.models.calls["Router"], agency.models.calls["Adviser"]) == (1, 2)


def test_a_failed_turn_leaves_the_dialogue_where_it_was(agency: Agency) -> None:
    agency.models.rounds["Router"] = [TO_ADS]
    agency.models.statuses["Adviser"] = 400
    agency.open("handoff", AGENTS)
    conversation = uuid4()
    assert agency.answer(agency.ask("My campaign is slow.", conversation)).startswith("bad_request")
    assert holder(agency, conversation) is None


def test_who_holds_the_conversation_holds_up_no_answer(agency: Agency) -> None:
    """Somebody's transaction has the row: the answer comes, and the next turn still knows who gave it."""
    agency.models.rounds["Router"] = [TO_ADS]
    agency.open("handoff", AGENTS)
    conversation = uuid4()
    agency.models.hold("Router")
    run_id = agency.ask("My campaign is slow.", conversation)
    with psycopg.connect(agency.stack.dsn) as holder_of_row:
        holder_of_row.execute("update chat_conversations set title = 'mine' where id = %s", (conversation,))
        agency.models.release("Router")
        assert agency.answer(run_id) == "Ads say seventy."
    assert holder(agency, conversation) is None
    agency.answer(agency.ask("And now?", conversation))
    assert (agency.models.calls["Router"], holder(agency, conversation)) == (1, "adverts")
