"""Drawers of MemPalace: passages, word for word, one a line.

Their metadata are those that `mempalace/convo_miner.py`, `miner.py` and `diary_ingest.py` of 3.11.0 give them. The
lines are those of `export --format jsonl` in MemPalace/mempalace's pull request 2209, which no release has; its
Markdown is turned into them (`maas/memory/transfer/palace.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "MemPalace"
REGISTRY = "_registry"  # the room of what was read, which nobody said
_ASKED = re.compile(r"(?:^>.*(?:\n|\Z))+", re.MULTILINE)
_MARK = re.compile(r"^>[ \t]?", re.MULTILINE)


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a drawer."""
    return {"id", "document", "metadata"} <= item.keys()


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the messages of a drawer: of a conversation, lines after `>` are the user's, the others the assistant's."""
    drawer, text, about = item["id"], item["document"], item["metadata"] or {}
    if about.get("room") == REGISTRY:
        yield LeftOut("entries of the registry")
        return
    at = about.get("authored_at") or about.get("filed_at") or None  # when it was said, else when it was read
    conversation = about.get("source_file") or "/".join(str(about[one]) for one in ("wing", "room") if one in about)
    if about.get("ingest_mode") != "convos":
        yield Draft("user", text, drawer, at, conversation or None)
        return
    parts: list[tuple[str, str]] = []
    end = 0
    for asked in _ASKED.finditer(text):
        parts += [("assistant", text[end : asked.start()]), ("user", _MARK.sub("", asked[0]))]
        end = asked.end()
    parts.append(("assistant", text[end:]))
    for number, (role, said) in enumerate(one for one in parts if one[1].strip()):
        yield Draft(role, said.strip(), f"{drawer} {number}", at, conversation or None)
