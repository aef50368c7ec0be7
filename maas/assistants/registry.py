"""The registry of assistants and tools: it loads them at start from plugins, modules and rows, and checks them.

What it has loaded it writes to their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import iscoroutinefunction

import structlog
from pydantic import ValidationError

from maas import queries
from maas.agents.definition import Definition, bad_assistant, read_definition
from maas.agents.runtime import Toolbox
from maas.assistants import mentor
from maas.engine.stages import Deps
from maas.plugins import VARIABLE, Plugin, active, events_of_plugins, installed
from maas.prompting.prompts import read_prompts
from maas.settings import Settings
from maas.tools.mcp_client.servers import McpServer, read_servers
from maas.tools.openers import Opener
from maas.tools.schema import wrong_tool
from maas.tools.tool import Tool, Toolset
from shared.db import Database
from shared.errors import MaasError, problems_of
from shared.log import mask
from shared.text import shorten

MAX_REASON_CHARS = 500
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """An assistant of ours or of `plugin`. Without a definition, `problem` says why none could be made."""

    name: str
    definition: Definition | None
    problem: str | None = None
    plugin: str | None = None


def built_in(settings: Settings) -> tuple[BuiltIn, ...]:
    """The default assistant, and those of all plugins; those of a plugin that is off have no definition.

    Raises MaasError: 'bad_plugin', 'bad_setting'.
    """
    found = [BuiltIn(mentor.ASSISTANT.name, mentor.ASSISTANT)]
    plugins = active()
    for plugin in installed().values():
        if plugin in plugins:
            found += [_define(plugin, name, settings) for name in plugin.assistants]
        else:
            problem = f"the plugin {plugin.name} is off; name it in {VARIABLE}"
            found += [BuiltIn(name, None, problem) for name in plugin.assistants]
    return tuple(found)


def _define(plugin: Plugin, name: str, settings: Settings) -> BuiltIn:
    declared: Definition | Callable[[Settings], Definition] = plugin.load(plugin.assistants[name])
    if isinstance(declared, Definition):
        definition = declared
    else:
        try:
            definition = declared(settings)
        except (MaasError, ValueError) as error:  # ValueError: a setting that the definition does not take
            problem = problems_of(error)[0] if isinstance(error, ValidationError) else getattr(error, "message", error)
            return BuiltIn(name, None, str(problem), plugin.name)
    if definition.name != name:
        raise MaasError("bad_plugin", f"plugin {plugin.name!r}: {name!r} defines the assistant {definition.name!r}")
    return BuiltIn(name, definition, plugin=plugin.name)


def load_tools(paths: tuple[str, ...], deps: Deps) -> Toolset:
    """The tools of the plugins that are on, and those that each `module:attribute` path names.

    Both are a toolset or a function that makes one of `deps`. A tool that changes something declares how it verifies
    its effect. Those of MCP servers are not loaded here: nobody but their server knows how to look.
    Raises MaasError: 'bad_setting', 'bad_plugin', 'wrong_tool'.
    """
    tools = [tool for plugin in active() if plugin.tools is not None for tool in _made(plugin.load(plugin.tools), deps)]
    for path in paths:
        module, _, attribute = path.partition(":")
        try:
            loaded = _made(getattr(import_module(module), attribute), deps)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} is not module:attribute of tools: {error}") from error
        if wrong := [one for one in loaded if not isinstance(one, Tool)]:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} holds {wrong[0]!r}, which is not a Tool")
        tools += loaded
    if unverified := [one.name for one in tools if one.effect != "read" and one.verify is None]:
        message = "changes something: declare how it looks whether that took effect, @tool(..., verify=...)"
        raise wrong_tool(f"{unverified[0]}: {message}")
    if unknown := [one for one in tools if one.event is not None and one.event not in events_of_plugins()]:
        raise wrong_tool(f"{unknown[0].name}: no plugin that is on has events of the type {unknown[0].event!r}")
    return Toolset(tools)


def _made(declared: Iterable[Tool] | Callable[[Deps], Iterable[Tool]], deps: Deps) -> list[Tool]:
    return list(declared(deps) if callable(declared) else declared)


def load_openers(paths: tuple[str, ...], tools: Toolset) -> dict[str, Opener]:
    """The openers of the plugins, and the OPENERS of the modules that `load_tools` has taken `tools` from, by domain.

    Raises MaasError('bad_setting') for an opener that is no async function, a domain with two openers or without tools,
    and a tool with needs in a domain that has no opener.
    """
    declared = [(f"plugin {one.name}", one.load(one.openers)) for one in active() if one.openers is not None]
    modules = dict.fromkeys(import_module(path.partition(":")[0]) for path in paths)
    declared += [(module.__name__, getattr(module, "OPENERS", {})) for module in modules]
    openers: dict[str, Opener] = {}
    for source, of_domains in declared:
        if not isinstance(of_domains, Mapping):
            raise MaasError("bad_setting", f"OPENERS of {source} must map domains to openers")
        for domain, opener in of_domains.items():
            where = f"OPENERS of {source}: {domain!r}"
            if not iscoroutinefunction(opener):
                raise MaasError("bad_setting", f"{where} must be an async function of deps and a ToolContext")
            if domain in openers:
                raise MaasError("bad_setting", f"{where} has an opener already, in another module")
            if not tools.of(domain):
                raise MaasError("bad_setting", f"{where} is not a domain of the loaded tools")
            openers[domain] = opener
    for one in tools:
        if one.needs is not None and one.domain not in openers:
            message = f"{one.name} needs {one.needs}, but no opener says so of its domain {one.domain!r}: add OPENERS"
            raise MaasError("bad_setting", message)
    return openers


def load_servers(settings: Settings, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The MCP servers of MAAS_MCP_SERVERS, and those of plugins that have no such name.

    Raises MaasError('bad_setting').
    """
    configured = read_servers(settings.assistants.mcp_servers, environment)
    names = {server.name for server in configured}
    own = [one for plugin in active() if plugin.servers is not None for one in plugin.load(plugin.servers)(settings)]
    return (*configured, *(one for one in own if one.name not in names))


