"""What a source yields: messages and what it left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not imported, in words that follow its number: `3 images`."""

    what: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """A message as its product has it. `at`: ISO 8601, or seconds since 1970; None: the time of the import."""

    role: object
    content: str
    external_id: object
    at: object = None
    conversation: object = None
    speaker: str | None = None
    title: object = None  # of its conversation


Part = Draft | LeftOut


def text_of(content: object) -> tuple[str, list[LeftOut]]:
    """The text of a message whose content is text or a list of parts {type, text}, and what else it holds."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    others: list[LeftOut] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type") in ("text", "output_text", "input_text"):
            text = part["text"]
            texts.append(text["value"] if isinstance(text, Mapping) else text)
        elif isinstance(part, Mapping):
            others.append(LeftOut(NAMES.get(str(part.get("type")), "parts that are no text")))
    return "\n".join(text for text in texts if text), others


NAMES = {
    "image": "images",
    "image_url": "images",
    "image_file": "images",
    "image_asset_pointer": "images",
    "tool_use": "tool calls",
    "tool_call": "tool calls",
    "tool_result": "tool results",
    "function_call": "tool calls",
    "function_call_output": "tool results",
    "thinking": "thoughts of a model",
    "think": "thoughts of a model",
    "reasoning": "thoughts of a model",
    "omitted_reasoning": "thoughts of a model",
    "redacted_thinking": "thoughts of a model",
}


def branch(nodes: Mapping[str, Mapping[str, Any]], last: object, parent: str) -> list[Mapping[str, Any]]:
    """The messages from the first to `last`, by the name of the field that holds the id of each one's parent."""
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    node_id = last
    while isinstance(node_id, str) and node_id in nodes and node_id not in seen:
        seen.add(node_id)
        found.append(nodes[node_id])
        node_id = nodes[node_id].get(parent)
    return found[::-1]
