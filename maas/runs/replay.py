"""Replay: run the stages of a finished run again on their recorded input, with today's prompts. Nothing is written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import unified_diff
from typing import Any, Literal
from uuid import UUID

from maas import queries
from maas.engine.drafts import Draft, Payload
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, Stage
from maas.engine.states import ROLE_OF, Status
from maas.prompting.prompts import prompt_language, read_prompts, read_role_name, role_text
from maas.runs.submit import read_run_row
from shared.db import Database
from shared.errors import MaasError
from shared.models import Model
from shared.text import sentences

STATUS_OF = {  # the status in which each stage runs
    "analyzer": Status.ANALYZING,
    "assembler": Status.ASSEMBLING,
    "final_responder": Status.RESPONDING,
    "archivist": Status.COMPLETED,
}
Column = Literal["analysis_result", "final_context_payload", "final_answer"]
COLUMN_OF: Mapping[str, Column] = {  # the column that each stage writes
    "analyzer": "analysis_result",
    "assembler": "final_context_payload",
    "final_responder": "final_answer",
}
FINISHED = 2  # queue state
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage wrote, as text, and its model calls in all.

    `ms` are milliseconds; `price` is in millionths of a dollar, None when the price of a call is unknown.
    """

    wrote: str | None
    is_degraded: bool
    error: str | None
    models: tuple[str, ...]
    prompt_version: int | None
    requests: int
    tokens_in: int
    tokens_out: int
    ms: float
    price: int | None


@dataclass(frozen=True, slots=True)
class Replay:
    """The results of a stage then and now.

    `is_prompt_changed`, `is_same_request`: None where that is unknown. `notes`: how its input differs from the recorded
    one.
    """

    stage: str
    role: str
    then: StageResult
    now: StageResult
    is_prompt_changed: bool | None
    is_same_request: bool | None
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether the stage wrote the same text again."""
        return self.now.wrote is not None and self.then.wrote == self.now.wrote

    def diff(self) -> list[str]:
        """The lines of a unified diff; none when both texts are equal."""
        then, now = ((result.wrote or "").splitlines() for result in (self.then, self.now))
        return list(unified_diff(then, now, "then", "now", n=2, lineterm=""))

    def to_json(self) -> dict[str, Any]:
        """Return all fields, `is_same` and the lines of the diff."""
        return asdict(self) | {"is_same": self.is_same, "diff": self.diff()}


async def replay(
    deps: Deps, stages: Mapping[str, Stage], run_id: UUID, only: str | None = None, model: Model | None = None
) -> list[Replay]:
    """Replay each stage that calls a model, or `only` one; `model` replaces the model of the stage.

    Raises MaasError: `bad_parameter`, `not_found`, `not_finished`, `not_replayable`.
    """
    check_stage(only)
    row = await read_run_row(deps.db, run_id)
    if row["kind"] != "ask":
        raise MaasError(
            "not_replayable",
            f"run {run_id} is of kind {row['kind']}; only what was asked can be replayed, `maas runs` shows the kinds",
        )
    if row["lane"] != FINISHED:
        raise MaasError(
            "not_finished",
            f"run {run_id} is {row['status']}, archive {row['archive_status']}; replay it when it is "
            f"finished, `maas trace {run_id}` shows what it waits for",
        )
    if (row["analysis_result"] or {}).get("answer") is not None:
        raise MaasError(
            "not_replayable", f"run {run_id} is a command about notes: no model was asked, there is nothing to replay"
        )
    reached = [stage for stage in ROLE_OF if await _has_begun(deps.db, row, stage)]
    chosen = [stage for stage in reached if only in (None, stage)]
    if not chosen:
        raise MaasError(
            "not_replayable",
            f"run {run_id} has nothing to replay for {only or 'any stage'}: it was not reached, or "
            f"its words were forgotten; what there is: {', '.join(reached) or 'nothing'}",
        )
    replays = (_replay(_with_model(deps, stage, model), stages[stage], row, stage) for stage in chosen)
    return list(await asyncio.gather(*replays))


def check_stage(name: str | None) -> None:
    """Raises MaasError('bad_parameter') for a stage that calls no model."""
    if name is not None and name not in ROLE_OF:
        raise MaasError("bad_parameter", f"--stage: {name!r} asks no model; stages are {', '.join(ROLE_OF)}")


def _with_model(deps: Deps, stage: str, model: Model | None) -> Deps:
    """A copy in which `model` has the role of the stage, without a fallback; unchanged for None."""
    return deps if model is None else deps.with_models({ROLE_OF[stage]: model})


async def _has_begun(db: Database, row: queries.RunRow, stage: str) -> bool:
    match stage:
        case "analyzer":
            return row["analyzing_at"] is not None
        case "assembler":
            return row["draft_context"] is not None
        case "final_responder":
            return row["final_context_payload"] is not None
        case _:
            return row["completed_at"] is not None and bool(await db.rows(queries.recorded_exchange, row["id"]))


async def _replay(deps: Deps, stage: Stage, row: queries.RunRow, name: str) -> Replay:
    calls = await deps.db.rows(queries.stage_calls, row["id"], name)
    run, is_changed, notes = await _rebuild_run(deps, row, name)
    outcome, error = Outcome(), None
    try:
        outcome = await stage(run, deps)
    except MaasError as failure:
        error = str(failure)
    then = _sum_up(
        calls, await _recorded(deps.db, row, name), ROLE_OF[name] in row["degraded"], _error(row, name, calls)
    )
    is_degraded = bool(outcome.degraded or (outcome.record or {}).get("degraded"))
    priced = [call | {"price": await _price(deps.db, call)} for call in run.log.calls]
    now = _sum_up(priced, _text_of(outcome), is_degraded, error)
    if is_changed is None and then.prompt_version is not None and now.prompt_version is not None:
        is_changed = then.prompt_version != now.prompt_version
    hashes = [[call.get("request_hash") for call in some[:1]] for some in (calls, run.log.calls)]
    is_same = hashes[0] == hashes[1] if then.models == now.models and all(any(one) for one in hashes) else None
    return Replay(name, ROLE_OF[name], then, now, is_changed, is_same, notes)


async def _rebuild_run(deps: Deps, row: queries.RunRow, stage: str) -> tuple[Run, bool | None, tuple[str, ...]]:
    """The run as the stage saw it, with today's prompt; whether the prompt has changed, None if unknown; notes."""
    db, language = deps.db, await prompt_language(deps, row["assistant"])
    run = Run(
        id=row["id"],
        attempt=row["attempt"],
        seq=row["seq"],
        kind=row["kind"],
        status=STATUS_OF[stage],
        user_id=row["user_id"],
        user_query=row["user_query"],
        assistant=row["assistant"],
        conversation_id=row["conversation_id"],
        created_at=row["created_at"],
        as_of=row["analyzing_at"],
    )
    match stage:
        case "analyzer":
            return run, None, ("it searches what was known when the run began, in records that were not merged",)
        case "assembler":
            draft = _draft(row)
            prompt = (await read_prompts(db, "Assembler", language=language))["Assembler"]
            today = replace(draft, instruction=prompt.text, instruction_version=prompt.version)
            run = replace(run, analysis=row["analysis_result"], draft=today)
            return run, prompt.text != draft.instruction, ("today's text of Assembler stands in the recorded draft",)
        case "final_responder":
            assert row["final_context_payload"] is not None
            draft, payload = _draft(row), Payload.parse(row["final_context_payload"])
            name = await read_role_name(db, row["assistant"], row["user_id"])
            prompts = await read_prompts(db, "FinalResponder", name, language=language)
            role = role_text(prompts, name)
            run = replace(
                run,
                analysis=row["analysis_result"],
                draft=replace(draft, role=role, role_version=prompts["FinalResponder"].version),
                payload=replace(payload, system=draft.system(role)),
            )
            note = f"today's texts of FinalResponder and {name} stand in the recorded payload"
            return run, draft.system(role) != payload.system, (note,)
        case _:
            run = replace(
                run, analysis=row["analysis_result"], draft=row["draft_context"], payload=row["final_context_payload"]
            )
            return run, None, ()


