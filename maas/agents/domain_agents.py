"""The agents of domains under the routing `meta_tools`: they put the results of their domain into words.

If one domain alone answers, its words are the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maas.agents.answer_context import AnswerContext
from maas.agents.definition import Agent
from maas.agents.domain_request import domain_request, is_domain_request
from maas.agents.meta_tools import Domain, execute_call, meta_tools
from maas.agents.tool_loop import final_text, tell
from maas.conversations.language import dialogue_language
from maas.prompting.result_room import result_room
from maas.runs.debug_info import debug_log
from maas.tools.arguments import MAX_ARGUMENT_CHARS, WrongArguments, read_arguments
from maas.tools.bounds import MAX_DIALOGUE_TOKENS, MAX_QUESTION_TOKENS, MAX_RESULT_TOKENS, fit_together
from maas.tools.calls import ToolResult, own_name
from maas.tools.ledger import add_messages
from maas.tools.tool import Tool, Toolset
from shared import tokens
from shared.json import parse_json
from shared.models import Message, Reply, ToolCall
from shared.models.calls import StreamListener
from shared.text import clean, is_blank, shorten

MIXED = "mixed"
_UNWORDED = ("approval_required", "validation_error")


async def answer_by_meta_tools(context: AnswerContext) -> Reply:
    """The words of the only domain that answered, else the assistant's own. Raises MaasError, LostRun."""
    answers = _DomainAnswers()
    domains = _DomainCalls(context, answers)
    model = replace(context.model, translate=_Translator(context))
    room = await result_room(model.deps, context.request, MAX_DIALOGUE_TOKENS)
    tools = meta_tools(_domains(context), context.tools, domains.execute, domains.respond, context.domains.open, room)
    if model.listener is not None:
        model = replace(model, listener=_OwnWordsListener(model.listener, answers))
    request = replace(context.request, tools=tuple(one.spec for one in tools))
    executor = context.executor(tools)

    def is_over() -> bool:
        return answers.final is not None or (bool(context.chosen) and answers.only_text is not None)

    reply = (await context.run_tool_loop(model, request, executor, is_over=is_over)).reply
    await context.record_agent(answers.agent, answers.domain)
    if answers.final is not None:
        return tell(context.model, reply, answers.final)
    await debug_log().info(10, "words", {"of": "the assistant" if answers.only_text is None else answers.domain})
    return reply if answers.only_text is None else replace(reply, text=answers.only_text)


@dataclass(frozen=True, slots=True)
class _Translator:
    """Turns a call of a domain's tool, which a model makes without opening the domain, into one of executeTools.

    It must be open to the run. Where the call is text, its arguments must be what the tool takes, and nothing else;
    otherwise they are refused as in any call.
    """

    context: AnswerContext

    def __call__(self, call: ToolCall, *, is_written: bool) -> ToolCall | None:
        tools = self.context.tools
        if (tool := tools.get(own_name(call.name, tools.names()))) is None or tool.is_meta:
            return None
        if is_written and not _are_exact(tool, call.arguments):
            return None
        return execute_call(call.id, {tool.name: _given(call)}, self.context.run.user_query)


