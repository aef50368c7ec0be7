"""One step of a dialogue that collects values: a message or a pressed button in, the answer and its buttons out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from maas import queries
from maas.agents import photo_slot
from maas.agents.answer_context import AnswerContext
from maas.agents.collector import Collector
from maas.agents.definition import Agent, Definition
from maas.agents.optional_tool import OPTIONAL_QUESTIONS
from maas.agents.photo_slot import KEEP_PHOTO, NEW_PHOTO
from maas.agents.slots import SlotSession
from maas.agents.tool_loop import ResponderModel, fenced_json, final_text
from maas.conversations.attachments import find_photo
from maas.conversations.language import dialogue_language
from maas.engine.events import EventType, RunEvents
from maas.engine.run import LostRun, Outcome, Run
from maas.engine.stages import Deps
from maas.tools.bounds import MAX_CONTEXT_TOKENS, fit_together
from maas.tools.calls import ToolResult
from maas.tools.consent import read_decision
from maas.tools.executor import Executor
from maas.tools.ledger import CallLog, add_messages
from maas.tools.models import RunModels
from maas.tools.openers import OpenDomains
from maas.tools.permissions import Permissions
from maas.tools.tool import Mode, Tool, ToolContext, Toolset
from shared.models import Request, ToolCall
from shared.text import is_blank

CONFIRM = "assistant_confirm"
BUTTON_LABELS = {CONFIRM: {"ru": "Подтвердить", "en": "Confirm"}, **photo_slot.BUTTON_LABELS}
BUTTON_EXPIRED = {"ru": "Эта кнопка больше не действует.", "en": "This button is no longer active."}
DONE = {"ru": "Готово.", "en": "Done."}
NOT_DONE = {
    "ru": "Не получилось, или исход неизвестен. Спросите меня, прежде чем повторять.",
    "en": "It failed, or its outcome is unknown. Ask me before you repeat it.",
}
COMPLETION_CALL = "completion"  # the id of the call that no model makes
COMPLETED = "All is collected, and code has called the tool below with it. Tell the user in words what came of it."


@dataclass(slots=True)
class SlotStep:
    """The session of one run and its tools. `executor` applies each result to the session and stores it.

    `completion` is what the tool that uses the values gave when code called it; `is_completed` says that it was called.
    """

    definition: Definition
    collector: Collector
    session: SlotSession
    executor: Executor
    calls: CallLog
    tools: Toolset
    run: Run
    deps: Deps
    events: RunEvents
    is_completed: bool = False
    completion: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    async def open(cls, context: AnswerContext, collector: Collector, tools: Toolset) -> Self:
        """Start from the session as it was when this try of the run began. Raises LostRun.

        `tools` are those of the collector and what its routing adds.
        """
        run, deps, definition = context.run, context.model.deps, context.definition
        row: dict[str, Any] | None = await deps.db.value(
            queries.open_session,
            run.id,
            run.attempt,
            agent_of(collector),
            collector.session,
            run.user_query.strip() == definition.opening,
        )
        if row is None:
            raise LostRun
        events, calls, deadline = context.events, context.calls, context.model.deadline
        return await cls._make(
            definition, collector, row, tools, run, deps, events, calls, context.domains, context.mode, deadline
        )

    @classmethod
    async def open_pressed(
        cls, definition: Definition, tools: Toolset, run: Run, deps: Deps, events: RunEvents, domains: OpenDomains
    ) -> Self | None:
        """Start from the session whose button was pressed; None if it is over. Raises LostRun."""
        row: dict[str, Any] | None = await deps.db.value(queries.open_pressed_session, run.id, run.attempt)
        if row is None:
            raise LostRun
        if not row or (collector := definition.collector(row["agent"])) is None:
            return None
        own_tools = definition.tools_of(collector, tools) if isinstance(collector, Agent) else tools
        calls = CallLog(deps.db, events, run)
        return await cls._make(
            definition, collector, row, own_tools, run, deps, events, calls, domains, definition.default_mode
        )

    @classmethod
    async def _make(
        cls,
        definition: Definition,
        collector: Collector,
        row: Mapping[str, Any],
        own_tools: Toolset,
        run: Run,
        deps: Deps,
        events: RunEvents,
        calls: CallLog,
        domains: OpenDomains,
        mode: Mode,
        deadline: float | None = None,
    ) -> Self:
        language = await dialogue_language(deps.db, run.id, definition.language, run.user_query)
        session = SlotSession.read(
            row,
            collector.slots_in(language),
            language,
            photo_tool=collector.photo_tool,
            is_confirmed_by_user=collector.confirm,
            optional=collector.optional,
        )
        tools = Toolset([*own_tools, OPTIONAL_QUESTIONS])
        unasked = frozenset(one.name for one in dialogue_tools(collector, own_tools))

        async def record(result: ToolResult) -> None:
            was_awaited = session.photo.is_awaited
            name = result.tool.name if result.tool is not None else None
            if name in unasked:
                session.take(result)
            elif name == OPTIONAL_QUESTIONS.name:
                session.take_optional(result)
            await session.store(deps.db, run)
            await calls.record(result)
            if session.photo.is_awaited and not was_awaited:
                await events.emit(EventType.REQUEST_PHOTO, {})

        names = frozenset(one.name for one in tools)
        permissions = Permissions(names, mode, definition.limits.calls, unasked=unasked)
        models = RunModels(run, deps, deadline)
        context = ToolContext(run.user_id, run.id, run.conversation_id, {"session": session}, models=models)
        via = deps.settings.assistants.tools_via
        executor = Executor(tools, permissions, context, calls.count, record, calls.ledger, domains, via)
        executor = executor.narrowed(agent_of(collector), names)
        return cls(definition, collector, session, executor, calls, tools, run, deps, events)

    @property
    def offered(self) -> Toolset:
        """The tools that the model may call now. One that code calls is none of them."""
        hidden = set() if self.collector.confirm else {self.collector.completion}
        if self.session.missing or not self.session.optional_left:
            hidden.add(OPTIONAL_QUESTIONS.name)
        return Toolset(one for one in self.tools if one.name not in hidden)

    async def begin(self, *, is_deciding: bool) -> None:
        """Take the photo of the message, and its yes or no to the offer of the optional questions. Raises LostRun.

        `is_deciding`: a yes or no of the message may be meant for this dialogue.
        """
        session = self.session
        if self.collector.photo and (photo := await find_photo(self.deps.db, self.run.id)):
            session.receive(photo)
            await session.store(self.deps.db, self.run)
        optional = session.optional
        is_offered = optional.state == "offered" and optional.offered_in == str(self.run.conversation_id)
        if is_deciding and is_offered and (decision := read_decision(self.run.user_query)) is not None:
            session.decide_optional(is_wanted=decision == "approve")
            await session.store(self.deps.db, self.run)

    async def make(self, calls: Sequence[ToolCall], executor: Executor) -> list[ToolResult]:
        """Make calls in the order of the toolset: values first, the tool that uses them last. Raises LostRun."""
        order = {one.name: index for index, one in enumerate(self.tools)}
        calls_in_order = sorted(calls, key=lambda call: order.get(call.name, len(order)))
        for call in calls_in_order:
            await self.calls.announce(call, executor.tools.get(call.name))
        return await executor.run(calls_in_order)

    async def complete(self, model: ResponderModel | None = None) -> ToolResult | None:
        """Use the values, by code and once in a run, if all are there and need no confirmation. Raises LostRun.

        The replies of `model`, which led to them, are stored first.

        A failure is tried again with the user's next message. What is in doubt is not: nobody knows whether it took
        effect.
        """
        session, name = self.session, self.collector.completion
        if self.is_completed or not session.is_to_be_completed or name is None:
            return None
        if model is not None:
            await model.pin()
        self.is_completed = True
        (result,) = await self.make([ToolCall(COMPLETION_CALL, name, "{}")], self.executor)
        if (result.is_success and not session.photo.is_awaited) or _is_doubtful(result):
            session.is_confirmed = True
            await session.store(self.deps.db, self.run)
        await add_messages(self.run, [result])
        (body,) = await fit_together([(name, result.untimed())], MAX_CONTEXT_TOKENS, [result.tool])
        self.completion = {name: body}
        return result

    def paragraphs(self, text: str) -> list[str]:
        """The paragraphs of the answer: the model's `text`, messages of tools, what code shows and asks."""
        session = self.session
        added = [*session.messages, *([session.mirror] if session.is_to_be_confirmed else [])]
        added += [session.new_offer] if session.new_offer is not None else []
        return [one for one in (text, *(one for one in added if one not in text)) if not is_blank(one)]

    def with_state(self, request: Request) -> Request:
        """The request with the session as it is now, and what came of using its values."""
        system = f"{request.system}\n\n{self.session.state_block}"
        if self.completion:
            system += f"\n{COMPLETED}\n{fenced_json('completed', self.completion)}"
        return replace(request, system=system)

    async def close(self, *, is_offering: bool = True) -> None:
        """Emit the events of tools that end the answer, and its buttons. Raises LostRun.

        `is_offering`: the answer holds the question whether to ask the optional questions, if that was due.
        """
        session = self.session
        if is_offering and session.new_offer is not None:
            session.optional.state, session.optional.offered_in = "offered", str(self.run.conversation_id)
            await session.store(self.deps.db, self.run)
        for kind, payload in session.events.items():
            await self.events.emit(kind, payload)
        offered = [CONFIRM] if session.is_to_be_confirmed else []
        offered = [NEW_PHOTO, KEEP_PHOTO] if session.photo.is_choosing else offered
        if offered:
            buttons = [{"id": one, "label": BUTTON_LABELS[one][session.language]} for one in offered]
            await self.events.emit(EventType.BUTTONS, {"buttons": buttons})


