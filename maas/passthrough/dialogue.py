"""The messages of a request to a pass-through model: its question, its key, and memory put before the question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from shared.text import clean, is_blank

SYSTEM_ROLES = ("system", "developer")
TEXT_PARTS = ("text", "input_text")
TOOL_RESULT = "tool_result"  # in Anthropic's API a part of a message of the user
AGENT_NOTE = "<system-reminder>"  # with which coding agents begin what they write into the user's message themselves


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Messages as the client sends them. `question` is the text of the last one of the user, which has index `at`."""

    messages: Sequence[Any]
    question: str = ""
    at: int | None = None

    @classmethod
    def of(cls, messages: Sequence[Any]) -> Dialogue:
        for at in range(len(messages) - 1, -1, -1):
            if _role(messages[at]) != "user":
                continue
            text = text_of(messages[at])
            if not (is_blank(text) and _results_end(messages[at])):
                return cls(messages, text, at)
        return cls(messages)

    @property
    def has_question(self) -> bool:
        return not is_blank(self.question)

    def key(self, caller: str, user_id: UUID, conversation: str) -> str:
        """What is the same when the question is asked again: everything up to it."""
        asked = None if self.at is None else self.messages[: self.at + 1]
        return fingerprint([caller, str(user_id), conversation, asked])

    def texts(self) -> frozenset[str]:
        """The texts of all messages, which memory need not repeat."""
        return frozenset(text_of(one).strip() for one in self.messages)

    def with_memory(self, block: str) -> list[Any]:
        """The messages with a system message more, right before the question.

        There it changes nothing that stands before, so that a provider's cache of a prompt's beginning holds.
        """
        if not block or self.at is None:
            return list(self.messages)
        roles = [_role(one) for one in self.messages]
        role = next((one for one in roles if one in SYSTEM_ROLES), SYSTEM_ROLES[0])
        return [*self.messages[: self.at], {"role": role, "content": block}, *self.messages[self.at :]]

    def with_memory_inside(self, block: str) -> list[Any]:
        """The messages with memory as a part of the question's, where no system message may stand between them.

        Results of tools stay the first parts.
        """
        if not block or self.at is None:
            return list(self.messages)
        question = self.messages[self.at]
        content, at = question["content"], _results_end(question)
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        memory = {"type": "text", "text": block}
        changed = {**question, "content": [*parts[:at], memory, *parts[at:]]}
        return [*self.messages[: self.at], changed, *self.messages[self.at + 1 :]]


def fingerprint(value: object) -> str:
    """A hash that is the same for equal JSON values."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()


def text_of(message: object) -> str:
    """The text of a message, without pictures, files and notes of agents; empty if it has none."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return clean(content)
    parts = content if isinstance(content, list) else []
    texts = [one.get("text") for one in parts if isinstance(one, Mapping) and one.get("type") in TEXT_PARTS]
    return clean("\n".join(text for text in texts if isinstance(text, str) and not text.startswith(AGENT_NOTE)))


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, Mapping) else None


def _results_end(message: object) -> int:
    """How many parts with a result of a tool there are, up to the last one of them."""
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = content if isinstance(content, list) else []
    results = [at for at, one in enumerate(parts) if isinstance(one, Mapping) and one.get("type") == TOOL_RESULT]
    return results[-1] + 1 if results else 0
