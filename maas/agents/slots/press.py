"""A button that the user pressed: what it stands for is done by code, no model is asked."""

from __future__ import annotations

from maas.agents.slots.session import CHAT, SlotSession
from maas.agents.slots.turn import CONFIRM, KEEP_PHOTO, NEW_PHOTO, SlotTurn
from maas.agents.tools import Toolset
from maas.assistants.definition import Definition
from maas.pipeline.events import RunEvents
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared.models.types import ToolCall


async def press(
    definition: Definition, tools: Toolset, run: Run, deps: Deps, events: RunEvents, button: str
) -> Outcome:
    """The answer; a button that means nothing any more changes nothing. Raises LostRun."""
    opened = await SlotTurn.open(definition, tools, run, deps, events)
    session = opened.session
    if button == CONFIRM and definition.completion is not None and _is_in_force(session):
        await opened.act([ToolCall(CONFIRM, definition.completion, "{}")])
    elif button in (NEW_PHOTO, KEEP_PHOTO) and session.offered_photo is not None:
        session.choose(is_new=button == NEW_PHOTO)
        await session.keep(deps.db, run)
    over = session.in_words("Эта кнопка больше не действует.", "This button is not in force any more.")
    answer = "\n\n".join(opened.words("") or [over])
    await opened.close()
    return Outcome(answer=answer)


def _is_in_force(session: SlotSession) -> bool:
    return session.state == CHAT and not session.missing and not session.is_confirmed