async def register(deps: Deps, known: Toolset, built_ins: Sequence[BuiltIn]) -> None:
    """Write `known` tools and built-in assistants to their tables, then check every other active row of `assistants`.

    A built-in definition replaces that of its row, but not the row's role, which operators may change. One that is not
    configured, or whose plugin is gone, becomes a row that is not active and says why; a wrong row of an operator stops
    the start, but for one that names an MCP server of ours which is not configured: that assistant alone is refused,
    run by run.
    Raises MaasError('bad_assistant').
    """
    db = deps.db
    await _write_tools(db, known)
    for one in built_ins:
        await _write_built_in(deps, one, known)
    for gone in await db.rows(queries.assistants_without_plugin, [*installed()]):
        await db.rows(queries.switch_off_assistant, gone["name"], f"the plugin {gone['plugin']} is not installed")
    names = {one.name for one in built_ins}
    for row in await db.rows(queries.assistant_definitions):
        if row["name"] in names:
            continue
        definition = read_definition(row["name"], row["role_name"], row["definition"])
        if absent := sorted(name for name in _server_names() & set(definition.names) if not known.may_hold(name)):
            log.error("assistant_rejected", assistant=definition.name, cause=f"no MCP server is set for {absent[0]!r}")
        else:
            await _check(deps, definition, known)


def _server_names() -> set[str]:
    """The domains, and the tools without prefix, of all MCP servers that assistants of plugins may have."""
    return {name for one in active() if one.server_names is not None for name in one.load(one.server_names)}


async def _write_built_in(deps: Deps, one: BuiltIn, known: Toolset) -> None:
    problem, definition = one.problem, one.definition
    if definition is not None:
        fields = definition.model_dump(mode="json", exclude={"name", "role_prompt"}, exclude_defaults=True)
        try:
            await _check(deps, read_definition(one.name, definition.role_prompt, fields), known)
        except MaasError as error:
            problem = error.message.removeprefix(bad_assistant(one.name, "").message)
    problem = shorten(mask(problem), MAX_REASON_CHARS) if problem is not None else None
    if problem is not None:
        log.debug("assistant_not_configured", assistant=one.name, cause=problem)
    if definition is not None:
        await deps.db.rows(queries.keep_assistant, one.name, definition.role_prompt, fields, problem, one.plugin)
    else:
        await deps.db.rows(queries.switch_off_assistant, one.name, problem)


async def _check(deps: Deps, definition: Definition, known: Toolset) -> None:
    """Raises MaasError('bad_assistant') for unmet needs, and for tools, models or prompts that do not exist."""
    if problem := definition.needs.unmet(deps.settings, known):
        raise bad_assistant(definition.name, problem)
    definition.tools(known)
    for variant in definition.variants:
        definition.as_variant(variant).tools(known)
    for model in (definition.model, *(agent.model for agent in definition.agents)):
        try:
            deps.with_responder_model(model)
        except MaasError as error:
            raise bad_assistant(definition.name, f"model: {error.message}") from error
    roles = [("agents", one.role_prompt) for one in definition.agents]
    roles += [("variants", one.role_prompt) for one in definition.variants]
    for field, role in roles:
        try:
            await read_prompts(
                deps.db, role, language=definition.prompt_language or deps.settings.answers.prompt_language
            )
        except MaasError as error:
            raise bad_assistant(definition.name, f"{field}: {error.message}") from error


async def sync_tools(db: Database, toolbox: Toolbox) -> None:
    """Write the tools to their table whenever they change; runs until it is cancelled, as a background task."""
    while True:
        await _write_tools(db, toolbox.tools())
        await toolbox.change()


async def _write_tools(db: Database, known: Toolset) -> None:
    shown = [
        {
            "name": one.name,
            "domain": one.domain,
            "description": one.description,
            "parameters": one.parameters,
            "argument_names": list(one.parameters.get("properties", ())),
            "effect": one.effect,
            "version": one.version,
            "is_idempotent": one.is_idempotent,
            "is_looked_up": one.is_looked_up,
        }
        for one in known
    ]
    await db.rows(queries.keep_tools, shown)