def _given(call: ToolCall) -> Any:
    """The arguments of a call; their text where it is no JSON: what executeTools says of it goes to the model."""
    if len(call.arguments) > MAX_ARGUMENT_CHARS:
        return call.arguments
    try:
        return parse_json(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return call.arguments


def _are_exact(tool: Tool, arguments: str) -> bool:
    """Whether arguments are what a tool takes, and nothing else."""
    try:
        return not read_arguments(tool, arguments).ignored
    except WrongArguments:
        return False


@dataclass(slots=True)
class _DomainAnswers:
    """The successful answers of domains in this run, as text where a domain has an agent.

    `is_waiting`: a call needs the user's approval. `final` is the answer that a tool gave word for word.
    """

    texts: list[tuple[str, str | None]] = field(default_factory=list)
    is_waiting: bool = False
    final: str | None = None

    @property
    def only_text(self) -> str | None:
        """The text of the only answer in the whole run: it is the answer to the user."""
        return self.texts[0][1] if len(self.texts) == 1 and not self.is_waiting else None

    @property
    def domain(self) -> str | None:
        return _one_name({domain for domain, _ in self.texts})

    @property
    def agent(self) -> str | None:
        """Whose words the answer is made of; an agent has the name of its domain."""
        return _one_name({domain for domain, text in self.texts if text is not None})


def _one_name(names: set[str]) -> str | None:
    """The only one of these names, MIXED for several, None for none."""
    return None if not names else next(iter(names)) if len(names) == 1 else MIXED


class _OwnWordsListener:
    """Passes generated text on while the assistant's own words are the answer; a domain's words arrive with `done`."""

    def __init__(self, listener: StreamListener, answers: _DomainAnswers) -> None:
        self._listener = listener
        self._answers = answers

    def begin(self) -> None:
        self._listener.begin()

    def text(self, delta: str) -> None:
        if self._answers.only_text is None:
            self._listener.text(delta)


class _DomainCalls:
    """Makes the calls that the meta tools pass on, and has the agents of domains put the results into words."""

    def __init__(self, context: AnswerContext, answers: _DomainAnswers) -> None:
        self._context = context
        self._answers = answers
        self._executor = context.executor(context.tools)
        self._agents = {agent.name: agent for agent in context.definition.agents}

    async def execute(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        for call in calls:
            await self._context.calls.announce(call, self._context.tools.get(call.name))
        results = await self._executor.run(calls)
        await add_messages(self._context.run, results)
        self._answers.is_waiting |= any(result.code == "approval_required" for result in results)
        self._answers.final = self._answers.final or final_text(results)
        return results

    async def respond(self, domain: str, question: str, results: Sequence[ToolResult]) -> str | None:
        """The words of the domain's agent; None if it has no agent or the agent no words.

        None, too, where every call waits or has wrong arguments, which its caller must read to correct them.
        """
        agent = self._agents.get(domain)
        is_over = self._answers.final is not None or all(one.code in _UNWORDED for one in results)
        text = None if agent is None or is_over else await self._ask_agent(agent, question, results)
        if all(result.is_success for result in results):
            self._answers.texts.append((domain, text))
        return text

    async def _ask_agent(self, agent: Agent, question: str, results: Sequence[ToolResult]) -> str | None:
        """The reply is pinned at once, so that a crash does not repeat it."""
        context = self._context
        asked = tokens.fit(question, MAX_QUESTION_TOKENS) or context.run.user_query
        messages = [Message("user", asked)]
        model, request = await context.agent_request(agent, Toolset(()), messages, has_memory=False)
        named = [(result.call.name, result.untimed()) for result in results]
        room = await result_room(model.deps, request, MAX_RESULT_TOKENS)
        bodies = await fit_together(named, room, [result.tool for result in results])
        for body in bodies:
            context.figures.show(body)
        language = await dialogue_language(
            context.db, context.run.id, context.definition.language, context.run.user_query
        )
        is_brief = model.deps.settings.profile == "small"
        message = domain_request(asked, results, bodies, language, is_brief=is_brief)
        request = replace(request, messages=(Message("user", message),))
        async with debug_log().span(9, agent.name):
            reply = await model.without_listener().ask(request)
        await model.pin()
        text = clean(reply.text).strip()
        return None if is_blank(text) or is_domain_request(text) else text


def _domains(context: AnswerContext) -> list[Domain]:
    agents = {agent.name: agent for agent in context.definition.agents}
    domains = []
    for name in context.known.domains():
        tools = ", ".join(one.name for one in context.known.of(name))
        about = agents[name].about if name in agents else shorten(tools, 80)
        domains.append(Domain(name, about, is_open=bool(context.tools.of(name))))
    return domains
