"""A run in an orchestrator's hands: claimed, moved on, given back. Every write is fenced by owner and attempt."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import structlog

from maas.pipeline.states import Status
from shared.db import BAD_DATA, Database
from shared.errors import MaasError
from shared.group_commit import GroupCommit

log = structlog.get_logger()
OutcomeWord = Literal["archived", "archive_failed", "failed", "released", "deferred"]


class LostRun(Exception):
    """The run was taken over by another orchestrator; its work here is dropped."""


class Deferred(Exception):
    """The run cannot go on for `wait` seconds, since its model is away: it keeps its status and its user's turn."""

    def __init__(self, wait: float, time_left: float, cause: MaasError) -> None:
        super().__init__(cause.message)
        self.wait = wait
        self.time_left = time_left
        self.cause = cause


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool that was made; `outcome` is done, or the code of its failure."""

    name: str
    outcome: str
    seconds: float


@dataclass(slots=True)
class Run:
    """What a stage may know of its run.

    `calls` holds model calls that are not stored yet, `pinned` those of this stage that are, `kept` those that an
    earlier owner stored, None before they are read; `round` is the number of the next. `waited`: seconds from insert to
    this claim, by the database's clock. `tools` are the calls of tools of this stage.
    `time_left`: after a wait for its model, the seconds that it had left for its answer when it was claimed.
    `as_of`: only in a replay of a finished run: when it began; nothing that is done now is kept.
    """

    id: UUID
    attempt: int
    seq: int
    kind: str
    status: Status
    user_id: UUID
    user_query: str
    assistant: str
    conversation_id: UUID | None
    created_at: datetime
    analysis: dict[str, Any] | None = None
    draft: str | None = None
    payload: str | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    pinned: list[dict[str, Any]] = field(default_factory=list)
    kept: list[Mapping[str, Any]] | None = None
    round: int = 0
    pinning: asyncio.Lock = field(default_factory=asyncio.Lock)
    waited: float | None = None
    as_of: datetime | None = None
    time_left: float | None = None
    answer_by: float | None = None
    claimed: float = field(default_factory=time.monotonic)
    tools: list[ToolUse] = field(default_factory=list)

    def age(self) -> float | None:
        """Seconds since it was inserted; None for a later try."""
        return None if self.waited is None else self.waited + time.monotonic() - self.claimed

    def allow(self, seconds: float, least: float) -> float:
        """The seconds that its answer may take in this claim, of `seconds` in all; `least` at least after a wait."""
        left = seconds if self.time_left is None else self.time_left + self.claimed - time.monotonic()
        self.answer_by = time.monotonic() + left
        return left if self.time_left is None else max(left, min(least, seconds))

    def begin_stage(self) -> None:
        """Forget the model calls of the stage before: they are stored."""
        self.calls, self.pinned, self.tools, self.kept, self.round = [], [], [], None, 0

    def settled(self) -> Outcome | None:
        """What the present stage would write, where that is known without it; None where it must work.

        Runs of other kinds skip what comes before the Archivist, an approved action what comes before its execution; an
        `answer` of the Analyzer's rules skips what comes after it.
        """
        if self.kind != "ask":
            is_execution = self.kind == "action" and self.status is Status.RESPONDING
            return None if is_execution or self.status is Status.COMPLETED else Outcome()
        answer = (self.analysis or {}).get("answer")
        if answer is None:
            return None
        if self.status is Status.COMPLETED:
            return Outcome(record={"tags": [], "summary": "", "degraded": False})
        return Outcome(answer=answer if self.status is Status.RESPONDING else None)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Run:
        """From a row of maas_step."""
        return cls(
            id=row["id"], attempt=row["attempt"], seq=row["seq"], kind=row["kind"], status=Status(row["status"]),
            user_id=row["user_id"], user_query=row["user_query"], assistant=row["assistant"],
            conversation_id=row["conversation_id"], created_at=row["created_at"], analysis=row["analysis_result"],
            draft=row["draft_context"], payload=row["final_context_payload"],
            waited=row["waited"], time_left=row["time_left"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage wrote.

    `record` is the Archivist's: log_ids, tags, summary, degraded. `has_more`: the run holds further exchanges.
    """

    analysis: dict[str, Any] | None = None
    sources: list[dict[str, Any]] | None = None
    draft: str | None = None
    payload: str | None = None
    answer: str | None = None
    degraded: str | None = None
    record: dict[str, Any] | None = None
    has_more: bool = False

    @property
    def wrote(self) -> str | None:
        """The text of the column that belongs to the next status."""
        if self.analysis is not None:
            return json.dumps(self.analysis, ensure_ascii=False, default=str)
        return self.draft or self.payload or self.answer


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a run in these hands, to be told to the next step."""

    run: Run
    outcome: OutcomeWord
    record: dict[str, Any] = field(default_factory=dict)
    code: str | None = None
    message: str | None = None
    wait: float | None = None
    time_left: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": str(self.run.id), "attempt": self.run.attempt, "outcome": self.outcome, "code": self.code,
            "message": self.message, "item": self.record, "calls": self.run.calls, "wait": self.wait,
            "time_left": self.time_left,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the engine brought."""

    claimed: tuple[Run, ...]
    to_cancel: tuple[UUID, ...]
    has_more: bool


