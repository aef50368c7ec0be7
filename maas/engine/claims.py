"""Claims: runs as an orchestrator holds them, and the writes that advance, finish or release them.

Every write is fenced by the owner number and the attempt: when another orchestrator has taken a run over, it changes
nothing and raises LostRun.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import structlog

from maas import queries
from maas.engine.drafts import Draft, Payload
from maas.engine.states import Status
from shared.db import Database
from shared.errors import MaasError
from shared.group_commit import BAD_DATA, GroupCommit
from shared.text import offload

if TYPE_CHECKING:
    from maas.memory.ranking import Evidence

EndKind = Literal["archived", "archive_failed", "failed", "released", "deferred"]
log = structlog.get_logger()


class LostRun(Exception):
    """Another orchestrator has taken the run over, or it was erased; this process drops its work on it."""


class Deferred(Exception):
    """The run cannot go on for `wait` seconds because its model is away. It keeps its status and its key.

    `time_left`: the seconds that its answer may still take. `cause`: the error of the model.
    """

    def __init__(self, wait: float, time_left: float, cause: MaasError) -> None:
        super().__init__(cause.message)
        self.wait = wait
        self.time_left = time_left
        self.cause = cause


class Yielded(Exception):
    """The run lets others go first for `wait` seconds, because every orchestrator is busy. It keeps status and key."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"it goes on in {wait:g} s")
        self.wait = wait


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that was made; `outcome` is `done` or the code of its failure."""

    name: str
    outcome: str
    seconds: float


@dataclass(slots=True)
class StageLog:
    """What the present stage of a run has done so far; it is kept when the stage fails.

    `calls`: model calls that are not stored yet. `pinned`: calls of this stage that are stored. `tools`: tool calls.
    `messages`: tool calls and their results as rows of chat_messages, written together with the answer.
    `earlier`: calls that an earlier owner of the run has stored, None until they are read. `next_round`: the number of
    the next call. `limited`: the limit for which the stage works by rule, or that it was stopped; `written`: what there
    was of its answer when it was interrupted, and `interrupted` the call that was writing it. `memory_reasons`: why
    memory was incomplete, as codes. `degraded`: what the answer of an assistant lacks; `variant`: the form of the
    assistant that answers, None if it has one only. `waiting`: whose actions the answer has to show, those of the run
    or all of its conversation.
    `language`: that of the assistant, in which our own sentences are. `pin_lock` is held while calls are stored.
    `answer_by`: when the answer must be there, by `time.monotonic`; None before the stage has asked.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    pinned: list[dict[str, Any]] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    earlier: list[Mapping[str, Any]] | None = None
    next_round: int = 0
    pin_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    answer_by: float | None = None
    limited: str | None = None
    written: str = ""
    interrupted: dict[str, Any] | None = None
    degraded: str | None = None
    variant: str | None = None
    waiting: Literal["run", "conversation"] | None = None
    language: Literal["auto", "ru", "en"] = "auto"
    memory_reasons: set[str] = field(default_factory=set)


@dataclass(slots=True)
class ClaimCache:
    """What a stage has read and a later one of the same claim uses; None where it has to be read.

    `zone`: the time zone of the user. `evidence`: what the Analyzer found for the query, until the Draft Builder takes
    it, so that it is not held while the answer is written.
    """

    zone: tzinfo | None = None
    evidence: Evidence | None = None

    def take_evidence(self) -> Evidence | None:
        """Return the evidence and forget it."""
        evidence, self.evidence = self.evidence, None
        return evidence


