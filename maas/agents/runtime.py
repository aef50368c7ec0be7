"""The dialogue of a model with tools: asked, called, answered, asked again, until it has words for the user."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import structlog

from maas.agents.executor import Executor, Session
from maas.agents.ledger import ToolLedger
from maas.agents.results import ToolResult, to_json
from maas.agents.tools import Context, Toolset
from maas.assistants.definition import Definition, read_definition
from maas.pipeline.events import EventType, RunEvents
from maas.pipeline.ledger import ask, pin
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Run
from maas.pipeline.stages import Deps
from shared.db import Database
from shared.errors import MaasError
from shared.models.policy import Listener
from shared.models.types import Message, Reply, Request
from shared.text import clean, is_blank

STAGE = "final_responder"
IN_WORDS = "Tell the user in words what came of it."
SILENCE = {
    "ru": "Я выполнил запрос, но не могу описать результат словами. Спросите меня о нём ещё раз.",
    "en": "I have worked on your request but found no words for the result. Please ask me about it again.",
}
log = structlog.get_logger()


class Runtime:
    """Answers for assistants that have tools; one of a process."""

    def __init__(self, tools: Toolset) -> None:
        self._tools = tools

    async def answer(
        self, run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None
    ) -> Reply | None:
        """The last reply of the dialogue; None when the assistant has no tools.

        Each reply is pinned before its calls are made: a crash repeats neither. Raises LostRun; MaasError, of a
        replay too, in which no tool may act.
        """
        definition = await self._definition(run, deps)
        if definition is None or not definition.toolset:
            return None
        if events is None:
            raise MaasError("replay_refused", f"{definition.name} has tools, and in a replay none may act")
        tools = definition.tools(self._tools)
        mode = None
        if run.conversation_id is not None:
            mode = await deps.db.value("conversation_mode", run.conversation_id)
        session = Session(
            frozenset(one.name for one in tools), mode or definition.default_mode, definition.limits.calls
        )  # fmt: skip
        calls = _Calls(deps.db, events, run, definition.name)
        context = Context(run.user_id, run.id, run.conversation_id)
        executor = Executor(tools, session, context, calls.ledger.count, calls.record, calls.ledger)
        request = replace(request, tools=tuple(one.spec for one in tools))
        try:
            async with asyncio.timeout(definition.limits.seconds) as clock:
                return await self._converse(run, deps, prompt, request, definition, executor, calls)
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise MaasError("timeout", f"no answer within {definition.limits.seconds:g} s, tools included") from error

    async def _definition(self, run: Run, deps: Deps) -> Definition | None:
        if not self._tools:
            return None
        rows = await deps.db.shared_rows("assistant_definition", run.assistant)
        return read_definition(rows[0]["name"], rows[0]["role_name"], rows[0]["definition"]) if rows else None

    async def _converse(
        self,
        run: Run,
        deps: Deps,
        prompt: Prompt,
        request: Request,
        definition: Definition,
        executor: Executor,
        calls: _Calls,
    ) -> Reply:
        end = monotonic() + definition.limits.seconds
        listener = calls.events if deps.settings.stream else None
        for number in range(1, definition.limits.rounds + 1):
            if number == definition.limits.rounds:
                request = replace(request, tool_choice="none")
            reply = await ask(run, deps, STAGE, prompt, request, end - monotonic(), listener)
            if not reply.calls or request.tool_choice == "none":
                break
            await pin(run, deps)
            await calls.announce(reply)
            results = await executor.run(reply.calls)
            request = replace(request, messages=(*request.messages, reply.turn(), *map(_turn, results)))
        if number == 1 or not is_blank(clean(reply.text)):
            return reply
        return await _in_words(run, deps, prompt, request, definition, end, listener)


class _Calls:
    """What the calls of one run leave behind: lines of the ledger, events, actions that wait."""

    def __init__(self, db: Database, events: RunEvents, run: Run, assistant: str) -> None:
        self._db = db
        self.events = events
        self._run = run
        self._assistant = assistant
        self.ledger = ToolLedger(db, run.id, run.attempt)

    async def announce(self, reply: Reply) -> None:
        for call in reply.calls:
            await self.events.emit(EventType.TOOL_START, {"call_id": call.id, "tool": call.name})

    async def record(self, result: ToolResult) -> None:
        await self.ledger.note(result)
        if result.code == "approval_required" and result.tool and result.arguments:
            await self._propose(result)
        await self.events.emit(
            EventType.TOOL_RESULT,
            {
                "call_id": result.call.id, "tool": result.call.name, "success": result.is_success,
                "error_code": result.code, "latency_ms": result.body["_meta"]["latency_ms"],
            },
        )  # fmt: skip

    async def _propose(self, result: ToolResult) -> None:
        assert result.tool is not None and result.arguments is not None
        tool, arguments = result.tool, result.arguments.values
        action = await self._db.value(
            "propose_action", self._run.id, result.call.id, tool.name, arguments, tool.effect, tool.version,
            self._assistant,
        )  # fmt: skip
        await self.events.emit(
            EventType.APPROVAL_REQUIRED,
            {"action_id": str(action), "tool": tool.name, "arguments": arguments, "reason": result.body["reason"]},
        )


async def _in_words(
    run: Run,
    deps: Deps,
    prompt: Prompt,
    request: Request,
    definition: Definition,
    end: float,
    listener: Listener | None,
) -> Reply:
    """One more question to a model that fell silent after its tools, then a sentence of ours."""
    await pin(run, deps)
    messages: Sequence[Message] = (*request.messages, Message("user", IN_WORDS))
    request = replace(request, messages=tuple(messages), tool_choice="none")
    reply = await ask(run, deps, STAGE, prompt, request, end - monotonic(), listener)
    if not is_blank(clean(reply.text)):
        return reply
    log.warning("silent_after_tools", assistant=definition.name)
    language = definition.language
    if language == "auto":
        language = "ru" if re.search("[А-Яа-яЁё]", run.user_query) else "en"
    return replace(reply, text=SILENCE[language])


def _turn(result: ToolResult) -> Message:
    """Without the time it took: a read that is made again should give the model the very same words."""
    meta = {name: value for name, value in result.body["_meta"].items() if name != "latency_ms"}
    told = replace(result, body=to_json({**result.body, "_meta": meta}))
    return result.call.result(told.text(), is_error=not result.is_success)
