"""The built-in model: answers without an API key, by rules, and says that it only quotes memory."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from maas.builtin_model import analyzer, responder, summaries
from maas.model_registry import ModelFactory
from maas.prompting.trimming import condense
from maas.settings import Settings
from shared.errors import MaasError
from shared.models import Model, ModelError, Piece, Reply, Request
from shared.text import clean, offload


def _assemble(inputs: Mapping[str, Any]) -> str:
    """Keep all `labels`, from which the stage takes what fits; or, for a prompt that asks for a text, return the part
    of `memory` (escaped lines) that fits into `max_tokens`."""
    if "labels" in inputs:
        return json.dumps({"keep": list(inputs["labels"])}, ensure_ascii=False)
    return condense(inputs["memory"], int(inputs["max_tokens"]))


_ROLES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "Analyzer": analyzer.analyze,
    "Assembler": _assemble,
    "FinalResponder": responder.respond,
    "Archivist": summaries.archive,
    "Compactor": summaries.compact,
}


class BuiltinModel:
    """A deterministic, offline model for five roles.

    It works from `Request.inputs`, ignores the prompt and never calls a tool.
    """

    provider = "extractive"
    name = "builtin"

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer for one of the five roles. Raises ModelError('bad_request') for another role or a missing input."""
        role = _ROLES.get(request.role)
        if role is None:
            raise ModelError(
                "bad_request", f"extractive:builtin cannot play {request.role}; it knows {', '.join(_ROLES)}"
            )
        try:
            text = await offload(sum(len(message.text) for message in request.messages), role, request.inputs)
        except KeyError as error:
            raise ModelError("bad_request", f"extractive:builtin needs the input {error} for {request.role}") from error
        return Reply(clean(text))

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Answer in one piece, then yield the whole Reply. Raises ModelError."""
        reply = await self.complete(request, timeout)
        if reply.text:
            yield reply.text
        yield reply

    async def close(self) -> None:
        """Do nothing: the model holds no resource."""


def _open(name: str, settings: Settings) -> Model:
    if name != BuiltinModel.name:
        raise MaasError("bad_setting", f"extractive:{name} is unknown; the built-in model is extractive:builtin")
    return BuiltinModel()


# For `maas.model_registry.open_model`, which knows only the providers of the network.
PROVIDERS: Mapping[str, ModelFactory] = {BuiltinModel.provider: _open}
