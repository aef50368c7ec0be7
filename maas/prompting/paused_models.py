"""Models that operators have paused: they are not called until the pause ends."""

from __future__ import annotations

from maas import queries
from maas.engine.run import Run
from maas.prompting.budgets import FREE_PROVIDER
from maas.prompting.stored_calls import ModelCaller
from shared.db import Database
from shared.models import ModelError, NamedModel, spec_of

RETRY_S = 5.0  # after which a run that waits for its answer asks again


async def check_pause(caller: ModelCaller, db: Database, model: NamedModel) -> None:
    """Raises ModelError('unreachable') with `wait` where the model is paused.

    What is paused is read again when the run learns of a new version of assistants and prompts, which a pause makes.
    """
    if model.provider == FREE_PROVIDER:
        return
    version = caller.assistants_version if isinstance(caller, Run) else None
    rows = await db.shared_rows(queries.paused_models, version=version)
    if any(row["name"] == spec_of(model) for row in rows):
        error = ModelError("unreachable", f"{spec_of(model)} is paused by an operator (maas resume model)")
        error.wait = RETRY_S
        raise error
