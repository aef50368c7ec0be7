"""The definition of an assistant as data: its prompt, agents, routing, tools, approval mode, slots and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.agents.collector import Collector, Word
from maas.agents.optional_slots import TOOL as OPTIONAL_TOOL
from maas.model_registry import check_access
from maas.prompting.variants import Variant, choose_variant
from maas.settings import Settings
from maas.settings.variables import variables
from maas.tools.permissions import MAX_CALLS
from maas.tools.tool import Mode, Toolset
from shared.errors import MaasError, problems_of

Routing = Literal["single", "meta_tools", "classifier", "handoff"]
AgentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=50)]
Sentence = Annotated[str, Field(pattern=r"\S", max_length=200)]
_OPTIONAL_AGENT_FIELDS = ("keywords", "toolset", "handoffs", "slots", "successor")
_FIELDS_READ_BY: dict[Routing, frozenset[str]] = {
    "single": frozenset(),
    "meta_tools": frozenset(),
    "classifier": frozenset({"keywords", "toolset", "slots"}),
    "handoff": frozenset({"handoffs", "toolset", "slots", "successor"}),
}


class Limits(BaseModel):
    """Limits of one answer: model calls (`rounds`), tool calls, seconds in all; of one reply: tokens, attempt seconds.

    `words` is the length that an answer should have at most: longer ones are counted, none is cut. None stands for the
    value of the settings, of `words` for no limit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: Annotated[int, Field(ge=1, le=50)] = 10
    calls: Annotated[int, Field(ge=1, le=200)] = MAX_CALLS
    seconds: Annotated[float, Field(gt=0, le=3600)] = 300.0
    tokens: Annotated[int | None, Field(ge=1)] = None
    words: Annotated[int | None, Field(ge=1, le=10_000)] = None
    attempt_seconds: Annotated[float | None, Field(gt=0, le=600)] = None


class Agent(Collector):
    """One voice of an assistant, with a prompt and tools of its own; the routing decides which agent answers.

    `about` tells models what the agent is good for. `handoffs` names the agents to which it may hand the dialogue over.
    `role_prompt` is a row of system_prompts, `model` a `provider:model`. `keywords` are words or phrases; Russian ones
    match in any inflection. With `slots` it collects values of its own, see Collector; once all are used, code hands
    the dialogue over to `successor`, which answers the next message.
    """

    name: AgentName
    role_prompt: Word
    about: Annotated[str, Field(min_length=1, max_length=300)]
    keywords: tuple[Word, ...] = ()
    toolset: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    successor: str | None = None
    model: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None


class Needs(BaseModel):
    """What must be configured: `settings` by variable, MCP `servers` by name, `keys` by provider of models."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settings: tuple[Word, ...] = ()
    servers: tuple[Word, ...] = ()
    keys: tuple[Word, ...] = ()

    def unmet(self, settings: Settings, known: Toolset) -> str | None:
        """The first need that is not met, as a sentence that says what to set; None if all are."""
        fields = {variable: name for name, variable in variables().items()}
        for variable in self.settings:
            if variable not in fields:
                return f"it needs {variable}, which is not a setting"
            if settings.named(fields[variable]) in (None, "", ()):
                return f"it needs {variable}; set it in the environment or .env"
        for server in self.servers:
            if not known.is_remote(server):
                return f"it needs the MCP server {server!r}; name it in MAAS_MCP_SERVERS"
        for provider in self.keys:
            try:
                check_access(f"{provider}:*", settings, alternative="choose a model of another provider")
            except MaasError as error:
                return error.message
        return None


class OpeningRoute(BaseModel):
    """The agent that begins a dialogue if the member `field` of what the opening tool `tool` gave is `equals`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: Word
    field: Word
    equals: bool | int | Annotated[str, Field(max_length=200)]
    agent: AgentName


