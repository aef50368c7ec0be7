"""The runtime of assistants that act: it holds the toolbox, routes an answer, and executes approved actions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, assert_never, cast

import structlog

from maas import queries
from maas.agents.answer_context import AnswerContext
from maas.agents.answer_language import in_own_language
from maas.agents.approvals import execute_approved, narrate_outcome
from maas.agents.definition import Definition, read_definition, within
from maas.agents.domain_agents import answer_by_meta_tools
from maas.agents.edited_calls import look_up_edit
from maas.agents.forbidden_words import without_forbidden_words
from maas.agents.own_calls import execute_own_call
from maas.agents.routing import answer_by_classifier, answer_by_handoff
from maas.agents.slot_loop import CheckedReply, answer_with_slots
from maas.agents.slot_step import press
from maas.agents.sourced_answer import with_sources
from maas.agents.tasks import TaskWork
from maas.agents.tool_loop import ResponderModel, ToolReply
from maas.conversations.actions import find_pressed_button
from maas.engine.events import RunEvents
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.prompting.variants import MAIN
from maas.runs.debug_info import debug_log
from maas.tools.ledger import CallLog
from maas.tools.mcp_client.naming import check_names, is_named, names_without_prefix
from maas.tools.mcp_client.servers import McpServer
from maas.tools.openers import BoundOpener, OpenDomains
from maas.tools.tool import Mode, ToolContext, Toolset
from maas.user_secrets import UserSecrets
from shared.db import Database
from shared.errors import MaasError
from shared.models import Reply, Request

if TYPE_CHECKING:
    from maas.tools.mcp_client.connection import McpConnection
    from maas.tools.mcp_client.user_connections import UserConnections


CONNECT_WAIT_S = 15.0
_definitions: dict[str, tuple[Any, Definition]] = {}  # by assistant: its row as read last, and what stands in it
log = structlog.get_logger()


async def open_assistant(run: Run, deps: Deps, request: Request) -> tuple[Definition | None, Deps, Request]:
    """Read the definition of the run's assistant; return it with `deps` and `request` changed as it says.

    The definition is None if the assistant has no active row. Raises MaasError: `bad_assistant`, `wrong_channel`.
    """
    definition = await _read_definition(run, deps)
    if definition is None:
        return None, deps, request
    if definition.channels and (source := await deps.db.value(queries.run_source, run.id)) not in definition.channels:
        channels = ", ".join(definition.channels)
        raise MaasError("wrong_channel", f"{definition.name} answers requests of {channels}, not of {source}")
    limits, deps = definition.limits, deps.with_responder_model(definition.model)
    if definition.temperature is not None:
        request = replace(request, temperature=definition.temperature)
    if limits.tokens is not None:
        request = replace(request, max_tokens=limits.tokens)
    if limits.attempt_seconds is not None:
        settings = deps.settings.replace(responder_attempt_timeout=limits.attempt_seconds)
        deps = replace(deps, settings=settings)
    return definition, deps, request


class Toolbox:
    """The tools of a process: its own, and those of MCP servers, which change while the process runs; and openers.

    `secrets` are those of users, for servers whose headers need them. Raises MaasError('bad_setting') if two tools or
    domains have one name.
    """

    def __init__(
        self,
        own: Toolset,
        servers: Sequence[McpServer] = (),
        openers: Mapping[str, BoundOpener] | None = None,
        secrets: UserSecrets | None = None,
    ) -> None:
        check_names(own, servers)
        self._own = own
        self._openers = openers or {}
        self._servers = tuple(server.name for server in servers)
        self._expected = tuple(name for server in servers for name in names_without_prefix(server))
        self._user_connections: list[UserConnections] = []
        self._connections = self._open_connections(servers, secrets)
        self._tools = Toolset(own, self._servers, self._expected)
        self._change = asyncio.Event()

    def tools(self) -> Toolset:
        """All tools that are known now."""
        return self._tools

    def open_domains(self, context: ToolContext, db: Database | None = None) -> OpenDomains:
        """The domains for one run; none is opened yet."""
        return OpenDomains(self._openers, context, db)

    def start(self) -> None:
        """Connect to every server now. Otherwise `reach` connects to each server when it first names it."""
        for connection in self._connections:
            connection.start()

    async def reach(self, names: Iterable[str]) -> Toolset:
        """Connect to the servers of the tools and domains in `names`, for CONNECT_WAIT_S at most; return all tools."""
        needed = tuple(names)
        attempts = [one.tried() for one in self._connections if any(is_named(one.server, name) for name in needed)]
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_WAIT_S):
                await asyncio.gather(*attempts)
        return self._tools

    def causes(self) -> dict[str, str | None]:
        """For each server the reason why it is not connected, None if it is connected."""
        return {one.server.name: one.cause for one in self._connections}

    async def change(self) -> None:
        """Return once the tools have changed since the last call."""
        await self._change.wait()
        self._change.clear()

    async def close(self) -> None:
        """Close all connections and stop the programs that were started for them."""
        await asyncio.gather(*(one.close() for one in self._connections))
        await asyncio.gather(*(one.close() for one in self._user_connections))

    def _open_connections(self, servers: Sequence[McpServer], secrets: UserSecrets | None) -> tuple[McpConnection, ...]:
        if not servers:
            return ()
        from maas.tools.mcp_client.connection import McpConnection  # the SDK takes most of a second to import
        from maas.tools.mcp_client.user_connections import UserConnections

        connections = []
        for server in servers:
            call = None
            if server.user_variables:
                self._user_connections.append(UserConnections(server, secrets))
                call = self._user_connections[-1].call
            connections.append(McpConnection(server, self._update_tools, call, secrets))
        return tuple(connections)

    def _update_tools(self) -> None:
        remote = (tool for connection in self._connections for tool in connection.tools)
        self._tools = Toolset((*self._own, *remote), self._servers, self._expected)
        self._change.set()


class Runtime:
    """Answers for assistants that have tools or agents; one per process."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def answer(
        self, definition: Definition, run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None
    ) -> Reply:
        """The last reply of the dialogue between the models and tools of this assistant.

        `definition`, `deps` and `request` are those of open_assistant. Raises LostRun; MaasError, also in a replay
        (`events` is None), where no tool may act.
        """
        if events is None:
            raise MaasError(
                "replay_refused", f"{definition.name} has tools, which must not act in a replay: it cannot be replayed"
            )
        seconds = run.time_limit(definition.limits.seconds, deps.settings.models.role_attempt_timeout(request.role))
        listener = events if deps.settings.answers.stream and definition.stream else None
        run.log.language, run.log.max_words = definition.language, definition.limits.words
        model = ResponderModel(run, deps, prompt, monotonic() + seconds, listener)
        try:
            async with asyncio.timeout(seconds) as timeout:
                context = await self._context(definition, model, request, events)
                return await _answer(context)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise MaasError("timeout", f"no answer within {seconds:g} s, tools included") from error

    async def act(self, run: Run, deps: Deps, events: RunEvents) -> Outcome:
        """Execute the action that the user approved, or the button that the user pressed, once; answer in words.

        The answer to a call that a client makes itself, or to an edit of what waits, is its result.

        Raises LostRun, MaasError('no_action').
        """
        definition = await _read_definition(run, deps)
        tools = await self._open_tools(definition)
        if (button := await find_pressed_button(deps.db, run.id)) is not None:
            return await press(definition, tools, run, deps, events, self._domains(run, deps), button)
        calls = CallLog(deps.db, events, run)
        if (own_call := await deps.db.value(queries.own_call, run.id)) is not None:
            return await execute_own_call(run, deps, definition, tools, calls, self._domains(run, deps), own_call)
        if (edit := await deps.db.value(queries.edited_call, run.id)) is not None:
            return await look_up_edit(run, deps, definition, tools, calls, self._domains(run, deps), edit)
        outcome = await execute_approved(run, deps, tools, calls, self._domains(run, deps))
        return await narrate_outcome(run, deps, outcome, definition, events)

    async def work(self, run: Run, deps: Deps, events: RunEvents) -> Outcome:
        """Execute the steps of a task that are left; the answer is its report. Raises LostRun, MaasError('no_task')."""
        definition = await _read_definition(run, deps)
        if definition is None:
            raise MaasError("unknown_assistant", f"there is no active assistant {run.assistant!r}")
        mode = cast(Mode | None, await deps.db.value(queries.run_mode, run.id))
        run.log.language = definition.language
        work = TaskWork(
            run=run,
            deps=deps.with_responder_model(definition.model),
            tools=within(await self._open_tools(definition), definition.names),
            domains=self._domains(run, deps),
            mode=mode or definition.default_mode,
            language=definition.language,
            calls=CallLog(deps.db, events, run),
            events=events,
        )
        return await work.execute()

    def _domains(self, run: Run, deps: Deps) -> OpenDomains:
        return self._toolbox.open_domains(ToolContext(run.user_id, run.id, run.conversation_id), deps.db)

    async def _open_tools(self, definition: Definition | None) -> Toolset:
        """The tools of an assistant; none if it is gone, or if a tool that it names is."""
        try:
            return definition.tools(await self._toolbox.reach(definition.names)) if definition else Toolset(())
        except MaasError as error:
            log.warning("toolset_unavailable", cause=error.message)
            return Toolset(())

    async def _context(
        self, definition: Definition, model: ResponderModel, request: Request, events: RunEvents
    ) -> AnswerContext:
        run, db = model.run, model.deps.db
        needed = (*definition.names, *definition.context_providers, *definition.opening_tools)
        all_tools = definition.tools(await self._toolbox.reach(needed))
        open_domains = await db.value(queries.open_domains, run.id)
        mode = cast(Mode | None, await db.value(queries.run_mode, run.id))  # of the request or its conversation
        known = within(all_tools, definition.names)
        return AnswerContext(
            definition=definition,
            model=model,
            request=request,
            calls=CallLog(db, events, run),
            events=events,
            mode=mode or definition.default_mode,
            known=known,
            tools=known if open_domains is None else Toolset(one for one in known if one.domain in open_domains),
            providers=within(all_tools, definition.context_providers),
            openings=within(all_tools, definition.opening_tools),
            domains=self._domains(run, model.deps),
        )


