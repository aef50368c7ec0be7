"""handoff: one agent holds the dialogue, and may hand it over to another, which holds it from then on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from maas.agents.results import ToolFailure
from maas.agents.tools import Tool, Toolset, tool
from maas.agents.turn import Turn
from maas.assistants.agents import Agent, transfer_name
from maas.pipeline.layers import layers
from shared.models.types import Message, Reply
from shared.text import is_blank

MOST = 2
TAKEN_OVER = "You have just taken this dialogue over: go on where it stands."


class _Baton:
    """To whom the dialogue is being handed."""

    def __init__(self) -> None:
        self.target: Agent | None = None

    def is_handed(self) -> bool:
        return self.target is not None

    def tool(self, agent: Agent) -> Tool:
        """What hands it to this agent; counted by nobody, since it changes nothing outside."""

        async def transfer() -> str:
            if self.target is not None:
                raise ToolFailure(f"the dialogue goes to {self.target.name} already")
            self.target = agent
            return "handed over"

        transfer.__doc__ = f"Hand the dialogue over to {agent.name}: {agent.about}"
        return replace(tool(domain="handoff", effect="read", name=transfer_name(agent.name))(transfer), is_meta=True)


async def answer(turn: Turn) -> Reply:
    """At most MOST transfers and the assistant's rounds in all, whoever speaks. Raises MaasError, LostRun."""
    agents = {agent.name: agent for agent in turn.definition.agents}
    active = agents.get(await _active(turn) or "", turn.definition.agents[0])
    baton = _Baton()
    transfers = {name: baton.tool(agent) for name, agent in agents.items()}
    executor = turn.guard(Toolset([*turn.tools, *transfers.values()]))
    messages: Sequence[Message] = turn.request.messages
    left, transferred = turn.definition.limits.rounds, 0
    while True:
        targets = active.handoffs if transferred < MOST else ()
        tools = Toolset([*turn.definition.tools_of(active, turn.tools), *(transfers[name] for name in targets)])
        asker, request = await turn.brief(active, tools, messages)
        mine = executor.narrowed(one.name for one in tools)
        async with layers().span(9, active.name):
            exchange = await turn.converse(asker, request, mine, left, baton.is_handed)
        if baton.target is None:
            await turn.name(active.name)
            return exchange.reply
        active, baton.target = baton.target, None
        left -= exchange.rounds
        transferred += 1
        messages = handed(exchange.messages)


def handed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The words of a dialogue without the calls in it and what came of them, for an agent that has other tools."""
    words = [
        replace(message, calls=(), raw={})
        for message in messages
        if message.role == "user" or (message.role == "assistant" and not is_blank(message.text))
    ]
    if words[-1].role == "assistant":
        words.append(Message("user", TAKEN_OVER))  # else a model would go on with the other's sentence
    return tuple(words)


async def _active(turn: Turn) -> str | None:
    """Who held the dialogue when its last answer was given."""
    if turn.run.conversation_id is None:
        return None
    name: str | None = await turn.db.value("active_agent", turn.run.conversation_id)
    return name
