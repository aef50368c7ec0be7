"""The APIs of providers that are passed through: how each is called, and where its requests hold the dialogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from maas.passthrough.models import ProviderModel
from shared.errors import MaasError

ANTHROPIC_VERSION = {"anthropic-version": "2023-06-01"}


@dataclass(frozen=True, slots=True)
class Api:
    """`endpoint` below `/v1`; `field` of the body that holds the dialogue; `headers` of a client that are passed on.

    `own_fields` of the body are for MaaS alone.
    """

    endpoint: str
    field: str
    headers: tuple[str, ...] = ("openai-organization", "openai-project", "openai-beta")
    own_fields: tuple[str, ...] = ("maas",)

    def headers_for(self, model: ProviderModel, sent: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request to a provider; `sent` are those of the client."""
        passed = {name: value for name in self.headers if (value := sent.get(name))}
        if self is MESSAGES and model.provider == "anthropic":
            return {"x-api-key": model.key, **ANTHROPIC_VERSION, **passed}
        return {"authorization": f"Bearer {model.key}", **passed}

    def error_event(self, failure: MaasError) -> bytes:
        """The event that ends a stream which has failed."""
        error = {"message": failure.message, "type": "server_error", "param": None, "code": failure.code}
        if self is MESSAGES:
            value = {"type": "error", "error": {"type": "api_error", "message": failure.message}}
            return b"event: error\ndata: " + json.dumps(value).encode() + b"\n\n"
        return b"data: " + json.dumps({"error": error}).encode() + b"\n\n"


CHAT = Api("chat/completions", "messages")
RESPONSES = Api("responses", "input")
EMBEDDINGS = Api("embeddings", "input")
MESSAGES = Api("messages", "messages", ("anthropic-version", "anthropic-beta"), ("maas", "user"))  # of Anthropic
