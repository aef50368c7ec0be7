"""A claimed run as its stages see it, what they write, and what takes it away from them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from maas import queries
from maas.engine.drafts import Draft, Payload
from maas.engine.states import Status
from shared.errors import MaasError
from shared.text import offload

if TYPE_CHECKING:
    from maas.memory.ranking import Evidence


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
    `language`: that of the assistant, in which our own sentences are; `max_words`: how long its answers should be.
    `pin_lock` is held while calls are stored.
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
    max_words: int | None = None
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
            id=row["id"],
            attempt=row["attempt"],
            seq=row["seq"],
            kind=row["kind"],
            status=Status(row["status"]),
            user_id=row["user_id"],
            user_query=row["user_query"],
            assistant=row["assistant"],
            conversation_id=row["conversation_id"],
            created_at=row["created_at"],
            analysis=row["analysis_result"],
            draft=row["draft_context"],
            payload=row["final_context_payload"],
            waited=row["waited"],
            time_left=row["time_left"],
            assistants_version=row["assistants_version"],
            wants_layers=row["wants_layers"],
        )

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

        Runs of other kinds than `ask` skip the stages before the Archivist; an approved action or a task is executed by
        the Responder. A trial begins at a stage and is not archived. An `answer` in the analysis (of a note command)
        skips all later stages.
        """
        if self.kind == "trial":
            return Outcome() if self.status is Status.COMPLETED else None
        if self.kind != "ask":
            is_execution = self.kind in ("action", "task") and self.status is Status.RESPONDING
            return None if is_execution or self.status is Status.COMPLETED else Outcome()
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
            id=self.id,
            attempt=self.attempt,
            seq=self.seq,
            kind=self.kind,
            status=status,
            user_id=self.user_id,
            user_query=self.user_query,
            assistant=self.assistant,
            conversation_id=self.conversation_id,
            created_at=self.created_at,
            analysis=outcome.analysis or self.analysis,
            draft=outcome.draft or self.draft,
            payload=outcome.payload or self.payload,
            waited=self.waited,
            as_of=self.as_of,
            time_left=self.time_left,
            assistants_version=assistants_version or self.assistants_version,
            claimed_at=self.claimed_at,
            wants_layers=self.wants_layers,
            cache=self.cache,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage wrote.

    `degraded` names the role that the built-in model stood in for. `record` is the Archivist's: log_ids, tags, summary,
    degraded. `searched`: what the search of memory came to. `has_more`: the run holds further exchanges. `is_json`:
    nothing may be added to the answer.
    """

    analysis: dict[str, Any] | None = None
    sources: list[dict[str, Any]] | None = None
    searched: dict[str, Any] | None = None
    draft: Draft | None = None
    payload: Payload | None = None
    answer: str | None = None
    degraded: str | None = None
    record: dict[str, Any] | None = None
    has_more: bool = False
    is_json: bool = False

    @property
    def wrote(self) -> str | None:
        """The text of the column that belongs to the next status."""
        if self.analysis is not None:
            return json.dumps(self.analysis, ensure_ascii=False, default=str)
        made = self.draft or self.payload
        return self.answer if made is None else made.render()
