"""Answers of assistants that act: what may be called, in which mode, for how long, and who speaks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from typing import assert_never

import structlog

from maas.agents.approved import carry_out
from maas.agents.calls import CallLog
from maas.agents.outcomes import tell
from maas.agents.policy import Mode
from maas.agents.rounds import STAGE, Asker
from maas.agents.routing import classifier, handoff, meta, single
from maas.agents.slots.collect import collect
from maas.agents.slots.press import press
from maas.agents.toolbox import Toolbox
from maas.agents.tools import Toolset
from maas.agents.turn import Turn
from maas.assistants.definition import Definition, read_definition, within
from maas.pipeline.buttons import pressed_button
from maas.pipeline.events import RunEvents
from maas.pipeline.layers import LayerLog, open_layers, telling
from maas.pipeline.ledger import ask
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared.errors import MaasError
from shared.models.types import Reply, Request

log = structlog.get_logger()


class Runtime:
    """Answers for assistants that have tools or agents; one of a process."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def answer(
        self, run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None
    ) -> Reply | None:
        """The reply of a plain assistant, or the last one of its dialogue; None when there is no such assistant.

        Raises LostRun; MaasError, of a replay too, in which no tool may act.
        """
        definition = await self._definition(run, deps)
        if definition is None:
            return None
        if definition.channels and (source := await deps.db.value("run_source", run.id)) not in definition.channels:
            channels = ", ".join(definition.channels)
            raise MaasError("wrong_channel", f"{definition.name} answers requests of {channels}, not of {source}")
        request, deps = _fitted(definition, request, deps)
        listener = events if deps.settings.stream else None
        if definition.is_plain:
            seconds = run.allow(deps.settings.responder_timeout, deps.settings.role_attempt_timeout(request.role))
            return await ask(run, deps, STAGE, prompt, request, seconds, listener)
        if events is None:
            raise MaasError("replay_refused", f"{definition.name} has tools, and in a replay none may act")
        seconds = run.allow(definition.limits.seconds, deps.settings.role_attempt_timeout(request.role))
        asker = Asker(run, deps, prompt, monotonic() + seconds, listener)
        try:
            async with asyncio.timeout(seconds) as clock:
                turn = await self._turn(definition, asker, request, events)
                with telling(await open_layers(deps.db, deps.settings, run.id, events.emit)) as layers:
                    return await _told(turn, layers, events)
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise MaasError("timeout", f"no answer within {seconds:g} s, tools included") from error

    async def act(self, run: Run, deps: Deps, events: RunEvents) -> Outcome:
        """Execute what the user approved or pressed, once, and tell what came of it.

        Raises LostRun, MaasError('no_action').
        """
        definition = await self._definition(run, deps)
        tools = await self._open_to(definition)
        if definition is not None and definition.slots and (button := await pressed_button(deps.db, run.id)):
            return await press(definition, tools, run, deps, events, button)
        settled = await carry_out(run, deps.db, tools, CallLog(deps.db, events, run, run.assistant))
        return await tell(run, deps, settled, definition.language if definition else "auto", events)

    async def _open_to(self, definition: Definition | None) -> Toolset:
        """What an assistant may call now; nothing where it has gone, or names a tool that has."""
        try:
            return definition.tools(await self._toolbox.reach(definition.names)) if definition else Toolset(())
        except MaasError as error:
            log.warning("toolset_gone", cause=error.message)
            return Toolset(())

    async def _definition(self, run: Run, deps: Deps) -> Definition | None:
        rows = await deps.db.shared_rows("assistant_definition", run.assistant)
        return read_definition(rows[0]["name"], rows[0]["role_name"], rows[0]["definition"]) if rows else None

    async def _turn(self, definition: Definition, asker: Asker, request: Request, events: RunEvents) -> Turn:
        needed = (*definition.names, *definition.context_providers)
        run, there = asker.run, definition.tools(await self._toolbox.reach(needed))
        domains = await asker.deps.db.value("open_domains", run.id)
        known = within(there, definition.names)
        return Turn(
            definition=definition,
            asker=asker,
            request=request,
            calls=CallLog(asker.deps.db, events, run, definition.name),
            mode=await _mode(definition, asker),
            known=known,
            tools=known if domains is None else Toolset(one for one in known if one.domain in domains),
            providers=within(there, definition.context_providers),
        )


async def _told(turn: Turn, layers: LayerLog, events: RunEvents) -> Reply:
    run, about = turn.run, {"routing": turn.definition.routing, "mode": turn.mode, "domains": turn.tools.domains()}
    async with layers.span(3, "session", about):
        reply = await _route(await turn.informed(), events)
    await layers.info(10, "answer", {"chars": len(reply.text)})
    await layers.info(11, "storing", {"model_calls": len(run.pinned) + len(run.calls)})
    return reply


async def _route(turn: Turn, events: RunEvents) -> Reply:
    match turn.definition.routing:
        case "single" if turn.definition.slots:
            return await collect(turn, events)
        case "single":
            return await single.answer(turn)
        case "meta_tools":
            return await meta.answer(turn)
        case "classifier":
            return await classifier.answer(turn)
        case "handoff":
            return await handoff.answer(turn)
        case routing:
            assert_never(routing)


def _fitted(definition: Definition, request: Request, deps: Deps) -> tuple[Request, Deps]:
    """With what the definition says of a reply in the place of the settings."""
    limits, deps = definition.limits, deps.spoken_by(definition.model)
    if definition.temperature is not None:
        request = replace(request, temperature=definition.temperature)
    if limits.tokens is not None:
        request = replace(request, max_tokens=limits.tokens)
    if limits.attempt_seconds is not None:
        settings = deps.settings.model_copy(update={"responder_attempt_timeout": limits.attempt_seconds})
        deps = replace(deps, settings=settings)
    return request, deps


async def _mode(definition: Definition, asker: Asker) -> Mode:
    """The request's own, its conversation's, or the one that the assistant has by itself."""
    mode: Mode | None = await asker.deps.db.value("run_mode", asker.run.id)
    return mode or definition.default_mode
