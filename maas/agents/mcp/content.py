"""What a server gave, as plain JSON: structured content, texts, and a note in the place of pictures and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maas.agents.results import ToolFailure
from shared.log import conceal

CHARS = 200_000  # of one text; what is read of it is far less


def content_data(result: Mapping[str, Any]) -> Any:
    """The data of a call's result as the protocol has it. Raises ToolFailure when it says that the call failed."""
    blocks = result.get("content") or []
    if result.get("isError"):
        said = "\n".join(str(one["text"]) for one in blocks if one.get("type") == "text")
        raise ToolFailure(conceal(said.strip()[:CHARS]) or "it failed and did not say why")
    structured = result.get("structuredContent")
    if structured is not None:  # its texts say the same
        blocks = [one for one in blocks if one.get("type") != "text"]
    found = [] if structured is None else [structured]
    found += [_block(one) for one in blocks]
    return _concealed(found[0] if len(found) == 1 else found or None)


def _block(block: Mapping[str, Any]) -> Any:
    kind = block.get("type")
    if kind == "text":
        return _text(str(block.get("text", "")))
    if kind in ("image", "audio"):
        return _note(str(kind), block.get("mimeType"), block.get("data"))
    if kind == "resource":
        resource = block.get("resource") or {}
        if "text" in resource:
            return {"uri": resource.get("uri"), "text": str(resource["text"])[:CHARS]}
        return _note("file", resource.get("mimeType"), resource.get("blob")) | {"uri": resource.get("uri")}
    return {key: block[key] for key in ("type", "uri", "name", "title", "description", "mimeType") if key in block}


def _text(text: str) -> Any:
    """JSON as what it holds, so that a model does not read it escaped."""
    if len(text) <= CHARS and text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text[:CHARS]


def _note(kind: str, mime: object, data: object) -> dict[str, Any]:
    return {"type": kind, "mime_type": mime, "bytes": len(str(data or "")) * 3 // 4}


def _concealed(value: Any) -> Any:
    if isinstance(value, str):
        return conceal(value)
    if isinstance(value, list):
        return [_concealed(one) for one in value]
    if isinstance(value, dict):
        return {conceal(name): _concealed(one) for name, one in value.items()}
    return value
