"""One number for a request: what was asked of whom."""

from __future__ import annotations

import json
from hashlib import sha256

from shared.models.types import Model, Request


def fingerprint(model: Model, request: Request) -> str:
    """sha256, in hex, of everything that reaches the model; `inputs` do not."""
    said = [(message.role, message.text) for message in request.messages]
    asked = [
        model.provider, model.name, request.system, said, request.json_schema, request.temperature, request.max_tokens,
    ]  # fmt: skip
    return sha256(json.dumps(asked, ensure_ascii=False, default=str).encode("utf-8", "replace")).hexdigest()
