"""Long results in whole runs: no model is sent more than its window, and what was cut is said."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest

from bench.tokens import real
from maas.tools.bounds import MAX_CONTEXT_TOKENS, MAX_DIALOGUE_TOKENS, MAX_RESULT_TOKENS
from tests.agency import ADVISER, Agency
from tests.model_server import ModelServer
from tests.stack import Stack

WINDOW = 128_000
REPORTS = {"MAAS_TOOLS": "tests.reports:TOOLS", "MAAS_ASSEMBLER_MODEL": "extractive:builtin"}
SMALL = {"MAAS_MODEL_PROFILE": "small"}
RESULT_TOKENS = 2500  # of that profile
ADS = {name: ADVISER[name] for name in ("name", "role_prompt", "about")}


@pytest.fixture
def agency(stack: Stack, models: ModelServer, user: UUID) -> Agency:
    models.window, models.count_tokens = WINDOW, real
    return Agency(stack, models, user)


def calls(first: int, count: int) -> list[tuple[str, str]]:
    return [("read_report", json.dumps({"number": number})) for number in range(first, first + count)]


def results_in(request: dict[str, Any]) -> list[str]:
    """The texts of all results that a model was sent."""
    return [one["content"] for one in request["messages"] if one["role"] == "tool"]


def content(request: dict[str, Any]) -> str:
    return "".join(str(one.get("content")) for one in request["messages"])


def test_twenty_reports_fit_one_agent(agency: Agency) -> None:
    """The agent of the domain gets all of them, each cut to the same part; before, they were over its window."""
    twenty = {"tools": [{"name": name, "args": json.loads(args)} for name, args in calls(0, 20)]}
    agency.models.rounds["responder"] = [[("executeTools", json.dumps(twenty | {"user_question": "Q" * 60_000}))]]
    agency.open("meta_tools", [ADS], REPORTS, toolset=["adverts"])
    assert agency.answer(agency.ask("How are we?")) == "Ads say seventy."
    (asked,) = agency.models.said_to("Adviser")
    found = re.search(r"<results>\n(.*)\n</results>", content(asked), re.DOTALL)
    assert found is not None and real(found[1]) <= MAX_RESULT_TOKENS
    results = json.loads(found[1])
    assert [one["tool"] for one in results] == ["read_report"] * 20
    assert {one["result"]["_meta"]["cut"][0] for one in results} == {"data"}
    assert len({len(one["result"]["data"]) for one in results}) <= 3 and results[0]["result"]["data"][0]["id"] == "0-0"
    assert max(agency.models.sizes) < MAX_RESULT_TOKENS + 12_000


def test_a_long_dialogue_stays_within_the_window(agency: Agency) -> None:
    """Thirty reports in six rounds would have four times the window: the newest are whole, the older ones are cut."""
    agency.models.rounds["responder"] = [calls(5 * number, 5) for number in range(6)]
    agency.open("single", [], REPORTS, toolset=["adverts"], limits={"calls": 30, "rounds": 8})
    assert agency.answer(agency.ask("How are we?")) == "A model answered."
    last = agency.models.said_to("responder")[-1]
    results = [json.loads(one["content"]) for one in last["messages"] if one["role"] == "tool"]
    assert len(results) == 30 and all(one["success"] for one in results)
    assert results[0]["_meta"]["cut"] and all("cut" not in one["_meta"] for one in results[-5:])
    assert max(agency.models.sizes) < MAX_DIALOGUE_TOKENS + 12_000 < WINDOW


def test_a_small_model_is_sent_what_its_profile_allows(agency: Agency) -> None:
    """Rows are left out, their number stands beside them, and how to ask for them."""
    agency.models.rounds["responder"] = [calls(0, 1), calls(1, 3)]
    agency.open("single", [], REPORTS | SMALL, toolset=["adverts"])
    assert agency.answer(agency.ask("How are we?")) == "A model answered."
    last = agency.models.said_to("responder")[-1]
    texts = results_in(last)
    assert real("".join(texts)) <= RESULT_TOKENS
    old, *newest = map(json.loads, texts)
    assert len(newest) == 3 and old["success"] and old["_meta"]["cut"]
    for one in newest:
        rows = len(one["data"])
        assert 10 < rows < 240 and one["data"][-1]["spend"] == (rows - 1) * 1.5
        assert one["_meta"]["left_out"] == {"data": {"rows": 240 - rows, "of": 240}}
        assert "call read_report again with other arguments (number)" in one["_meta"]["rest"]


ROUNDS = 9


@pytest.mark.parametrize("routing", ["single", "meta_tools"])
def test_older_rounds_make_room_for_the_newest(agency: Agency, routing: str) -> None:
    """However many there are, all results together have what the profile allows, and each call has its answer."""
    asked = [[("read_report", json.dumps({"number": number}))] for number in range(ROUNDS)]
    agency.models.rounds["responder"] = asked
    agency.open(routing, [], REPORTS | SMALL, toolset=["adverts"], limits={"rounds": ROUNDS + 1})
    assert agency.answer(agency.ask("How are we?")) == "A model answered."
    requests = [one for one in agency.models.said_to("responder") if one.get("tools")]
    sizes = [[real(text) for text in results_in(one)] for one in requests]
    assert [len(one) for one in sizes] == list(range(ROUNDS + 1))
    assert max(map(sum, sizes)) <= RESULT_TOKENS, sizes
    for *old, newest in sizes[1:]:
        assert newest >= RESULT_TOKENS * 0.25 and newest > max([0, *old]), sizes
    for request in requests:
        calls = [call["id"] for one in request["messages"] for call in one.get("tool_calls") or ()]
        assert calls == [one["tool_call_id"] for one in request["messages"] if one["role"] == "tool"]
    earlier = [json.loads(text) for text in results_in(requests[-1])[:-1]]
    assert all(one["success"] and one["_meta"]["cut"] and one["_meta"]["rest"] for one in earlier), earlier


def test_a_window_that_is_known_lets_older_rounds_shrink(agency: Agency) -> None:
    """Calls take room, too: what is left of it gets less with each round, and no request is longer than the window."""
    window = 12_000
    agency.models.window = window
    asked = [[("read_report", json.dumps({"number": number, "why": "so " * 300}))] for number in range(8)]
    agency.models.rounds["responder"] = asked
    options = json.dumps([{"model": "openai:responder", "window": window}])
    settings = REPORTS | {"MAAS_MODELS": options, "MAAS_MAX_TOKENS": "1000"}
    agency.open("single", [], settings, toolset=["adverts"])
    assert agency.answer(agency.ask("How are we?")) == "A model answered."
    assert window * 0.4 < max(agency.models.sizes) <= window - 1000


def test_figures_of_rows_that_older_rounds_have_lost_have_no_source(agency: Agency) -> None:
    """The model was shown them in the first round, but not when it answered."""
    agency.models.rounds["responder"] = [[("read_codes", json.dumps({"number": number}))] for number in range(4)]
    agency.models.replies["responder"] = "One of them is 10150."
    agency.open("single", [], REPORTS | SMALL, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("How are we?")
    agency.answer(run_id)
    _, second, *_, last = [one for one in agency.models.said_to("responder") if one.get("tools")]
    assert "10150" in results_in(second)[0] and "10150" not in "".join(results_in(last))
    (row,) = agency.stack.rows("select degraded from pipeline_runs where id = %s", run_id)
    assert "figures" in row["degraded"]


@pytest.mark.parametrize("has_agent", [True, False])
def test_so_is_one_that_words_results_or_passes_calls_on(agency: Agency, has_agent: bool) -> None:
    call = {"tools": [{"name": "read_report", "args": {"number": 7}}], "user_question": "How are we?"}
    agency.models.rounds["responder"] = [[("executeTools", json.dumps(call))]]
    agency.open("meta_tools", [ADS] if has_agent else [], REPORTS | SMALL, toolset=["adverts"])
    agency.answer(agency.ask("How are we?"))
    asked = agency.models.said_to("Adviser" if has_agent else "responder")[-1]
    shown = asked["messages"][-1]["content"]
    assert real(shown) <= RESULT_TOKENS + 300
    assert "call read_report again with other arguments (number)" in shown and "…" not in shown


@pytest.mark.parametrize("routing", ["single", "meta_tools"])
def test_a_total_of_rows_that_were_left_out_has_no_source(agency: Agency, routing: str) -> None:
    """The figure of the last row, which the model was not shown, is asked for again, and marked."""
    call = json.dumps({"tools": [{"name": "read_report"}], "user_question": "How are we?"})
    agency.models.rounds["responder"] = [calls(0, 1) if routing == "single" else [("executeTools", call)]]
    agency.models.replies["responder"] = "The last one has spent 358.5."
    agency.open(routing, [], REPORTS | SMALL, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("How are we?")
    assert agency.answer(run_id) == "The last one has spent 358.5."
    (row,) = agency.stack.rows("select degraded from pipeline_runs where id = %s", run_id)
    assert "figures" in row["degraded"]
    assert any(": 358.5." in content(one) for one in agency.models.said_to("responder"))


def test_the_tools_of_a_domain_are_listed_briefly_to_a_small_model(agency: Agency) -> None:
    settings = REPORTS | SMALL | {"MAAS_TOOLS": "tests.reports:MANY"}
    agency.models.rounds["responder"] = [[("getDomainTools", '{"domain": "adverts"}')]]
    agency.open("meta_tools", [], settings, toolset=["adverts"])
    agency.answer(agency.ask("How are we?"))
    (listed,) = [one for one in agency.models.said_to("responder")[-1]["messages"] if one["role"] == "tool"]
    rows = json.loads(listed["content"])["data"]
    assert len(rows) == 40 and real(listed["content"]) <= RESULT_TOKENS
    assert rows[0] == {"name": "report_0", "description": "Read a report", "required": ["day"], "optional": ["limit"]}


@pytest.mark.parametrize("routing", ["single", "handoff"])
def test_context_is_within_the_payload(agency: Agency, routing: str) -> None:
    """A long context is cut, a short one beside it stays whole, and memory makes room for both."""
    agents = [ADS] if routing == "handoff" else []
    agency.open(routing, agents, REPORTS, toolset=["adverts"], context_providers=["know_account", "know_day"])
    conversation = uuid4()
    for number in range(6):
        agency.answer(agency.ask(f"Fact {number}: " + f"herons {number} like water. " * 500, conversation))
    agency.answer(agency.ask("How are we?", conversation))
    name = "Adviser" if agents else "responder"
    asked = agency.models.said_to(name)[-1]
    system = asked["messages"][0]["content"]
    found = re.search(r"<context>\n(.*)\n</context>", system, re.DOTALL)
    assert found is not None and MAX_CONTEXT_TOKENS * 0.6 < real(found[0]) <= MAX_CONTEXT_TOKENS
    bodies = json.loads(found[1])
    assert (bodies["know_day"]["data"], bodies["know_account"]["_meta"]["cut"]) == ({"day": "Monday"}, ["data"])
    assert 6_000 < real(content(asked)) <= 8_000 and "<memory>" in system


def test_a_query_that_leaves_little_room_has_little_context(agency: Agency) -> None:
    """The providers' results give way to the query."""
    settings = REPORTS | {"MAAS_PAYLOAD_TOKENS": "4000"}
    agency.open("single", [], settings, toolset=["adverts"], context_providers=["know_account"])
    assert agency.answer(agency.ask("word " * 2600)) == "A model answered."
    asked = content(agency.models.said_to("responder")[-1])
    assert "<context>" in asked and real(asked) <= 4_000


def test_the_window_is_one(agency: Agency) -> None:
    """The model server of these tests does refuse what is too long."""
    agency.models.window = 100
    agency.open("single", [], REPORTS, toolset=["adverts"])
    assert agency.answer(agency.ask("heron " * 200)).startswith("context_exceeded: ")
