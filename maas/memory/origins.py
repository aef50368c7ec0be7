"""Origins: the tools and documents that an answer was made from, and how lines of memory name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from shared.text import one_line, shorten

MAX_NAME_CHARS, MAX_SHOWN = 64, 3
_SIGNS = re.compile(r"[\[\]():,;«»<>&]")  # those of a line of memory: a document's name cannot end its mark


@dataclass(frozen=True, slots=True)
class Origin:
    """What a message or a summary was made from, if not from what its user said.

    `kind` is `tool`, `document` or `import`. `domain` is that of a tool (of an MCP server its name), `id` that of a
    document.
    """

    kind: str
    name: str
    domain: str | None = None
    id: str | None = None

    @classmethod
    def from_json(cls, value: Any) -> tuple[Self, ...]:
        """Read the column `origins`; what is no origin is left out."""
        rows = value if isinstance(value, list) else []
        return tuple(
            cls(row["kind"], row["name"], row.get("domain"), row.get("id"))
            for row in rows
            if isinstance(row, dict) and isinstance(row.get("kind"), str) and isinstance(row.get("name"), str)
        )

    def to_json(self) -> dict[str, str]:
        """Return the members that are set."""
        fields = {"kind": self.kind, "name": self.name, "domain": self.domain, "id": self.id}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def is_foreign(self) -> bool:
        """Whether it is the text of a tool or a document, which others may have written."""
        return self.kind in ("tool", "document")


def foreign(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """Return the tools and documents, each once."""
    return tuple(dict.fromkeys(one for one in origins if one.is_foreign))


def mark_of(origins: Iterable[Origin]) -> str:
    """Return `from tool NAME, from document NAME and 2 more`; empty where there is no tool and no document."""
    names = [f"from {one.kind} {_shown(one.name)}" for one in foreign(origins)]
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def with_mark(summary: str, origins: Iterable[Origin]) -> str:
    """Return a summary that begins with what it was partly made from, unless it names all of that itself."""
    named = foreign(origins)
    if not summary or all(mark_of([one]) in summary for one in named):
        return summary
    return f"(partly {mark_of(named)}) {summary}"


def merged(origins: Iterable[Sequence[Origin]]) -> tuple[Origin, ...]:
    """Return the origins of several messages, each once."""
    return tuple(dict.fromkeys(one for some in origins for one in some))


def _shown(name: str) -> str:
    return shorten(" ".join(_SIGNS.sub(" ", one_line(name)).split()), MAX_NAME_CHARS) or "?"
