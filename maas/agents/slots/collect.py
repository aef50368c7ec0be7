"""A turn of a dialogue that collects values: one question to the model, its calls, and what code adds."""

from __future__ import annotations

from dataclasses import replace

from maas.agents.rounds import SILENCE, Asker, result_turn
from maas.agents.slots.turn import SlotTurn
from maas.agents.turn import Turn
from maas.pipeline.attachments import photo_of_run
from maas.pipeline.events import RunEvents
from shared.errors import MaasError
from shared.models.types import Reply, Request
from shared.text import clean, is_blank


async def collect(turn: Turn, events: RunEvents) -> Reply:
    """The reply of this turn, in words; what it has collected is kept. Raises MaasError, LostRun."""
    definition, run, deps = turn.definition, turn.run, turn.asker.deps
    if deps.models[turn.request.role].provider == "extractive":
        message = f"{definition.name} needs a model that can call tools, the built-in one cannot"
        raise MaasError("no_tool_calls", f"{message}: set MAAS_RESPONDER_MODEL to provider:model")
    opened = await SlotTurn.open(definition, turn.tools, run, deps, events)
    if definition.photo and (photo := await photo_of_run(deps.db, run.id)):
        opened.session.receive(photo)
        await opened.session.keep(deps.db, run)
    request = replace(turn.request, tools=tuple(one.spec for one in turn.tools))
    reply = await _converse(opened, turn.asker, request)
    await opened.close()
    return reply


async def _converse(opened: SlotTurn, asker: Asker, request: Request) -> Reply:
    """The model is asked once more only if it had no words or its arguments were wrong."""
    session = opened.session
    reply = await asker.ask(_told(opened, request))
    words = clean(reply.text)
    if reply.calls:
        await asker.pin()
        results = await opened.act(reply.calls)
        is_wrong = any(result.code == "validation_error" for result in results)
        if is_wrong or not opened.words(words):
            messages = (*request.messages, reply.turn(), *map(result_turn, results))
            choice = request.tool_choice if is_wrong else "none"
            reply = await asker.ask(_told(opened, replace(request, messages=messages, tool_choice=choice)))
            if is_wrong and reply.calls:
                await asker.pin()
                await opened.act(reply.calls)
            words = words if is_blank(clean(reply.text)) else clean(reply.text)
    elif not opened.words(words):
        return reply
    question = session.missing[0].question if session.missing else SILENCE[session.language]
    text = "\n\n".join(opened.words(words) or [question])
    if asker.listener is not None and text != words:
        asker.listener.text(text.removeprefix(words))
    return replace(reply, text=text)


def _told(opened: SlotTurn, request: Request) -> Request:
    """With the state as it is now."""
    return replace(request, system=f"{request.system}\n\n{opened.session.block}")
