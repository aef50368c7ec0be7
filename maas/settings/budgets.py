"""Settings of budgets: what models may cost."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class BudgetSettings(BaseSettings):
    """Tokens and money that one user or one run may spend."""

    model_config = SOURCES

    user_daily_tokens: int | None = Field(
        None, ge=1, description="token budget of one user and day; once it is spent, rules answer; unset: none"
    )
    user_daily_dollars: float | None = Field(
        None, gt=0, description="budget of one user and day in dollars, by model_prices; then as above; unset: none"
    )
    run_max_tokens: int | None = Field(
        None, ge=1, description="token budget of one run; above it the run is FAILED; unset: none"
    )
