"""classifier: a question goes to the agent whose keywords it holds, else to those whom a model names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from maas.agents.executor import Executor, together
from maas.agents.routing.keywords import by_keywords
from maas.agents.turn import Turn, fenced
from maas.assistants.agents import Agent
from maas.pipeline.layers import layers
from shared.models.types import Message, ModelError, Reply, Request
from shared.text import json_object

MIXED = "mixed"
INSTRUCTION = """\
You pass questions on to agents. Answer with JSON: the names of those that are needed for this question, the most
important first. Name several only where one alone cannot answer.

{agents}"""
SYNTHESIS = "Agents have worked on this question. Make one answer of what they said; where one failed, say so."
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Said:
    """What came of one agent of several."""

    agent: Agent
    text: str = "(no answer)"
    error: ModelError | None = None


async def answer(turn: Turn) -> Reply:
    """The agent's words; of several, which work side by side, one answer. Raises MaasError, LostRun."""
    agents = await _choose(turn)
    executor = turn.guard(turn.tools)
    if len(agents) == 1:
        reply = await _speak(turn, agents[0], executor, is_alone=True)
        await turn.name(agents[0].name, agents[0].name)
        return reply
    said = await together(_work(turn, agent, executor) for agent in agents)
    errors = [one.error for one in said if one.error is not None]
    if len(errors) == len(said):
        raise errors[0]
    async with layers().span(10, "synthesis", {"of": [one.agent.name for one in said]}):
        reply = await turn.asker.ask(_synthesis(turn.request, said))
    await turn.name(MIXED, MIXED)
    return reply


async def _choose(turn: Turn) -> tuple[Agent, ...]:
    agents = turn.definition.agents
    chosen = agents[0] if len(agents) == 1 else by_keywords(turn.run.user_query, agents)
    return (chosen,) if chosen else await _by_model(turn)


async def _by_model(turn: Turn) -> tuple[Agent, ...]:
    """Those that a model names, the first of all where it names none: one question, and no second one."""
    agents = {agent.name: agent for agent in turn.definition.agents}
    names = {"type": "array", "items": {"type": "string", "enum": list(agents)}}
    request = replace(
        turn.request,
        system=INSTRUCTION.format(agents="\n".join(f"{one.name}: {one.about}" for one in agents.values())),
        json_schema={
            "type": "object", "properties": {"agents": names}, "required": ["agents"], "additionalProperties": False,
        },
        temperature=0.0,
    )  # fmt: skip
    reply = await turn.asker.quietly().ask(request)
    await turn.asker.pin()
    named = (json_object(reply.text) or {}).get("agents")
    found = [one for one in named if isinstance(one, str) and one in agents] if isinstance(named, list) else []
    if not found:
        log.warning("agent_unknown", assistant=turn.definition.name, used=turn.definition.agents[0].name)
        return turn.definition.agents[:1]
    return tuple(agents[name] for name in dict.fromkeys(found))


async def _speak(turn: Turn, agent: Agent, executor: Executor, *, is_alone: bool) -> Reply:
    tools = turn.definition.tools_of(agent, turn.tools)
    asker, request = await turn.brief(agent, tools, turn.request.messages)
    mine = executor.narrowed(one.name for one in tools)
    async with layers().span(9, agent.name):
        return (await turn.converse(asker if is_alone else asker.quietly(), request, mine)).reply


async def _work(turn: Turn, agent: Agent, executor: Executor) -> Said:
    """Its reply is pinned as soon as it is there: who dies while another works does not ask this one again."""
    try:
        reply = await _speak(turn, agent, executor, is_alone=False)
    except ModelError as error:
        log.warning("agent_failed", agent=agent.name, cause=str(error))
        return Said(agent, error=error)
    await turn.asker.pin()
    return Said(agent, reply.text)


def _synthesis(request: Request, said: Sequence[Said]) -> Request:
    answers = fenced("answers", {one.agent.name: one.text for one in said})
    question = request.messages[-1].text
    return replace(request, messages=(Message("user", f"{question}\n\n{SYNTHESIS}\n{answers}"),))
