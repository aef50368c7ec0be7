"""Assistants, one module each, and their registry.

The registry loads assistants and tools at start from modules and rows, checks them, and writes them to their tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import iscoroutinefunction
from pkgutil import iter_modules
from types import ModuleType

import structlog
from pydantic import ValidationError

from maas.agents.definition import Definition, bad_assistant, read_definition
from maas.agents.mcp_client import McpServer, read_servers
from maas.agents.openers import Opener
from maas.agents.runtime import Toolbox
from maas.agents.tools import Tool, Toolset, wrong_tool
from maas.engine.stages import Deps
from maas.prompting.prompts import read_prompts
from shared.db import Database
from shared.errors import MaasError, problems_of
from shared.log import mask
from shared.settings import Settings
from shared.text import shorten

MAX_REASON_CHARS = 500
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in assistant. Without a definition, `problem` says why its module could not make one."""

    name: str
    definition: Definition | None
    problem: str | None = None


def built_in(settings: Settings) -> tuple[BuiltIn, ...]:
    """The assistants of this package: the ASSISTANT of each module, a definition or a function that makes one."""
    return tuple(_read_built_in(module, settings) for module in _modules() if hasattr(module, "ASSISTANT"))


def _read_built_in(module: ModuleType, settings: Settings) -> BuiltIn:
    declared: Definition | Callable[[Settings], Definition] = module.ASSISTANT
    if isinstance(declared, Definition):
        return BuiltIn(declared.name, declared)
    name = module.__name__.rpartition(".")[2]
    try:
        definition = declared(settings)
    except (MaasError, ValueError) as error:  # ValueError: a setting that the definition does not take
        problem = problems_of(error)[0] if isinstance(error, ValidationError) else getattr(error, "message", error)
        return BuiltIn(name, None, str(problem))
    return BuiltIn(definition.name, definition)


def _modules() -> Iterator[ModuleType]:
    for one in iter_modules(__path__):
        yield import_module(f"{__name__}.{one.name}")


def load_tools(paths: tuple[str, ...], deps: Deps) -> Toolset:
    """The tools of built-in assistants (TOOLS of their modules) and those that each `module:attribute` path names.

    TOOLS and the attribute are a toolset or a function that makes one of `deps`. A tool that changes something declares
    how it verifies its effect. Those of MCP servers are not loaded here: nobody but their server knows how to look.
    Raises MaasError: 'bad_setting', 'wrong_tool'.
    """
    tools = [tool for module in _modules() if hasattr(module, "TOOLS") for tool in _made(module.TOOLS, deps)]
    for path in paths:
        module, _, attribute = path.partition(":")
        try:
            loaded = _made(getattr(import_module(module), attribute), deps)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} is no module:attribute of tools: {error}") from error
        if wrong := [one for one in loaded if not isinstance(one, Tool)]:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} holds {wrong[0]!r}, which is no Tool")
        tools += loaded
    if unverified := [one.name for one in tools if one.effect != "read" and one.verify is None]:
        message = "changes something: declare how it looks whether that took effect, @tool(..., verify=...)"
        raise wrong_tool(f"{unverified[0]}: {message}")
    return Toolset(tools)


def _made(declared: Iterable[Tool] | Callable[[Deps], Iterable[Tool]], deps: Deps) -> list[Tool]:
    return list(declared(deps) if callable(declared) else declared)


def load_openers(paths: tuple[str, ...], tools: Toolset) -> dict[str, Opener]:
    """The OPENERS of the modules that `load_tools` has taken `tools` from, by domain.

    Raises MaasError('bad_setting') for an opener that is no async function, a domain with two openers or without tools,
    and a tool with needs in a domain that has no opener.
    """
    modules = dict.fromkeys((*_modules(), *(import_module(path.partition(":")[0]) for path in paths)))
    openers: dict[str, Opener] = {}
    for module in modules:
        declared = getattr(module, "OPENERS", {})
        if not isinstance(declared, Mapping):
            raise MaasError("bad_setting", f"OPENERS of {module.__name__} must map domains to openers")
        for domain, opener in declared.items():
            where = f"OPENERS of {module.__name__}: {domain!r}"
            if not iscoroutinefunction(opener):
                raise MaasError("bad_setting", f"{where} must be an async function of deps and a ToolContext")
            if domain in openers:
                raise MaasError("bad_setting", f"{where} has an opener already, in another module")
            if not tools.of(domain):
                raise MaasError("bad_setting", f"{where} is no domain of the tools that are loaded")
            openers[domain] = opener
    for one in tools:
        if one.needs is not None and one.domain not in openers:
            message = f"{one.name} needs {one.needs}, but no opener says so of its domain {one.domain!r}: add OPENERS"
            raise MaasError("bad_setting", message)
    return openers


def load_servers(settings: Settings, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The MCP servers of MAAS_MCP_SERVERS, and those of built-in assistants (SERVERS) that have no such name.

    Raises MaasError('bad_setting').
    """
    configured = read_servers(settings.mcp_servers, environment)
    names = {server.name for server in configured}
    own = [one for module in _modules() if hasattr(module, "SERVERS") for one in module.SERVERS(settings)]
    return (*configured, *(one for one in own if one.name not in names))


async def register(deps: Deps, known: Toolset, built_ins: Sequence[BuiltIn]) -> None:
    """Write `known` tools and built-in assistants to their tables, then check every other active row of `assistants`.

    A built-in definition replaces that of its row, but not the row's role, which operators may change. One that is not
    configured becomes a row that is not active and says why; a wrong row of an operator stops the start, but for one
    that names an MCP server of ours which is not configured: that assistant alone is refused, run by run.
    Raises MaasError('bad_assistant').
    """
    db = deps.db
    await _write_tools(db, known)
    for one in built_ins:
        await _write_built_in(deps, one, known)
    names = {one.name for one in built_ins}
    for row in await db.rows("assistant_definitions"):
        if row["name"] in names:
            continue
        definition = read_definition(row["name"], row["role_name"], row["definition"])
        if absent := sorted(name for name in _server_names() & set(definition.names) if not known.may_hold(name)):
            log.error("assistant_refused", assistant=definition.name, cause=f"no MCP server is set for {absent[0]!r}")
        else:
            await _check(deps, definition, known)


def _server_names() -> set[str]:
    """The domains, and the tools without prefix, of all MCP servers that our assistants may have (SERVER_NAMES)."""
    return {name for module in _modules() for name in getattr(module, "SERVER_NAMES", ())}


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
        await deps.db.rows("keep_assistant", one.name, definition.role_prompt, fields, problem)
    else:
        await deps.db.rows("switch_off_assistant", one.name, problem)


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
            await read_prompts(deps.db, role, language=definition.prompt_language or deps.settings.prompt_language)
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
            "name": one.name, "domain": one.domain, "description": one.description, "parameters": one.parameters,
            "effect": one.effect, "version": one.version, "is_idempotent": one.is_idempotent,
        }
        for one in known
    ]  # fmt: skip
    await db.rows("keep_tools", shown)
