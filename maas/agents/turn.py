"""A turn: what one answer has at hand, whichever way it is routed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maas.agents.calls import CallLog
from maas.agents.executor import Executor, Record, Session
from maas.agents.policy import Mode
from maas.agents.rounds import Asker, Exchange, converse, never
from maas.agents.tools import Context, Toolset
from maas.assistants.agents import Agent
from maas.assistants.definition import Definition
from maas.pipeline.draft import Draft, Payload
from maas.pipeline.prompts import read_prompts, role_text
from maas.pipeline.runs import LostRun, Run
from shared import tokens
from shared.db import Database
from shared.models.extractive.assembler import by_importance, keep
from shared.models.types import Message, Request, ToolCall


@dataclass(frozen=True, slots=True)
class Turn:
    """Of one run: `request` is what the assistant's own prompt asks; of its tools, `known`, `tools` are open to it.

    `context` is what its `providers` gave, as text.
    """

    definition: Definition
    asker: Asker
    request: Request
    calls: CallLog
    mode: Mode
    known: Toolset
    tools: Toolset
    providers: Toolset
    context: str = ""

    @property
    def run(self) -> Run:
        return self.asker.run

    @property
    def db(self) -> Database:
        return self.asker.deps.db

    async def informed(self) -> Turn:
        """With what the context providers of its assistant give now, all at once; one that fails is left out.

        No mode asks for them: it is the assistant that reads, not its model. Raises LostRun.
        """
        calls = [ToolCall(f"context-{place}", one.name, "{}") for place, one in enumerate(self.providers, 1)]
        results = await replace(self, mode="auto").guard(self.providers).run(calls)
        found = {result.call.name: result.untimed() for result in results if result.is_success}
        context = f"\n\n{fenced('context', found)}" if found else ""
        request = replace(self.request, system=self.request.system + context)
        return replace(self, request=request, context=context)

    def guard(self, tools: Toolset, record: Record | None = None, values: Mapping[str, Any] | None = None) -> Executor:
        """The one way to these tools; `values` are for their handlers."""
        run, ledger = self.run, self.calls.ledger
        session = Session(frozenset(one.name for one in tools), self.mode, self.definition.limits.calls)
        context = Context(run.user_id, run.id, run.conversation_id, values or {})
        return Executor(tools, session, context, ledger.count, record or self.calls.record, ledger)

    async def converse(
        self, asker: Asker, request: Request, executor: Executor, most: int | None = None,
        is_over: Callable[[], bool] = never,
    ) -> Exchange:  # fmt: skip
        """Rounds of model and tools, at most `most`, or as many as the assistant's limits let."""
        most = self.definition.limits.rounds if most is None else most
        language = self.definition.language
        return await converse(asker, request, executor, self.calls.announce, most, language, is_over)

    async def brief(self, agent: Agent, tools: Toolset, messages: Sequence[Message]) -> tuple[Asker, Request]:
        """Who asks for an agent, and what: its own role, the same memory. Raises MaasError('missing_role')."""
        prompts = await read_prompts(self.db, "FinalResponder", agent.role_prompt)
        deps = self.asker.deps.spoken_by(agent.model)
        role = role_text(prompts, agent.role_prompt)
        system = Draft.parse(self.run.draft).system(role) if self.run.draft else role
        payload = replace(Payload.parse(self.run.payload or ""), system=system)
        memory = payload.memory.split("\n")
        room = payload.room(tokens.within(deps.settings.payload_tokens, deps.models["FinalResponder"].provider))
        request = replace(
            self.request,
            system=replace(payload, memory=keep(memory, by_importance(memory), room)).briefing() + self.context,
            messages=tuple(messages),
            temperature=self.request.temperature if agent.temperature is None else agent.temperature,
            max_tokens=agent.max_tokens or self.request.max_tokens,
            tools=tuple(one.spec for one in tools),
        )
        return replace(self.asker, deps=deps, prompt=prompts[agent.role_prompt]), request

    async def name(self, agent: str | None, domain: str | None = None) -> None:
        """Who answers: its conversation goes by it when the answer is stored, and not before. Raises LostRun."""
        if self.run.conversation_id is not None and not await self.db.value(
            "name_agent", self.run.id, self.run.attempt, agent, domain
        ):
            raise LostRun


def fenced(tag: str, value: Any) -> str:
    """A JSON value as data that a model is told: nothing in it closes the fence."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<{tag}>\n{text}\n</{tag}>"