class Preamble(BaseModel):
    """Sentences in both languages; one of them is said before a tool is called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ru: Annotated[tuple[Sentence, ...], Field(min_length=1, max_length=20)]
    en: Annotated[tuple[Sentence, ...], Field(min_length=1, max_length=20)]


class Definition(Collector):
    """One assistant. `role_prompt` is a row of system_prompts; `toolset` names tools or whole domains.

    `title` and `description` tell people what they may choose it for.
    `context_providers` are read tools without arguments; their results are part of the prompt. So are those of
    `opening_tools`, which are called once a conversation. Under `handoff`, `opening_routes` choose the first agent.
    With `slots` it collects values under `single`, see Collector; under `classifier` and `handoff` its agents do.
    `stream`: false to ask models for whole replies; `limits.attempt_seconds` is then the time of a whole reply.
    `forbidden_words` or phrases, Russian ones in any inflection, do not occur in what its models say to the user.
    `memory`: `light` uses no model to remember; `off` remembers nothing and only logs messages.
    `model`: a `provider:model` in place of the Responder's; agents may have others.
    `prompt_language`: that of its prompts, see maas.prompting.prompts; None for MAAS_PROMPT_LANGUAGE.
    `channels` are the sources of requests that it answers, such as http, openai, cli, sql; empty for all.
    `opening`: the message that opens a conversation, so that the assistant speaks first. Said again, it begins the
    dialogue that collects values anew, unless that goes on in every conversation of its user.
    `needs`: what must be configured before it can be used. `sourced_figures`: see maas.agents.sourced_answer.
    `strict_language`: an answer in another language than `language` is said again, else marked as degraded.
    `variants` replace it for shares of its users. `voice` is that of speech; channels of text do not use it.
    `preambles`, by tool or domain: what a follower reads before a call that its model has put no words before. It is
    no part of the answer, and it is not said where whole replies are asked for.
    `history`: so many of the newest exchanges of the conversation are messages of the request, beside memory.
    Under `classifier` and `handoff` each agent has the assistant's toolset and its own.
    """

    name: Word
    role_prompt: Word
    title: Annotated[str | None, Field(pattern=r"\S", max_length=100)] = None
    description: Annotated[str | None, Field(pattern=r"\S", max_length=500)] = None
    routing: Routing = "single"
    agents: tuple[Agent, ...] = ()
    toolset: tuple[str, ...] = ()
    context_providers: tuple[str, ...] = ()
    opening_tools: tuple[str, ...] = ()
    opening_routes: tuple[OpeningRoute, ...] = ()
    default_mode: Mode = "auto"
    limits: Limits = Limits()
    model: str | None = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    stream: bool = True
    forbidden_words: tuple[Word, ...] = ()
    memory: Literal["full", "light", "off"] = "full"
    language: Literal["auto", "ru", "en"] = "auto"
    prompt_language: Literal["ru", "en"] | None = None
    channels: tuple[Word, ...] = ()
    opening: Annotated[str | None, Field(pattern=r"\S", max_length=200)] = None
    needs: Needs = Needs()
    sourced_figures: bool = False
    strict_language: bool = False
    variants: tuple[Variant, ...] = ()
    voice: Word | None = None
    preambles: dict[Word, Preamble] = Field(default_factory=dict)
    history: Annotated[int, Field(ge=0, le=50)] = 0

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.opening_routes and self.routing != "handoff":
            raise ValueError("opening_routes: only the routing handoff has a first agent")
        for route in self.opening_routes:
            if route.tool not in self.opening_tools:
                raise ValueError(f"opening_routes: {route.tool!r} is not among opening_tools")
            if route.agent not in {agent.name for agent in self.agents}:
                raise ValueError(f"opening_routes: there is no agent {route.agent!r}")
        if self.forbidden_words and self.stream:
            raise ValueError("forbidden_words: a streamed answer is read before it is checked; set stream: false")
        if self.slots and self.routing != "single":
            raise ValueError(
                f"slots: under {self.routing} the assistant does not speak itself; define them on an agent"
            )
        if self.strict_language and self.language == "auto":
            raise ValueError("strict_language: name the language, ru or en")
        if sum(variant.share for variant in self.variants) > 100:
            raise ValueError("variants: their shares add up to more than 100 percent")
        if len({variant.name for variant in self.variants}) < len(self.variants):
            raise ValueError("variants: two have the same name; rename one")
        return self

    def variant_of(self, user_id: UUID) -> Variant | None:
        """The variant that answers this user; None for the main form."""
        return choose_variant(self.variants, self.name, user_id)

    def as_variant(self, variant: Variant) -> Definition:
        """The definition of a variant: one voice with the same opening tools and context providers."""
        voice = {"role_prompt": variant.role_prompt, "toolset": variant.toolset, "routing": "single"}
        return self.model_copy(update=voice | {"agents": (), "opening_routes": (), "variants": ()})

    def collector(self, agent: str | None) -> Collector | None:
        """The assistant, or its agent of this name, if that collects values."""
        voice: Collector | None = self if agent is None else None
        voice = next((one for one in self.agents if one.name == agent), voice)
        return voice if voice is not None and voice.slots else None

    @property
    def is_plain(self) -> bool:
        """Whether it only answers: no tools, no agents."""
        return self.routing == "single" and not (self.toolset or self.context_providers or self.opening_tools)

    @property
    def completions(self) -> frozenset[str]:
        """The tools that use the values of a dialogue: only that dialogue may call them."""
        return frozenset(one.completion for one in (self, *self.agents) if one.completion is not None)

    def nested_tools(self, tools: Toolset) -> frozenset[str]:
        """The names of those of `tools` that another tool may call: not those of a dialogue that collects values."""
        domains = {one.domain for one in tools if one.name in self.completions}
        return frozenset(one.name for one in within(tools, self.names) if one.domain not in domains)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of tools and domains that it or one of its agents may call."""
        return (*self.toolset, *(name for one in self.agents for name in one.toolset))

    def tools(self, known: Toolset) -> Toolset:
        """The tools of it and its agents. Raises MaasError('bad_assistant') for a name that `known` cannot hold."""
        toolsets = [
            ("", self.toolset),
            ("context_providers: ", self.context_providers),
            ("opening_tools: ", self.opening_tools),
            *((f"agents.{one.name}.toolset: ", one.toolset) for one in self.agents),
            ("preambles: ", tuple(self.preambles)),
        ]
        for field, toolset in toolsets:
            if unknown := [name for name in toolset if not known.may_hold(name)]:
                raise bad_assistant(self.name, field + no_such_tool(unknown[0], known))
        tools = within(known, (*self.names, *self.context_providers, *self.opening_tools))
        self._check_tools(tools)
        return tools

    def tools_of(self, agent: Agent, tools: Toolset) -> Toolset:
        """Those of `tools` that an agent may call."""
        return within(tools, (*self.toolset, *agent.toolset))

    def _check_tools(self, tools: Toolset) -> None:
        self._check_named_tools(tools)
        if self.routing == "meta_tools":
            if not self.toolset:
                raise bad_assistant(self.name, "toolset: meta_tools needs at least one tool")
            domains = tools.domains()
            if unknown := [one.name for one in self.agents if one.name not in domains]:
                message = f"agents: {unknown[0]!r} is not a domain of its tools; the domains are: {', '.join(domains)}"
                raise bad_assistant(self.name, message)
        if self.routing == "handoff":
            for name in (transfer_name(one.name) for one in self.agents):
                if tools.get(name) is not None:
                    message = f"{name!r} is a tool and the name of a handoff: rename the tool or the agent"
                    raise bad_assistant(self.name, message)

    def _check_named_tools(self, tools: Toolset) -> None:
        self._check_collector("", self, tools)
        for agent in self.agents:
            self._check_collector(f"agents.{agent.name}.", agent, self.tools_of(agent, tools))
        called_by_code = [("context_providers", one) for one in self.context_providers]
        for field, name in (*called_by_code, *(("opening_tools", one) for one in self.opening_tools)):
            one = tools.get(name)
            if name in tools.domains() or (one and (one.effect != "read" or one.parameters["required"])):
                message = f"{field}: {name!r} must be a tool that only reads and needs no arguments"
                raise bad_assistant(self.name, message)

    def _check_collector(self, prefix: str, voice: Collector, tools: Toolset) -> None:
        for field, tool in (("completion", voice.completion), ("photo_tool", voice.photo_tool)):
            if tool is not None and tools.get(tool) is None:
                raise bad_assistant(self.name, f"{prefix}{field}: {tool!r} is not a tool of its toolset")
        if voice.completion is None or (completion := tools.get(voice.completion)) is None:
            return
        problem = None
        if completion.parameters["required"]:
            problem = "must need no arguments: it reads the values from its session"
        elif completion.effect == "dangerous":
            problem = "is dangerous: it would wait for an approval of its own, without its session; make it a write"
        elif tools.get(OPTIONAL_TOOL) is not None:
            problem = f"{OPTIONAL_TOOL!r} is a tool of the runtime in such a dialogue: rename yours"
        if problem is not None:
            raise bad_assistant(self.name, f"{prefix}completion: {completion.name!r} {problem}")


