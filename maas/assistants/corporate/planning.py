"""delegateToPlanningAgent: a model states a plan, code counts its steps, and executes a plan of 2 to 7 calls.

Each step is a call of the run: checked, counted, recorded and approved as if the assistant's model had made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from maas.assistants.corporate.plan import (
    MAX_PLANNED_CALLS,
    MIN_MASS_ITEMS,
    BadPlan,
    PlanStep,
    Route,
    count_calls,
    execution_order,
    longest_list,
    plan_schema,
    read_plan,
    route_of,
)
from maas.assistants.corporate.settings import CorporateSettings
from maas.engine.stages import Deps, Prompt
from maas.model_registry import model_or_default, named_model
from maas.prompting.prompts import read_prompts
from maas.settings import Settings
from maas.tools.bounds import MAX_RESULT_TOKENS
from maas.tools.calls import ToolAnswer, ToolFailure, refused, tag_safe_json
from maas.tools.shown_results import ShownResults, WholeResult
from maas.tools.tool import NestedResult, OtherTools, Tool, ToolContext, tool
from maas.tools.wording import Phrase, Wording
from shared.errors import MaasError
from shared.json import json_object
from shared.models import Message, Reply, Request, ToolCall, ToolSpec
from shared.text import clean, is_blank, shorten

DOMAIN = "delegation"
PLANNER = "Planner"
PLANNER_MODEL = "openai:gpt-4.1"
TIMEOUT_S = 600.0
PLAN_S = 150.0  # after which no further step begins; the last one and the final words still have time
ASK_TIMEOUT_S = 45.0
MAX_TOKENS = 3000
TEMPERATURE = 0.2
MAX_NEXT_RESPONSE_CHARS = 4000
MAX_NOTE_CHARS = 500
ATTEMPTS = 2  # at one step, and at the plan
State = Literal["done", "waiting", "failed", "in_doubt", "skipped", "not_needed"]
POSTSCRIPTS: Mapping[State, str] = {
    "waiting": "Ждёт вашего подтверждения: {titles}.",
    "in_doubt": "Неизвестно, выполнено ли, проверьте: {titles}.",
    "failed": "Не удалось: {titles}.",
    "skipped": "Не выполнено: {titles}.",
}
DONE = "Сделано: {titles}."
NOTHING_DONE = "Ничего не сделано."
SAY_DIRECT = "Это одно действие, план для него не нужен. Попросите о нём прямо."
SAY_COMPLEX = "Это большая задача, она может занять несколько минут. Подтвердите, и я выполню её в фоне."
SAY_NO_PLAN = "Не получилось составить план. Сформулируйте, пожалуйста, задачу иначе."
ADVICE: Mapping[Route, str] = {
    "direct": "Nothing was executed. This needs no plan: do it directly, with at most one call of a tool.",
    "complex": "Nothing was executed. This is a complex task: tell the user that it may take minutes and call "
    "delegateToComplexTaskAgent, which begins only after the user's consent.",
}
_STEP = "Шаг {number} из {total}: <step>{title}</step>"
_CALL = (
    "{step}\nВызови инструмент {tool} ровно один раз. Аргументы возьми из задачи и результатов прошлых шагов. Если по "
    "этим результатам шаг не нужен, ответь одним предложением, почему, и ничего не вызывай."
)
_THINK = "{step}\nИнструмент не нужен: ответь коротко, к чему ты пришёл по результатам прошлых шагов."
_AGAIN = "Вызов не удался, причина выше. Вызови {tool} ещё раз с другими аргументами или ответь, почему это невозможно."
_CORRECT = "That plan cannot be used ({cause}). Send the JSON object alone, corrected."
_ANSWER = (
    "Все шаги позади. <states> говорит, чем кончился каждый: done — сделано, waiting — ждёт подтверждения пользователя "
    "и ещё не сделано, failed — не удалось, in_doubt — неизвестно, skipped — не начато, not_needed — не понадобилось.\n"
    "<states>\n{states}\n</states>\nНапиши ответ пользователю: только то, что ему сказать."
)
_Text = Annotated[str, Field(pattern=r"\S", max_length=2000)]


class PlanningArguments(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    conversation_context: _Text = Field(description="What the dialogue is about, in 2 or 3 sentences.")
    proposed_plan: _Text = Field(description="How you would do it, in 1 or 2 sentences.")
    user_intent: _Text = Field(description="What the user wants, in one sentence.")
    complexity: Literal["high", "medium", "low"]


@dataclass(slots=True)
class StepOutcome:
    """What became of a step; `note` is what the model or the code says of it."""

    state: State
    note: str = ""


def planner_model(settings: Settings) -> str | None:
    """The model that plans; None stands for the Responder's."""
    return model_or_default(
        named_model(settings.of(CorporateSettings).corporate_planner_model), PLANNER_MODEL, settings
    )


