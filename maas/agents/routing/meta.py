"""meta_tools: the model sees four tools in place of all, and opens the domain that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from maas.agents.domains import Domain, meta_tools
from maas.agents.results import ToolResult
from maas.agents.tools import Toolset
from maas.agents.turn import Turn, fenced
from maas.assistants.agents import Agent
from maas.pipeline.layers import layers
from shared.models.policy import Listener
from shared.models.types import Message, Reply, ToolCall
from shared.text import clean, is_blank, shorten

MIXED = "mixed"


@dataclass(slots=True)
class _Heard:
    """What domains answered with success, in words where they have an agent, and whether a call waits for the user."""

    answers: list[tuple[str, str | None]] = field(default_factory=list)
    is_waiting: bool = False

    @property
    def alone(self) -> str | None:
        """The words that need no others: of the only answer in the whole run."""
        return self.answers[0][1] if len(self.answers) == 1 and not self.is_waiting else None

    @property
    def domain(self) -> str | None:
        domains = {domain for domain, _ in self.answers}
        return None if not domains else domains.pop() if len(domains) == 1 else MIXED


class _WhileOpen:
    """Hears the assistant speak as long as its words are the answer: a domain's are told by the end of the run."""

    def __init__(self, listener: Listener, heard: _Heard) -> None:
        self._listener = listener
        self._heard = heard

    def begin(self) -> None:
        self._listener.begin()

    def text(self, delta: str) -> None:
        if self._heard.alone is None:
            self._listener.text(delta)


class _Desk:
    """Makes the calls that the meta tools pass on, and lets the agents of domains tell what came of them."""

    def __init__(self, turn: Turn, heard: _Heard) -> None:
        self._turn = turn
        self._heard = heard
        self._executor = turn.guard(turn.tools)
        self._agents = {agent.name: agent for agent in turn.definition.agents}

    async def execute(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        for call in calls:
            await self._turn.calls.announce(call)
        results = await self._executor.run(calls)
        self._heard.is_waiting |= any(result.code == "approval_required" for result in results)
        return results

    async def respond(self, domain: str, question: str, results: Sequence[ToolResult]) -> str | None:
        """Its agent's words; None where it has no agent, or the agent none. What it said is not asked for again."""
        agent = self._agents.get(domain)
        words = await self._say(agent, question, results) if agent else None
        if all(result.is_success for result in results):
            self._heard.answers.append((domain, words))
        return words

    async def _say(self, agent: Agent, question: str, results: Sequence[ToolResult]) -> str | None:
        told = [{"tool": result.call.name, "result": result.untimed()} for result in results]
        text = f"{question or self._turn.run.user_query}\n\n{fenced('results', told)}"
        asker, request = await self._turn.brief(agent, Toolset(()), [Message("user", text)])
        async with layers().span(9, agent.name):
            reply = await asker.quietly().ask(request)
        await asker.pin()
        words = clean(reply.text).strip()
        return None if is_blank(words) else words


async def answer(turn: Turn) -> Reply:
    """The only domain's words unchanged, else the assistant's own. Raises MaasError, LostRun."""
    heard = _Heard()
    desk = _Desk(turn, heard)
    tools = meta_tools(_domains(turn), turn.tools, desk.execute, desk.respond)
    listener = turn.asker.listener
    asker = replace(turn.asker, listener=_WhileOpen(listener, heard)) if listener else turn.asker
    request = replace(turn.request, tools=tuple(one.spec for one in tools))
    reply = (await turn.converse(asker, request, turn.guard(tools))).reply
    await turn.name(None, heard.domain)
    await layers().info(10, "words", {"of": "the assistant" if heard.alone is None else heard.domain})
    return reply if heard.alone is None else replace(reply, text=heard.alone)


def _domains(turn: Turn) -> list[Domain]:
    agents = {agent.name: agent for agent in turn.definition.agents}
    found = []
    for name in turn.known.domains():
        tools = ", ".join(one.name for one in turn.known.of(name))
        about = agents[name].about if name in agents else shorten(tools, 80)
        found.append(Domain(name, about, is_available=bool(turn.tools.of(name))))
    return found
