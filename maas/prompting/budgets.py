"""Budgets: what one run may use, and what one user may use in a day, in tokens and in dollars.

A day begins at midnight in MAAS_TIMEZONE. Before each model call the sums are read, where there is a budget: the
settings have one, or operators have set one, which is read once for each version of assistants and prompts.
Nothing is locked for that, so calls that are in flight when a budget is spent are still counted: a user exceeds it by
at most what the calls in flight at that moment use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol
from uuid import UUID

from maas import queries
from maas.engine.run import Run, StageLog
from maas.engine.spending import MICRO_DOLLARS, Budget, next_day, read_budget
from maas.engine.stages import Deps
from maas.engine.states import RunKind
from maas.settings import Settings
from shared.errors import MaasError
from shared.models import NamedModel

LIMITED = "budget"
FREE_PROVIDER = "extractive"  # the built-in model
SENTENCES = {
    "en": "Your budget for today is spent, so I did not ask a model. It is renewed at {time}: ask again then.{done}",
    "ru": "Ваш лимит на сегодня исчерпан, поэтому модель не вызывалась. Он обновится в {time}: спросите снова.{done}",
}
DONE = {
    "en": " What was done for this request before that stays done.",
    "ru": " То, что по этому запросу уже было сделано, остаётся в силе.",
}


class OverBudget(MaasError):
    """The run has used all the tokens that it may."""


class DayBudgetSpent(OverBudget):
    """The user has used up the daily budget: stages work by rule, and the run is answered without a model."""


class Spender(Protocol):
    """What model calls are made for: a run, or a group of summaries that is merged."""

    @property
    def id(self) -> UUID: ...

    @property
    def user_id(self) -> UUID: ...

    @property
    def log(self) -> StageLog: ...


async def check_budget(spender: Spender, deps: Deps, model: NamedModel) -> None:
    """Raises OverBudget when MAAS_RUN_MAX_TOKENS is reached, DayBudgetSpent when the budget of the user's day is.

    The built-in model is free. Calls of this stage that are not stored yet are counted, too.
    """
    settings = deps.settings
    run_limit = settings.budgets.run_max_tokens if isinstance(spender, Run) else None
    is_trial = isinstance(spender, Run) and spender.kind == RunKind.TRIAL
    if is_trial or model.provider == FREE_PROVIDER:
        return  # a trial is an administrator's, not the user's
    version = spender.assistants_version if isinstance(spender, Run) else None
    budget = await read_budget(deps.db, settings, spender.user_id, version)
    if run_limit is None and budget.is_unlimited:
        return
    row = await deps.db.row(queries.spent, spender.id, spender.user_id, _unsaved(spender.log.calls))
    assert row is not None
    if run_limit is not None and row["run_tokens"] >= run_limit:
        used = f"has used {row['run_tokens']:,} of {run_limit:,} tokens"
        raise OverBudget("over_budget", f"MAAS_RUN_MAX_TOKENS: this run {used}")
    tokens, dollars = row["tokens_today"], row["price_today"] / MICRO_DOLLARS
    if (cause := _spent_budget(budget, tokens, dollars)) is not None:
        spender.log.limited = LIMITED
        raise DayBudgetSpent("over_budget", cause)


def _spent_budget(budget: Budget, tokens: int, dollars: float) -> str | None:
    """Which limit of a day is reached, and by what; None for none."""
    if budget.daily_tokens is not None and tokens >= budget.daily_tokens:
        name = "user_budgets.daily_tokens" if budget.is_set else "MAAS_USER_DAILY_TOKENS"
        return f"{name}: this user today has used {tokens:,} of {budget.daily_tokens:,} tokens"
    if budget.daily_dollars is not None and dollars >= budget.daily_dollars:
        name = "user_budgets.daily_dollars" if budget.is_set else "MAAS_USER_DAILY_DOLLARS"
        return f"{name}: this user today has used {dollars:.4f} of {budget.daily_dollars:.4f} dollars"
    return None


def spent_answer(run: Run, settings: Settings, language: Literal["ru", "en"]) -> str:
    """The answer of a run whose user has used up the daily budget."""
    renewed_at = next_day(settings).astimezone(settings.engine.zone)
    moment = f"{renewed_at:%H:%M} ({settings.engine.timezone})"
    return SENTENCES[language].format(time=moment, done=DONE[language] if run.log.tools else "")


def _unsaved(calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    fields = ("provider", "model", "tokens_in", "tokens_out", "cached", "images")
    return [{name: call.get(name) for name in fields} for call in calls]
