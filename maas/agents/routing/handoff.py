"""Routing `handoff`: one agent holds the dialogue until it hands it over to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maas.agents.definition import Agent, transfer_name
from maas.agents.tool_calls import ToolFailure
from maas.agents.tool_loop import AnswerContext
from maas.agents.tools import Tool, Toolset, tool
from maas.runs.debug_info import debug_log
from shared.models.types import Message, Reply
from shared.text import is_blank

MAX_TRANSFERS = 2  # in one answer
TAKEN_OVER = "You have just taken this dialogue over: go on where it stands."


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
        return replace(tool(domain="handoff", effect="read", name=transfer_name(agent.name))(transfer), is_meta=True)


async def answer(context: AnswerContext) -> Reply:
    """The reply of the agent that holds the dialogue in the end.

    All agents together have MAX_TRANSFERS and the rounds of the assistant. Raises MaasError, LostRun.
    """
    agents = {agent.name: agent for agent in context.definition.agents}
    active = agents.get(await _active_agent(context) or "", context.definition.agents[0])
    transfer = _Transfer()
    transfer_tools = {name: transfer.tool(agent) for name, agent in agents.items()}
    executor = context.executor(Toolset([*context.tools, *transfer_tools.values()]))
    messages: Sequence[Message] = context.request.messages
    rounds_left, transfers = context.definition.limits.rounds, 0
    while True:
        targets = active.handoffs if transfers < MAX_TRANSFERS else ()
        own_tools = context.definition.tools_of(active, context.tools)
        tools = Toolset([*own_tools, *(transfer_tools[name] for name in targets)])
        model, request = await context.agent_request(active, tools, messages)
        own_executor = executor.narrowed(one.name for one in tools)
        async with debug_log().span(9, active.name):
            loop = await context.run_tool_loop(model, request, own_executor, rounds_left, transfer.is_requested)
        if transfer.target is None:
            await context.record_agent(active.name)
            return loop.reply
        active, transfer.target = transfer.target, None
        rounds_left -= loop.rounds
        transfers += 1
        messages = without_calls(loop.messages)


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


async def _active_agent(context: AnswerContext) -> str | None:
    """The agent that gave the last answer of the conversation."""
    if context.run.conversation_id is None:
        return None
    name: str | None = await context.db.value("active_agent", context.run.conversation_id)
    return name
