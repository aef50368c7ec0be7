"""What one answer needs, whichever way it is routed: its request, tools, calls, and what context providers gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maas import queries
from maas.agents.definition import Agent, Definition, Preamble
from maas.agents.figures import GivenFigures, SourcedListener
from maas.agents.history import earlier_messages
from maas.agents.spoken_decision import find_pending_decision
from maas.agents.tool_loop import LoopResult, ResponderModel, fenced_json, run_tool_loop
from maas.conversations.language import dialogue_language
from maas.engine.drafts import Payload
from maas.engine.events import RunEvents
from maas.engine.run import LostRun, Run
from maas.engine.stages import Deps
from maas.prompting.distances import with_distances
from maas.prompting.prompts import prompt_language, read_prompts, role_text
from maas.prompting.trimming import condense
from maas.tools.bounds import MAX_CONTEXT_TOKENS, fit_together
from maas.tools.calls import ToolResult
from maas.tools.executor import CountCall, Executor, RecordResult
from maas.tools.ledger import CallLog
from maas.tools.models import RunModels
from maas.tools.openers import OpenDomains
from maas.tools.permissions import Permissions
from maas.tools.tool import Mode, Tool, ToolContext, Toolset
from shared import tokens
from shared.db import Database
from shared.json import json_object
from shared.models import Message, Reply, Request, ToolCall
from shared.text import clean, is_blank

CONTEXT_TAG = "context"
CONTEXT_TAG_TOKENS = 12  # of the tags around what context providers gave


class FirstRoundTool:
    """A tool that is offered in the first round of one tool loop only, before the model has read any result."""

    def __init__(self, tool: Tool | None = None) -> None:
        self._tool = tool

    def take(self) -> Tool | None:
        """Return the tool to the first caller, None to every other."""
        taken, self._tool = self._tool, None
        return taken


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What one answer needs, whichever way it is routed.

    `request` is that of the assistant's own prompt. `known` are the assistant's tools; `tools` those of them that are
    open to this run. `provided` is what `providers`, its context providers, and `openings`, its opening tools, gave, by
    name. `domains` are opened as calls need them. `notice` stands at the end of every model's system text;
    `deciding` decides an action that waits. `figures` are those that tools have given so far; `chosen` are calls that
    stand in place of the first reply of each tool loop.
    """

    definition: Definition
    model: ResponderModel
    request: Request
    calls: CallLog
    events: RunEvents
    mode: Mode
    known: Toolset
    tools: Toolset
    providers: Toolset
    openings: Toolset
    domains: OpenDomains
    provided: Mapping[str, Any] = field(default_factory=dict)
    notice: str = ""
    deciding: FirstRoundTool = field(default_factory=FirstRoundTool)
    figures: GivenFigures = field(default_factory=GivenFigures)
    chosen: tuple[ToolCall, ...] = ()

    @property
    def run(self) -> Run:
        return self.model.run

    @property
    def db(self) -> Database:
        return self.model.deps.db

    async def with_provider_context(self) -> AnswerContext:
        """Add to the request what context providers give now and opening tools gave when the dialogue began.

        One that fails is left out. Approval modes and the limit of calls do not apply, and no follower hears of these
        calls: the assistant makes them, not its model. Raises LostRun.
        """
        bodies = await self._start_results() | await self._call_quietly("context", self.providers)
        context = replace(self, provided=bodies)
        if not bodies:
            return context
        payload = await self.run.read_payload()
        return replace(context, request=replace(self.request, system=await context._system(payload, self.model.deps)))

    async def _start_results(self) -> dict[str, Any]:
        """What the opening tools gave; they are called again until all of them have given something."""
        if not len(self.openings):
            return {}
        stored: dict[str, Any] | None = await self.db.value(queries.start_results, self.run.id)
        if stored is not None:
            return stored
        bodies: dict[str, Any] = {}
        for one in self.openings:  # in their order: the ledger shows it
            bodies |= await self._call_quietly("opening", Toolset([one]))
        is_whole = len(bodies) == len(self.openings)
        if is_whole and not await self.db.value(queries.keep_start, self.run.id, self.run.attempt, bodies):
            raise LostRun
        return bodies

    async def _call_quietly(self, prefix: str, tools: Toolset) -> dict[str, Any]:
        """The results of these tools by name, without those that failed."""
        calls = [ToolCall(f"{prefix}-{number}", one.name, "{}") for number, one in enumerate(tools, 1)]
        executor = replace(self, mode="auto").executor(tools, self.calls.record_quietly, count=_uncounted)
        results = await executor.run(calls)
        return {result.call.name: result.untimed() for result in results if result.is_success}

    async def _system(self, payload: Payload, deps: Deps) -> str:
        """The system text of a payload with what the context providers gave, within the limit of the payload.

        Memory makes room for them; they take at most MAX_CONTEXT_TOKENS, and are cut evenly.
        """
        provider = deps.models["FinalResponder"].provider
        room = payload.room(tokens.within(deps.settings.answers.payload_tokens, provider))
        provided = ""
        if self.provided:
            limit = min(tokens.within(MAX_CONTEXT_TOKENS, provider), room) - CONTEXT_TAG_TOKENS
            fitted = await fit_together(list(self.provided.items()), limit)
            provided = f"\n\n{fenced_json(CONTEXT_TAG, dict(zip(self.provided, fitted, strict=True)))}"
        left = room - (tokens.count(provided) if provided else 0)
        kept = replace(payload, memory=condense(payload.memory.split("\n"), left))
        return (await with_distances(kept, self.run, deps)).system_text() + provided

    async def with_history(self) -> AnswerContext:
        """Put the newest exchanges of the conversation before what the user says, if the definition asks for them."""
        earlier = await earlier_messages(self.run, self.model.deps, self.definition.history)
        return replace(self, request=replace(self.request, messages=(*earlier, *self.request.messages)))

    async def with_pending_decision(self) -> AnswerContext:
        """Name to the model what waits for the user; offer it the tool that decides it if the user's message may."""
        if (pending := await find_pending_decision(self.db, self.run)) is None:
            return self
        notice = f"\n\n{fenced_json('pending', pending.calls)}\n{pending.instruction}"
        request = replace(self.request, system=self.request.system + notice)
        return replace(self, request=request, notice=notice, deciding=FirstRoundTool(pending.tool))

    def executor(self, tools: Toolset, record: RecordResult | None = None, count: CountCall | None = None) -> Executor:
        """An executor for these tools with the assistant's limits."""
        run, ledger = self.run, self.calls.ledger
        permissions = Permissions(
            frozenset(one.name for one in tools),
            self.mode,
            self.definition.limits.calls,
            nested=self.definition.nested_tools(self.tools),
        )
        models = RunModels(run, self.model.deps, self.model.deadline)
        context = ToolContext(run.user_id, run.id, run.conversation_id, models=models)
        counted, recorded = count or self.calls.count, record or self._record
        via, nested = self.model.deps.settings.assistants.tools_via, self.calls if record is None else None
        return Executor(tools, permissions, context, counted, recorded, ledger, self.domains, via, nested)

    async def run_tool_loop(
        self,
        model: ResponderModel,
        request: Request,
        executor: Executor,
        max_rounds: int | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> LoopResult:
        """Run the tool loop for at most `max_rounds`, by default as many as the assistant's limits allow."""
        max_rounds = self.definition.limits.rounds if max_rounds is None else max_rounds
        language = self.definition.language
        first = self.deciding.take()
        preamble = RoundPreamble(self.definition, executor.tools, model)
        if self.definition.sourced_figures and model.listener is not None:
            model = replace(model, listener=SourcedListener(model.listener, self.figures))
        result = await run_tool_loop(
            model,
            request,
            executor,
            self.calls.announce,
            max_rounds,
            language,
            is_over,
            first,
            preamble.say,
            self.chosen,
        )
        self._note_shown(result.messages[len(request.messages) :], executor.tools)
        return result

    def _note_shown(self, messages: Sequence[Message], tools: Toolset) -> None:
        """Take note of the figures in the results that a model was shown in a tool loop."""
        for one in messages if self.definition.sourced_figures else ():
            if one.role == "tool" and (body := json_object(one.text)) is not None:
                tool = tools.get(one.name)
                is_passed_on = tool is None and self.tools.get(one.name) is not None  # by executeTools
                self.figures.show(body, is_meta=is_passed_on or (tool is not None and tool.is_meta))

    async def _record(self, result: ToolResult) -> None:
        self.figures.note(result)
        await self.calls.record(result)

    async def agent_request(
        self, agent: Agent, tools: Toolset, messages: Sequence[Message], *, has_memory: bool = True
    ) -> tuple[ResponderModel, Request]:
        """The model and the request of an agent: its own role, the same memory. Raises MaasError('missing_role').

        Without memory it gets no rules of memory either: a small model that words results takes "say that it is not in
        memory" for the answer.
        """
        version = self.run.assistants_version
        language = await prompt_language(self.model.deps, self.run.assistant, version)
        prompts = await read_prompts(self.db, "FinalResponder", agent.role_prompt, version=version, language=language)
        deps = self.model.deps.with_responder_model(agent.model)
        role = role_text(prompts, agent.role_prompt) if has_memory else prompts[agent.role_prompt].text
        system = (await self.run.read_draft()).system(role) if self.run.draft else role
        payload = replace(await self.run.read_payload(), system=system)
        payload = payload if has_memory else replace(payload, memory="")
        request = replace(
            self.request,
            system=await self._system(payload, deps) + self.notice,
            messages=tuple(messages),
            temperature=self.request.temperature if agent.temperature is None else agent.temperature,
            max_tokens=agent.max_tokens or self.request.max_tokens,
            tools=tuple(one.spec for one in tools),
        )
        return replace(self.model, deps=deps, prompt=prompts[agent.role_prompt]), request

    async def record_agent(self, agent: str | None, domain: str | None = None) -> None:
        """Record which agent answers. The conversation gets it together with the answer. Raises LostRun.

        Outside of a conversation it is recorded only for the buttons of an agent that collects values.
        """
        is_needed = self.run.conversation_id is not None or (agent and self.definition.collector(agent))
        if is_needed and not await self.db.value(queries.name_agent, self.run.id, self.run.attempt, agent, domain):
            raise LostRun


@dataclass(frozen=True, slots=True)
class RoundPreamble:
    """The sentence before the calls of a round for which the model had no words, as the assistant's definition says.

    Which one, the run and the round decide: another round has another sentence, and a crash changes none.
    """

    definition: Definition
    tools: Toolset
    model: ResponderModel

    async def say(self, reply: Reply, number: int) -> None:
        """Stream it as text that the next reply replaces."""
        listener, run = self.model.listener, self.model.run
        preamble = None if listener is None or not is_blank(clean(reply.text)) else self._first(reply.calls)
        if listener is None or preamble is None:
            return
        spoken = await dialogue_language(self.model.deps.db, run.id, self.definition.language, run.user_query)
        sentences = getattr(preamble, spoken)
        listener.begin()
        listener.text(sentences[(run.id.int + number) % len(sentences)])

    def _first(self, calls: Sequence[ToolCall]) -> Preamble | None:
        """The preamble of the first call that has one; a tool's own goes before that of its domain."""
        preambles = self.definition.preambles
        for call in calls if preambles else ():
            tool = self.tools.get(call.name)
            if tool is not None and not tool.is_meta:
                found = preambles.get(tool.name) or preambles.get(tool.domain)
                if found is not None:
                    return found
        return None


async def _uncounted() -> int:
    return 0
