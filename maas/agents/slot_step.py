"""One step of a dialogue that collects values: a message or a pressed button in, the answer and its buttons out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from maas.agents.definition import Definition
from maas.agents.dialogue_language import dialogue_language
from maas.agents.executor import Executor, Permissions
from maas.agents.forbidden_words import without_forbidden_words
from maas.agents.openers import OpenDomains
from maas.agents.slots import CHAT, WAIT_PHOTO, SlotSession
from maas.agents.tool_calls import ToolResult
from maas.agents.tool_ledger import CallLog, add_messages
from maas.agents.tool_loop import NO_WORDS, AnswerContext, ResponderModel, final_text, result_message, tell
from maas.agents.tool_models import RunModels
from maas.agents.tools import ToolContext, Toolset
from maas.conversations.attachments import find_photo
from maas.engine.claims import Outcome, Run
from maas.engine.events import EventType, RunEvents
from maas.engine.stages import Deps
from shared.errors import MaasError
from shared.models import Reply, Request, ToolCall
from shared.text import clean, is_blank

CONFIRM = "assistant_confirm"
NEW_PHOTO = "assistant_new_photo"
KEEP_PHOTO = "assistant_keep_photo"
BUTTON_LABELS = {
    CONFIRM: {"ru": "Подтвердить", "en": "Confirm"},
    NEW_PHOTO: {"ru": "Взять новое фото", "en": "Take the new photo"},
    KEEP_PHOTO: {"ru": "Оставить прежнее", "en": "Keep the old one"},
}
BUTTON_EXPIRED = {"ru": "Эта кнопка больше не действует.", "en": "This button is not in force any more."}


@dataclass(frozen=True, slots=True)
class SlotStep:
    """The session of one run and its tools. `executor` applies each result to the session and stores it."""

    session: SlotSession
    executor: Executor
    calls: CallLog
    tools: Toolset
    events: RunEvents

    @classmethod
    async def open(
        cls, definition: Definition, tools: Toolset, run: Run, deps: Deps, events: RunEvents, domains: OpenDomains
    ) -> Self:  # fmt: skip
        """Start from the session as it was when this try of the run began. Raises LostRun.

        The mode is `auto`: users confirm all values together.
        """
        language = await dialogue_language(deps.db, run.id, definition.language, run.user_query)
        slots = [one.slot(language) for one in definition.slots]
        session = await SlotSession.open(
            deps.db, run, slots, language, is_of_user=definition.session == "user",
            is_opening=run.user_query.strip() == definition.opening, photo_tool=definition.photo_tool,
        )  # fmt: skip
        calls = CallLog(deps.db, events, run)

        async def record(result: ToolResult) -> None:
            state = session.state
            session.take(result)
            await session.store(deps.db, run)
            await calls.record(result)
            if session.state == WAIT_PHOTO != state:
                await events.emit(EventType.REQUEST_PHOTO, {})

        permissions = Permissions(frozenset(one.name for one in tools), "auto", definition.limits.calls)
        models = RunModels(run, deps)
        context = ToolContext(run.user_id, run.id, run.conversation_id, {"session": session}, models=models)
        executor = Executor(tools, permissions, context, calls.count, record, calls.ledger, domains)
        return cls(session, executor, calls, tools, events)

    async def make(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Make calls in the order of the toolset: values first, the tool that uses them last. Raises LostRun."""
        order = {one.name: index for index, one in enumerate(self.tools)}
        calls_in_order = sorted(calls, key=lambda call: order.get(call.name, len(order)))
        for call in calls_in_order:
            await self.calls.announce(call)
        return await self.executor.run(calls_in_order)

    def paragraphs(self, text: str) -> list[str]:
        """The paragraphs of the answer: the model's `text`, messages of tools, the mirror if it is to be confirmed."""
        session = self.session
        added = [*session.messages, *([session.mirror] if session.is_offered else [])]
        return [one for one in (text, *(one for one in added if one not in text)) if not is_blank(one)]

    async def close(self) -> None:
        """Emit the picture that was made and the buttons of the answer. Raises LostRun."""
        session = self.session
        if session.attachment_id is not None:
            await self.events.emit(EventType.STICKER, {"attachment_id": session.attachment_id})
        offered = [CONFIRM] if session.is_offered else []
        offered = [NEW_PHOTO, KEEP_PHOTO] if session.is_choosing else offered
        if offered:
            buttons = [{"id": one, "label": BUTTON_LABELS[one][session.language]} for one in offered]
            await self.events.emit(EventType.BUTTONS, {"buttons": buttons})


