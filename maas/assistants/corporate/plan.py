"""Plans: the steps that a model states for a task, checked and counted by code before anything is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from maas.tools.arguments import WrongArguments, read_arguments
from maas.tools.calls import own_name
from maas.tools.tool import Tool, Toolset
from shared.errors import problems_of
from shared.json import is_too_deep, json_object, json_parts
from shared.text import clean, one_line, shorten

MAX_DIRECT_CALLS = 1
MAX_PLANNED_CALLS = 7
MIN_COMPLEX_STEPS = 8
MIN_MASS_ITEMS = 10
MAX_STEPS = 100
MAX_TITLE_CHARS = 200
MAX_PROMPT_CHARS = 8000
_MAX_NAMED_TOOLS_CHARS = 2000
_NO_ARGUMENTS: tuple[object, ...] = (None, "", "{}", {})
_NO_TOOL = ("", "none", "null", "-")
Route = Literal["direct", "plan", "complex"]


class BadPlan(ValueError):
    """A plan that cannot be executed. The message tells the model what to send instead."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step: one call of `tool`, or thought where that is None. It begins when the steps `depends_on` are done.

    Steps are counted from 1. `items` is how many people, emails or events the model says that it touches. `arguments`
    and `prompt` are those of the steps of a complex task; with a `prompt`, the arguments of a call are worked out from
    the results of the steps that it depends on.
    """

    title: str
    tool: str | None = None
    depends_on: tuple[int, ...] = ()
    items: int = 1
    arguments: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None


class StatedStep(BaseModel):
    """A step as a model states it. `arguments` is an object or its JSON text, which every provider can be asked for."""

    title: Annotated[str, Field(pattern=r"\S")]
    tool: str | None = None
    depends_on: Annotated[list[int], Field(max_length=MAX_STEPS)] = []
    items: Annotated[int, Field(ge=0)] = 1
    arguments: dict[str, Any] | str | None = None
    prompt: Annotated[str | None, Field(max_length=MAX_PROMPT_CHARS)] = None


class StatedPlan(BaseModel):
    steps: Annotated[list[StatedStep], Field(max_length=MAX_STEPS)]


def plan_schema(*, is_task: bool) -> dict[str, Any]:
    """The JSON schema of a plan, for models; that of a task also states the arguments or the prompt of each step."""
    step: dict[str, Any] = {
        "title": {"type": "string"},
        "tool": {"type": "string", "description": "Name of the tool that the step calls once; empty for none."},
        "depends_on": {"type": "array", "items": {"type": "integer"}},
        "items": {"type": "integer", "description": "How many people, emails or events the step touches."},
    }
    if is_task:
        step["arguments"] = {"type": "string", "description": "JSON object with the arguments of the tool."}
        step["prompt"] = {
            "type": "string",
            "description": "What to think about, or what to call the tool for, from the results of other steps.",
        }
    steps = {
        "type": "array",
        "items": {"type": "object", "properties": step, "required": list(step), "additionalProperties": False},
    }
    return {
        "type": "object",
        "properties": {"steps": steps},
        "required": ["steps"],
        "additionalProperties": False,
    }


def read_plan(text: str, tools: Toolset, *, is_task: bool = False) -> tuple[PlanStep, ...]:
    """The plan in a model's reply, with the names of `tools` alone and without a circle of dependencies.

    Of a task every step has checked arguments or a prompt. Raises BadPlan.
    """
    value = json_object(text)
    if value is None or is_too_deep(value):
        raise BadPlan("send one JSON object with the member `steps`, and nothing nested deeply")
    try:
        stated = StatedPlan.model_validate(value).steps
    except ValidationError as error:
        raise BadPlan("; ".join(map(str, problems_of(error)[:5]))) from error
    steps = tuple(_read_step(number, one, tools, is_task) for number, one in enumerate(stated, 1))
    execution_order(steps)
    return steps


def _read_step(number: int, stated: StatedStep, tools: Toolset, is_task: bool) -> PlanStep:
    name = (stated.tool or "").strip()
    tool = None if name.lower() in _NO_TOOL else tools.get(own_name(name, tools.names()))
    if tool is None and name.lower() not in _NO_TOOL:
        known = shorten(", ".join(one.name for one in tools), _MAX_NAMED_TOOLS_CHARS)
        raise BadPlan(f"step {number}: there is no tool {shorten(name, 64)!r}; there are: {known or 'none'}")
    prompt = (stated.prompt or "").strip() or None
    if is_task and tool is None and prompt is None:
        raise BadPlan(f"step {number}: give it a tool with arguments, or a prompt")
    later = is_task and tool is not None and prompt is not None and stated.arguments in _NO_ARGUMENTS
    if later and not stated.depends_on:
        raise BadPlan(f"step {number}: give it arguments, or name in depends_on the steps whose results they come from")
    return PlanStep(
        title=shorten(one_line(clean(stated.title)), MAX_TITLE_CHARS) or str(number),
        tool=None if tool is None else tool.name,
        depends_on=tuple(sorted(set(stated.depends_on))),
        items=stated.items,
        arguments=_read_arguments(number, tool, stated.arguments or "") if is_task and tool and not later else {},
        prompt=prompt if later or (is_task and tool is None) else None,
    )


def _read_arguments(number: int, tool: Tool, given: dict[str, Any] | str) -> Mapping[str, Any]:
    """The arguments of a step as its tool takes them. Raises BadPlan."""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    try:
        return read_arguments(tool, text).values
    except WrongArguments as error:
        raise BadPlan(f"step {number}: arguments of {tool.name}: {error}") from error


def execution_order(steps: Sequence[PlanStep]) -> list[int]:
    """The numbers of the steps, from 1, each after those that it depends on. Raises BadPlan where there is no order."""
    for number, step in enumerate(steps, 1):
        if wrong := [one for one in step.depends_on if not 1 <= one <= len(steps) or one == number]:
            raise BadPlan(f"step {number}: it cannot depend on step {wrong[0]}")
    order: list[int] = []
    waiting = list(range(1, len(steps) + 1))
    while waiting:
        ready = next((one for one in waiting if all(other in order for other in steps[one - 1].depends_on)), None)
        if ready is None:
            raise BadPlan(f"steps {', '.join(map(str, waiting))} wait for each other: leave one dependency out")
        order.append(ready)
        waiting.remove(ready)
    return order


def count_calls(steps: Sequence[PlanStep]) -> int:
    """How many calls of tools the steps make; thoughts do not count."""
    return sum(step.tool is not None for step in steps)


def route_of(steps: Sequence[PlanStep]) -> Route:
    """How a plan is executed: up to one call directly, 2 to 7 by the planner, more or a mass operation as a task."""
    calls = count_calls(steps)
    if calls > MAX_PLANNED_CALLS or is_mass_operation(steps):
        return "complex"
    return "direct" if calls <= MAX_DIRECT_CALLS else "plan"


def is_complex(steps: Sequence[PlanStep]) -> bool:
    """Whether steps are enough for a task in the background: calls and thoughts count, as each is a step of it."""
    return len(steps) >= MIN_COMPLEX_STEPS or is_mass_operation(steps)


def is_mass_operation(steps: Sequence[PlanStep]) -> bool:
    """Whether a step that calls a tool touches 10 or more things, by its arguments or by what the model says of it."""
    calling = [step for step in steps if step.tool is not None]
    return any(max(step.items, longest_list(step.arguments)) >= MIN_MASS_ITEMS for step in calling)


def longest_list(value: object) -> int:
    """The length of the longest list in a JSON value; 0 without one."""
    return max((len(part) for part in json_parts(value) if isinstance(part, list)), default=0)
