"""What a stage is: one async function over a run, and the few things that it may use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from maas.pipeline.events import EventLog, RunEvents
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Outcome, Run
from shared.db import Database
from shared.models.images import Images
from shared.models.questions import Questions
from shared.models.registry import NamedModels
from shared.models.types import Model, Reply, Request
from shared.settings import Settings


class Dialogues(Protocol):
    """Who lets a model call tools."""

    async def answer(
        self, run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None
    ) -> Reply | None:
        """The reply in words; None when the assistant of this run has no tools. Raises MaasError, LostRun.

        `events` are told what happens; without them, in a replay, no tool may act.
        """
        ...

    async def act(self, run: Run, deps: Deps, events: RunEvents) -> Outcome:
        """Execute the action that the user approved, once, and tell what came of it. Raises MaasError, LostRun."""
        ...


@dataclass(frozen=True, slots=True)
class Deps:
    """What a stage may use: the database, the model of each role, who stands in for it, the built-in one, vectors.

    `events` tells who follows a run what it says; None where nobody may follow. `dialogues` answer for assistants that
    have tools. `images` draw; None where nobody is configured for that. `named` are models that a definition names.
    """

    db: Database
    settings: Settings
    models: Mapping[str, Model]
    rules: Model
    questions: Questions | None = None
    fallbacks: Mapping[str, Model] = field(default_factory=dict)
    events: EventLog | None = None
    dialogues: Dialogues | None = None
    images: Images | None = None
    named: NamedModels | None = None

    def spoken_by(self, model: str | None) -> Deps:
        """The same with this `provider:model` as the Responder's; the configured one for None. Raises MaasError."""
        if model is None or self.named is None:
            return self
        return replace(self, models={**self.models, "FinalResponder": self.named.get(model)})


Stage = Callable[[Run, Deps], Awaitable[Outcome]]
Chore = Callable[[], Coroutine[Any, Any, None]]