class Claims:
    """The runs of one owner: the engine's side of pipeline_runs. `is_alone`: only runs that must be executed alone."""

    def __init__(self, db: Database, owner: int, statuses: Sequence[Status], is_alone: bool) -> None:
        self._db = db
        self._owner = owner
        self._statuses = [str(status) for status in statuses]
        self._is_alone = is_alone
        self._advances: GroupCommit[tuple[Run, Status, Outcome], bool | None] = GroupCommit(self._advance_batch)

    async def step(self, capacity: int, done: Sequence[Done]) -> Step:
        """Tell what is done, take what is next: one commit. What the database refuses to store fails by itself."""
        try:
            rows = await self._step(capacity, done)
        except BAD_DATA:
            for one in done:
                await self._end_alone(one)
            rows = await self._step(capacity, ())
        for row in rows:
            if row["verdict"] == "cancelled":
                words = {"code": "cancelled", "cause": row["note"]}
                log.warning("run_failed", run_id=str(row["id"]), status=row["status"], **words)
        return Step(
            claimed=tuple(Run.from_row(row) for row in rows if row["verdict"] == "claimed"),
            to_cancel=tuple(row["id"] for row in rows if row["verdict"] == "cancel"),
            has_more=any(row["verdict"] == "more" for row in rows),
        )

    async def _step(self, capacity: int, done: Sequence[Done]) -> list[Any]:
        words = [one.to_json() for one in done]
        return await self._db.rows("step", self._owner, self._statuses, capacity, words, self._is_alone)

    async def _end_alone(self, done: Done) -> None:
        try:
            await self._step(0, [done])
        except BAD_DATA as error:
            about = {"run_id": str(done.run.id), "status": done.run.status, "outcome": done.outcome}
            log.error("outcome_refused", **about, cause=str(error))
            done.run.calls = []
            if done.run.status is Status.COMPLETED:
                await self._step(0, [Done(done.run, "archive_failed")])
            else:
                await self._step(0, [Done(done.run, "failed", code="bad_data", message="its outcome cannot be stored")])

    async def advance(self, run: Run, status: Status, outcome: Outcome) -> None:
        """One status on. Raises LostRun, or MaasError('cancelled') when that was asked for."""
        is_cancelled = await self._advances.submit((run, status, outcome))
        if is_cancelled is None:
            raise LostRun
        run.status = status
        run.begin_stage()
        run.analysis = outcome.analysis or run.analysis
        run.draft = outcome.draft or run.draft
        run.payload = outcome.payload or run.payload
        if is_cancelled and status is not Status.COMPLETED:
            raise MaasError("cancelled", "cancelled by request")

    async def _advance_batch(self, items: list[tuple[Run, Status, Outcome]]) -> list[bool | None]:
        runs = [run for run, _, _ in items]
        outcomes = [outcome for _, _, outcome in items]
        rows = await self._db.rows(
            "advance", self._owner, [run.id for run in runs], [run.attempt for run in runs],
            [status for _, status, _ in items], _column([o.wrote for o in outcomes]),
            _column([None if o.sources is None else json.dumps(o.sources, default=str) for o in outcomes]),
            _column([o.degraded for o in outcomes]), [call for run in runs for call in run.calls],
        )  # fmt: skip
        moved = {row["id"]: bool(row["is_cancelled"]) for row in rows}
        return [moved.get(run.id) for run in runs]

    async def archive_exchange(self, run: Run, record: dict[str, Any]) -> None:
        """Record one imported exchange. Raises LostRun."""
        kept = await self._db.value("archive_exchange", self._owner, run.id, run.attempt, record, run.calls)
        if not kept:
            raise LostRun
        run.begin_stage()
        run.kept = []  # what an earlier owner stored was of the exchange that it had come to


def _column(values: list[str | None]) -> list[str | None] | None:
    """None for a column that is empty throughout: arrays are what a batch costs on the way to the database."""
    return values if any(value is not None for value in values) else None
