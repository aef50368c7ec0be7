"""Openers and tools as modules declare them: what is wrong with a declaration is named at start."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from maas.assistants.registry import load_openers, load_tools
from maas.engine.stages import Deps
from maas.settings import load_settings
from maas.tools.tool import ToolContext, Toolset, tool
from shared.errors import MaasError

BUILT_IN = load_tools((), cast(Deps, SimpleNamespace(settings=load_settings(), db=None, query_embedder=None)))


@tool(domain="books", effect="read", needs="data")
async def read_books() -> Any:
    """Read the books."""


@tool(domain="box", effect="read")
async def read_box() -> Any:
    """Read the box."""


async def open_books(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    return {}


def not_async(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    return {}


def declare(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: object) -> None:
    module = ModuleType(name)
    module.__dict__.update(attributes)
    monkeypatch.setitem(sys.modules, name, module)


@tool(domain="box", effect="read", event="parade")
async def read_loudly() -> Any:
    """Read the box aloud."""


def test_an_event_that_no_plugin_has(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch, "first", TOOLS=[read_loudly])
    deps = cast(Deps, SimpleNamespace(settings=load_settings(), db=None, query_embedder=None))
    with pytest.raises(MaasError, match="read_loudly: no plugin that is on has events of the type 'parade'"):
        load_tools(("first:TOOLS",), deps)


def test_openers_of_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is named twice, for two toolsets, declares its openers once."""
    declare(monkeypatch, "first", OPENERS={"books": open_books})
    declare(monkeypatch, "second")
    found = load_openers(("first:TOOLS", "first:MORE", "second:TOOLS"), Toolset([*BUILT_IN, read_books, read_box]))
    assert found["books"] is open_books and found.keys() - {one.domain for one in BUILT_IN} == {"books"}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([open_books], {}, "OPENERS of first must map domains to openers"),
        ({}, {}, "read_books needs data, but no opener says so of its domain 'books': add OPENERS"),
        ({"books": not_async}, {}, "OPENERS of first: 'books' must be an async function of deps and a ToolContext"),
        ({"books": None}, {}, "OPENERS of first: 'books' must be an async function"),
        ({"books": open_books}, {"books": open_books}, "OPENERS of second: 'books' has an opener already"),
        ({"books": open_books, "book": open_books}, {}, "OPENERS of first: 'book' is not a domain of the loaded tools"),
    ],
)
def test_a_wrong_declaration(
    monkeypatch: pytest.MonkeyPatch, first: object, second: dict[str, Any], words: str
) -> None:
    declare(monkeypatch, "first", OPENERS=first)
    declare(monkeypatch, "second", OPENERS=second)
    with pytest.raises(MaasError) as caught:
        load_openers(("first:TOOLS", "second:TOOLS"), Toolset([*BUILT_IN, read_books, read_box]))
    assert caught.value.code == "bad_setting" and words in caught.value.message
