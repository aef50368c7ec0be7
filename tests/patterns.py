"""Every regular expression of the project, found in its sources, and texts that are hard on it, made of its pieces."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
ROOT = Path(__file__).resolve().parent.parent
_METHODS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
_FLAGS_PLACE = {"compile": 1, "sub": 4, "subn": 4, "split": 3}
_LONGEST_PIECE, _LONGEST_LEAD = 40, 400
_MOST_LEADS = 8
_MOST_TEXTS = 1500
_LITERAL_BRANCHES = 4  # words that stand for each other are as hard as a few of them
_COMMON = (
    " ",
    "\n",
    "\t ",
    ".",
    ". ",
    "!?",
    "-",
    "_",
    "a",
    "A ",
    "Я ",
    "1",
    "a.",
    "a-",
    "x-",
    "1.2.3e4-",
    '"',
    "'",
    "`",
    "@",
    "&",
)
_JOINTS = ("-", " ", ".", "\n")
_TAILS = ("", "\x00", "\n")
_IN_CATEGORY = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_SPACE: " \n",
    codes.CATEGORY_WORD: "a_1я",
    codes.CATEGORY_NOT_SPACE: "a!",
    codes.CATEGORY_NOT_DIGIT: "a ",
    codes.CATEGORY_NOT_WORD: " !-",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, where it stands, and how it is asked; finditer stands for all that looks for every match."""

    place: str
    pattern: re.Pattern[str]
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hard:
    """A text of any length: a beginning, a piece that is repeated, an end."""

    head: str
    piece: str
    tail: str

    def text(self, chars: int) -> str:
        return (self.head + self.piece * (chars // len(self.piece) + 1))[: chars - len(self.tail)] + self.tail


def find_patterns() -> tuple[list[Found], set[str]]:
    """What modules compile, what calls and pydantic are given; and functions that make one of what is no constant."""
    found: dict[tuple[str, str, int], Found] = {}
    unread: set[str] = set()
    for path, text in _sources().items():
        calls = list(_calls(ast.parse(text), ""))
        if not calls:
            continue
        name = str(path.relative_to(ROOT))
        module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
        for label, asked, pattern in _compiled(vars(module)):
            key = (name, pattern.pattern, pattern.flags)
            found[key] = Found(f"{name}: {label}", pattern, _uses(label, asked, module.__name__))
        for function, method, written, flags in calls:
            try:
                pattern = re.compile(_value(written, vars(module)), _value(flags, vars(module)) if flags else 0)
            except NameError:
                unread.add(f"{name}: {function}")
                continue
            key = (name, pattern.pattern, pattern.flags)
            if method != "compile" or key not in found:
                known = found[key].uses if key in found else frozenset()
                found[key] = Found(f"{name}: {function or pattern.pattern}", pattern, known | _kind({method}))
    return list(found.values()), unread


def hard_texts(pattern: re.Pattern[str]) -> list[Hard]:
    """Each piece of the pattern again and again, behind what leads to it; ends differ."""
    pieces: dict[str, set[str]] = {one: {""} for one in _COMMON}
    _walk(parser.parse(pattern.pattern, pattern.flags & re.VERBOSE), "", pieces)
    made: dict[Hard, None] = {}
    for piece, leads in pieces.items():
        for head in ["", *sorted(leads, key=lambda lead: (len(lead), lead))[:_MOST_LEADS]]:
            made.update(dict.fromkeys(Hard(head, piece, tail) for tail in _TAILS))
        if len(piece) > 1:
            made.update(dict.fromkeys(Hard("", piece + joint, "") for joint in _JOINTS))
    return list(made)[:: len(made) // _MOST_TEXTS + 1]


@cache
def _sources() -> dict[Path, str]:
    folders = [path for folder in ("maas", "workers", "shared") for path in (ROOT / folder).rglob("*.py")]
    paths = [*sorted(folders), ROOT / "main.py", ROOT / "server.py"]
    return {path: path.read_text(encoding="utf-8") for path in paths}


def _calls(tree: ast.AST, function: str) -> Iterator[tuple[str, str, ast.expr, ast.expr | None]]:
    """Where a pattern is given: the function around it, the method, the pattern and its flags as written."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(node, ast.Call):
            called = node.func
            given = {one.arg: one.value for one in node.keywords}
            if (
                isinstance(called, ast.Attribute)
                and isinstance(called.value, ast.Name)
                and called.value.id == "re"
                and called.attr in _METHODS
            ):
                place = _FLAGS_PLACE.get(called.attr, 2)
                flags = given.get("flags", node.args[place] if len(node.args) > place else None)
                yield inside, called.attr, given.get("pattern", node.args[0] if node.args else called), flags
            elif "pattern" in given:
                yield inside, "search", given["pattern"], None
        yield from _calls(node, inside)


def _value(written: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(written), "pattern", "eval"), names)


def _compiled(names: Mapping[str, object]) -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """The name in the module, the name by which it is asked (that of the field, if a named tuple holds it)."""

    def within(label: str, asked: str, value: object) -> Iterator[tuple[str, str, re.Pattern[str]]]:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield label, asked, value
        elif isinstance(value, tuple) and hasattr(value, "_asdict"):
            for name, one in value._asdict().items():
                yield from within(label, name, one)
        elif isinstance(value, tuple | list | dict):
            for one in value.values() if isinstance(value, dict) else value:
                yield from within(label, asked, one)

    for label, value in list(names.items()):
        yield from within(label, label, value)


def _uses(label: str, asked: str, module: str) -> frozenset[str]:
    """How a pattern is asked in its module and in those that import its name or the module."""
    used: set[str] = set()
    package, _, stem = module.rpartition(".")
    own = ROOT / f"{module.replace('.', '/')}.py"
    imports = re.compile(rf"from {module} import .*\b{label}\b|from {package} import .*\b{stem}\b")
    for path, text in _sources().items():
        if path == own or imports.search(text):
            used.update(re.findall(rf"\b{asked}\.(\w+)\(", text))
    return _kind(used & _METHODS)


def _kind(methods: set[str]) -> frozenset[str]:
    return frozenset(one if one in ("search", "match", "fullmatch") else "finditer" for one in methods or {"finditer"})


def _walk(tree: Any, lead: str, pieces: dict[str, set[str]]) -> str:
    """A text that the tree matches; it and all that it is made of go into `pieces`, each with what leads to it."""
    text = ""
    for kind, value in tree:
        before = (lead + text)[-_LONGEST_LEAD:]
        piece = _sample(kind, value, before, pieces)
        text += piece
        for one in (piece, text):
            if one:
                pieces.setdefault(one[-_LONGEST_PIECE:], set()).add(before if one is piece else lead)
    return text


def _sample(kind: Any, value: Any, before: str, pieces: dict[str, set[str]]) -> str:
    match kind:
        case codes.LITERAL:
            return chr(value)
        case codes.NOT_LITERAL | codes.ANY:
            return "a" if value != ord("a") else "b"
        case codes.IN:
            members = _members(value)
            for one in members:
                pieces.setdefault(one, set()).add(before)
            return members[0]
        case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
            return _walk(value[2], before, pieces) * max(1, min(int(value[0]), 12))
        case codes.SUBPATTERN | codes.ATOMIC_GROUP:
            return _walk(value[-1] if kind is codes.SUBPATTERN else value, before, pieces)
        case codes.BRANCH:
            words = [one for one in value[1] if all(kind is codes.LITERAL for kind, _ in one)]
            left_out = words[_LITERAL_BRANCHES:]
            return next(iter([_walk(one, before, pieces) for one in value[1] if one not in left_out]))
        case codes.ASSERT | codes.ASSERT_NOT:
            _walk(value[1], before, pieces)
    return ""


def _members(value: Any) -> list[str]:
    """Some signs of a character class."""
    held = ""
    for code, one in value:
        if code is codes.LITERAL:
            held += chr(one)
        elif code is codes.RANGE:
            held += chr(one[0]) + chr(one[1])
        elif code is codes.CATEGORY:
            held += _IN_CATEGORY[one]
    if value[0][0] is codes.NEGATE:
        return [char for char in "a 1!-.я" if char not in held][:3]
    return list(dict.fromkeys(held))[:6]
