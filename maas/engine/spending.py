"""Spending: the tokens and dollars that the model calls of one user took, and the budgets of a day."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from maas import queries
from maas.settings import Settings
from shared.db import Database

MICRO_DOLLARS = 1_000_000  # of a dollar
SUM_INTERVAL_S = 60.0
SUM_PAUSE_S = 0.05  # between transactions, so that requests are not held up


@dataclass(frozen=True, slots=True)
class Budget:
    """What a user may use in a day; None for no limit. `is_set`: by an operator, instead of the settings."""

    daily_tokens: int | None
    daily_dollars: float | None
    is_set: bool

    @property
    def is_unlimited(self) -> bool:
        return self.daily_tokens is None and self.daily_dollars is None


@dataclass(frozen=True, slots=True)
class Spending:
    """What a user has used, and may use in a day; None for no limit. `renewed_at` is when the next day begins."""

    tokens_today: int
    dollars_today: float
    tokens: int
    dollars: float
    daily_tokens: int | None
    daily_dollars: float | None
    renewed_at: datetime

    @property
    def is_spent(self) -> bool:
        """Whether no further model call is made today."""
        return (self.daily_tokens is not None and self.tokens_today >= self.daily_tokens) or (
            self.daily_dollars is not None and self.dollars_today >= self.daily_dollars
        )


async def keep_summing(db: Database) -> None:
    """Add finished runs to the sums of days until cancelled; of several processes one at a time does so."""
    while True:
        await sum_runs(db)
        await asyncio.sleep(SUM_INTERVAL_S * (0.5 + random.random()))


async def sum_runs(db: Database) -> None:
    """Add to the sums of days what is due, thousands of runs in a transaction."""
    while await db.long_value(queries.sum_runs):
        await asyncio.sleep(SUM_PAUSE_S)


async def read_budget(db: Database, settings: Settings, user_id: UUID, version: str | None = None) -> Budget:
    """The budget that operators have set for this user, else for all, else that of the settings.

    With the version of assistants and prompts, which what is set makes anew, it is read once for each.
    """
    rows = await db.shared_rows(queries.budget, user_id, version=version)
    if not rows:
        return Budget(settings.budgets.user_daily_tokens, settings.budgets.user_daily_dollars, is_set=False)
    row = rows[0]
    return Budget(row["daily_tokens"], row["daily_dollars"], is_set=True)


async def read_spending(db: Database, settings: Settings, user_id: UUID, budget: Budget | None = None) -> Spending:
    """What a user has used; zeros for a user for whom no model was asked. `budget`: the user's, if it was read."""
    row = await db.row(queries.spending, user_id) or {"tokens_today": 0, "price_today": 0, "tokens": 0, "price": 0}
    budget = budget or await read_budget(db, settings, user_id)
    return Spending(
        row["tokens_today"],
        row["price_today"] / MICRO_DOLLARS,
        row["tokens"],
        row["price"] / MICRO_DOLLARS,
        budget.daily_tokens,
        budget.daily_dollars,
        next_day(settings),
    )


def next_day(settings: Settings, now: datetime | None = None) -> datetime:
    """When the next day begins in MAAS_TIMEZONE, in UTC."""
    today = (now or datetime.now(UTC)).astimezone(settings.engine.zone).date()
    return datetime.combine(today + timedelta(days=1), time(), settings.engine.zone).astimezone(UTC)
