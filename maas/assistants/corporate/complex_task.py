"""delegateToComplexTaskAgent: long work is divided into steps before its user consents, then done in the background.

The steps are part of the arguments that wait for approval, so what the user sees is what is inserted: an approval is of
one version of one list of steps. Because the user has approved each of them, none waits for a second approval.
Calls whose arguments come from the results of other steps do wait, each with exactly what is to be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from maas import queries as core
from maas.assistants.corporate.plan import (
    MAX_PROMPT_CHARS,
    MAX_STEPS,
    MAX_TITLE_CHARS,
    MIN_COMPLEX_STEPS,
    BadPlan,
    PlanStep,
    execution_order,
    is_complex,
)
from maas.assistants.corporate.planning import (
    DOMAIN,
    MAX_TOKENS,
    TEMPERATURE,
    ask_for_plan,
    planner_model,
    task_message,
)
from maas.engine.stages import Deps
from maas.prompting.prompts import read_prompts
from maas.runs.tasks import TaskStep, insert_task
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Phrase, Wording
from shared.models import Request

DECOMPOSER = "TaskDecomposer"
NAME = "delegateToComplexTaskAgent"
TIMEOUT_S = 150.0  # two replies of the model, and a margin
REASON = "Большая задача: её шаги выполнятся в фоне, это может занять несколько минут"
WORDING = Wording(
    Phrase("Begin a large task", "Начать большую задачу"),
    Phrase("A large task: its steps are executed in the background, which may take a few minutes", REASON),
    ("start",),
    ("task",),
)
STARTED = "Задача начата, шагов: {steps}. Когда всё будет сделано, пришлю отчёт."
SAY_TOO_SMALL = "Для этого не нужна большая задача: это можно сделать сразу."
PLAN_TOKENS = 2 * MAX_TOKENS
_Text = Annotated[str, Field(pattern=r"\S", max_length=2000)]


class ApprovedStep(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    title: Annotated[str, Field(pattern=r"\S", max_length=MAX_TITLE_CHARS)]
    tool: Annotated[str | None, Field(max_length=64)] = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    prompt: Annotated[str | None, Field(pattern=r"\S", max_length=MAX_PROMPT_CHARS)] = None
    items: Annotated[int | None, Field(ge=0)] = None
    depends_on: Annotated[list[int], Field(max_length=MAX_STEPS)] = Field(default_factory=list)


class ComplexTask(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    task_description: _Text = Field(description="The whole task, in 3 to 5 sentences.")
    conversation_context: _Text = Field(description="What the dialogue is about, in 2 or 3 sentences.")
    steps: Annotated[list[ApprovedStep], Field(max_length=MAX_STEPS)] = Field(
        default_factory=list, description="Leave it out: the steps are worked out and shown to the user."
    )


def make_complex_task_tool(deps: Deps) -> Tool:
    model = planner_model(deps.settings)

    async def prepare(task: ComplexTask, context: ToolContext) -> dict[str, Any]:
        """The task with its steps, as the user is asked about it; steps that a model sent are not used."""
        if context.others is None:
            raise ToolFailure("a task can be started only in a dialogue with an assistant: tell the user")
        prompts = await read_prompts(deps.db, DECOMPOSER, language=await context.prompt_language())
        prompt = prompts[DECOMPOSER]
        fields = task.model_dump(by_alias=True, include={"task_description", "conversation_context"})
        asked = task_message(fields, context.others)
        request = Request("FinalResponder", (asked,), prompt.text, temperature=TEMPERATURE, max_tokens=PLAN_TOKENS)
        _, steps = await ask_for_plan(context, request, model, context.others, is_task=True)
        _check_size(steps)
        return fields | {"steps": [_shown(step) for step in steps]}

    async def prepare_edit(task: ComplexTask, _: ToolContext) -> dict[str, Any]:
        """The task with the steps that its user has edited, which are not worked out again. Raises ToolFailure."""
        _check_steps(_plan_of(task))
        return task.model_dump(by_alias=True, mode="json")

    async def verify(_: ComplexTask, __: ToolContext, data: Any) -> Any:
        """How many steps of the task are there."""
        return {"steps": len(await deps.db.rows(core.task_steps, UUID(data["taskRunId"])))}

    @tool(
        name=NAME,
        domain=DOMAIN,
        effect="dangerous",
        timeout=TIMEOUT_S,
        idempotent=True,
        reason=REASON,
        verify=verify,
        wording=WORDING,
        prepare=prepare,
        prepare_edit=prepare_edit,
    )
    async def delegate(task: ComplexTask, context: ToolContext) -> Any:
        """Have 8 or more steps, or an operation on 10 or more people or events, done in the background, with a report.

        Warn the user that it may take minutes. It begins only after the user has approved its steps. Not for fewer
        steps, and not for search alone.
        """
        steps = _plan_of(task)
        _check_steps(steps)
        run_id = await insert_task(
            deps.db,
            context.user_id,
            task.task_description,
            [TaskStep(one.title, one.tool, one.arguments, one.prompt, one.depends_on) for one in steps],
            parent_run_id=context.run_id,
            is_approved=True,
        )
        data = {"taskRunId": str(run_id), "steps": len(steps)}
        return ToolAnswer(data, final=STARTED.format(steps=len(steps)))

    return delegate


def _plan_of(task: ComplexTask) -> list[PlanStep]:
    return [
        PlanStep(one.title, one.tool, tuple(one.depends_on), one.items or 1, one.arguments, one.prompt)
        for one in task.steps
    ]


def _shown(step: PlanStep) -> dict[str, Any]:
    """A step as it stands in the arguments that the user approves."""
    return {
        "title": step.title,
        "tool": step.tool,
        "arguments": step.arguments,
        "prompt": step.prompt,
        "items": step.items if step.items > 1 else None,
        "dependsOn": list(step.depends_on),
    }


def _check_size(steps: Sequence[PlanStep]) -> None:
    if not is_complex(steps):
        message = f"this has {len(steps)} steps, a complex task has {MIN_COMPLEX_STEPS} or more: "
        raise ToolFailure(f"{message}call delegateToPlanningAgent, or do it directly if it is one step", SAY_TOO_SMALL)


def _check_steps(steps: Sequence[PlanStep]) -> None:
    """Refuse what no decomposition gives, for steps that the user has edited. Raises ToolFailure."""
    try:
        execution_order(steps)
    except BadPlan as error:
        raise ToolFailure(str(error)) from error
    if any(step.tool in (NAME, "delegateToPlanningAgent") for step in steps):
        raise ToolFailure("a step of a task begins no other task: leave it out")
    _check_size(steps)