async def collect(context: AnswerContext, events: RunEvents) -> Reply:
    """Answer a message of the dialogue and store the values that it holds. Raises MaasError, LostRun."""
    definition, run, deps = context.definition, context.run, context.model.deps
    if deps.models[context.request.role].provider == "extractive":
        message = f"{definition.name} needs a model that can call tools, the built-in one cannot"
        raise MaasError("no_tool_calls", f"{message}: set MAAS_RESPONDER_MODEL to provider:model")
    step = await SlotStep.open(definition, context.tools, run, deps, events, context.domains)
    if definition.photo and (photo := await find_photo(deps.db, run.id)):
        step.session.receive(photo)
        await step.session.store(deps.db, run)
    request = replace(context.request, tools=tuple(one.spec for one in context.tools))
    reply = await _ask(step, context.model, request, definition)
    await step.close()
    return reply


async def _ask(step: SlotStep, model: ResponderModel, request: Request, definition: Definition) -> Reply:
    """Ask the model and make its calls. It is asked once more only if it had no words or its arguments were wrong."""
    session = step.session
    reply = await model.ask(_with_state(step, request))
    text = clean(reply.text)
    if reply.calls:
        await model.pin()
        results = await step.make(reply.calls)
        await add_messages(model.run, results, reply)
        if (final := final_text(results)) is not None:
            return tell(model, reply, final)
        is_wrong = any(result.code == "validation_error" for result in results)
        if is_wrong or not step.paragraphs(text):
            messages = (*request.messages, reply.message(), *map(result_message, results))
            choice = request.tool_choice if is_wrong else "none"
            reply = await model.ask(_with_state(step, replace(request, messages=messages, tool_choice=choice)))
            if is_wrong and reply.calls:
                await model.pin()
                await add_messages(model.run, await step.make(reply.calls), reply)
            text = text if is_blank(clean(reply.text)) else clean(reply.text)
    elif not step.paragraphs(text):
        return reply  # nothing was said
    text = await without_forbidden_words(definition, model, request, text)
    question = session.missing[0].question if session.missing else NO_WORDS[session.language]
    whole = "\n\n".join(step.paragraphs(text) or [question])
    if model.listener is not None and whole != text:
        model.listener.text(whole.removeprefix(text))
    return replace(reply, text=whole)


def _with_state(step: SlotStep, request: Request) -> Request:
    """The request with the session as it is now."""
    return replace(request, system=f"{request.system}\n\n{step.session.state_block}")


async def press(
    definition: Definition, tools: Toolset, run: Run, deps: Deps, events: RunEvents, domains: OpenDomains, button: str
) -> Outcome:
    """Do what a pressed button stands for, without a model. An expired button changes nothing. Raises LostRun."""
    step = await SlotStep.open(definition, tools, run, deps, events, domains)
    session = step.session
    if button == CONFIRM and definition.completion is not None and _can_confirm(session):
        await add_messages(run, await step.make([ToolCall(CONFIRM, definition.completion, "{}")]))
    elif button in (NEW_PHOTO, KEEP_PHOTO) and session.offered_photo is not None:
        session.choose(is_new=button == NEW_PHOTO)
        await session.store(deps.db, run)
    answer = "\n\n".join(step.paragraphs("") or [BUTTON_EXPIRED[session.language]])
    await step.close()
    return Outcome(answer=answer)


def _can_confirm(session: SlotSession) -> bool:
    return session.state == CHAT and not session.missing and not session.is_confirmed
