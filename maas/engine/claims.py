"""Claims: runs as an orchestrator holds them, and the writes that advance, finish or release them.

Every write is fenced by the owner number and the attempt: when another orchestrator has taken a run over, it changes
nothing and raises LostRun.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

import structlog

from maas import queries
from maas.engine.run import LostRun, Outcome, Run, StageLog
from maas.engine.states import Status
from shared.db import Database
from shared.group_commit import BAD_DATA, GroupCommit

EndKind = Literal["archived", "archive_failed", "failed", "released", "deferred"]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ClaimEnd:
    """How a claim ended; the next step writes it. `code`, `message`: why it failed or was deferred, for the client."""

    run: Run
    kind: EndKind
    record: dict[str, Any] = field(default_factory=dict)
    code: str | None = None
    message: str | None = None
    wait: float | None = None
    time_left: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the item of `maas_step` that ends the claim."""
        return {
            "id": str(self.run.id),
            "attempt": self.run.attempt,
            "outcome": self.kind,
            "code": self.code,
            "message": self.message,
            "item": self.record,
            "calls": self.run.log.calls,
            "wait": self.wait,
            "time_left": self.time_left,
            "limited": self.run.log.limited,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one step: runs that were claimed, and ids of runs in flight that are to be cancelled."""

    claimed: tuple[Run, ...]
    to_cancel: tuple[UUID, ...]
    has_more: bool


class Claims:
    """The claims of one owner, in the table pipeline_runs. With `is_quarantine` it claims quarantined runs only.

    `assistant_share`, `user_share`: the most runs of one assistant, and of one user, that it holds.
    """

    def __init__(
        self,
        db: Database,
        owner: int,
        statuses: Sequence[Status],
        is_quarantine: bool,
        assistant_share: int,
        user_share: int,
    ) -> None:
        self._db = db
        self._shares = (assistant_share, user_share)
        self._owner = owner
        self._statuses = [str(status) for status in statuses]
        self._is_quarantine = is_quarantine
        self._advances: GroupCommit[tuple[Run, Status, Outcome], tuple[bool, str] | None] = GroupCommit(
            self._advance_batch
        )

    async def step(self, capacity: int, ends: Sequence[ClaimEnd], held: Sequence[Run] = ()) -> Step:
        """Write the ends of claims and claim up to `capacity` runs beside those `held`, in one commit.

        An end that the database refuses to store fails alone: its run becomes FAILED with `bad_data`.
        """
        try:
            rows = await self._step(capacity, ends, held)
        except BAD_DATA:
            for end in ends:
                await self._end_one(end)
            rows = await self._step(capacity, (), held)
        for row in rows:
            if row["verdict"] == "cancelled":
                reason = {"code": row["error_code"], "cause": row["error_message"]}
                log.warning("run_failed", run_id=str(row["id"]), status=Status.FAILED, **reason)
        return Step(
            claimed=tuple(Run.from_row(row) for row in rows if row["verdict"] == "claimed"),
            to_cancel=tuple(row["id"] for row in rows if row["verdict"] == "cancel"),
            has_more=any(row["verdict"] == "more" for row in rows),
        )

    async def _step(self, capacity: int, ends: Sequence[ClaimEnd], held: Sequence[Run] = ()) -> list[queries.StepRow]:
        return await self._db.rows(
            queries.step,
            self._owner,
            self._statuses,
            capacity,
            [end.to_json() for end in ends],
            self._is_quarantine,
            [run.assistant for run in held],
            [run.user_id for run in held],
            *self._shares,
        )

    async def _end_one(self, end: ClaimEnd) -> None:
        try:
            await self._step(0, [end])
        except BAD_DATA as error:
            about = {"run_id": str(end.run.id), "status": end.run.status, "outcome": end.kind}
            log.error("outcome_refused", **about, cause=str(error))
            run = replace(end.run, log=StageLog())
            if run.status is Status.COMPLETED:
                await self._step(0, [ClaimEnd(run, "archive_failed")])
            else:
                await self._step(0, [ClaimEnd(run, "failed", code="bad_data", message="its outcome cannot be stored")])

    async def advance(self, run: Run, status: Status, outcome: Outcome) -> tuple[Run, bool]:
        """Write the outcome and the next status; the run as it is then, and whether its end was requested.

        Raises LostRun.
        """
        result = await self._advances.submit((run, status, outcome))
        if result is None:
            raise LostRun
        is_cancelled, version = result
        return run.advanced(status, outcome, version), is_cancelled

    async def _advance_batch(self, items: list[tuple[Run, Status, Outcome]]) -> list[tuple[bool, str] | None]:
        runs = [run for run, _, _ in items]
        outcomes = [outcome for _, _, outcome in items]
        rows = await self._db.rows(
            queries.advance,
            self._owner,
            [run.id for run in runs],
            [run.attempt for run in runs],
            [status for _, status, _ in items],
            _column([o.wrote for o in outcomes]),
            _column([None if o.sources is None else json.dumps(o.sources, default=str) for o in outcomes]),
            _column([o.degraded for o in outcomes]),
            [call for run in runs for call in run.log.calls],
            [{"run_id": str(run.id), **message} for run in runs for message in run.log.messages],
            _column([run.log.limited for run in runs]),
            _column([",".join(sorted(run.log.memory_reasons)) or None for run in runs]),
            _column([None if o.searched is None else json.dumps(o.searched) for o in outcomes]),
        )
        moved = {row["id"]: (bool(row["is_cancelled"]), row["assistants_version"]) for row in rows}
        return [moved.get(run.id) for run in runs]

    async def archive_exchange(self, run: Run, record: dict[str, Any]) -> Run:
        """Record one imported exchange; the run, ready for the next one. Raises LostRun."""
        is_stored = await self._db.value(
            queries.archive_exchange, self._owner, run.id, run.attempt, record, run.log.calls
        )
        if not is_stored:
            raise LostRun
        # Calls that an earlier owner stored belong to the exchange that it had come to: there is nothing more to read.
        return replace(run, log=StageLog(earlier=[]))


def _column(values: list[str | None]) -> list[str | None] | None:
    """None for a column that is empty throughout: arrays are the main cost of a batch."""
    return values if any(value is not None for value in values) else None
