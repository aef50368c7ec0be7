"""One turn of a dialogue that collects values: one question to the model, its calls, and what code adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maas.agents.executor import Executor
from maas.agents.results import ToolResult
from maas.agents.rounds import SILENCE, language_of, result_turn
from maas.agents.sessions import WAIT_PHOTO, SlotSession
from maas.agents.turn import Turn
from maas.pipeline.attachments import photo_of_run
from maas.pipeline.events import EventType, RunEvents
from shared.errors import MaasError
from shared.models.types import Reply, Request, ToolCall
from shared.text import clean, is_blank

CONFIRM = "assistant_confirm"


async def collect(turn: Turn, events: RunEvents) -> Reply:
    """The reply of this turn, in words; what it has collected is kept. Raises MaasError, LostRun."""
    definition, run, db = turn.definition, turn.run, turn.db
    if turn.asker.deps.models[turn.request.role].provider == "extractive":
        message = f"{definition.name} needs a model that can call tools, the built-in one cannot"
        raise MaasError("no_tool_calls", f"{message}: set MAAS_RESPONDER_MODEL to provider:model")
    language = language_of(definition.language, run.user_query)
    slots = [one.slot(language) for one in definition.slots]
    session = await SlotSession.open(db, run, slots, language)
    if definition.photo and (photo := await photo_of_run(db, run.id)):
        session.receive(photo)
        await session.keep(db, run)

    async def record(result: ToolResult) -> None:
        state = session.state
        session.take(result)
        await session.keep(db, run)
        await turn.calls.record(result)
        if session.state == WAIT_PHOTO != state:
            await events.emit(EventType.REQUEST_PHOTO, {})
        if drawn := (result.body.get("data") or {}).get("attachment_id"):
            await events.emit(EventType.STICKER, {"attachment_id": drawn})

    executor = turn.guard(turn.tools, record, {"session": session})
    request = replace(turn.request, tools=tuple(one.spec for one in turn.tools))
    reply = await _Collecting(turn, executor, session).converse(request)
    if session.is_offered:
        label = session.in_words("Подтвердить", "Confirm")
        await events.emit(EventType.BUTTONS, {"buttons": [{"id": CONFIRM, "label": label}]})
    return reply


@dataclass(frozen=True, slots=True)
class _Collecting:
    turn: Turn
    executor: Executor
    session: SlotSession

    async def converse(self, request: Request) -> Reply:
        """The model is asked once more only if it had no words or its arguments were wrong."""
        reply = await self._ask(request)
        if not reply.calls and not self._added(reply.text):
            return reply
        results = await self._act(reply.calls) if reply.calls else []
        words = reply.text
        is_wrong = any(result.code == "validation_error" for result in results)
        if is_wrong or not self._added(words):
            messages = (*request.messages, reply.turn(), *map(result_turn, results))
            choice = request.tool_choice if is_wrong else "none"
            reply = await self._ask(replace(request, messages=messages, tool_choice=choice))
            if is_wrong and reply.calls:
                await self._act(reply.calls)
            words = words if is_blank(clean(reply.text)) else reply.text
        parts = self._added(words) or [self._question()]
        text = "\n\n".join(parts)
        if self.turn.asker.listener is not None and text != words:
            self.turn.asker.listener.text(text.removeprefix(words))
        return replace(reply, text=text)

    def _added(self, words: str) -> list[str]:
        """The words of the model, those of tools, and the mirror of what waits to be confirmed."""
        session = self.session
        added = [*session.said, *([session.mirror] if session.is_offered else [])]
        return [one for one in (words, *(one for one in added if one not in words)) if not is_blank(clean(one))]

    def _question(self) -> str:
        open_slots = self.session.missing
        return open_slots[0].question if open_slots else SILENCE[self.session.language]

    async def _ask(self, request: Request) -> Reply:
        return await self.turn.asker.ask(replace(request, system=f"{request.system}\n\n{self.session.block}"))

    async def _act(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """In the order of the toolset: values first, what works on them last. Raises LostRun."""
        await self.turn.asker.pin()
        places = {one.name: place for place, one in enumerate(self.turn.tools)}
        ordered = sorted(calls, key=lambda call: places.get(call.name, len(places)))
        for call in ordered:
            await self.turn.calls.announce(call)
        return await self.executor.run(ordered)