@dataclass(frozen=True, slots=True)
class Run:
    """A claimed run as a stage sees it; `log` takes up what the stage does.

    `draft`, `payload`: what a stage of this claim made, or the text in the row with which the claim began; `read_draft`
    and `read_payload` return them as values.
    `waited`: seconds between insert and this claim by the database's clock, None after the first attempt.
    `time_left`: the seconds that its answer had left at this claim, None unless it was deferred before.
    `claimed_at`: the time of the claim by `time.monotonic`.
    `assistants_version`: the version of assistants and prompts when the present stage began; None in a replay, which
    reads them anew.
    `wants_layers`: its client asked for debug information.
    `as_of`: only in a replay of a finished run: the time when it began. A replay stores nothing.
    `cache`: what the stages of this claim have read; another claim reads it again.
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
    draft: Draft | str | None = None
    payload: Payload | str | None = None
    waited: float | None = None
    as_of: datetime | None = None
    time_left: float | None = None
    assistants_version: str | None = None
    wants_layers: bool = False
    claimed_at: float = field(default_factory=time.monotonic, compare=False)
    log: StageLog = field(default_factory=StageLog, compare=False)
    cache: ClaimCache = field(default_factory=ClaimCache, compare=False)

    @classmethod
    def from_row(cls, row: queries.StepRow) -> Run:
        """From a row of maas_step."""
        return cls(
            id=row["id"], attempt=row["attempt"], seq=row["seq"], kind=row["kind"], status=Status(row["status"]),
            user_id=row["user_id"], user_query=row["user_query"], assistant=row["assistant"],
            conversation_id=row["conversation_id"], created_at=row["created_at"], analysis=row["analysis_result"],
            draft=row["draft_context"], payload=row["final_context_payload"],
            waited=row["waited"], time_left=row["time_left"], assistants_version=row["assistants_version"],
            wants_layers=row["wants_layers"],
        )  # fmt: skip

    async def read_draft(self) -> Draft:
        """The draft; parsed where it is a text. Raises MaasError('bad_draft')."""
        if isinstance(self.draft, Draft):
            return self.draft
        text = self.draft or ""
        return await offload(len(text), Draft.parse, text)

    async def read_payload(self) -> Payload:
        """The payload; parsed where it is a text. Raises MaasError('bad_payload')."""
        if isinstance(self.payload, Payload):
            return self.payload
        text = self.payload or ""
        return await offload(len(text), Payload.parse, text)

    def age(self) -> float | None:
        """Seconds since the run was inserted; None after the first attempt."""
        return None if self.waited is None else self.waited + time.monotonic() - self.claimed_at

    def time_limit(self, seconds: float, least: float) -> float:
        """The seconds that the answer may take in this claim, of `seconds` in all; sets `log.answer_by`.

        A run that was deferred gets what it had left, but at least `least` seconds.
        """
        left = seconds if self.time_left is None else self.time_left + self.claimed_at - time.monotonic()
        self.log.answer_by = time.monotonic() + left
        return left if self.time_left is None else max(left, min(least, seconds))

    def skip_outcome(self) -> Outcome | None:
        """The outcome of the present stage where the stage is skipped; None where it must run.

        Runs of other kinds than `ask` skip the stages before the Archivist; an approved action, a task or a trial is
        executed by the Responder, and a trial is not archived. An `answer` in the analysis (of a note command) skips
        all later stages.
        """
        if self.kind != "ask":
            is_execution = self.kind in ("action", "task", "trial") and self.status is Status.RESPONDING
            is_archived = self.kind != "trial" and self.status is Status.COMPLETED
            return None if is_execution or is_archived else Outcome()
        answer = (self.analysis or {}).get("answer")
        if answer is None:
            return None
        if self.status is Status.COMPLETED:
            return Outcome(record={"tags": [], "summary": "", "degraded": False})
        return Outcome(answer=answer if self.status is Status.RESPONDING else None)

    def advanced(self, status: Status, outcome: Outcome, assistants_version: str | None = None) -> Run:
        """The run in its next status, with what the stage wrote and an empty log."""
        # Written out: `replace` takes twice as long, and every run advances six times.
        return Run(
            id=self.id, attempt=self.attempt, seq=self.seq, kind=self.kind, status=status, user_id=self.user_id,
            user_query=self.user_query, assistant=self.assistant, conversation_id=self.conversation_id,
            created_at=self.created_at, analysis=outcome.analysis or self.analysis, draft=outcome.draft or self.draft,
            payload=outcome.payload or self.payload, waited=self.waited, as_of=self.as_of, time_left=self.time_left,
            assistants_version=assistants_version or self.assistants_version, claimed_at=self.claimed_at,
            wants_layers=self.wants_layers, cache=self.cache,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage wrote.

    `degraded` names the role that the built-in model stood in for. `record` is the Archivist's: log_ids, tags, summary,
    degraded. `has_more`: the run holds further exchanges.
    """

    analysis: dict[str, Any] | None = None
    sources: list[dict[str, Any]] | None = None
    draft: Draft | None = None
    payload: Payload | None = None
    answer: str | None = None
    degraded: str | None = None
    record: dict[str, Any] | None = None
    has_more: bool = False

    @property
    def wrote(self) -> str | None:
        """The text of the column that belongs to the next status."""
        if self.analysis is not None:
            return json.dumps(self.analysis, ensure_ascii=False, default=str)
        made = self.draft or self.payload
        return self.answer if made is None else made.render()


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
        return {
            "id": str(self.run.id), "attempt": self.run.attempt, "outcome": self.kind, "code": self.code,
            "message": self.message, "item": self.record, "calls": self.run.log.calls, "wait": self.wait,
            "time_left": self.time_left, "limited": self.run.log.limited,
        }  # fmt: skip


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
        self, db: Database, owner: int, statuses: Sequence[Status], is_quarantine: bool,
        assistant_share: int, user_share: int,
    ) -> None:  # fmt: skip
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
            queries.step, self._owner, self._statuses, capacity, [end.to_json() for end in ends], self._is_quarantine,
            [run.assistant for run in held], [run.user_id for run in held], *self._shares,
        )  # fmt: skip

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
            queries.advance, self._owner, [run.id for run in runs], [run.attempt for run in runs],
            [status for _, status, _ in items], _column([o.wrote for o in outcomes]),
            _column([None if o.sources is None else json.dumps(o.sources, default=str) for o in outcomes]),
            _column([o.degraded for o in outcomes]), [call for run in runs for call in run.log.calls],
            [{"run_id": str(run.id), **message} for run in runs for message in run.log.messages],
            _column([run.log.limited for run in runs]),
            _column([",".join(sorted(run.log.memory_reasons)) or None for run in runs]),
        )  # fmt: skip
        moved = {row["id"]: (bool(row["is_cancelled"]), row["assistants_version"]) for row in rows}
        return [moved.get(run.id) for run in runs]

    async def archive_exchange(self, run: Run, record: dict[str, Any]) -> Run:
        """Record one imported exchange; the run, ready for the next one. Raises LostRun."""
        is_stored = await self._db.value(
            queries.archive_exchange, self._owner, run.id, run.attempt, record, run.log.calls
        )  # fmt: skip
        if not is_stored:
            raise LostRun
        # Calls that an earlier owner stored belong to the exchange that it had come to: there is nothing more to read.
        return replace(run, log=StageLog(earlier=[]))


def _column(values: list[str | None]) -> list[str | None] | None:
    """None for a column that is empty throughout: arrays are the main cost of a batch."""
    return values if any(value is not None for value in values) else None
