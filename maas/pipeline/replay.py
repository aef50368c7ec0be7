"""A finished run's stages once more, on what they read then, with today's prompts: nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import unified_diff
from typing import Any
from uuid import UUID

from maas.pipeline.draft import Draft, Payload
from maas.pipeline.prompts import read_prompts, read_role_name, role_text
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps, Stage
from maas.pipeline.states import ROLE_OF, Status
from maas.pipeline.submissions import read_run
from maas.pipeline.work import Work, analysis_text, measure, record_text, written
from shared.db import Database
from shared.errors import MaasError
from shared.models.types import Model

BEGINS = {
    "analyzer": Status.ANALYZING,
    "assembler": Status.ASSEMBLING,
    "final_responder": Status.RESPONDING,
    "archivist": Status.COMPLETED,
}
COLUMN = {
    "analyzer": "analysis_result",
    "assembler": "final_context_payload",
    "final_responder": "final_answer",
}
FINISHED = 2
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """A stage then and now. `notes`: what of today was put into its recorded input, and what could not be as it was."""

    stage: str
    role: str
    then: Work
    now: Work
    is_prompt_changed: bool | None
    is_same_request: bool | None
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        return self.now.wrote is not None and self.then.wrote == self.now.wrote

    def diff(self) -> list[str]:
        """The lines of a unified diff; none when both are the same."""
        then, now = ((work.wrote or "").splitlines() for work in (self.then, self.now))
        return list(unified_diff(then, now, "then", "now", n=2, lineterm=""))

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"is_same": self.is_same, "diff": self.diff()}


async def replay(
    deps: Deps, stages: Mapping[str, Stage], run_id: UUID, only: str | None = None, model: Model | None = None
) -> list[Replay]:
    """Each stage that asks a model, or `only` one, from its recorded input; `model` in the place of its own.

    Raises MaasError that says what to do.
    """
    check_stage(only)
    row = await read_run(deps.db, run_id)
    if row["kind"] != "ask":
        raise MaasError(
            "not_replayable",
            f"run {run_id} is of kind {row['kind']}; only what was asked can be replayed, `maas runs` shows the kinds",
        )
    if row["lane"] != FINISHED:
        raise MaasError(
            "not_finished", f"run {run_id} is {row['status']}, archive {row['archive_status']}; replay it when it is "
            f"finished, `maas trace {run_id}` shows what it waits for",
        )  # fmt: skip
    if (row["analysis_result"] or {}).get("answer") is not None:
        raise MaasError(
            "not_replayable", f"run {run_id} is a command about notes: no model was asked, there is nothing to replay"
        )
    reached = [stage for stage in ROLE_OF if await _has_begun(deps.db, row, stage)]
    chosen = [stage for stage in reached if only in (None, stage)]
    if not chosen:
        raise MaasError(
            "not_replayable", f"run {run_id} has nothing to replay for {only or 'any stage'}: it was not reached, or "
            f"its words were forgotten; what there is: {', '.join(reached) or 'nothing'}",
        )  # fmt: skip
    return list(await asyncio.gather(*(_replay(_cast(deps, one, model), stages[one], row, one) for one in chosen)))


def check_stage(name: str | None) -> None:
    """Raises MaasError('bad_parameter') for a stage that asks no model."""
    if name is not None and name not in ROLE_OF:
        raise MaasError("bad_parameter", f"--stage: {name!r} asks no model; stages are {', '.join(ROLE_OF)}")


def _cast(deps: Deps, stage: str, model: Model | None) -> Deps:
    """With the model in the role of the stage, and nobody to stand in for it."""
    if model is None:
        return deps
    role = ROLE_OF[stage]
    fallbacks = {name: one for name, one in deps.fallbacks.items() if name != role}
    return replace(deps, models={**deps.models, role: model}, fallbacks=fallbacks)


async def _has_begun(db: Database, row: Row, stage: str) -> bool:
    match stage:
        case "analyzer":
            return row["analyzing_at"] is not None
        case "assembler":
            return row["draft_context"] is not None
        case "final_responder":
            return row["final_context_payload"] is not None
        case _:
            return row["completed_at"] is not None and bool(await db.rows("recorded_exchange", row["id"]))


async def _replay(deps: Deps, stage: Stage, row: Row, name: str) -> Replay:
    calls = await deps.db.rows("stage_calls", row["id"], name)
    run, is_changed, notes = await _begin(deps.db, row, name)
    outcome, error = Outcome(), None
    try:
        outcome = await stage(run, deps)
    except MaasError as failure:
        error = str(failure)
    then = measure(
        calls, await _recorded(deps.db, row, name), ROLE_OF[name] in row["degraded"], _error(row, name, calls)
    )
    is_degraded = bool(outcome.degraded or (outcome.record or {}).get("degraded"))
    priced = [call | {"price": await _price(deps.db, call)} for call in run.calls]
    now = measure(priced, written(outcome), is_degraded, error)
    if is_changed is None and then.prompt_version is not None and now.prompt_version is not None:
        is_changed = then.prompt_version != now.prompt_version
    hashes = [[call.get("request_hash") for call in some[:1]] for some in (calls, run.calls)]
    is_same = hashes[0] == hashes[1] if then.models == now.models and all(any(one) for one in hashes) else None
    return Replay(name, ROLE_OF[name], then, now, is_changed, is_same, notes)


async def _begin(db: Database, row: Row, stage: str) -> tuple[Run, bool | None, tuple[str, ...]]:
    """The run as the stage saw it but for today's prompt; whether that is another, if its text tells; notes."""
    run = Run(
        id=row["id"], attempt=row["attempt"], seq=row["seq"], kind=row["kind"], status=BEGINS[stage],
        user_id=row["user_id"], user_query=row["user_query"], assistant=row["assistant"],
        conversation_id=row["conversation_id"], created_at=row["created_at"], as_of=row["analyzing_at"],
    )  # fmt: skip
    match stage:
        case "analyzer":
            return run, None, ("it searches what was known when the run began, in records that were not merged",)
        case "assembler":
            run.analysis = row["analysis_result"]
            draft = Draft.parse(row["draft_context"])
            prompt = (await read_prompts(db, "Assembler"))["Assembler"]
            run.draft = replace(draft, instruction=prompt.text, instruction_version=prompt.version).render()
            return run, prompt.text != draft.instruction, ("today's text of Assembler stands in the recorded draft",)
        case "final_responder":
            run.analysis = row["analysis_result"]
            draft, payload = Draft.parse(row["draft_context"]), Payload.parse(row["final_context_payload"])
            name = await read_role_name(db, row["assistant"])
            prompts = await read_prompts(db, "FinalResponder", name)
            text = role_text(prompts, name)
            run.draft = replace(draft, role=text, role_version=prompts["FinalResponder"].version).render()
            run.payload = replace(payload, system=draft.system(text)).render()
            note = f"today's texts of FinalResponder and {name} stand in the recorded payload"
            return run, draft.system(text) != payload.system, (note,)
        case _:
            run.analysis, run.draft = row["analysis_result"], row["draft_context"]
            run.payload = row["final_context_payload"]
            return run, None, ()


async def _price(db: Database, call: Row) -> int | None:
    """At the prices of today."""
    price: int | None = await db.value(
        "price", call["provider"], call["model"], call["tokens_in"], call.get("cached") or 0, call["tokens_out"]
    )
    return price


async def _recorded(db: Database, row: Row, stage: str) -> str | None:
    """What the stage wrote then, as `written` shows it."""
    if stage == "analyzer":
        return None if row["analysis_result"] is None else analysis_text(row["analysis_result"])
    if stage != "archivist":
        text: str | None = row[COLUMN[stage]]
        return text
    record = await db.row("recorded_record", row["id"])
    return None if record is None else record_text(record["tags"] or [], record["summary"] or "")


def _error(row: Row, stage: str, calls: Sequence[Row]) -> str | None:
    """Why the stage wrote nothing, or came to its rules."""
    errors = [str(call["error"]) for call in calls if call["error"]]
    if errors:
        return errors[-1]
    is_last = row["status"] == Status.FAILED and stage != "archivist" and row[COLUMN[stage]] is None
    return f"{row['error_code']}: {row['error_message']}" if is_last else None
