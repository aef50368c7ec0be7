"""Routing between the agents of an assistant: `classifier` and `handoff`.

Under `classifier` a question goes to the agent whose keywords it holds, else to the agents that a model names. Under
`handoff` one agent holds the dialogue until it hands it over to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from maas import queries
from maas.agents.answer_context import AnswerContext
from maas.agents.definition import Agent, transfer_name
from maas.agents.slot_loop import collect
from maas.agents.slot_step import SlotStep
from maas.agents.tool_loop import LoopResult, fenced_json, tell
from maas.conversations.phrases import holds, words_of
from maas.runs.debug_info import debug_log
from maas.tools.calls import ToolFailure
from maas.tools.concurrency import run_concurrently
from maas.tools.executor import Executor
from maas.tools.tool import Tool, Toolset, tool
from maas.tools.wording import Phrase, Wording
from shared.json import json_object
from shared.models import Message, ModelError, Reply, Request, ToolCall
from shared.text import is_blank

MIXED = "mixed"
INSTRUCTION = """\
You pass questions on to agents. Answer with JSON: the names of those that are needed for this question, the most
important first. Name several only where one alone cannot answer.

{agents}"""
SYNTHESIS = "Agents have worked on this question. Make one answer of what they said; where one failed, say so."
MAX_TRANSFERS = 2  # handoffs in one answer
TAKEN_OVER = "You have just taken this dialogue over: go on where it stands."
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer of one agent of several, or the error that it ended with; `is_final`: it is passed on as it is."""

    agent: Agent
    text: str = "(no answer)"
    error: ModelError | None = None
    is_final: bool = False


async def answer_by_classifier(context: AnswerContext) -> Reply:
    """The reply of the chosen agent; of several, which work concurrently, one synthesis. Raises MaasError, LostRun."""
    agents = await _choose(context)
    executor = context.executor(context.tools)
    if len(agents) == 1:
        (agent,) = agents
        if agent.slots:
            reply = (await _collect(context, agent)).reply
        else:
            reply = (await _ask_agent(context, agent, executor, is_alone=True)).reply
        await context.record_agent(agent.name, agent.name)
        return reply
    answers = await run_concurrently(_ask_one_of_several(context, agent, executor) for agent in agents)
    errors = [one.error for one in answers if one.error is not None]
    if len(errors) == len(answers):
        raise errors[0]
    if finals := [one.text for one in answers if one.is_final]:
        reply = tell(context.model, Reply(text=""), "\n\n".join(finals))
    else:
        async with debug_log().span(10, "synthesis", {"of": [one.agent.name for one in answers]}):
            reply = await context.model.ask(_synthesis(context.request, answers))
    await context.record_agent(MIXED, MIXED)
    return reply


async def _choose(context: AnswerContext) -> tuple[Agent, ...]:
    """The agents of a question. One that collects values answers alone, and keeps a dialogue that it has not ended.

    Keywords of another agent end that.
    """
    agents = context.definition.agents
    chosen = agents[0] if len(agents) == 1 else by_keywords(context.run.user_query, agents)
    if chosen is None and (active := await _active_agent(context)) is not None:
        chosen = next((one for one in agents if one.name == active and one.slots), None)
        chosen = chosen if chosen and await _is_collecting(context, chosen) else None
    if chosen is not None:
        return (chosen,)
    several = await _by_model(context)
    return next(((one,) for one in several if one.slots), several)


async def _is_collecting(context: AnswerContext, agent: Agent) -> bool:
    step = await SlotStep.open(context, agent, context.definition.tools_of(agent, context.tools))
    return not step.session.is_confirmed


async def _collect(context: AnswerContext, agent: Agent) -> LoopResult:
    tools = context.definition.tools_of(agent, context.tools)
    model, request = await context.agent_request(agent, tools, context.request.messages)
    step = await SlotStep.open(context, agent, tools)
    async with debug_log().span(9, agent.name):
        return await collect(context, step, model, request, context.definition.limits.rounds)


async def _by_model(context: AnswerContext) -> tuple[Agent, ...]:
    """The agents that a model names in one call; the first agent of the assistant if it names none."""
    agents = {agent.name: agent for agent in context.definition.agents}
    names = {"type": "array", "items": {"type": "string", "enum": list(agents)}}
    request = replace(
        context.request,
        system=INSTRUCTION.format(agents="\n".join(f"{one.name}: {one.about}" for one in agents.values())),
        json_schema={
            "type": "object",
            "properties": {"agents": names},
            "required": ["agents"],
            "additionalProperties": False,
        },
        temperature=0.0,
    )
    reply = await context.model.without_listener().ask(request)
    await context.model.pin()
    named = (json_object(reply.text) or {}).get("agents")
    chosen = [one for one in named if isinstance(one, str) and one in agents] if isinstance(named, list) else []
    if not chosen:
        log.warning("unknown_agent", assistant=context.definition.name, used=context.definition.agents[0].name)
        return context.definition.agents[:1]
    return tuple(agents[name] for name in dict.fromkeys(chosen))


async def _ask_agent(context: AnswerContext, agent: Agent, executor: Executor, *, is_alone: bool) -> LoopResult:
    tools = context.definition.tools_of(agent, context.tools)
    model, request = await context.agent_request(agent, tools, context.request.messages)
    own_executor = executor.narrowed(agent.name, (one.name for one in tools))
    async with debug_log().span(9, agent.name):
        return await context.run_tool_loop(model if is_alone else model.without_listener(), request, own_executor)


