"""How many tokens of results of tools a request may hold beside everything else that it sends."""

from __future__ import annotations

from maas.engine.stages import Deps
from maas.model_options import options_of
from shared import tokens
from shared.models import Request, spec_of
from shared.models.context_window import count_request, reported_window, request_limit
from shared.text import offload

MIN_RESULT_TOKENS = 500  # whatever else a request holds: memory makes room for them


async def result_room(deps: Deps, request: Request, most: int) -> int:
    """Return the tokens for the results of tools that `request` will hold: `most`, and MAAS_RESULT_TOKENS.

    They are fewer where the context window of its model is known, and what else is sent leaves less of it.
    """
    model = deps.models[request.role]
    limit = tokens.within(min(most, deps.settings.answers.result_tokens), model.provider)
    window = options_of(deps.settings, "FinalResponder", spec_of(model)).window or await reported_window(model)
    known = request_limit(model, request.max_tokens, window)
    if known is None:
        return limit
    counted = await offload(len(request.system), count_request, request)
    return min(limit, max(known - counted, MIN_RESULT_TOKENS))
