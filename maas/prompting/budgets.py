"""Budgets: what one run may use, and what one user may use in a day, in tokens and in dollars.

A day begins at midnight in MAAS_TIMEZONE. Before each model call the sums are read; without a budget nothing is read.
Nothing is locked for that, so calls that are in flight when a budget is spent are still counted: a user exceeds it by
at most what the calls in flight at that moment use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol
from uuid import UUID

from maas import queries
from maas.engine.run import Run, StageLog
from maas.engine.spending import MICRO_DOLLARS, next_day
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
    """Raises OverBudget when MAAS_RUN_MAX_TOKENS is reached, DayBudgetSpent when a budget of the user's day is.

    The built-in model is free. Calls of this stage that are not stored yet are counted, too.
    """
    settings = deps.settings
    run_limit = settings.budgets.run_max_tokens if isinstance(spender, Run) else None
    if isinstance(spender, Run) and spender.kind == RunKind.TRIAL:
        return  # an administrator's, not the user's
    max_tokens, max_dollars = settings.budgets.user_daily_tokens, settings.budgets.user_daily_dollars
    if (run_limit, max_tokens, max_dollars) == (None, None, None) or model.provider == FREE_PROVIDER:
        return
    row = await deps.db.row(queries.spent, spender.id, spender.user_id, _unsaved(spender.log.calls))
    assert row is not None
    if run_limit is not None and row["run_tokens"] >= run_limit:
        used = f"has used {row['run_tokens']:,} of {run_limit:,} tokens"
        raise OverBudget("over_budget", f"MAAS_RUN_MAX_TOKENS: this run {used}")
    tokens, dollars = row["tokens_today"], row["price_today"] / MICRO_DOLLARS
    cause = None
    if max_tokens is not None and tokens >= max_tokens:
        cause = f"MAAS_USER_DAILY_TOKENS: this user today has used {tokens:,} of {max_tokens:,} tokens"
    elif max_dollars is not None and dollars >= max_dollars:
        cause = f"MAAS_USER_DAILY_DOLLARS: this user today has used {dollars:.4f} of {max_dollars:.4f} dollars"
    if cause is not None:
        spender.log.limited = LIMITED
        raise DayBudgetSpent("over_budget", cause)


def spent_answer(run: Run, settings: Settings, language: Literal["ru", "en"]) -> str:
    """The answer of a run whose user has used up the daily budget."""
    renewed_at = next_day(settings).astimezone(settings.engine.zone)
    moment = f"{renewed_at:%H:%M} ({settings.engine.timezone})"
    return SENTENCES[language].format(time=moment, done=DONE[language] if run.log.tools else "")


def _unsaved(calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    fields = ("provider", "model", "tokens_in", "tokens_out", "cached", "images")
    return [{name: call.get(name) for name in fields} for call in calls]