async def _ask_one_of_several(context: AnswerContext, agent: Agent, executor: Executor) -> AgentAnswer:
    """The reply is pinned at once: after a crash while another agent works, this one is not asked again."""
    try:
        loop = await _ask_agent(context, agent, executor, is_alone=False)
    except ModelError as error:
        log.warning("agent_failed", agent=agent.name, cause=str(error))
        return AgentAnswer(agent, error=error)
    await context.model.pin()
    return AgentAnswer(agent, loop.reply.text, is_final=loop.is_final)


def _synthesis(request: Request, answers: Sequence[AgentAnswer]) -> Request:
    """A request to make one answer of several."""
    fenced = fenced_json("answers", {one.agent.name: one.text for one in answers})
    question = request.messages[-1].text
    return replace(request, messages=(Message("user", f"{question}\n\n{SYNTHESIS}\n{fenced}"),))


def by_keywords(question: str, agents: Sequence[Agent]) -> Agent | None:
    """The agent with at least twice as many keywords in the question as any other; None if there is no such agent."""
    words = words_of(question)
    hits = {agent.name: sum(holds(words, keyword) for keyword in agent.keywords) for agent in agents}
    first, *others = sorted(agents, key=lambda agent: -hits[agent.name])
    second_hits = hits[others[0].name] if others else 0
    return first if hits[first.name] >= max(1, 2 * second_hits) else None


class _Transfer:
    """The agent that the dialogue is being handed over to, if any."""

    def __init__(self) -> None:
        self.target: Agent | None = None

    def is_requested(self) -> bool:
        return self.target is not None

    def tool(self, agent: Agent) -> Tool:
        """The tool that hands the dialogue over to this agent. It has no effect outside, so it is not counted."""

        async def transfer() -> str:
            if self.target is not None:
                raise ToolFailure(f"the dialogue goes to {self.target.name} already")
            self.target = agent
            return "handed over"

        transfer.__doc__ = f"Hand the dialogue over to {agent.name}: {agent.about}"
        return replace(
            tool(
                domain="handoff",
                effect="read",
                name=transfer_name(agent.name),
                wording=Wording(Phrase("Pass the dialogue on", "Передать разговор другому помощнику")),
            )(transfer),
            is_meta=True,
        )


async def answer_by_handoff(context: AnswerContext) -> Reply:
    """The reply of the agent that holds the dialogue in the end.

    All agents together have MAX_TRANSFERS and the rounds of the assistant. Raises MaasError, LostRun.
    """
    agents = {agent.name: agent for agent in context.definition.agents}
    active = agents.get(await _active_agent(context) or _opening_agent(context) or "", context.definition.agents[0])
    transfer = _Transfer()
    transfer_tools = {name: transfer.tool(agent) for name, agent in agents.items()}
    executor = context.executor(Toolset([*context.tools, *transfer_tools.values()]))
    steps: dict[str, SlotStep] = {}  # of agents that collect values: what they keep in this run lasts over transfers
    messages: Sequence[Message] = context.request.messages
    rounds_left, transfers = context.definition.limits.rounds, 0
    while True:
        targets = active.handoffs if transfers < MAX_TRANSFERS else ()
        own_tools = context.definition.tools_of(active, context.tools)
        tools = Toolset([*own_tools, *(transfer_tools[name] for name in targets)])
        model, request = await context.agent_request(active, tools, messages)
        async with debug_log().span(9, active.name):
            if active.slots:
                if (step := steps.get(active.name)) is None:
                    all_tools = Toolset([*own_tools, *(transfer_tools[name] for name in active.handoffs)])
                    step = steps[active.name] = await SlotStep.open(context, active, all_tools)
                loop = await collect(context, step, model, request, rounds_left, tools, transfer.is_requested)
            else:
                own_executor = executor.narrowed(active.name, (one.name for one in tools))
                loop = await context.run_tool_loop(model, request, own_executor, rounds_left, transfer.is_requested)
        if transfer.target is None:
            await context.record_agent(await _holder_after(context, active, steps.get(active.name), executor))
            return loop.reply
        active, transfer.target = transfer.target, None
        rounds_left = max(rounds_left - loop.rounds, 1)
        transfers += 1
        messages = without_calls(loop.messages)


async def _holder_after(context: AnswerContext, active: Agent, step: SlotStep | None, executor: Executor) -> str:
    """Return who holds the dialogue now: the successor of an agent whose values were used in this run."""
    if active.successor is None or step is None or not (step.is_completed and step.session.is_confirmed):
        return active.name
    call = ToolCall("successor", transfer_name(active.successor), "{}")
    await context.calls.announce(call, executor.tools.get(call.name))
    await executor.run([call])
    return active.successor


def without_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The words of a dialogue without its calls and their results, for an agent that has other tools."""
    words = [
        replace(message, calls=(), raw={})
        for message in messages
        if message.role == "user" or (message.role == "assistant" and not is_blank(message.text))
    ]
    if words[-1].role == "assistant":
        words.append(Message("user", TAKEN_OVER))  # else a model would continue the other agent's sentence
    return tuple(words)


def _opening_agent(context: AnswerContext) -> str | None:
    """The agent of the first opening route that applies."""
    for route in context.definition.opening_routes:
        data = context.provided.get(route.tool, {}).get("data")
        found = data.get(route.field) if isinstance(data, Mapping) else None
        if type(found) is type(route.equals) and found == route.equals:
            return route.agent
    return None


async def _active_agent(context: AnswerContext) -> str | None:
    """The agent that gave the last answer of the conversation."""
    if context.run.conversation_id is None:
        return None
    name: str | None = await context.db.value(queries.active_agent, context.run.conversation_id)
    return name
