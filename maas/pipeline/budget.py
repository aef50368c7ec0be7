"""Limits on what runs may spend: known before a model is asked, never a cut in what it says."""

from __future__ import annotations

from maas.pipeline.runs import Run
from maas.pipeline.stages import Deps
from shared.errors import MaasError
from shared.models.types import Model


class OverBudget(MaasError):
    """The run, or its user today, has spent what it may."""


async def check_budget(run: Run, deps: Deps, model: Model) -> None:
    """Raises OverBudget when MAAS_RUN_MAX_TOKENS or MAAS_USER_DAILY_TOKENS is reached; the built-in model is free."""
    a_run, a_day = deps.settings.run_max_tokens, deps.settings.user_daily_tokens
    if (a_run is None and a_day is None) or model.provider == "extractive":
        return
    row = await deps.db.row("spent", run.id, run.user_id)
    assert row is not None
    unsaved = sum(call["tokens_in"] + call["tokens_out"] for call in run.calls)
    for limit, spent, whose in (
        (a_run, row["run"] + unsaved, "MAAS_RUN_MAX_TOKENS: this run"),
        (a_day, row["today"] + unsaved, "MAAS_USER_DAILY_TOKENS: this user today"),
    ):
        if limit is not None and spent >= limit:
            raise OverBudget("over_budget", f"{whose} has used {spent:,} of {limit:,} tokens")
