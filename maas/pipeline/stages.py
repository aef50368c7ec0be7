"""What a stage is: one async function over a run, and the few things that it may use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from maas.pipeline.events import EventLog
from maas.pipeline.runs import Outcome, Run
from shared.db import Database
from shared.models.questions import Questions
from shared.models.types import Model
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class Deps:
    """What a stage may use: the database, the model of each role, who stands in for it, the built-in one, vectors.

    `events` tells who follows a run what it says; None where nobody may follow.
    """

    db: Database
    settings: Settings
    models: Mapping[str, Model]
    rules: Model
    questions: Questions | None = None
    fallbacks: Mapping[str, Model] = field(default_factory=dict)
    events: EventLog | None = None


Stage = Callable[[Run, Deps], Awaitable[Outcome]]
Chore = Callable[[], Coroutine[Any, Any, None]]
