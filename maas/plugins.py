"""Plugins: assistants and channels that are added to the service, each a package with everything that belongs to it.

A package offers its plugin by an entry point of the group `maas.plugins`; ours are found in the same way as those that
somebody else has installed. MAAS_PLUGINS chooses which of them are on.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from configparser import RawConfigParser
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from shared.errors import MaasError

GROUP = "maas.plugins"
VARIABLE = "MAAS_PLUGINS"
NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of `maas`: its name, the part with its function or its typer group, and its help text.

    `service`: a function of the settings that says whether `maas up` runs the command, too, as a process of its own.
    """

    name: str
    part: str
    help: str
    service: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The name of a plugin, its package, and its parts.

    A part is `module:attribute` below the package and is loaded by the process that needs it: the HTTP server loads no
    tools. So the package itself, which holds the plugin, imports none of them.
    `assistants`: by its name, a `Definition`, or a function that makes one of the settings.
    `tools`: a toolset, or a function that makes one of `Deps`. `openers`: those of its domains, by domain.
    `servers`: a function that makes its MCP servers of the settings. `server_names`: the domains of all MCP servers
    that it may have, and their tools without prefix.
    `events`: the types of events of its tools, each with the name of its part in a stream for user interfaces.
    `settings`: a class of settings. `routes`: a tuple of routes. `tags`: what the groups of these routes are.
    `checks`: by the name that `maas doctor` prints, a function of the settings and the database that returns what it
    found. `exports`: queries of its folder `sql/queries`, by name, that return a user's rows for an export, each as a
    `line` of JSON. `tasks`: a function of `Deps` that returns background tasks of orchestrators, by name.
    `metrics`: a function of the database that returns collectors of Prometheus. `overview`: a function
    of the database that returns what `maas top` shows.
    """

    name: str
    package: str
    assistants: Mapping[str, str] = field(default_factory=dict)
    tools: str | None = None
    openers: str | None = None
    servers: str | None = None
    server_names: str | None = None
    events: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    settings: str | None = None
    routes: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    checks: str | None = None
    exports: tuple[str, ...] = ()
    tasks: str | None = None
    metrics: str | None = None
    overview: str | None = None

    @property
    def folder(self) -> Path:
        """Where the package is."""
        return Path(str(sys.modules[self.package].__file__)).parent

    def load(self, part: str) -> Any:
        """The value of a part. Raises MaasError('bad_plugin')."""
        module, _, attribute = part.partition(":")
        try:
            return getattr(import_module(f"{self.package}.{module}"), attribute)
        except (ImportError, AttributeError) as error:
            raise MaasError("bad_plugin", f"plugin {self.name!r}: {part!r} cannot be loaded: {error}") from error


def installed() -> dict[str, Plugin]:
    """All plugins of this environment that can be loaded, by name."""
    return {name: one for name, one in _find().items() if isinstance(one, Plugin)}


def active() -> tuple[Plugin, ...]:
    """The plugins that are on, by name: those of MAAS_PLUGINS.

    Raises MaasError: 'bad_setting' for a name that is not installed, 'bad_plugin' for one that is on and broken.
    """
    found = _find()
    names = chosen()
    if unknown := [name for name in names or () if name not in found]:
        known = ", ".join(found) or "none"
        raise MaasError("bad_setting", f"{VARIABLE}: {unknown[0]!r} is not installed; installed plugins: {known}")
    plugins = []
    for name in found if names is None else sorted(set(names)):
        plugin = found[name]
        if isinstance(plugin, MaasError):
            raise plugin
        plugins.append(plugin)
    return tuple(plugins)


def load_parts(kind: str) -> list[Any]:
    """The parts of one kind, such as `routes`, of all plugins that are on and have one. Raises MaasError."""
    found = ((plugin, getattr(plugin, kind)) for plugin in active())
    return [plugin.load(part) for plugin, part in found if part is not None]


def sql_folders() -> dict[str, Path]:
    """The folders with tables and functions of the plugins that are on, by name. Raises MaasError."""
    return {plugin.name: plugin.folder / "sql" for plugin in active()}


def events_of_plugins() -> dict[str, str]:
    """The types of events of the plugins that are on, each with the name of its part in a stream for user interfaces.

    Raises MaasError.
    """
    return {kind: part for plugin in active() for kind, part in plugin.events.items()}


def exports_of_plugins() -> list[tuple[str, str]]:
    """The names of the plugins that are on, each with a query that returns a user's rows. Raises MaasError."""
    return [(plugin.name, query) for plugin in active() for query in plugin.exports]


def tags_of_plugins() -> dict[str, str]:
    """What the groups of routes of the plugins that are on are, by name. Raises MaasError."""
    return {name: text for plugin in active() for name, text in plugin.tags.items()}


def chosen() -> tuple[str, ...] | None:
    """The names of MAAS_PLUGINS, in the environment or in `.env`; None where it is not set, none where it is empty."""
    text = os.environ.get(VARIABLE)
    if text is None and Path(".env").is_file():
        from dotenv import dotenv_values  # slow to load, and rarely needed

        text = dotenv_values(".env").get(VARIABLE)
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


@cache
def _find() -> Mapping[str, Plugin | MaasError]:
    """All plugins of this environment, by name; for one that is broken, why."""
    found: dict[str, Plugin | MaasError] = {}
    for entry in sorted(_read_entries()):
        if entry.name in found:
            found[entry.name] = _bad_plugin(entry, "another package has a plugin of this name: uninstall one of them")
        else:
            try:
                found[entry.name] = _load(entry)
            except MaasError as error:
                found[entry.name] = error
    return found


class _Entry(NamedTuple):
    """An entry point of our group: `target` is `module:attribute`."""

    name: str
    target: str
    distribution: str


def _read_entries() -> list[_Entry]:
    """The entry points of all installed distributions; of two that have one name the first on the path counts.

    importlib.metadata reads the same files, but takes 40 ms of CPU, and every process of ours looks for plugins.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        with suppress(OSError), os.scandir(folder or ".") as entries:
            for one in entries:
                if one.name.endswith(".dist-info"):
                    with suppress(OSError):
                        text = Path(one.path, "entry_points.txt").read_text(encoding="utf-8")
                        if GROUP in text:
                            found.setdefault(one.name.partition("-")[0], text)
    return [
        _Entry(name, target, distribution)
        for distribution, text in found.items()
        for name, target in _read_section(text)
    ]


def _read_section(text: str) -> list[tuple[str, str]]:
    parser = RawConfigParser(delimiters=("=",))
    parser.read_string(text)
    return list(parser[GROUP].items()) if GROUP in parser else []


def _load(entry: _Entry) -> Plugin:
    module, _, attribute = entry.target.partition(":")
    try:
        plugin = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, TypeError) as error:
        raise _bad_plugin(entry, f"cannot be loaded: {error}") from error
    if not isinstance(plugin, Plugin):
        raise _bad_plugin(entry, f"is of the type {type(plugin).__name__}, not Plugin")
    if plugin.name != entry.name or NAME.fullmatch(entry.name) is None:
        raise _bad_plugin(entry, f"is named {plugin.name!r}: both names must be the same, a short word like sales_2")
    return plugin


def _bad_plugin(entry: _Entry, why: str) -> MaasError:
    return MaasError("bad_plugin", f"plugin {entry.name!r} of {entry.distribution} ({entry.target}): {why}")
