"""One turn of a dialogue that collects values: its session, the way to its tools, what the user may press after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from maas.agents.calls import CallLog
from maas.agents.executor import Executor, Session
from maas.agents.results import ToolResult
from maas.agents.rounds import language_of
from maas.agents.slots.session import WAIT_PHOTO, SlotSession
from maas.agents.tools import Context, Toolset
from maas.assistants.definition import Definition
from maas.pipeline.events import EventType, RunEvents
from maas.pipeline.runs import Run
from maas.pipeline.stages import Deps
from shared.models.types import ToolCall
from shared.text import is_blank

CONFIRM = "assistant_confirm"
NEW_PHOTO = "assistant_new_photo"
KEEP_PHOTO = "assistant_keep_photo"
LABELS = {
    CONFIRM: ("Подтвердить", "Confirm"),
    NEW_PHOTO: ("Взять новое фото", "Take the new photo"),
    KEEP_PHOTO: ("Оставить прежнее", "Keep the old one"),
}


@dataclass(frozen=True, slots=True)
class SlotTurn:
    """`executor` lets the session take each result and keeps it."""

    session: SlotSession
    executor: Executor
    calls: CallLog
    tools: Toolset
    events: RunEvents

    @classmethod
    async def open(cls, definition: Definition, tools: Toolset, run: Run, deps: Deps, events: RunEvents) -> Self:
        """Begin where this try of the run began, in mode auto: users confirm the whole here. Raises LostRun."""
        language = language_of(definition.language, run.user_query)
        slots = [one.slot(language) for one in definition.slots]
        session = await SlotSession.open(deps.db, run, slots, language)
        calls = CallLog(deps.db, events, run, definition.name)

        async def record(result: ToolResult) -> None:
            state = session.state
            session.take(result)
            await session.keep(deps.db, run)
            await calls.record(result)
            if session.state == WAIT_PHOTO != state:
                await events.emit(EventType.REQUEST_PHOTO, {})

        allowed = Session(frozenset(one.name for one in tools), "auto", definition.limits.calls)
        context = Context(run.user_id, run.id, run.conversation_id, {"session": session})
        executor = Executor(tools, allowed, context, calls.ledger.count, record, calls.ledger)
        return cls(session, executor, calls, tools, events)

    async def act(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """In the order of the toolset: values first, what works on them last. Raises LostRun."""
        places = {one.name: place for place, one in enumerate(self.tools)}
        ordered = sorted(calls, key=lambda call: places.get(call.name, len(places)))
        for call in ordered:
            await self.calls.announce(call)
        return await self.executor.run(ordered)

    def words(self, said: str) -> list[str]:
        """What was `said`, what else there is to say, and the mirror of what waits to be confirmed."""
        session = self.session
        added = [*session.said, *([session.mirror] if session.is_offered else [])]
        return [one for one in (said, *(one for one in added if one not in said)) if not is_blank(one)]

    async def close(self) -> None:
        """Tell what was drawn and which buttons there are now. Raises LostRun."""
        session = self.session
        if session.drawn is not None:
            await self.events.emit(EventType.STICKER, {"attachment_id": session.drawn})
        offered = [CONFIRM] if session.is_offered else []
        offered = [NEW_PHOTO, KEEP_PHOTO] if session.is_choosing else offered
        if offered:
            buttons = [{"id": one, "label": session.in_words(*LABELS[one])} for one in offered]
            await self.events.emit(EventType.BUTTONS, {"buttons": buttons})
