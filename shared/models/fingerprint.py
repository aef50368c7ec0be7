"""One number for a request: what was asked of whom."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256

from shared.models.types import Message, Model, Request


def fingerprint(model: Model, request: Request) -> str:
    """sha256, in hex, of everything that reaches the model; `inputs` do not.

    Names are sorted: a reply that was stored as jsonb comes back with its names in another order.
    """
    asked = [
        model.provider, model.name, request.system, [_said(one) for one in request.messages], request.json_schema,
        request.temperature, request.max_tokens, [asdict(tool) for tool in request.tools], request.tool_choice,
    ]  # fmt: skip
    return sha256(
        json.dumps(asked, ensure_ascii=False, default=str, sort_keys=True).encode("utf-8", "replace")
    ).hexdigest()


def _said(message: Message) -> object:
    plain = (message.role, message.text)
    return asdict(message) if message.calls or message.call_id else plain
