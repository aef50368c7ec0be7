"""A round of calls without words gets a sentence before its first call, and the answer does not have it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.agency import ADVISER, Agency
from tests.model_server import ModelServer
from tests.stack import Stack

RU, EN = ["Записываю.", "Пишу.", "Сейчас запишу."], ["Writing.", "I write it down.", "One moment."]
PREAMBLES = {"box": {"ru": RU, "en": EN}, "speak": {"ru": ["Говорю."], "en": ["Speaking."]}}
WRITES = [("write_line", '{"text": "one"}'), ("write_line", '{"text": "two"}')]
ROUTER = {"name": "router", "role_prompt": "Router", "about": "all", "toolset": ["box"], "handoffs": ["adverts"]}


def followed(agency: Agency, run_id: UUID) -> list[tuple[str, Any]]:
    """The text of each attempt, and the tools, in the order of their first events."""
    query = "select type, payload from run_events where run_id = %s and type = any(%s) order by n"
    seen: dict[tuple[str, Any], str] = {}
    for number, row in enumerate(agency.stack.rows(query, run_id, ["text", "tool_start"])):
        payload = row["payload"]
        is_text = row["type"] == "text"
        key = ("text", payload["attempt"]) if is_text else (payload["tool"], number)
        seen[key] = seen.get(key, "") + payload.get("delta", "")
    return [(kind, text or None) for (kind, _), text in seen.items()]


def test_before_the_first_call_of_a_round(agency: Agency) -> None:
    """One for a round, another in the next; chosen by the run, in the language of the dialogue."""
    agency.models.rounds["responder"] = [WRITES, [("write_line", '{"text": "three"}')]]
    agency.models.replies["responder"] = "All three lines are written."
    agency.models.pause("responder")
    agency.open("single", [], toolset=["box"], preambles=PREAMBLES)
    run_id = agency.ask("Запиши три строки.")
    agency.models.release("responder")
    assert agency.answer(run_id) == "All three lines are written."
    first, second = RU[(run_id.int + 1) % 3], RU[(run_id.int + 2) % 3]
    assert followed(agency, run_id)[:5] == [
        ("text", first),
        ("write_line", None),
        ("write_line", None),
        ("text", second),
        ("write_line", None),
    ]
    assert agency.answer(agency.ask("Please write three lines down.")) == "All three lines are written."
    query = (
        "select e.payload from run_events e join pipeline_runs r on r.id = e.run_id "
        "where r.user_id = %s and e.type = 'text'"
    )
    assert {one["payload"]["delta"] for one in agency.stack.rows(query, agency.user)} & set(EN)


def test_a_handoff_has_none_and_words_of_the_model_suffice(agency: Agency) -> None:
    """A tool's own sentence goes before that of its domain; the final words of a tool replace it."""
    agency.models.rounds |= {"Router": [[("transfer_to_adverts", "{}")]], "Adviser": [[("speak", "{}")]]}
    agent = {name: value for name, value in ADVISER.items() if name != "keywords"} | {"toolset": ["adverts"]}
    agency.open("handoff", [ROUTER, agent], preambles=PREAMBLES | {"adverts": {"ru": ["Смотрю."], "en": ["Looking."]}})
    run_id = agency.ask("Скажи.", uuid4())
    answer = agency.answer(run_id)
    assert followed(agency, run_id)[:3] == [("transfer_to_adverts", None), ("text", "Говорю."), ("speak", None)]
    assert answer.startswith("Готово:") and "Говорю" not in answer


@pytest.mark.parametrize(
    "definition",
    [{"toolset": ["box"]}, {"toolset": ["box"], "preambles": PREAMBLES, "stream": False}],
)
def test_without_data_or_stream_there_is_none(agency: Agency, definition: dict[str, Any]) -> None:
    agency.models.rounds["responder"] = [WRITES]
    agency.open("single", [], **({"toolset": ["box"]} | definition))
    run_id = agency.ask("Запиши.")
    agency.answer(run_id)
    assert followed(agency, run_id)[:2] == [("write_line", None), ("write_line", None)]


def test_an_unknown_tool_is_refused(stack: Stack, models: ModelServer, user: UUID) -> None:
    agency = Agency(stack, models, user)
    with pytest.raises(AssertionError, match="no tool or domain 'boks'"):
        agency.open("single", [], toolset=["box"], preambles={"boks": {"ru": RU, "en": EN}})
