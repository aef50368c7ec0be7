"""An assistant as data: whose words it speaks, which tools it may call, in which mode, and how far it may go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.agents.executor import CALLS
from maas.agents.policy import Mode
from maas.agents.slots.slot import Slot, declared
from maas.agents.tools import Toolset
from maas.assistants.agents import Agent, Routing, Word, fault, transfer_name
from shared.errors import MaasError, problems_of


class Limits(BaseModel):
    """Of one answer: model calls, tool calls, and seconds in all; of one reply: tokens, and seconds an attempt.

    What is None is as the settings say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: Annotated[int, Field(ge=1, le=50)] = 10
    calls: Annotated[int, Field(ge=1, le=200)] = CALLS
    seconds: Annotated[float, Field(gt=0, le=3600)] = 300.0
    tokens: Annotated[int | None, Field(ge=1)] = None
    attempt_seconds: Annotated[float | None, Field(gt=0, le=600)] = None


class Texts(BaseModel):
    """What users see, in the languages that we speak."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ru: Annotated[str, Field(min_length=1, max_length=300)]
    en: Annotated[str, Field(min_length=1, max_length=300)]


class SlotField(BaseModel):
    """A value to collect before `completion` may be called; no `allowed` values: free text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    label: Word
    question: Texts
    required: bool = True
    allowed: tuple[Word, ...] = ()

    def slot(self, language: Literal["ru", "en"]) -> Slot:
        return Slot(self.name, self.label, getattr(self.question, language), self.required, self.allowed)


class Definition(BaseModel):
    """`role_prompt` is a row of system_prompts; `toolset` names tools, or domains for all that is in them.

    `context_providers` are tools that only read and need no arguments: what they give is told before the first word.
    With `slots` it collects values; `completion` is the tool that works on all of them once the user has confirmed.
    `photo`: an image of a request belongs to what it collects.
    `memory`: light leaves models out of remembering, off leaves memory out: what is said is logged only.
    `model`: a `provider:model` in the place of the Responder's; agents may have others.
    `channels` are sources of requests that it answers, such as http, openai, cli, sql; none named: all.
    `opening`: what it is told when a conversation is opened, so that it speaks first.
    Under `classifier` and `handoff` each agent has the assistant's toolset and its own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word
    role_prompt: Word
    routing: Routing = "single"
    agents: tuple[Agent, ...] = ()
    toolset: tuple[str, ...] = ()
    context_providers: tuple[str, ...] = ()
    default_mode: Mode = "auto"
    limits: Limits = Limits()
    model: str | None = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    slots: tuple[SlotField, ...] = ()
    completion: Word | None = None
    photo: bool = False
    memory: Literal["full", "light", "off"] = "full"
    language: Literal["auto", "ru", "en"] = "auto"
    channels: tuple[Word, ...] = ()
    opening: Annotated[str | None, Field(pattern=r"\S", max_length=200)] = None

    @model_validator(mode="after")
    def _can_collect(self) -> Self:
        try:
            declared([one.slot("en") for one in self.slots])
        except MaasError as error:
            raise ValueError(f"slots: {error.message}") from error
        if bool(self.slots) != (self.completion is not None):
            raise ValueError("slots and completion belong together: name both or neither")
        if self.slots and self.routing != "single":
            raise ValueError("slots: one voice collects them; leave routing out")
        return self

    @property
    def is_plain(self) -> bool:
        """Whether it only answers: no tools, no agents."""
        return self.routing == "single" and not self.toolset and not self.context_providers

    def tools(self, known: Toolset) -> Toolset:
        """What it or one of its agents may call. Raises MaasError('bad_assistant') for what is nowhere."""
        toolsets = [
            ("", self.toolset),
            ("context_providers: ", self.context_providers),
            *((f"agents.{one.name}.toolset: ", one.toolset) for one in self.agents),
        ]
        for where, toolset in toolsets:
            if unknown := [name for name in toolset if not known.may_hold(name)]:
                has = ", ".join(sorted({one.name for one in known} | set(known.domains())))
                message = f"there is no tool or domain {unknown[0]!r}; there are, with those of MAAS_TOOLS: {has}"
                raise bad(self.name, where + message)
        tools = within(known, (*self.names, *self.context_providers))
        self._check(tools)
        return tools

    @property
    def names(self) -> tuple[str, ...]:
        """Of tools and domains that it or one of its agents may call."""
        return (*self.toolset, *(name for one in self.agents for name in one.toolset))

    def tools_of(self, agent: Agent, tools: Toolset) -> Toolset:
        """Which of `tools` an agent may call."""
        return within(tools, (*self.toolset, *agent.toolset))

    def _check(self, tools: Toolset) -> None:
        if self.completion is not None and tools.get(self.completion) is None:
            raise bad(self.name, f"completion: {self.completion!r} is no tool of its toolset")
        for name in self.context_providers:
            one = tools.get(name)
            if name in tools.domains() or (one and (one.effect != "read" or one.parameters["required"])):
                raise bad(
                    self.name, f"context_providers: {name!r} must be a tool that only reads and needs no arguments"
                )
        if self.routing == "meta_tools":
            if not self.toolset:
                raise bad(self.name, "toolset: meta_tools needs tools to stand for")
            domains = tools.domains()
            if lost := [one.name for one in self.agents if one.name not in domains]:
                raise bad(self.name, f"agents: {lost[0]!r} is no domain of its tools; these are: {', '.join(domains)}")
        if self.routing == "handoff":
            for name in (transfer_name(one.name) for one in self.agents):
                if tools.get(name) is not None:
                    raise bad(self.name, f"{name!r} is a tool and the name of a handoff: rename the tool or the agent")


def within(tools: Toolset, names: Iterable[str]) -> Toolset:
    """Those of `tools` that, or whose domains, are in `names`."""
    chosen = set(names)
    return Toolset(one for one in tools if one.name in chosen or one.domain in chosen)


def read_definition(name: str, role: str, fields: Mapping[str, Any]) -> Definition:
    """From a row of `assistants`. Raises MaasError('bad_assistant'), naming assistant and field."""
    try:
        found = Definition.model_validate({"name": name, "role_prompt": role} | dict(fields))
    except ValidationError as error:
        raise bad(name, "; ".join(map(str, problems_of(error)))) from error
    if message := fault(found.routing, found.agents):
        raise bad(name, message)
    return found


def bad(name: str, message: str) -> MaasError:
    return MaasError("bad_assistant", f"assistant {name!r}: {message}")
