"""One word for one thing: metaphors that once named a mechanism stay out of code, help texts and the HTTP API."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maas.cli import COMMANDS
from maas.http.openapi import describe
from maas.http.routes import all_routes
from maas.settings import SUBJECTS
from main import commands

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    path for name in ("maas", "workers", "shared", "tests", "bench")
    for path in sorted((ROOT / name).rglob("*.py")) if "node_modules" not in path.parts
]  # fmt: skip
RETIRED = {
    "adopt", "adopts", "baton", "batons", "bell", "bells", "breath", "chore", "chores", "consult", "deaf", "desk",
    "door", "doorbell", "doors", "filler", "gate", "gates", "heard", "intake", "lanes", "lately", "obey", "orphan",
    "orphans", "patience", "rooms", "settled", "suspect", "suspects", "told",
}  # fmt: skip
OF_TESTS = {"gate", "gates"}  # a benchmark is held to a gate, a stand-in for a model waits at one
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def retired(text: str) -> set[str]:
    return {word for word in map(str.lower, WORD.findall(text)) if word in RETIRED}


def identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_uses_no_retired_word(path: Path) -> None:
    place = path.relative_to(ROOT)
    allowed = OF_TESTS if place.parts[0] in ("tests", "bench") else set()
    names = {str(place), *identifiers(ast.parse(path.read_text()))}
    assert not {name: words for name in names if (words := retired(name) - allowed)}


def test_a_retired_word_would_be_found() -> None:
    assert retired("DoorBell.ring_bells") == {"door", "bell", "bells"}
    assert set(identifiers(ast.parse("def a(b): c.d(e=f)"))) == {"a", "b", "c", "d", "e", "f"}


def texts(value: Any) -> Iterator[str]:
    """The descriptions and summaries of an OpenAPI document."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("description", "summary") and isinstance(item, str):
                yield item
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def test_the_http_api_is_described_without_them() -> None:
    found = list(texts(describe(all_routes(), "1", True)))
    assert len(found) > 200
    assert not [text for text in found if retired(text)]


def test_settings_are_described_without_them() -> None:
    described = {
        name: field.description or "" for kind in SUBJECTS.values() for name, field in kind.model_fields.items()
    }
    assert all(described.values())
    assert not {name: text for name, text in described.items() if retired(f"{name} {text}")}


def test_commands_are_described_without_them() -> None:
    import typer.main

    group = typer.main.get_command(commands())
    assert len(COMMANDS) > 20
    with group.make_context("maas", [], resilient_parsing=True) as context:
        for name in group.list_commands(context):  # type: ignore[attr-defined]
            command = group.get_command(context, name)  # type: ignore[attr-defined]
            options = " ".join(f"{getattr(one, 'help', '')}" for one in command.params)
            assert not retired(f"{name} {command.help} {options}"), name
