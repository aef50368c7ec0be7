"""Trials: runs that answer another run again from a stage on. Nothing of them is remembered.

Each stage sees the run that is answered again, at the time when that began, and the trial keeps its model calls.
"""

from __future__ import annotations

from dataclasses import replace

from maas import queries
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, Stage
from maas.engine.states import ROLE_OF, RunKind
from maas.prompting.prompts import prompt_language, read_prompts
from shared.errors import MaasError

TRIAL_VERSION = -1  # of a prompt text that is in no row
ASSEMBLER = "assembler"


def with_trials(name: str, stage: Stage) -> Stage:
    """The stage of this name, which also serves trials."""

    async def run_stage(run: Run, deps: Deps) -> Outcome:
        if run.kind != RunKind.TRIAL:
            return await stage(run, deps)
        trial = await read_trial(run, deps)
        tried = replace(
            run, id=trial["run_id"], seq=trial["seq"], created_at=trial["asked_at"], as_of=trial["began_at"]
        )
        if name == ASSEMBLER:
            tried = await _with_instruction(tried, deps, trial)
        try:
            return await stage(tried, with_tried_model(deps, trial, name))
        finally:
            for call in (*run.log.calls, run.log.interrupted or {}):
                call["run_id"] = str(run.id)  # of the trial, not of the run that the stage has seen

    return run_stage


async def read_trial(run: Run, deps: Deps) -> queries.TrialInputRow:
    """What is on trial in a run of kind `trial`. Raises MaasError('not_replayable')."""
    row = await deps.db.row(queries.trial_input, run.id)
    if row is None:
        raise MaasError("not_replayable", "the run that is answered again was erased; try another one")
    return row


def with_tried_model(deps: Deps, trial: queries.TrialInputRow, stage: str) -> Deps:
    """A copy in which the model on trial has the role of its stage, without a fallback. Raises MaasError."""
    if trial["model"] is None or trial["stage"] != stage or deps.models.named is None:
        return deps
    role = ROLE_OF[stage]
    return deps.with_models({role: deps.models.named.get(trial["model"], role)})


async def _with_instruction(run: Run, deps: Deps, trial: queries.TrialInputRow) -> Run:
    """The run with today's prompt of the Assembler in its draft, or the one that is on trial."""
    draft = await run.read_draft()
    if trial["text"] is not None and trial["stage"] == ASSEMBLER:
        return replace(run, draft=replace(draft, instruction=trial["text"], instruction_version=TRIAL_VERSION))
    prompts = await read_prompts(deps.db, "Assembler", language=await prompt_language(deps, run.assistant))
    prompt = prompts["Assembler"]
    return replace(run, draft=replace(draft, instruction=prompt.text, instruction_version=prompt.version))
