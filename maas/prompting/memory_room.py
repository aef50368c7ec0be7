"""Requests within the limits of a model: memory makes room in the Responder's; others are refused before they are sent.

Limits are configured or learnt from refusals: `shared.models.context_window`.
"""

from __future__ import annotations

from dataclasses import replace

import structlog

from maas.prompting.trimming import condense
from shared import tokens
from shared.models import Model, ModelError, Request, spec_of
from shared.models.context_window import count_request, reply_tokens, request_limit, window_of
from shared.text import offload

ROLE_WITH_MEMORY = "FinalResponder"
_OPENING, _CLOSING = "<memory>\n", "\n</memory>"
log = structlog.get_logger()


async def fit_request(model: Model, request: Request, window: int | None = None) -> Request:
    """Return `request` with as much of its memory, and as long a reply, as `model` takes.

    `window` is the configured context window. Raises ModelError('context_exceeded') for a request without memory that
    is known to be too long.
    """
    limit = request_limit(model, request.max_tokens, window)
    if limit is None:
        return request
    request = replace(request, max_tokens=reply_tokens(window_of(model, window), request.max_tokens))
    counted = await offload(len(request.system) + len(request.messages[0].text), count_request, request)
    if counted <= limit:
        return request
    if request.role != ROLE_WITH_MEMORY:
        raise ModelError("context_exceeded", f"{spec_of(model)} takes {limit} tokens, this request has about {counted}")
    log.warning("memory_trimmed", model=spec_of(model), tokens=counted, limit=limit)
    return await cut_memory(request, counted - limit)


async def cut_memory(request: Request, excess: int) -> Request:
    """Return `request` with `excess` tokens less of memory; a request without memory as it is."""
    before, opening, rest = request.system.rpartition(_OPENING)
    memory, closing, after = rest.partition(_CLOSING)
    if not (opening and closing):
        return request
    room = await offload(len(memory), tokens.count, memory) - excess
    kept = await offload(len(memory), condense, memory.split("\n"), room) if room > 0 else ""
    return replace(request, system=f"{before}{opening}{kept}{closing}{after}" if kept else f"{before}{after}".strip())
