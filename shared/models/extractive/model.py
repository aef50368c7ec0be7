"""The model that needs no key: it answers every role by code and says that it only quotes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from shared.models.extractive import analyzer, archivist, assembler, compactor, responder
from shared.models.types import ModelError, Piece, Reply, Request
from shared.offload import offload
from shared.text import clean

_ROLES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "Analyzer": analyzer.answer,
    "Assembler": assembler.answer,
    "FinalResponder": responder.answer,
    "Archivist": archivist.answer,
    "Compactor": compactor.answer,
}


class Extractive:
    """Deterministic and offline; works from `Request.inputs`, never reads the prompt and never calls a tool."""

    provider = "extractive"
    name = "builtin"

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer one of the five roles. Raises ModelError('bad_request') for another role or missing inputs."""
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
        """The same in one piece. Raises ModelError."""
        reply = await self.complete(request, timeout)
        if reply.text:
            yield reply.text
        yield reply

    async def close(self) -> None:
        """Nothing is held."""
