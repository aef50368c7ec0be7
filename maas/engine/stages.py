"""The interface of a stage: an async function over a run, what it may use, and how its failures are reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from maas.engine.events import EventLog, RunEvents
from maas.engine.run import Outcome, Run
from maas.model_registry import ModelCache
from maas.settings import Settings
from shared.db import Database
from shared.errors import MaasError
from shared.models import Model, ModelError, Reply, Request
from shared.models.calls import QueryEmbedder
from shared.models.drawing import ImageModels

MODEL_ERROR_MESSAGES = {
    "timeout": "the model did not answer in time; ask again later",
    "too_slow": "the model did not finish in time; ask for something shorter",
    "unreachable": "the model cannot be reached at the moment; ask again later",
    "rate_limited": "the model is busy at the moment; ask again later",
    "provider_error": "the model's provider has a problem at the moment; ask again later",
    "unauthorized": "the model's provider rejects our access; an operator must correct the key",
    "unknown_model": "the model's provider does not know the model; an operator must correct its name",
    "bad_request": "the model's provider refused the request; an operator sees why in the trace",
    "context_exceeded": "the input is too long for the model; shorten the query",
    "filtered": "the model's provider refused to answer this; ask in other words",
    "malformed": "the model gave no usable answer; ask again",
    "reply_too_large": "the model's answer was too long; ask for something shorter",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of a role and its version, which each model call is recorded with; version 0 is the built-in text."""

    role: str
    text: str
    version: int


class AgentRuntime(Protocol):
    """Answers for assistants that have tools or agents."""

    async def answer(
        self, definition: Any, run: Run, deps: Deps, prompt: Prompt, request: Request, events: RunEvents | None
    ) -> Reply:
        """The last reply of the tool loop. Raises MaasError, LostRun.

        `definition` is the `maas.agents.definition.Definition` of the run's assistant. Tool calls are written to
        `events`; without them, in a replay, no tool may act.
        """
        ...

    async def act(self, run: Run, deps: Deps, events: RunEvents) -> Outcome:
        """Execute the action that the user approved, once, and answer with its result. Raises MaasError, LostRun."""
        ...

    async def work(self, run: Run, deps: Deps, events: RunEvents) -> Outcome:
        """Execute the steps of a task, each once, and answer with its report. Raises MaasError, LostRun."""
        ...


@dataclass(frozen=True, slots=True)
class RoleModels:
    """The model of each role, and what stands beside it.

    `builtin` needs no key. `fallbacks`: the substitutes of roles that have one. `named`: models that definitions of
    assistants name. `images` generates pictures; None where no image model is configured.
    """

    roles: Mapping[str, Model]
    builtin: Model
    fallbacks: Mapping[str, Model] = field(default_factory=dict)
    named: ModelCache | None = None
    images: ImageModels | None = None

    def __getitem__(self, role: str) -> Model:
        return self.roles[role]


@dataclass(frozen=True, slots=True)
class Deps:
    """What a stage may use.

    `query_embedder`: None where no embedding model is configured. `events`: None where nobody can follow a run.
    `runtime` answers for assistants with tools.
    """

    db: Database
    settings: Settings
    models: RoleModels
    query_embedder: QueryEmbedder | None = None
    events: EventLog | None = None
    runtime: AgentRuntime | None = None

    def with_models(self, models: Mapping[str, Model]) -> Deps:
        """A copy in which these models have their roles, without fallbacks."""
        fallbacks = {role: model for role, model in self.models.fallbacks.items() if role not in models}
        return replace(self, models=replace(self.models, roles={**self.models.roles, **models}, fallbacks=fallbacks))

    def with_responder_model(self, model: str | None) -> Deps:
        """A copy in which `model`, as `provider:model`, answers; None for the configured one. Raises MaasError."""
        if model is None or self.models.named is None:
            return self
        roles = {**self.models.roles, "FinalResponder": self.models.named.get(model)}
        return replace(self, models=replace(self.models, roles=roles))

    def is_by_rule(self, role: str) -> bool:
        """Whether the built-in model alone has a role: it reads the inputs of a request, not its text."""
        models = self.models
        return models[role].provider == models.builtin.provider and role not in models.fallbacks


Stage = Callable[[Run, Deps], Awaitable[Outcome]]


def failure_message(error: Exception) -> str:
    """The `error_message` of a failed run, which clients see.

    A model's error is replaced by a fixed text, since a provider's may contain keys, accounts and prompts. The whole
    cause is in the trace, in the rows of model calls and in the log.
    """
    if isinstance(error, ModelError):
        return MODEL_ERROR_MESSAGES.get(error.code, "the model failed; ask again later")
    if isinstance(error, MaasError):
        return error.message
    return f"an internal error ({type(error).__name__}); the log has the details"
