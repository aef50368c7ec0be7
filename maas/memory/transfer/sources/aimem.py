"""Bundles of AIMEM (draft-vu-aimem-bundle-00) that another product has written: what it remembers of a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "AIMEM"
FORMATS = ("aimem-bundle", "memoryai-bundle")
OTHERS = {"edges": "links between memories", "entities": "entities that were derived"}


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a bundle."""
    return item.get("format") in FORMATS


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield its memories as words of the user. Raises ValueError for one whose hash is not that of its content."""
    for chunk in item["chunks"]:
        content, claimed = chunk["content"], chunk.get("content_hash")
        if claimed is not None and claimed != f"sha256:{sha256(content.encode()).hexdigest()}":
            raise ValueError(f"content_hash of {chunk['id']} is not that of its content")
        yield Draft("user", content, chunk["id"], chunk["created_at"], item["producer"])
    yield from (LeftOut(what, len(item[name])) for name, what in OTHERS.items() if item.get(name))
