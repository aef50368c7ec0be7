"""Assistants, one module each, and their registry.

The registry loads assistants and tools at start from modules and rows, checks them, and writes them to their tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from maas.agents.definition import Definition, bad_assistant, read_definition
from maas.agents.runtime import Toolbox
from maas.agents.tools import Tool, Toolset
from maas.engine.stages import Deps
from shared.db import Database
from shared.errors import MaasError


def built_in() -> tuple[Definition, ...]:
    """The ASSISTANT of every module in this package."""
    return tuple(module.ASSISTANT for module in _modules() if hasattr(module, "ASSISTANT"))


def _modules() -> Iterator[ModuleType]:
    for one in iter_modules(__path__):
        yield import_module(f"{__name__}.{one.name}")


def load_tools(paths: tuple[str, ...], deps: Deps) -> Toolset:
    """The tools of built-in assistants (TOOLS of their modules) and those that each `module:attribute` path names.

    TOOLS and the attribute are a toolset or a function that makes one of `deps`. Raises MaasError('bad_setting').
    """
    tools: list[Tool] = [one for module in _modules() if hasattr(module, "TOOLS") for one in module.TOOLS(deps)]
    for path in paths:
        module, _, attribute = path.partition(":")
        try:
            declared = getattr(import_module(module), attribute)
            loaded = list(declared(deps) if callable(declared) else declared)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} is no module:attribute of tools: {error}") from error
        if wrong := [one for one in loaded if not isinstance(one, Tool)]:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} holds {wrong[0]!r}, which is no Tool")
        tools += loaded
    return Toolset(tools)


async def register(deps: Deps, known: Toolset) -> None:
    """Write `known` tools and built-in definitions to their tables, then check every active row of `assistants`.

    A built-in definition replaces that of its row, but not the row's role, which operators may change.
    Raises MaasError('bad_assistant').
    """
    db = deps.db
    for one in built_in():
        fields = one.model_dump(mode="json", exclude={"name", "role_prompt"}, exclude_defaults=True)
        await db.rows("keep_assistant", one.name, one.role_prompt, fields)
    await _write_tools(db, known)
    for row in await db.rows("assistant_definitions"):
        await _check(deps, read_definition(row["name"], row["role_name"], row["definition"]), known)


async def _check(deps: Deps, definition: Definition, known: Toolset) -> None:
    """Raises MaasError('bad_assistant') for tools, models or prompts that do not exist."""
    definition.tools(known)
    for model in (definition.model, *(agent.model for agent in definition.agents)):
        try:
            deps.with_responder_model(model)
        except MaasError as error:
            raise bad_assistant(definition.name, f"model: {error.message}") from error
    roles = [agent.role_prompt for agent in definition.agents]
    active = {prompt["role_name"] for prompt in await deps.db.rows("prompts", roles)}
    if inactive := [role for role in roles if role not in active]:
        message = f"agents: system_prompts has no active row {inactive[0]!r}; insert it or activate it"
        raise bad_assistant(definition.name, message)


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
