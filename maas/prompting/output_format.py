"""The JSON that a client wants instead of text: what a model is asked for, and the check of what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.json import json_object
from shared.models import Message, Reply, Request, schema_instruction
from shared.output_schema import check_fit

ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """A JSON schema that the answer has to fit; `is_strict`: the provider is to enforce every rule of it."""

    schema: Mapping[str, Any]
    is_strict: bool = False

    @classmethod
    def parse(cls, text: str) -> OutputFormat:
        """From the JSON text of a draft: {"schema", "strict"}."""
        stored = json.loads(text)
        return cls(stored.get("schema") or ANY_OBJECT, bool(stored.get("strict")))

    def demand(self, request: Request, has_tools: bool) -> Request:
        """A request whose reply is to fit; beside tools the schema is only named, because few providers take both."""
        if has_tools:
            return replace(request, system=f"{request.system}\n\n{schema_instruction(self.schema)}")
        return replace(request, json_schema=self.schema, is_strict=self.is_strict)

    def read(self, text: str) -> str:
        """The reply as JSON text, without what stands around it. Raises ValueError, which says what does not fit."""
        value = json_object(text)
        if value is None:
            raise ValueError("there is no JSON object")
        check_fit(self.schema, value)
        return json.dumps(value, ensure_ascii=False)

    def repair(self, request: Request, reply: Reply, error: ValueError) -> Request:
        """A request that asks once more, after a reply that does not fit."""
        again = f"That reply cannot be used ({error}). Send the JSON object alone, and let it fit the schema."
        messages = (*request.messages, Message("assistant", reply.text or "(empty)"), Message("user", again))
        return self.demand(replace(request, messages=messages, tools=()), has_tools=False)