async def ask_for_plan(
    context: ToolContext, request: Request, model: str | None, tools: OtherTools, *, is_task: bool = False
) -> tuple[Reply, tuple[PlanStep, ...]]:
    """The plan that a model states, with its reply; a wrong one is corrected once. Raises ToolFailure, MaasError."""
    cause = ""
    messages = request.messages
    for _ in range(ATTEMPTS):
        asked = Request(
            request.role,
            messages,
            request.system,
            plan_schema(is_task=is_task),
            request.temperature,
            request.max_tokens,
        )
        reply = await context.ask(asked, model=model, timeout=ASK_TIMEOUT_S)
        try:
            return reply, read_plan(reply.text, tools.tools, is_task=is_task)
        except BadPlan as error:
            cause = shorten(str(error), MAX_NOTE_CHARS)
        wrong = Message("assistant", reply.text or "(empty)")
        messages = (*messages, wrong, Message("user", _CORRECT.format(cause=cause)))
    raise ToolFailure(f"the planner gave no usable plan: {cause}. Nothing was executed", SAY_NO_PLAN)


def task_message(fields: Mapping[str, Any], tools: OtherTools) -> Message:
    """The task and the tools that its steps may call, as data."""
    shown = [
        {"name": one.name, "description": one.description, "effect": one.effect, "parameters": one.parameters}
        for one in tools.tools
    ]
    return Message("user", f"<task>\n{tag_safe_json(fields)}\n</task>\n<tools>\n{tag_safe_json(shown)}\n</tools>")


def make_planning_tool(deps: Deps) -> Tool:
    model = planner_model(deps.settings)

    @tool(
        name="delegateToPlanningAgent",
        domain=DOMAIN,
        effect="read",
        timeout=TIMEOUT_S,
        wording=Wording(Phrase("Plan and do several steps", "Составить план и выполнить шаги")),
    )
    async def delegate(arguments: PlanningArguments, context: ToolContext) -> Any:
        """Have a planner do 2 to 7 dependent steps: conditions, ambiguous parameters, sources to compare, analysis.

        Not for one step, for search alone, or for 8 and more steps. `nextResponse` is the answer to the user.
        """
        if context.others is None:
            raise ToolFailure("a plan can be executed only in a dialogue with an assistant: do it directly")
        prompts = await read_prompts(deps.db, PLANNER, language=await context.prompt_language())
        prompt = prompts[PLANNER]
        task = task_message(arguments.model_dump(by_alias=True), context.others)
        request = Request("FinalResponder", (task,), prompt.text, temperature=TEMPERATURE, max_tokens=MAX_TOKENS)
        reply, steps = await ask_for_plan(context, request, model, context.others)
        route = route_of(steps)
        if route != "plan":
            say = SAY_DIRECT if route == "direct" else SAY_COMPLEX
            data = {"verdict": route, "calls": count_calls(steps), "advice": ADVICE[route], "say": say}
            return ToolAnswer(data)
        room = min(MAX_RESULT_TOKENS, deps.settings.answers.result_tokens)
        planner = _Planner(context, context.others, prompt, model, steps, [task, reply.message()], room)
        return await planner.execute()

    return delegate