def _draft(row: queries.RunRow) -> Draft:
    assert row["draft_context"] is not None
    return Draft.parse(row["draft_context"])


async def _price(db: Database, call: Row) -> int | None:
    """What a call costs at the prices of today."""
    price: int | None = await db.value(
        queries.price, call["provider"], call["model"], call["tokens_in"], call.get("cached") or 0, call["tokens_out"]
    )
    return price


async def _recorded(db: Database, row: queries.RunRow, stage: str) -> str | None:
    """What the stage wrote then, in the form of `_text_of`."""
    if stage == "analyzer":
        return None if row["analysis_result"] is None else _analysis_text(row["analysis_result"])
    if stage != "archivist":
        text: str | None = row[COLUMN_OF[stage]]
        return text
    record = await db.row(queries.recorded_record, row["id"])
    return None if record is None else _record_text(record["tags"] or [], record["summary"] or "")


def _error(row: queries.RunRow, stage: str, calls: Sequence[queries.StageCallsRow]) -> str | None:
    """Why the stage failed then, or the built-in model stood in."""
    errors = [str(call["error"]) for call in calls if call["error"]]
    if errors:
        return errors[-1]
    is_last = row["status"] == Status.FAILED and stage != "archivist" and row[COLUMN_OF[stage]] is None
    return f"{row['error_code']}: {row['error_message']}" if is_last else None


def _sum_up(calls: Sequence[Row], wrote: str | None, is_degraded: bool, error: str | None) -> StageResult:
    """From rows of llm_calls, or records of calls that are not stored. `error` is used before those of the calls."""
    prices = [call["price"] for call in calls]
    return StageResult(
        wrote=wrote,
        is_degraded=is_degraded,
        error=error or next((str(call["error"]) for call in reversed(calls) if call.get("error")), None),
        models=tuple(
            dict.fromkeys(f"{call['provider']}:{call['model']}" for call in calls if call["finish"] != "skipped")
        ),
        prompt_version=calls[-1]["prompt_version"] if calls else None,
        requests=sum(call["attempts"] for call in calls),
        tokens_in=sum(call["tokens_in"] for call in calls),
        tokens_out=sum(call["tokens_out"] for call in calls),
        ms=round(sum(call["ms"] for call in calls), 2),
        price=None if None in prices else sum(prices),
    )


def _text_of(outcome: Outcome) -> str | None:
    """What a stage wrote, as text that can be compared; None when it wrote nothing."""
    if outcome.analysis is not None:
        return _analysis_text(outcome.analysis)
    if outcome.record is not None:
        return _record_text(outcome.record["tags"], outcome.record["summary"])
    return outcome.wrote


def _analysis_text(analysis: Row) -> str:
    """One field a line, in a fixed order."""
    return json.dumps(analysis, ensure_ascii=False, indent=1, sort_keys=True, default=str)


def _record_text(tags: Sequence[str], summary: str) -> str:
    """One sentence a line, so that a diff shows the sentences that differ."""
    return "\n".join([f"tags: {', '.join(tags)}", *sentences(summary)]) if summary else "(small talk: no record)"
