"""Budgets: when a day ends, what is spent, and that the built-in model needs none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest

from maas.engine.run import Run
from maas.engine.spending import Spending, next_day
from maas.engine.stages import Deps, RoleModels
from maas.engine.states import Status
from maas.prompting.budgets import check_budget, spent_answer
from maas.settings import load_settings
from shared.db import Database
from shared.models import Model

RUN = Run(
    id=UUID(int=1),
    attempt=1,
    seq=1,
    kind="ask",
    status=Status.RESPONDING,
    user_id=UUID(int=2),
    user_query="Hi",
    assistant="mentor",
    conversation_id=None,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NONE = Spending(100, 1.0, 100, 1.0, None, None, NOW)


class Named:
    """A model that costs something."""

    provider, name = "openai", "gpt"


@pytest.mark.parametrize(
    ("zone", "now", "expected"),
    [
        ("UTC", "2026-11-23T23:59:59+00:00", "2026-11-24T00:00:00+00:00"),
        ("Asia/Tokyo", "2026-11-23T14:59:59+00:00", "2026-11-23T15:00:00+00:00"),
        ("Asia/Tokyo", "2026-11-23T15:00:00+00:00", "2026-11-24T15:00:00+00:00"),
        ("Europe/Berlin", "2026-10-24T22:30:00+00:00", "2026-10-25T23:00:00+00:00"),  # a day of 25 hours
        ("Europe/Berlin", "2026-03-28T23:30:00+00:00", "2026-03-29T22:00:00+00:00"),  # a day of 23 hours
    ],
)
def test_a_day_ends_at_midnight_of_its_zone(zone: str, now: str, expected: str) -> None:
    end = next_day(load_settings(timezone=zone), datetime.fromisoformat(now))
    assert end == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("tokens", "dollars", "is_spent"),
    [
        (None, None, False),
        (101, None, False),
        (100, None, True),
        (None, 1.01, False),
        (None, 1.0, True),
        (1, 99.0, True),
    ],
)
def test_a_budget_is_spent_when_it_is_reached(tokens: int | None, dollars: float | None, is_spent: bool) -> None:
    assert replace(NONE, daily_tokens=tokens, daily_dollars=dollars).is_spent is is_spent


async def test_for_the_built_in_model_nothing_is_read() -> None:
    """There is no database to read; the built-in model is free whatever the budgets are."""
    nowhere = cast(Database, None)
    free = cast(Any, type("Free", (), {"provider": "extractive", "name": "builtin"})())
    spent = load_settings(user_daily_tokens=1, user_daily_dollars=0.1, run_max_tokens=1)
    await check_budget(RUN, Deps(nowhere, spent, RoleModels({}, cast(Model, free))), free)
    with pytest.raises(AttributeError):
        await check_budget(RUN, Deps(nowhere, spent, RoleModels({}, cast(Model, free))), Named())


def test_the_answer_names_the_moment() -> None:
    settings = load_settings(timezone="Europe/Moscow")
    assert "renewed at 00:00 (Europe/Moscow)" in spent_answer(RUN, settings, "en")
    assert "обновится в 00:00 (Europe/Moscow)" in spent_answer(RUN, settings, "ru")