@dataclass(slots=True)
class _Planner:
    """One dialogue between the planner's model and the tools of its steps."""

    context: ToolContext
    others: OtherTools
    prompt: Prompt
    model: str | None
    steps: Sequence[PlanStep]
    messages: list[Message]
    room: int  # tokens of all results
    calls_left: int = MAX_PLANNED_CALLS
    problem: str = ""  # why no further step begins
    deadline: float = field(default_factory=lambda: monotonic() + PLAN_S)
    outcomes: dict[int, StepOutcome] = field(default_factory=dict)
    shown: ShownResults = field(default_factory=lambda: ShownResults(_as_text))

    async def execute(self) -> ToolAnswer:
        """Execute the steps in their order; the answer is what the user is to read."""
        for number in execution_order(self.steps):
            self.outcomes[number] = await self._step(number)
        text = await self._next_response()
        shown = [
            {"title": step.title, "tool": step.tool, "state": self.outcomes[number].state}
            for number, step in enumerate(self.steps, 1)
        ]
        return ToolAnswer({"verdict": "executed", "nextResponse": text, "steps": shown}, final=text)

    async def _step(self, number: int) -> StepOutcome:
        step = self.steps[number - 1]
        if any(self.outcomes[other].state != "done" for other in step.depends_on):
            return StepOutcome("skipped", "a step that it depends on is not done")
        if not self.problem and monotonic() > self.deadline:
            self.problem = "no time is left"
        if self.problem:
            return StepOutcome("skipped", self.problem)
        title = tag_safe_json(step.title)
        heading = _STEP.format(number=number, total=len(self.steps), title=title)
        if step.tool is not None:
            return await self._call_tool(step.tool, _CALL.format(step=heading, tool=step.tool))
        reply = await self._ask(_THINK.format(step=heading), "none")
        return StepOutcome("skipped", self.problem) if reply is None else StepOutcome("done")

    async def _call_tool(self, name: str, instruction: str) -> StepOutcome:
        outcome = StepOutcome("skipped", f"all {MAX_PLANNED_CALLS} calls of a plan are used")
        for _ in range(ATTEMPTS):
            if self.calls_left == 0:
                break
            reply = await self._ask(instruction, "auto")
            if reply is None:
                return StepOutcome("skipped", self.problem)
            if not reply.calls:
                return StepOutcome("not_needed", shorten(reply.text, MAX_NOTE_CHARS))
            first, *more = reply.calls
            outcome, whole, may_repeat = await self._make(name, first)
            self.messages = list(await self.shown.add(self.messages, [whole], self.room))
            self.messages += [one.result(_as_text(_only_one(name)), is_error=True) for one in more]
            if not may_repeat:
                break
            instruction = _AGAIN.format(tool=name)
        return outcome

    async def _make(self, name: str, call: ToolCall) -> tuple[StepOutcome, WholeResult, bool]:
        """What became of a call of this step's tool, its result, and whether the model may try again."""
        tool = self.others.tools.get(call.name)
        if call.name != name or tool is None:
            refusal = WholeResult(call, _only_one(name), None)
            return StepOutcome("failed", f"it called {shorten(call.name, 64)}"), refusal, True
        if tool.effect != "read" and longest_list(json_object(call.arguments)) >= MIN_MASS_ITEMS:
            body = refused(
                "not_allowed", f"a mass operation of {MIN_MASS_ITEMS} and more is not allowed as a step of a plan"
            )
            return StepOutcome("failed", body["message"]), WholeResult(call, body, tool), False
        self.calls_left -= 1
        result = await self.others.call(name, call.arguments)
        return _outcome_of(result), WholeResult(call, result.untimed(), tool), _may_repeat(result, tool)

    async def _ask(self, text: str, choice: Literal["auto", "none"]) -> Reply | None:
        """The model's reply to a message, which joins the dialogue; None where it fails, and then no step begins."""
        self.messages.append(Message("user", text))
        specs = tuple(ToolSpec(one.name, one.description, one.parameters) for one in self._tools_of_plan())
        request = Request(
            "FinalResponder",
            tuple(self.messages),
            self.prompt.text,
            temperature=TEMPERATURE,
            max_tokens=MAX_TOKENS,
            tools=specs,
            tool_choice=choice,
        )
        try:
            reply = await self.context.ask(request, model=self.model, timeout=ASK_TIMEOUT_S)
        except MaasError as error:
            self.problem = shorten(error.message, MAX_NOTE_CHARS)
            return None
        if choice == "none" or not reply.calls:
            reply = Reply(clean(reply.text).strip() or "(empty)", reply.finish, usage=reply.usage)
        self.messages.append(reply.message())
        return reply

    def _tools_of_plan(self) -> list[Tool]:
        names = {step.tool for step in self.steps}
        return [one for one in self.others.tools if one.name in names]

    async def _next_response(self) -> str:
        """The model's words, followed by what did not come about as the code knows it; without a model ours alone."""
        states = [
            {
                "step": number,
                "title": step.title,
                "state": self.outcomes[number].state,
                "note": self.outcomes[number].note,
            }
            for number, step in enumerate(self.steps, 1)
        ]
        reply = None if self.problem else await self._ask(_ANSWER.format(states=tag_safe_json(states)), "none")
        text = "" if reply is None or reply.text == "(empty)" else shorten(reply.text, MAX_NEXT_RESPONSE_CHARS)
        if is_blank(text):
            done = self._titles("done")
            text = DONE.format(titles=done) if done else NOTHING_DONE
        lines = [line.format(titles=titles) for state, line in POSTSCRIPTS.items() if (titles := self._titles(state))]
        return "\n\n".join([text, *(["\n".join(lines)] if lines else [])])

    def _titles(self, state: State) -> str:
        titles = [step.title for number, step in enumerate(self.steps, 1) if self.outcomes[number].state == state]
        return "; ".join(f"«{one}»" for one in titles)


def _only_one(name: str) -> dict[str, Any]:
    return refused("not_allowed", f"a step is one call of {name}: this one was not made")


def _as_text(body: Mapping[str, Any]) -> str:
    return tag_safe_json(body, is_sorted=True)


def _outcome_of(result: NestedResult) -> StepOutcome:
    note = shorten(str(result.body.get("message", "")), MAX_NOTE_CHARS)
    is_write = result.tool is not None and result.tool.effect != "read"
    match result.code:
        case None:
            return StepOutcome("done")
        case "approval_required":
            return StepOutcome("waiting", note)
        case "in_doubt":
            return StepOutcome("in_doubt", note)
        case "timeout" if is_write:
            return StepOutcome("in_doubt", note)
        case _:
            return StepOutcome("failed", note)


def _may_repeat(result: NestedResult, tool: Tool) -> bool:
    """Whether another call can do no harm: the tool was not reached, or only reads."""
    is_read = tool.effect == "read" and result.code in ("failed", "timeout")
    return result.code == "validation_error" or is_read