def read_definition(name: str, role: str, fields: Mapping[str, Any]) -> Definition:
    """The definition in a row of `assistants`. Raises MaasError('bad_assistant') that names assistant and field."""
    try:
        definition = Definition.model_validate({"name": name, "role_prompt": role} | dict(fields))
    except ValidationError as error:
        raise bad_assistant(name, "; ".join(map(str, problems_of(error)))) from error
    if message := _problem_of_agents(definition.routing, definition.agents):
        raise bad_assistant(name, message)
    if definition.history and (definition.slots or definition.routing not in ("single", "meta_tools")):
        raise bad_assistant(name, f"history: {definition.routing} does not read it here; leave it out")
    return definition


def _problem_of_agents(routing: Routing, agents: Sequence[Agent]) -> str | None:
    """The first thing that is wrong with these agents under this routing."""
    if routing == "single" and agents:
        return "agents: the routing single has none; choose another routing or leave them out"
    if routing in ("classifier", "handoff") and not agents:
        return f"agents: {routing} needs at least one"
    names = [agent.name for agent in agents]
    for agent in agents:
        if names.count(agent.name) > 1:
            return f"agents: two are named {agent.name!r}: rename one"
        for field in _OPTIONAL_AGENT_FIELDS:
            if getattr(agent, field) and field not in _FIELDS_READ_BY[routing]:
                return f"agents.{agent.name}.{field}: {routing} does not read it; leave it out"
        if agent.successor is not None and (not agent.slots or agent.successor not in agent.handoffs):
            return f"agents.{agent.name}.successor: it needs slots, and must be one of its handoffs"
        for target in agent.handoffs:
            if target not in names or target == agent.name:
                others = ", ".join(name for name in names if name != agent.name) or "none"
                return f"agents.{agent.name}.handoffs: there is no other agent {target!r}; there are: {others}"
    return None


def within(tools: Toolset, names: Iterable[str]) -> Toolset:
    """Those of `tools` whose name or domain is in `names`."""
    chosen = set(names)
    return Toolset(one for one in tools if one.name in chosen or one.domain in chosen)


def transfer_name(agent: str) -> str:
    """The name of the tool that hands a dialogue over to this agent."""
    return f"transfer_to_{agent}"


def bad_assistant(name: str, message: str) -> MaasError:
    return MaasError("bad_assistant", f"assistant {name!r}: {message}")


def no_such_tool(name: str, known: Toolset) -> str:
    """What is said of a name that is neither a tool nor a domain of `known`: similar names, and the domains."""
    domains = sorted(known.domains())
    similar = get_close_matches(name, {one.name for one in known} | set(domains))
    meant = f"did you mean {' or '.join(sorted(similar))}? " if similar else ""
    there_are = f"domains, with those of MAAS_TOOLS: {', '.join(domains)}; `maas tools` lists the tools"
    return f"there is no tool or domain {name!r}; {meant}{there_are}"
