"""Models that are not to be called: operators have paused them, or a provider has asked for a pause."""

from __future__ import annotations

from datetime import UTC, datetime

from maas import queries
from maas.engine.run import Run
from maas.prompting.budgets import FREE_PROVIDER
from maas.prompting.rate_limits import RateLimit
from maas.prompting.stored_calls import ModelCaller
from shared.models import ModelError, NamedModel, spec_of

RETRY_S = 5.0  # after which a run that waits for its answer asks again


async def check_pause(caller: ModelCaller, limit: RateLimit, model: NamedModel) -> float:
    """Return for how many seconds the provider wants no call of the model; mostly 0.

    Raises ModelError('unreachable') with `wait` where an operator has paused it. Both are read again when the run
    learns of a new version of assistants and prompts, which they make.
    """
    if model.provider == FREE_PROVIDER:
        return 0.0
    version = caller.assistants_version if isinstance(caller, Run) else None
    blocked_s = 0.0
    for row in await limit.db.shared_rows(queries.paused_models, version=version):
        if row["until"] is None and row["name"] == spec_of(model):
            error = ModelError("unreachable", f"{spec_of(model)} is paused by an operator (maas resume model)")
            error.wait = RETRY_S
            raise error
        if row["until"] is not None and row["name"] == limit.name:
            blocked_s = max(blocked_s, (row["until"] - datetime.now(UTC)).total_seconds())
    return blocked_s
