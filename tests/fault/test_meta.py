"""meta_tools: four tools in place of all, domains side by side, and whose words are the answer."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from maas.tools.waiting_actions import MARK
from tests import sse
from tests.agency import ADVISER, SELLER, Agency
from tests.polling import poll

AGENTS = [{name: one[name] for name in ("name", "role_prompt", "about")} for one in (ADVISER, SELLER)]
META = ["getAvailableDomains", "getDomainTools", "executeTools", "executeTool"]


def execute(*names: str, **args: object) -> tuple[str, str]:
    tools = [{"name": name, "args": args} for name in names]
    return "executeTools", json.dumps({"tools": tools, "user_question": "How are we?"})


def tool_results(agency: Agency) -> list[dict[str, Any]]:
    """The results that the assistant was sent last."""
    last = agency.models.said_to("responder")
    last = [one for one in last if one.get("tools")]
    return [json.loads(turn["content"]) for turn in last[-1]["messages"] if turn["role"] == "tool"]


def test_domains_answer_side_by_side(agency: Agency) -> None:
    """Each domain's tool waits for the other's; their agents' words go to the assistant."""
    agency.models.rounds["responder"] = [[("getAvailableDomains", "")], [execute("get_spend", "get_leads")]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    conversation = uuid4()
    run_id = agency.ask("How are we?", conversation)
    assert agency.answer(run_id) == "A model answered."
    mine = [one for one in agency.models.said_to("responder") if one.get("tools")]
    assert [[one["function"]["name"] for one in asked["tools"]] for asked in mine] == [META] * 3
    domains, results = tool_results(agency)
    assert [(one["name"], one["about"], one["available"]) for one in domains["data"]["domains"]] == [
        ("adverts", "campaigns, budgets", True),
        ("clients", "leads, sales", True),
    ]
    assert results["data"]["responses"] == {"adverts": "Ads say seventy.", "clients": "Sales say three."}
    assert {name: one["success"] for name, one in results["data"]["domains"].items()} == {
        "adverts": True,
        "clients": True,
    }
    (asked,) = agency.models.said_to("Adviser")
    assert '"spend": 70' in asked["messages"][-1]["content"] and "How are we?" in asked["messages"][-1]["content"]
    started = [one["tool"] for one in agency.events(run_id, "tool_start")]
    assert sorted(started) == ["executeTools", "getAvailableDomains", "get_leads", "get_spend"]
    assert len(agency.events(run_id, "tool_result")) == 4
    (row,) = agency.stack.rows("select last_agent, last_domain from chat_conversations where id = %s", conversation)
    assert (row["last_agent"], row["last_domain"]) == ("mixed", "mixed")


def test_the_only_domain_is_the_answer(agency: Agency) -> None:
    """Its words unchanged, though the assistant spoke, too; a domain that failed had none."""
    (agency.stack.folder / "spend").touch()
    agency.models.rounds["responder"] = [[execute("get_leads")], [execute("no_such_tool")]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?", conversation := uuid4())
    assert agency.answer(run_id) == "Sales say three."
    (row,) = agency.stack.rows("select last_agent, last_domain from chat_conversations where id = %s", conversation)
    assert (row["last_agent"], row["last_domain"]) == ("clients", "clients")
    assert agency.models.calls["responder"] == 4
    assert "A model answered." not in "".join(one["delta"] for one in agency.events(run_id, "text"))


def test_a_domain_without_an_agent_gives_its_results(agency: Agency) -> None:
    (agency.stack.folder / "spend").touch()
    agency.models.rounds["responder"] = [[execute("get_leads")]]
    agency.open("meta_tools", AGENTS[:1], toolset=["adverts", "clients"])
    assert agency.answer(agency.ask("How are we?")) == "A model answered."
    (result,) = tool_results(agency)
    assert result["data"]["responses"]["clients"][0]["data"] == {"leads": 3}


def test_one_domain_fails_alone(agency: Agency) -> None:
    """The model of its agent is down; the other's words and its own results are there."""
    (agency.stack.folder / "spend").touch()
    (agency.stack.folder / "leads").touch()
    agency.models.statuses["Seller"] = 400
    agency.models.rounds["responder"] = [[execute("get_spend", "get_leads")]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    assert agency.answer(agency.ask("How are we?")) == "Ads say seventy."
    (result,) = tool_results(agency)
    assert [one["success"] for one in result["data"]["domains"].values()] == [True, False]
    assert result["data"]["responses"]["clients"][0]["data"] == {"leads": 3}


def test_what_waits_for_the_user_is_proposed_once(agency: Agency) -> None:
    """Each call within executeTools is one action and one event; the assistant tells of them."""
    (agency.stack.folder / "spend").touch()
    two = {"tools": [{"name": "pause_campaign", "args": {"text": name}} for name in ("one", "two")]}
    agency.models.rounds["responder"] = [[("executeTools", json.dumps(two)), execute("get_leads")]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    run_id = agency.ask("Pause them.")
    said, _, waiting = agency.answer(run_id).partition(f"\n\n{MARK}")
    assert said == "A model answered." and "`one`" in waiting and "`two`" in waiting
    actions = agency.stack.rows("select id, tool_name, tool_args from chat_pending_actions where run_id = %s", run_id)
    assert sorted(one["tool_args"]["text"] for one in actions) == ["one", "two"]
    announced = [one["action_id"] for one in agency.events(run_id, "approval_required")]
    assert sorted(announced) == sorted(str(one["id"]) for one in actions)
    assert agency.models.said_to("Adviser") == [], "there is nothing yet to put into words"


def test_an_approved_read_is_reported_by_the_model_of_its_agent(agency: Agency) -> None:
    """In words, although the assistant's own model is another one: that one reads nothing of the result."""
    (agency.stack.folder / "spend").touch()
    agency.models.rounds["responder"] = [[execute("get_leads")]]
    seller = AGENTS[1] | {"model": "openai:analyzer"}
    agency.open("meta_tools", [AGENTS[0], seller], toolset=["adverts", "clients"], default_mode="ask")
    run_id = agency.ask("How many leads?")
    agency.answer(run_id)
    (action,) = agency.stack.rows("select id, agent from chat_pending_actions where run_id = %s", run_id)
    agency.models.requests.clear()
    agency.models.rounds.clear()
    agency.models.replies["analyzer"] = "There are three leads."
    query = "select run_id from maas_decide_action(%s, %s, 'approve', 'sql')"
    (approved,) = agency.stack.rows(query, action["id"], agency.user)
    assert agency.answer(approved["run_id"]) == "There are three leads." and action["agent"] == "clients"
    assert agency.models.said_to("responder") == []
    (asked,) = [one for one in agency.models.said_to("analyzer") if "<outcome>" in str(one["messages"])]
    assert '"leads": 3' in asked["messages"][-1]["content"]


def test_a_domain_that_is_closed_to_a_run(agency: Agency) -> None:
    """Shown as not available, and its tools cannot be called."""
    agency.models.rounds["responder"] = [
        [("getAvailableDomains", ""), ("getDomainTools", '{"domain": "adverts"}'), execute("pause_campaign", text="x")]
    ]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?", domains=["clients"])
    agency.answer(run_id)
    domains, opened, _ = tool_results(agency)
    assert [one["available"] for one in domains["data"]["domains"]] == [False, True]
    assert "closed to this request" in opened["message"]
    codes = {one["tool"]: one["error_code"] for one in agency.events(run_id, "tool_result")}
    assert codes["pause_campaign"] == "unknown_tool"
    assert agency.stack.rows("select from chat_pending_actions where user_id = %s", agency.user) == []


def test_killed_while_two_domains_speak(agency: Agency) -> None:
    """kill -9 with one domain's words pinned and the other's on their way: only these are asked for again."""
    agency.models.rounds["responder"] = [[execute("get_spend", "get_leads")]]
    agency.models.hold("Adviser")
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?")
    poll(lambda: len(agency.rounds(run_id)) == 2 and agency.models.calls["Adviser"] == 1, what="one domain is pinned")
    agency.kill()
    agency.models.release("Adviser")
    agency.start()
    assert agency.answer(run_id) == "A model answered."
    calls = agency.models.calls
    assert (calls["Adviser"], calls["Seller"], calls["responder"]) == (2, 1, 5)
    roles = [role for _, role in agency.rounds(run_id)]
    assert sorted(roles) == ["Adviser", "FinalResponder", "FinalResponder", "Seller"]


LOUD = {"name": "write_line", "args": {"text": "Call +7 912 345-67-89, key sk-abcdefgh12345678"}}


def test_layers_of_a_request(agency: Agency) -> None:
    """All eleven over SSE, in order of their beginnings, and no secret in them."""
    calls = [{"name": "get_spend"}, {"name": "get_leads"}, LOUD, {"name": "pause_campaign", "args": {}}]
    agency.models.rounds["responder"] = [[("executeTools", json.dumps({"tools": calls}))]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients", "box"])
    agency.stack.start_server()
    run_id = agency.ask("How are we?", debugLayers=True)
    events = [one.data for one in sse.read_events(agency.stack, run_id) if one.type == "layer"]
    first = list(dict.fromkeys(one["layer"] for one in events))
    assert sorted(first) == list(range(1, 12)) and first[:6] == [1, 2, 3, 4, 5, 6] and first[-2:] == [10, 11]
    begun = {(one["layer"], one["name"]) for one in events if one["status"] == "start"}
    ended = {(one["layer"], one["name"]) for one in events if one["status"] == "end" and one["duration_ms"] >= 0}
    assert (
        begun
        == ended
        >= {(6, "adverts"), (6, "clients"), (8, "get_spend"), (8, "get_leads"), (9, "adverts"), (9, "clients")}
    )
    (refused,) = [one for one in events if one["status"] == "error"]
    assert (refused["layer"], refused["name"], refused["error"]) == (7, "pause_campaign", "validation_error")
    assert all(secret not in str(events) for secret in ("345-67", "abcdefgh"))
    assert "write_line" in str(events)


@pytest.mark.parametrize(("environment", "metadata"), [("production", {"debugLayers": True}), ("development", {})])
def test_layers_are_for_those_who_may_and_ask(agency: Agency, environment: str, metadata: dict[str, Any]) -> None:
    (agency.stack.folder / "spend").touch()
    agency.models.rounds["responder"] = [[execute("get_leads")]]
    agency.open("meta_tools", AGENTS, {"MAAS_ENVIRONMENT": environment}, toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?", **metadata)
    assert agency.answer(run_id) == "Sales say three."
    assert agency.events(run_id, "layer") == [] and agency.events(run_id, "tool_result")


def test_a_call_that_is_written_is_made_and_never_shown(agency: Agency) -> None:
    """A model at home writes its call as fenced JSON: the tool runs under its policy, and the answer is in words."""
    written = '```json\n{"name": "pause_campaign", "arguments": {"text": "spring"}}\n```'

    def say(messages: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        return ("I have asked for it." if messages[-1]["role"] == "tool" else written), []

    agency.models.scripts["responder"] = say
    agency.open("single", [], toolset=["pause_campaign"], default_mode="plan")
    run_id = agency.ask("Pause the campaign.")
    answer = agency.answer(run_id)
    assert answer.startswith("I have asked for it.") and MARK in answer
    actions = "select tool_name, tool_args, status from chat_pending_actions where user_id = %s"
    (action,) = agency.stack.rows(actions, agency.user)
    assert (action["tool_name"], action["tool_args"], action["status"]) == (
        "pause_campaign",
        {"text": "spring"},
        "pending",
    )
    shown = "".join(one["delta"] for one in agency.events(run_id, "text"))
    assert "arguments" not in shown + answer and "```" not in shown + answer


def test_a_call_of_a_domain_by_its_own_name_is_made(agency: Agency) -> None:
    """As one of executeTools, and only once; the model reads its result under the name and id that it gave it."""
    (agency.stack.folder / "leads").touch()
    agency.models.rounds["responder"] = [[("get_spend", "{}")]]
    agency.open("meta_tools", AGENTS[:1], toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("How are we?", conversation := uuid4())
    assert agency.answer(run_id) == "Ads say seventy."
    asked = [one for one in agency.models.said_to("responder") if one.get("tools")][-1]
    assert [one["function"]["name"] for one in asked["tools"]] == META
    said, result = asked["messages"][-2:]
    (call,) = said["tool_calls"]
    assert call["function"] == {"name": "get_spend", "arguments": "{}"}
    assert result["tool_call_id"] == call["id"] and json.loads(result["content"])["data"]["responses"] == {
        "adverts": "Ads say seventy."
    }
    assert [one["tool"] for one in agency.events(run_id, "tool_start")] == ["executeTools", "get_spend"]
    made = agency.stack.rows("select tool from tool_executions where run_id = %s", run_id)
    assert [one["tool"] for one in made] == ["get_spend"]
    (row,) = agency.stack.rows("select last_agent, last_domain from chat_conversations where id = %s", conversation)
    assert (row["last_agent"], row["last_domain"]) == ("adverts", "adverts")


def test_calls_of_two_domains_by_their_own_names_beside_one_another(agency: Agency) -> None:
    """Each is answered, and so is one of executeTools; the assistant reads all of them."""
    agency.models.rounds["responder"] = [[("get_spend", "{}"), ("get_leads", ""), ("getAvailableDomains", "")]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    assert agency.answer(agency.ask("How are we?")) == "A model answered."
    asked = [one for one in agency.models.said_to("responder") if one.get("tools")][-1]
    said, *results = asked["messages"][-4:]
    assert [one["tool_call_id"] for one in results] == [one["id"] for one in said["tool_calls"]]
    spend, leads, _ = tool_results(agency)
    assert (spend["data"]["responses"], leads["data"]["responses"]) == (
        {"adverts": "Ads say seventy."},
        {"clients": "Sales say three."},
    )


@pytest.mark.parametrize(
    ("call", "code", "says"),
    [
        (("drop_lead", '{"text": "Ann"}'), "unknown_tool", "there is no tool 'drop_lead'"),
        (("no_such_tool", "{}"), "unknown_tool", "there is no tool 'no_such_tool'"),
        (("pause_campaign", "{}"), "validation_error", "text: Field required"),
        (("pause_campaign", '{"text": "Spring", "sure": true}'), "validation_error", "unknown: sure"),
        (("pause_campaign", "Spring"), "validation_error", "tools.0.args"),
    ],
    ids=["closed domain", "no tool", "wrong", "unknown argument", "no JSON"],
)
def test_what_may_not_be_called_by_its_own_name(agency: Agency, call: tuple[str, str], code: str, says: str) -> None:
    """A tool that is not open to the run is unknown; arguments that it does not take are refused in the same words."""
    agency.models.rounds["responder"] = [[call]]
    agency.open("meta_tools", [], toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?", domains=["adverts"])
    assert agency.answer(run_id) == "A model answered."
    assert code in {one["error_code"] for one in agency.events(run_id, "tool_result")}
    assert says in json.dumps(tool_results(agency), ensure_ascii=False)
    assert agency.stack.rows("select from chat_pending_actions where run_id = %s", run_id) == []


@pytest.mark.parametrize("is_own", [True, False], ids=["own name", "executeTools"])
def test_the_model_that_made_a_wrong_call_reads_what_is_wrong(agency: Agency, is_own: bool) -> None:
    """The agent of the domain, which cannot, is not asked; the corrected call is made."""
    wrong, right = {"line": "Spring"}, {"text": "Spring"}
    asked = [
        [("pause_campaign", json.dumps(one))] if is_own else [execute("pause_campaign", **one)]
        for one in (wrong, right)
    ]
    agency.models.rounds["responder"] = asked
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?")
    agency.answer(run_id)
    first, _ = tool_results(agency)
    (refusal,) = first["data"]["responses"]["adverts"]
    assert refusal["error_code"] == "validation_error" and "unknown: line" in refusal["message"]
    assert agency.models.said_to("Adviser") == []
    (row,) = agency.stack.rows("select status, arguments from v_actions where user_id = %s", agency.user)
    assert (row["status"], row["arguments"]) == ("pending", right)


@pytest.mark.parametrize("namespace", ["functions", "default_api", "tools", "multi_tool_use"])
def test_a_call_behind_a_namespace_is_one_of_its_tool(agency: Agency, namespace: str) -> None:
    """Of a meta tool, of a domain's tool, and within executeTools: with the same consent, and once each."""
    (agency.stack.folder / "leads").touch()
    two = {"tools": [{"name": f"{namespace}.get_spend"}, {"name": f"{namespace}.drop_lead", "args": {"text": "Bob"}}]}
    agency.models.rounds["responder"] = [
        [
            (f"{namespace}.getAvailableDomains", "{}"),
            (f"{namespace}.pause_campaign", '{"text": "Spring"}'),
            (f"{namespace}.executeTools", json.dumps(two)),
        ]
    ]
    agency.open("meta_tools", [], toolset=["adverts", "clients"])
    run_id = agency.ask("How are we?", domains=["adverts"])
    agency.answer(run_id)
    made = agency.stack.rows("select tool from tool_executions where run_id = %s", run_id)
    assert [one["tool"] for one in made] == ["get_spend"]
    waiting = agency.stack.rows("select tool_name from chat_pending_actions where run_id = %s", run_id)
    assert [one["tool_name"] for one in waiting] == ["pause_campaign"], "the other's domain is closed to the run"
    codes = {one["tool"]: one["error_code"] for one in agency.events(run_id, "tool_result")}
    assert codes.pop(f"{namespace}.drop_lead") == "unknown_tool"
    assert codes == {
        "getAvailableDomains": None,
        "executeTools": None,
        "get_spend": None,
        "pause_campaign": "approval_required",
    }
    said = [one for one in agency.models.said_to("responder") if one.get("tools")][-1]["messages"][-4]
    names = [one["function"]["name"] for one in said["tool_calls"]]
    assert names == [f"{namespace}_{one}" for one in ("getAvailableDomains", "pause_campaign", "executeTools")]


def test_calls_by_their_own_names_count_against_the_limit(agency: Agency) -> None:
    agency.models.rounds["responder"] = [[("write_line", json.dumps({"text": str(number)})) for number in range(4)]]
    agency.open("meta_tools", [], toolset=["box"], limits={"calls": 2})
    run_id = agency.ask("How are we?")
    agency.answer(run_id)
    codes = [one["error_code"] for one in agency.events(run_id, "tool_result") if one["tool"] == "write_line"]
    assert sorted(map(str, codes)) == ["None", "None", "TOOL_CALL_LIMIT", "TOOL_CALL_LIMIT"]
    assert len(agency.stack.rows("select from tool_executions where run_id = %s", run_id)) == 2


def test_words_of_an_agent_are_no_source_of_figures_by_either_name(agency: Agency) -> None:
    """Those that the agent of a domain has reckoned stand in the result, but in no data."""
    (agency.stack.folder / "spend").touch()
    (agency.stack.folder / "leads").touch()
    agency.models.replies |= {"Adviser": "Ads have spent 70, or 912 a week.", "responder": "It was 912."}
    agency.models.rounds["responder"] = [[("get_spend", "{}"), ("get_leads", "{}")]]
    agency.open("meta_tools", AGENTS, toolset=["adverts", "clients"], sourced_figures=True)
    run_id = agency.ask("How are we?")
    agency.answer(run_id)
    (row,) = agency.stack.rows("select degraded from pipeline_runs where id = %s", run_id)
    assert "figures" in row["degraded"]
