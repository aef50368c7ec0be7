"""Which assistants and tools there are: files and rows, checked at start and written where HTTP can read them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import maas.assistants
from maas.agents.toolbox import Toolbox
from maas.agents.tools import Tool, Toolset
from maas.assistants.definition import Definition, bad, read_definition
from maas.pipeline.stages import Deps
from shared.db import Database
from shared.errors import MaasError


def built_in() -> tuple[Definition, ...]:
    """Every ASSISTANT of a module in this package."""
    return tuple(module.ASSISTANT for module in _modules() if hasattr(module, "ASSISTANT"))


def _modules() -> Iterator[ModuleType]:
    for one in iter_modules(maas.assistants.__path__):
        yield import_module(f"{maas.assistants.__name__}.{one.name}")


def load_tools(paths: tuple[str, ...], deps: Deps) -> Toolset:
    """The tools of built-in assistants (TOOLS of their modules), then all that `module:attribute` names.

    Each is a toolset, or a function that makes one of `deps`. Raises MaasError('bad_setting').
    """
    found: list[Tool] = [one for module in _modules() if hasattr(module, "TOOLS") for one in module.TOOLS(deps)]
    for path in paths:
        module, _, attribute = path.partition(":")
        try:
            offered = getattr(import_module(module), attribute)
            tools = list(offered(deps) if callable(offered) else offered)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} is no module:attribute of tools: {error}") from error
        if wrong := [one for one in tools if not isinstance(one, Tool)]:
            raise MaasError("bad_setting", f"MAAS_TOOLS: {path!r} holds {wrong[0]!r}, which is no Tool")
        found += tools
    return Toolset(found)


async def register(deps: Deps, known: Toolset) -> None:
    """Write tools and built-in definitions into their tables and check every active row.

    A file's definition replaces its row's; the role of a row that is there stays the operator's.
    Raises MaasError('bad_assistant').
    """
    db = deps.db
    for one in built_in():
        fields = one.model_dump(mode="json", exclude={"name", "role_prompt"}, exclude_defaults=True)
        await db.rows("keep_assistant", one.name, one.role_prompt, fields)
    await _write(db, known)
    for row in await db.rows("assistant_definitions"):
        definition = read_definition(row["name"], row["role_name"], row["definition"])
        definition.tools(known)
        for model in (definition.model, *(agent.model for agent in definition.agents)):
            try:
                deps.spoken_by(model)
            except MaasError as error:
                raise bad(definition.name, f"model: {error.message}") from error
        roles = [agent.role_prompt for agent in definition.agents]
        there = {prompt["role_name"] for prompt in await db.rows("prompts", roles)}
        if lost := [role for role in roles if role not in there]:
            raise bad(
                definition.name, f"agents: system_prompts has no active row {lost[0]!r}; insert it or activate it"
            )


async def keep_tools(db: Database, toolbox: Toolbox) -> None:
    """Write the tools again whenever they changed; a chore."""
    while True:
        await _write(db, toolbox.tools())
        await toolbox.change()


async def _write(db: Database, known: Toolset) -> None:
    shown = [
        {
            "name": one.name, "domain": one.domain, "description": one.description, "parameters": one.parameters,
            "effect": one.effect, "version": one.version, "is_idempotent": one.is_idempotent,
        }
        for one in known
    ]  # fmt: skip
    await db.rows("keep_tools", shown)
