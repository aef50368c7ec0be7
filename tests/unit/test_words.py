"""One word for one thing: metaphors that once named a mechanism stay out of code, SQL, log events and every text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from maas.cli import COMMANDS
from maas.http.openapi import describe
from maas.http.routes import all_routes
from maas.settings import SUBJECTS
from main import commands

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    path
    for name in ("maas", "workers", "shared", "tests", "bench")
    for path in sorted((ROOT / name).rglob("*.py"))
    if "node_modules" not in path.parts
]
PRODUCT = [
    path
    for path in (*FILES, *sorted((ROOT / "learning_agent").rglob("*.py")), ROOT / "main.py", ROOT / "server.py")
    if path.relative_to(ROOT).parts[0] not in ("tests", "bench")
]
SQL = [path for name in ("sql", "maas", "learning_agent") for path in sorted((ROOT / name).rglob("*.sql"))]
PAGE = sorted(path for path in (ROOT / "ui" / "src").rglob("*.ts*") if path.name != "schema.ts")  # that is generated
RETIRED = {
    "adopt", "adopts", "baton", "batons", "bell", "bells", "breath", "chore", "chores", "consult", "deaf", "desk",
    "door", "doorbell", "doors", "filler", "gate", "gates", "heard", "intake", "lanes", "lately", "obey", "orphan",
    "orphans", "patience", "rooms", "settled", "suspect", "suspects", "told",
}  # fmt: skip
OF_TESTS = {"gate", "gates"}  # a benchmark is held to a gate, a stand-in for a model waits at one
# Turns that a native engineer would not write, each with what to write instead. Docstrings may use them.
STILTED = {
    r"\b(?:is|are|was|were) gone\b": "no longer exists",
    r"\bleft alone\b": "is skipped, is paused",
    r"\blets? (?:\w+ )?(?:in|go)\b": "gives access, returns",
    r"\bwhom\b": "a sentence with a subject",
    r"\bat hand\b": "available",
    r"\bany more\b": "no longer",
    r"\b(?:a|the|your|this|each|latest|last) letter\b": "email",
}
# Of a log event, besides the words above: what a machine cannot do, and what an operator cannot look up.
VAGUE = {
    "again",
    "alone",
    "asked",
    "away",
    "gone",
    "left",
    "kept",
    "noted",
    "said",
    "silent",
    "stays",
    "taken",
    "waits",
}
# Modules and folders that list what people write may hold any word of theirs; linguistics and Unicode speak of fillers.
OF_PEOPLE = {
    "alphabets",
    "analyzer",
    "consent",
    "consent_vocabulary",
    "consent_words",
    "english",
    "excerpts",
    "language",
    "query",
    "russian",
    "text",
    "tool_words",
    "words",
}
PUBLIC = {"open_door"}  # an error code, which programs may have learned
OF_LIBRARIES = {"settled"}  # `onSettled` of react-query
ANY_RETIRED = re.compile("|".join(sorted(RETIRED)), re.I)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SQL_TEXT, SQL_COMMENT = re.compile(r"'(?:[^']|'')*'"), re.compile("--.*")
LOG_LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


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


def literals(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """The strings of a module, and whether each is a docstring."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, id(node) in docstrings


def log_events(tree: ast.Module) -> Iterator[str]:
    """The first argument of each call of a logger, if it is one name; that of a log for people is a sentence."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=logger, attr=level), args=[ast.Constant(value=str(event)), *_]):
                if level in LOG_LEVELS and "log" in ast.unparse(logger) and not {" ", "%"} & set(event):
                    yield event


def error_codes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="MaasError"), args=[ast.Constant(value=str(code)), *_]):
                yield code


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def stilted(text: str) -> set[str]:
    one_line = " ".join(text.split())
    return {f"{found[0]!r}: {better}" for turn, better in STILTED.items() if (found := re.search(turn, one_line, re.I))}


def test_code_uses_no_retired_word() -> None:
    found: dict[str, set[str]] = {}
    for path in FILES:
        place = path.relative_to(ROOT)
        allowed = OF_TESTS if place.parts[0] in ("tests", "bench") else set()
        names = {str(place), *(identifiers(parsed(path)) if ANY_RETIRED.search(path.read_text()) else ())}
        found |= {f"{place}: {name}": words for name in names if (words := retired(name) - allowed)}
    assert len(FILES) > 500 and not found


def test_a_retired_word_would_be_found() -> None:
    assert retired("DoorBell.ring_bells") == {"door", "bell", "bells"}
    assert set(identifiers(ast.parse("def a(b): c.d(e=f)"))) == {"a", "b", "c", "d", "e", "f"}


def test_the_test_sees_strings_events_and_codes() -> None:
    tree = ast.parse(
        '"""A."""\ndef f():\n    """B."""\n    log.warning("c_d", e="f")\n    raise MaasError("g", f"h{i}")'
    )
    assert set(literals(tree)) == {("A.", True), ("B.", True), *((one, False) for one in ("c_d", "f", "g", "h"))}
    assert (list(log_events(tree)), list(error_codes(tree))) == (["c_d"], ["g"])
    assert stilted("The user is\n  gone") == {"'is gone': no longer exists"} and not stilted("there is no user")


def test_strings_are_english_for_people() -> None:
    found: dict[str, set[str]] = {}
    for path in PRODUCT:
        place = path.relative_to(ROOT)
        if OF_PEOPLE & {path.stem, *place.parts}:
            continue
        for text, is_docstring in literals(parsed(path)):
            words = (set() if text in PUBLIC else retired(text)) | (set() if is_docstring else stilted(text))
            if words:
                found[f"{place}: {text}"] = words
    assert len(PRODUCT) > 200 and not found


def test_log_events_and_error_codes_are_words_of_an_operator() -> None:
    trees = [parsed(path) for path in PRODUCT]
    events = {event for tree in trees for event in log_events(tree)}
    codes = {code for tree in trees for code in error_codes(tree)}
    assert len(events) > 90 and len(codes) > 70
    assert not [name for name in events | codes if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)]
    assert not {name: words for name in events | codes - PUBLIC if (words := retired(name))}
    assert not {event: words for event in events if (words := VAGUE & set(event.split("_")))}


def test_sql_is_english_for_people() -> None:
    """Identifiers and comments, and the strings, which are comments on tables and messages of errors."""
    found: dict[str, set[str]] = {}
    for path in SQL:
        place, text = path.relative_to(ROOT), path.read_text()
        found |= {f"{place}: {line}": words for line in text.splitlines() if (words := retired(line))}
        strings = SQL_TEXT.findall(SQL_COMMENT.sub("", text))
        found |= {f"{place}: {one}": turns for one in strings if (turns := stilted(one))}
    assert len(SQL) > 50 and not found


def test_the_page_is_english_for_people() -> None:
    found: dict[str, set[str]] = {}
    for path in PAGE:
        for line in path.read_text().splitlines():
            if words := (retired(line) - OF_LIBRARIES) | (stilted(line) if path.name == "en.ts" else set()):
                found[f"{path.relative_to(ROOT)}: {line}"] = words
    assert len(PAGE) > 50 and not found


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
