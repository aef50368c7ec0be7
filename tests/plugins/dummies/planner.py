"""It takes its model and its limits from settings."""

from __future__ import annotations

from maas.agents.definition import Definition, Limits
from maas.model_registry import model_or_default
from maas.settings import Settings


def define(settings: Settings) -> Definition:
    model = model_or_default(settings.models.archivist_model, "openai:gpt-5.2", settings)
    return Definition(
        name="planner", role_prompt="Mentor", model=model, limits=Limits(rounds=settings.answers.history_rows)
    )
