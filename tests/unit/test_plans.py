"""Plans of models: read, checked, put in order and counted without executing anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.assistants.corporate.plan import (
    MAX_STEPS,
    BadPlan,
    PlanStep,
    count_calls,
    execution_order,
    is_complex,
    longest_list,
    read_plan,
    route_of,
)
from tests.toolbox import TOOLS


def stated(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": [{"title": "Шаг", "tool": "write_line"} | step for step in steps]})


def steps(calls: int, thoughts: int = 0, items: int = 1) -> list[PlanStep]:
    return [*(PlanStep("call", "write_line", items=items) for _ in range(calls)), *[PlanStep("think")] * thoughts]


@pytest.mark.parametrize(
    ("plan", "route"),
    [
        (steps(0), "direct"),
        (steps(0, 9), "direct"),
        (steps(1), "direct"),
        (steps(1, 9), "direct"),
        (steps(2), "plan"),
        (steps(7), "plan"),
        (steps(7, 5), "plan"),
        (steps(8), "complex"),
        (steps(50), "complex"),
        (steps(1, items=10), "complex"),
        (steps(2, items=9), "plan"),
        ([PlanStep("call", "write_line", arguments={"to": [{"all": ["x"] * 10}]})], "complex"),
        ([PlanStep("think", items=100)], "direct"),
    ],
)
def test_the_count_decides(plan: list[PlanStep], route: str) -> None:
    assert route_of(plan) == route


def test_thoughts_are_steps_of_a_task() -> None:
    assert [is_complex(one) for one in (steps(7), steps(8), steps(4, 4), steps(1, items=10))] == [False, *[True] * 3]
    assert count_calls(steps(4, 4)) == 4
    assert [longest_list(one) for one in (None, "abc", [1, 2], {"a": [1], "b": {"c": [1, 2, 3]}})] == [0, 0, 2, 3]


def test_a_plan_is_read() -> None:
    plan = read_plan(stated({"title": "  Первая\0 \n строка "}, {"tool": "None", "depends_on": [1, 1]}, {}), TOOLS)
    assert plan == (PlanStep("Первая строка", "write_line"), PlanStep("Шаг", None, (1,)), PlanStep("Шаг", "write_line"))
    text = stated({"arguments": {"text": 5}}, {"tool": "", "prompt": " Подумай. "})
    first, second = read_plan(text, TOOLS, is_task=True)
    assert (first.arguments, second.prompt, second.tool) == ({"text": "5"}, "Подумай.", None)
    later = {"arguments": "", "prompt": "По строке каждому.", "items": 12}
    text = stated({"arguments": {"text": "a"}, "prompt": "x"}, later | {"depends_on": [1]})
    known, worked_out = read_plan(text, TOOLS, is_task=True)
    assert (known.prompt, worked_out.arguments, worked_out.prompt) == (None, {}, "По строке каждому.")
    with pytest.raises(BadPlan, match="step 1: give it arguments, or name in depends_on"):
        read_plan(stated(later), TOOLS, is_task=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no", "JSON object"),
        ("[]", "JSON object"),
        ("{}", "steps"),
        ('{"steps": 1}', "steps"),
        (stated({"title": " "}), "title"),
        ('{"steps": ' + "[" * 200 + "]" * 200 + "}", "deeply"),
        (stated({"tool": "x" * 999}), "no tool"),
        (stated({"depends_on": [2]}), "cannot depend on step 2"),
        (stated({"depends_on": [1]}), "step 1"),
        (stated({"depends_on": [0]}), "step 0"),
        (stated({"depends_on": [2]}, {"depends_on": [1]}), "1, 2 wait"),
        (stated({"items": -1}), "items"),
        (stated(*[{}] * (MAX_STEPS + 1)), "steps"),
        (stated({"depends_on": "all"}), "depends_on"),
    ],
)
def test_a_wrong_plan_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        read_plan(text, TOOLS)


@pytest.mark.parametrize(
    "step",
    [{"arguments": "[]"}, {"arguments": '{"text": {}}'}, {"arguments": ""}, {"tool": ""}, {"tool": "", "prompt": " "}],
)
def test_a_step_of_a_task_is_complete(step: dict[str, Any]) -> None:
    with pytest.raises(BadPlan, match="step 1"):
        read_plan(stated(step), TOOLS, is_task=True)


@given(st.lists(st.sets(st.integers(1, 8), max_size=3), max_size=8))
def test_an_order_keeps_dependencies_or_there_is_none(needs: Sequence[set[int]]) -> None:
    plan = [PlanStep("call", "write_line", tuple(sorted(one))) for one in needs]
    try:
        order = execution_order(plan)
    except BadPlan:
        return
    assert sorted(order) == list(range(1, len(plan) + 1))
    assert all(order.index(other) < order.index(number) for number in order for other in plan[number - 1].depends_on)
