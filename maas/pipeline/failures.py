"""Why a run failed, for whoever asked: in our words, since a provider's may tell of keys, accounts and prompts."""

from __future__ import annotations

from shared.errors import MaasError
from shared.models.types import ModelError

OF_MODELS = {
    "timeout": "the model did not answer in time; ask again later",
    "too_slow": "the model did not finish in time; ask for something shorter",
    "unreachable": "the model cannot be reached at the moment; ask again later",
    "rate_limited": "the model is busy at the moment; ask again later",
    "provider_error": "the model's provider has a fault at the moment; ask again later",
    "unauthorized": "the model's provider refuses us; an operator must correct the key",
    "unknown_model": "the model's provider does not know the model; an operator must correct its name",
    "bad_request": "the model's provider refused the request; an operator sees why in the trace",
    "filtered": "the model's provider does not answer this; ask in other words",
    "malformed": "the model gave no answer that can be used; ask again",
}


def message_of(error: Exception) -> str:
    """What `error_message` says; the trace, the rows of calls and the log have the whole cause."""
    if isinstance(error, ModelError):
        return OF_MODELS.get(error.code, "the model failed; ask again later")
    if isinstance(error, MaasError):
        return error.message
    return f"an error on our side ({type(error).__name__}); it is in the log"