async def _read_definition(run: Run, deps: Deps) -> Definition | None:
    rows = await deps.db.shared_rows(queries.assistant_definition, run.assistant, version=run.assistants_version)
    if not rows:
        return None
    known = _definitions.get(run.assistant)
    if known is None or known[0] is not rows[0]:
        row = rows[0]
        known = _definitions[run.assistant] = (row, read_definition(row["name"], row["role_name"], row["definition"]))
    definition = known[1]
    if not definition.variants:
        return definition
    variant = definition.variant_of(run.user_id)
    run.log.variant = MAIN if variant is None else variant.name
    return definition if variant is None else definition.as_variant(variant)


async def _answer(context: AnswerContext) -> Reply:
    session = {"routing": context.definition.routing, "mode": context.mode, "domains": context.tools.domains()}
    async with debug_log().span(3, "session", session):
        context = await (await context.with_provider_context()).with_history()
        context = await context.with_pending_decision()
        reply = await with_sources(context, await _route(context), _route)
        if isinstance(reply, CheckedReply):
            return reply
        text = await without_forbidden_words(context.definition, context.model, context.request, reply.text)
        if not isinstance(reply, ToolReply):
            text = await in_own_language(context.definition, context.model, context.request, text)
        return replace(reply, text=text)


async def _route(context: AnswerContext) -> Reply:
    match context.definition.routing:
        case "single" if context.definition.slots:
            return await answer_with_slots(context)
        case "single":
            request = replace(context.request, tools=tuple(one.spec for one in context.tools))
            return (await context.run_tool_loop(context.model, request, context.executor(context.tools))).reply
        case "meta_tools":
            return await answer_by_meta_tools(context)
        case "classifier":
            return await answer_by_classifier(context)
        case "handoff":
            return await answer_by_handoff(context)
        case routing:
            assert_never(routing)