def agent_of(collector: Collector) -> str | None:
    """The name of the agent that collects; None for the assistant itself."""
    return collector.name if isinstance(collector, Agent) else None


def dialogue_tools(collector: Collector, tools: Toolset) -> tuple[Tool, ...]:
    """The tools of the dialogue: those of the domain of `completion`."""
    completion = tools.get(collector.completion) if collector.completion is not None else None
    return tools.of(completion.domain) if completion is not None else ()


def _is_doubtful(result: ToolResult) -> bool:
    is_repeatable = result.tool is not None and result.tool.is_idempotent
    return result.code == "in_doubt" or (result.code == "timeout" and not is_repeatable)


async def press(
    definition: Definition | None,
    tools: Toolset,
    run: Run,
    deps: Deps,
    events: RunEvents,
    domains: OpenDomains,
    button: str,
) -> Outcome:
    """Do what a pressed button stands for, without a model. Raises LostRun.

    A button that is not in force any more, or whose dialogue is over, changes nothing.
    """
    step = await SlotStep.open_pressed(definition, tools, run, deps, events, domains) if definition else None
    if step is None:
        language = definition.language if definition is not None else "auto"
        return Outcome(answer=BUTTON_EXPIRED[await dialogue_language(deps.db, run.id, language, run.user_query)])
    session, completion = step.session, step.collector.completion
    wordless, final = BUTTON_EXPIRED, None
    if button == CONFIRM and completion is not None and _can_confirm(session):
        results = await step.make([ToolCall(CONFIRM, completion, "{}")], step.executor)
        await add_messages(run, results)
        wordless, final = DONE if results[0].is_success else NOT_DONE, final_text(results)
    elif button in (NEW_PHOTO, KEEP_PHOTO) and session.photo.offered is not None:
        session.choose(is_new=button == NEW_PHOTO)
        await session.store(deps.db, run)
    answer = final or "\n\n".join(step.paragraphs("") or [wordless[session.language]])
    await step.close(is_offering=final is None)
    agent = agent_of(step.collector)
    if agent is not None and not await deps.db.value(queries.name_agent, run.id, run.attempt, agent, None):
        raise LostRun
    return Outcome(answer=answer)


def _can_confirm(session: SlotSession) -> bool:
    return session.is_confirmed_by_user and session.is_complete and not session.is_confirmed
