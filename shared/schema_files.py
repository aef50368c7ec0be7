"""The files of `sql/`, ours and those of plugins: their order, their statements, what a database records of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from shared.errors import MaasError

BASELINE = "schema"
BASELINE_VERSION = "0.1.0"
_STATEMENT = re.compile(
    r"""(?:\s|--[^\n]*+)*+(?P<text>(?>
      --[^\n]*+ | '(?:[^']|'')*+' | "[^"]*+" | \$(?P<tag>\w*+)\$.*?\$(?P=tag)\$ | [^;'"$-]++ | [^;])*+;?)""",
    re.DOTALL | re.VERBOSE,
)


def fingerprint(folder: Path, plugins: Mapping[str, Path] | None = None) -> str:
    """A hash of all files that a database of this version records, as the query `is_migrated_to` computes it."""
    files = read_files(folder, plugins)
    recorded = baseline_states(files) | {name: hash_of(text) for name, text in files.items() if is_recorded(name)}
    lines = "".join(f"{name} {recorded[name]}\n" for name in sorted(recorded))
    return hashlib.md5(lines.encode(), usedforsecurity=False).hexdigest()


def read_files(folder: Path, plugins: Mapping[str, Path] | None) -> dict[str, str]:
    """The text of every file by its name, in the order in which they are applied. Raises MaasError."""
    files = _read_groups("", folder, "schema/*.sql", "migrations/*.sql", "functions/*.sql", "views/*.sql")
    for name, own in (plugins or {}).items():
        files |= _read_groups(f"{name}:", own, "schema/*.sql", "migrations/*.sql", "functions/*.sql", "views/*.sql")
    files |= _read_groups("", folder, "finish.sql")
    if not any(owner_of(name) == "" for name in files):
        raise MaasError("migrations_missing", f"{folder} holds no .sql file; run from a complete checkout")
    return files


def _read_groups(prefix: str, folder: Path, *patterns: str) -> dict[str, str]:
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return {prefix + path.relative_to(folder).with_suffix("").as_posix(): path.read_text("utf-8") for path in paths}


def statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a file, without the comments before them, each with its place in the text."""
    return ((found.start("text"), found["text"]) for found in _STATEMENT.finditer(text) if found["text"])


def owner_of(name: str) -> str:
    """The plugin of a file; empty for ours."""
    return name.rpartition(":")[0]


def is_recorded(name: str) -> bool:
    """Whether a database has the hash of this file: it has that of every file but those of the tables."""
    return not name.rpartition(":")[2].startswith("schema/")


def baseline_states(files: Mapping[str, str]) -> dict[str, str]:
    """What a new database records of the tables: of ours the version, of those of each plugin a state, by name."""
    plugins = [owner for owner in dict.fromkeys(map(owner_of, files)) if owner]
    own = {plugin: {name: text for name, text in files.items() if owner_of(name) == plugin} for plugin in plugins}
    return {BASELINE: BASELINE_VERSION} | {f"{plugin}:{BASELINE}": _state_of(own[plugin]) for plugin in plugins}


def _state_of(files: Mapping[str, str]) -> str:
    """The state of a plugin's tables: the version, and until it has a migration the statements themselves.

    Until then a database with other tables of it cannot be brought to these. Where lines are broken makes no
    difference, nor does a literal that goes on in the next line.
    """
    if any(map(is_step, files)):
        return BASELINE_VERSION
    statements = [
        re.sub(r"--[^\n]*|'[^\S\n]*+\n\s*+'", "", text) for name, text in files.items() if not is_recorded(name)
    ]
    return f"{BASELINE_VERSION} {hash_of(' '.join(' '.join(statements).split()))}"


def hash_of(text: str) -> str:
    """Return the SHA-256 of a file's text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_view(name: str) -> bool:
    """Return whether a file, `folder/name` with `plugin:` before it, is a view."""
    return name.rpartition(":")[2].startswith("views/")


def is_step(name: str) -> bool:
    """Return whether a file is a migration, applied once."""
    return name.rpartition(":")[2].startswith("migrations/")
