"""Which models may answer for an assistant, and how much a payload for them may hold."""

from __future__ import annotations

from maas.pipeline.stages import Deps
from shared import tokens


async def payload_limit(deps: Deps, assistant: str) -> int:
    """MAAS_PAYLOAD_TOKENS, by the tokenizer of whoever may answer: of the assistant's model and those of its agents.

    Who has none speaks by the Responder's. The tightest counts: which agent answers is not known yet.
    """
    rows = await deps.db.shared_rows("assistant_models", assistant)
    named = rows[0]["models"] if rows else [None]
    configured = deps.models["FinalResponder"].provider
    providers = {spec.partition(":")[0] if spec else configured for spec in named}
    return min(tokens.within(deps.settings.payload_tokens, provider) for provider in providers)
