"""Agent files of Letta (.af): the messages of agents, and what their block `human` says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part, text_of

NAME = "Letta"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is an agent file."""
    return isinstance(item.get("agents"), list) and "blocks" in item


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield what the blocks named human say, then the messages of each agent."""
    for block in item["blocks"]:
        if block.get("label") == "human" and block.get("value"):
            yield Draft("user", block["value"], f"block {block['id']}")
        else:
            yield LeftOut("blocks of agents")
    for agent in item["agents"]:
        for message in agent["messages"]:
            yield from _message(message, agent.get("name") or agent["id"], agent["id"])


def _message(message: Mapping[str, Any], conversation: str, agent: str) -> Iterator[Part]:
    role, external_id = message["role"], f"{agent} {message['id']}"
    text, others = text_of(message.get("content"))
    yield from others
    if role == "user":
        text, what = _unpacked(text)
        if what is not None:
            yield LeftOut(what)
            return
    calls = message.get("tool_calls") or []
    for number, call in enumerate(calls):
        if call["function"]["name"] == "send_message":  # how older agents speak
            said = json.loads(call["function"]["arguments"]).get("message") or ""
            yield Draft("assistant", said, f"{external_id} {number}", message.get("created_at"), conversation)
        else:
            yield LeftOut("tool calls")
    if calls and role == "assistant":
        if text:
            yield LeftOut("thoughts of a model")
        return
    yield Draft(role, text, external_id, message.get("created_at"), conversation)


def _unpacked(text: str) -> tuple[str, str | None]:
    """The words in a user message that Letta has packed in JSON, and why it is left out if it has none."""
    try:
        packed = json.loads(text)
    except ValueError:
        return text, None
    if not isinstance(packed, dict) or "type" not in packed:
        return text, None
    if packed["type"] != "user_message":
        return "", "events of the system"
    return str(packed.get("message") or ""), None
