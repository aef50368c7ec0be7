"""The answer of a dialogue that collects values: the model is asked, its calls are made, until there are words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from maas.agents.answer_context import AnswerContext
from maas.agents.answer_language import in_own_language
from maas.agents.definition import Definition
from maas.agents.forbidden_words import without_forbidden_words
from maas.agents.optional_tool import OPTIONAL_QUESTIONS
from maas.agents.slot_step import SlotStep, agent_of, dialogue_tools
from maas.agents.tool_loop import NO_WORDS, LoopResult, ResponderModel, final_text, tell, with_results
from maas.runs.debug_info import debug_log
from maas.tools.calls import ToolResult
from maas.tools.executor import Executor
from maas.tools.ledger import add_messages
from maas.tools.shown_results import ShownResults
from maas.tools.tool import Tool, Toolset
from shared.errors import MaasError
from shared.models import Reply, Request
from shared.text import clean, is_blank

ToolChoice = Literal["auto", "none", "required"]


@dataclass(frozen=True)
class CheckedReply(Reply):
    """A reply whose words of a model have been checked apart from ours and the user's."""


async def collect(
    context: AnswerContext,
    step: SlotStep,
    model: ResponderModel,
    request: Request,
    max_rounds: int,
    tools: Toolset | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> LoopResult:
    """Answer a message of the dialogue and store the values that it holds. Raises LostRun, MaasError.

    Words beside calls are the answer. The model is asked again if it had none, if its arguments were wrong (once), if
    it called a tool that is none of the dialogue's, or if the values were used. `tools` are those that are open now;
    `is_over` after a round leaves the dialogue to another agent.
    """
    _check_model(context.definition, model, request)
    await step.begin(is_deciding=not context.notice)
    names = frozenset(one.name for one in tools or step.tools) | {OPTIONAL_QUESTIONS.name}
    first, text, corrections = context.deciding.take(), "", 0
    shown = ShownResults()
    choice: ToolChoice = request.tool_choice
    done = await step.complete()
    if done is not None and done.final is not None:
        return await _tell(step, model, Reply(text=""), done.final, request, 0)
    for number in range(1, max_rounds + 1):
        offered, executor = _offered(step, names, first if number == 1 else None)
        asked = replace(request, tools=tuple(one.spec for one in offered), tool_choice=choice)
        reply = await model.ask(step.with_state(asked))
        text = text if is_blank(clean(reply.text)) else clean(reply.text)
        results: list[ToolResult] = []
        if reply.calls and choice != "none":
            await model.pin()
            await debug_log().info(3, "round", {"number": number, "calls": [call.name for call in reply.calls]})
            made = dict(zip(model.executed(reply.calls, asked), reply.calls, strict=True))
            results = await step.make(tuple(made), executor)
            await add_messages(model.run, results, reply)
            results = [replace(result, call=made[result.call]) for result in results]
            request = await with_results(model, request, reply, results, shown)
        elif number == 1 and not (step.is_completed or step.paragraphs(text)):
            await step.close()
            return LoopResult(reply, request.messages, number)  # nothing was said
        done = await step.complete(model)
        if (final := final_text([*results, *([done] if done is not None else [])])) is not None:
            return await _tell(step, model, reply, final, request, number)
        if is_over():
            return LoopResult(reply, request.messages, number)
        is_wrong = corrections == 0 and any(one.code == "validation_error" for one in results)
        corrections += is_wrong
        again = _next_choice(step, results, text, is_wrong, done is not None, number + 1 >= max_rounds)
        if again is None:
            break
        choice = again
    return LoopResult(await _say(context, step, model, request, reply, text), request.messages, number)


def _check_model(definition: Definition, model: ResponderModel, request: Request) -> None:
    if model.deps.models[request.role].provider == "extractive":
        message = f"{definition.name} needs a model that can call tools, the built-in one cannot"
        raise MaasError("no_tool_calls", f"{message}: set MAAS_RESPONDER_MODEL to provider:model")


def _offered(step: SlotStep, names: frozenset[str], first: Tool | None) -> tuple[Toolset, Executor]:
    """The tools among `names` that the model may call now, with one of the first round, and what runs them."""
    tools = Toolset(one for one in step.offered if one.name in names)
    executor = step.executor.narrowed(agent_of(step.collector), (one.name for one in tools))
    return (tools, executor) if first is None else (Toolset([*tools, first]), executor.with_tool(first))


def _next_choice(
    step: SlotStep, results: Sequence[ToolResult], text: str, is_wrong: bool, is_completed: bool, is_last: bool
) -> ToolChoice | None:
    """How the model is asked once more; None if what there is makes an answer."""
    if is_wrong:
        return "auto"
    if is_completed or _is_to_be_read(step, results):
        return "none" if is_last else "auto"
    return None if not results or step.paragraphs(text) else "none"


async def _tell(
    step: SlotStep, model: ResponderModel, reply: Reply, text: str, request: Request, rounds: int
) -> LoopResult:
    """A tool's words as the whole answer, which ends the step."""
    await step.close(is_offering=False)
    return LoopResult(tell(model, reply, text), request.messages, rounds, is_final=True)


def _is_to_be_read(step: SlotStep, results: Sequence[ToolResult]) -> bool:
    """Whether the model has called a tool that is none of the dialogue's: it has not said yet what came of it."""
    own = {one.name for one in dialogue_tools(step.collector, step.tools)} | {OPTIONAL_QUESTIONS.name}
    return any(one.tool is not None and one.tool.name not in own for one in results)


async def _say(
    context: AnswerContext, step: SlotStep, model: ResponderModel, request: Request, reply: Reply, text: str
) -> Reply:
    """The whole answer, which ends the step."""
    text = await without_forbidden_words(context.definition, model, request, text)
    text = await in_own_language(context.definition, model, request, text)
    question = step.session.next_question or NO_WORDS[step.session.language]
    whole = "\n\n".join(step.paragraphs(text) or [question])
    said = clean(reply.text)  # and streamed
    if model.listener is not None and whole != said:
        if not whole.startswith(said):
            model.listener.begin()
        model.listener.text(whole.removeprefix(said))
    await step.close()
    return CheckedReply(whole, reply.finish, (), reply.usage, reply.raw)


async def answer_with_slots(context: AnswerContext) -> Reply:
    """The answer of an assistant that collects values itself. Raises MaasError, LostRun."""
    step = await SlotStep.open(context, context.definition, context.tools)
    return (await collect(context, step, context.model, context.request, context.definition.limits.rounds)).reply
