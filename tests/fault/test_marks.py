"""Marks of a model that writes numbers nobody gave: none is stored, and none is shown and then gone."""

from __future__ import annotations

from uuid import UUID

from tests.model_server import ModelServer
from tests.sse import read_events
from tests.stack import Stack

REPLY = "Alma lives in Lisbon [1, 77], so they say [88] and `x[5]` too [ 1 ]. See [99]"
SHOWN = "Alma lives in Lisbon [1], so they say and `x[5]` too [1]. See"


def test_a_streamed_answer_shows_only_marks_that_were_given(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.replies["responder"] = REPLY
    models.delay = 0.15  # so that every word is an event of its own
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_STREAM="True")
    stack.wait_archived(stack.ask(user, "My sister Alma moved to Lisbon."))
    run_id = stack.ask(user, "Where does she live?", marks=True)
    events = read_events(stack, run_id)
    texts = [event.data["delta"] for event in events if event.type == "text"]
    assert len(texts) > 3
    assert "".join(texts) == SHOWN
    answer = stack.answer(run_id)
    assert answer["final_answer"] == SHOWN
    assert answer["used"] == [one["id"] for one in answer["sources"] if one["number"] == 1]
    plain = stack.ask(user, "Where does she live?")
    assert stack.answer(plain)["final_answer"] == REPLY


def test_a_model_that_condenses_keeps_numbers(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Of what it wrote by an operator's prompt only numbers of lines count that were in the draft."""
    stack.rows("update system_prompts set prompt_template = 'Shorten {memory}.' where role_name = 'Assembler'")
    models.replies["assembler"] = "Alma lives in Lisbon [1], they say [55]."
    models.replies["responder"] = "In Lisbon [1][55][2]."
    stack.start_server()
    stack.start_orchestrator(**models.settings())
    stack.wait_archived(stack.ask(user, "My sister Alma moved to Lisbon."))
    answer = stack.answer(stack.ask(user, "Where does she live?", marks=True))
    assert answer["final_answer"] == "In Lisbon [1]."
    assert len(answer["used"]) == 1
    assert len(answer["sources"]) > 1, "its words may be of a line whose number it left out: forgetting must find it"
    assert "Keep that number" in models.prompts("assembler")[-1]
