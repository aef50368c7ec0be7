"""Models inside tools: what a tool asks of a model is a call of its run, in the ledger and within the budgets."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from maas.conversations.language import dialogue_language
from maas.engine.run import Run
from maas.engine.stages import Deps, Prompt
from maas.prompt_rows import PromptLanguage
from maas.prompting.budgets import DayBudgetSpent, spent_answer
from maas.prompting.model_calls import ask, draw_image, pin
from maas.prompting.now import with_now
from maas.prompting.prompts import prompt_language
from maas.tools.calls import ToolFailure
from shared.errors import MaasError
from shared.models import Image, Reply, Request

STAGE = "final_responder"  # in which tools run
ASKING, DRAWING = Prompt("Tool", "", 0), Prompt("Image", "", 0)
BUDGET_SPENT = "the user's budget for today is spent, no model was asked: answer without it"


@dataclass(frozen=True, slots=True)
class RunModels:
    """The models of one claimed run. `deadline` is that of the answer by the monotonic clock; None without one."""

    run: Run
    deps: Deps
    deadline: float | None = None

    async def ask(self, request: Request, model: str | None, timeout: float) -> Reply:
        """The reply is stored at once, so that a repeated read gets the same one. Raises MaasError, LostRun."""
        deps = self.deps.with_responder_model(model)
        if (chosen := deps.models.roles.get(request.role)) is None:
            raise MaasError("no_model", f"there is no role {request.role!r}; roles are {', '.join(deps.models.roles)}")
        if chosen.provider == deps.models.builtin.provider:
            raise MaasError("no_model", "the built-in model only quotes memory: configure a model that tools can ask")
        request = await with_now(request, self.run, self.deps)
        try:
            return await ask(self.run, deps, STAGE, ASKING, request, self._seconds(timeout))
        except DayBudgetSpent as error:
            raise await self._spent() from error
        finally:
            await pin(self.run, self.deps)

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Raises MaasError, LostRun."""
        try:
            return await draw_image(self.run, self.deps, STAGE, DRAWING, prompt, photo, self._seconds(timeout))
        except DayBudgetSpent as error:
            raise await self._spent() from error
        finally:
            await pin(self.run, self.deps)

    async def prompt_language(self) -> PromptLanguage:
        """The language of the prompts of the run's assistant."""
        return await prompt_language(self.deps, self.run.assistant, self.run.assistants_version)

    def _seconds(self, timeout: float) -> float:
        return timeout if self.deadline is None else min(timeout, self.deadline - monotonic())

    async def _spent(self) -> ToolFailure:
        run, deps = self.run, self.deps
        spoken = await dialogue_language(deps.db, run.id, "auto", run.user_query)
        return ToolFailure(BUDGET_SPENT, spent_answer(run, deps.settings, spoken))
