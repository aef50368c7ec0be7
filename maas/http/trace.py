"""/v1/runs/{id}/trace: everything that is known about a run, for debugging an answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from maas import queries
from maas.engine.states import ArchiveStatus, Status
from maas.http.authorize import principal_of
from maas.http.request_input import read_id
from maas.http.schemas import Schema, StepStatus, TaskStepState
from maas.http.state import app_state
from maas.memory.health import MemoryState
from maas.runs.trace import read_trace


class TracedRun(Schema):
    """The row of the run."""

    id: UUID
    seq: int = Field(description="A user's runs are answered in this order.")
    user_id: UUID
    user_query: str
    assistant: str
    conversation_id: UUID | None
    kind: str
    source: str
    metadata: dict[str, Any] | None
    attachment_ids: list[UUID]
    status: Status
    archive_status: ArchiveStatus
    lane: int = Field(
        description="Queue state: -4 scheduled, -3 paused, -2 inbox, -1 waiting, 0 runnable, 1 in flight, 2 finished."
    )
    try_: int = Field(alias="try")
    attempt: int
    priority: int = Field(description="1 high, 0 normal, -1 low.")
    run_at: datetime | None
    attributes: dict[str, Any] | None
    is_paused: bool
    deaths: int = Field(description="Crashes of orchestrators that had only this run in flight.")
    analysis_result: dict[str, Any] | None
    sources: list[dict[str, Any]] | None
    searched: dict[str, Any] | None
    draft_context: str | None
    final_context_payload: str | None
    final_answer: str | None
    error_code: str | None
    error_message: str | None
    degraded: list[str]
    limited: Literal["budget", "stopped"] | None
    memory: MemoryState
    memory_reasons: list[str]
    cancel_requested_at: datetime | None
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None
    analyzing_at: datetime | None
    analyzed_at: datetime | None
    assembling_at: datetime | None
    ready_at: datetime | None
    responding_at: datetime | None
    completed_at: datetime | None
    failed_at: datetime | None
    archived_at: datetime | None
    replaced: list[UUID] | None = Field(description="The runs that it took the place of, oldest first.")
    buttons: list[dict[str, Any]] | None = Field(description="Buttons that the user may press.")
    drawn: list[UUID] | None = Field(description="Images that were generated for the answer.")
    steps: list[TaskStepState] | None = Field(description="The steps of a task.")


class RunDurations(Schema):
    asked_at: datetime = Field(description="When the current try began.")
    answer_ms: float | None
    archive_ms: float | None


class PreviousRun(Schema):
    id: UUID
    seq: int
    ended_at: datetime | None


class QueuedRun(Schema):
    id: UUID
    seq: int
    created_at: datetime


class StageSpan(Schema):
    stage: Literal["queue", "analyzer", "draft_builder", "assembler", "final_responder", "archivist"]
    state: Literal["done", "running", "failed"]
    began_ms: float
    ms: float | None
    calls: int
    model_ms: float
    is_degraded: bool = Field(description="Whether the stage used the built-in rules instead of a model.")
    why: str | None = Field(description="Why the stage fell back to the rules, or failed.")


class RunTransition(Schema):
    happened: str
    at: datetime
    details: dict[str, Any] | None


class ModelCall(Schema):
    try_: int = Field(alias="try")
    stage: str
    round: int
    attempt: int
    provider: str
    model: str
    role_name: str
    prompt_version: int | None
    reply: str | None
    finish: str
    attempts: int = Field(description="Requests that were sent to the provider, retries included.")
    tokens_in: int
    tokens_out: int
    tokens_cached: int = Field(description="Those of tokens_in that the provider had cached.")
    images: int = Field(description="Images that were generated.")
    ms: float
    first_ms: float | None = Field(
        description="Until the first piece of a streamed reply, of the last attempt; null: it was not streamed."
    )
    price: int | None = Field(description="In millionths of a dollar; null when the model has no price.")
    error: str | None
    request_hash: str | None
    calls: Any = Field(description="Tool calls that the model requested.")
    created_at: datetime


class TryCost(Schema):
    """The sum of the model calls of one try."""

    try_: int = Field(alias="try")
    calls: int
    attempts: int = Field(description="Requests that were sent to providers, retries included.")
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    ms: float
    price: int = Field(description="In millionths of a dollar, without calls of models that have no price.")
    unpriced: int = Field(description="Calls of models that have no price.")


class ToolExecution(Schema):
    try_: int = Field(alias="try")
    attempt: int = Field(description="The claim of the run under which the tool was called.")
    call_id: str
    tool: str
    effect: Literal["read", "write", "dangerous"]
    status: Literal["started", "done", "failed", "in_doubt"]
    arguments: Any = Field(description="Without secrets and phone numbers, cut to 8 kB.")
    result: Any = Field(description="What the call returned, without secrets and phone numbers, cut to 8 kB.")
    ms: float | None
    created_at: datetime


class TracedStep(Schema):
    """A step of a task, with what it was to do and what came of it."""

    number: int
    title: str
    tool: str | None
    arguments: dict[str, Any] | None
    prompt: str | None
    depends_on: list[int]
    status: StepStatus
    result: dict[str, Any] | None
    started_at: datetime | None
    ended_at: datetime | None


class UsedPrompt(Schema):
    role: str
    version: int | None = Field(description="0 is the built-in prompt.")
    current_version: int | None
    text: str | None


class TracedLog(Schema):
    """A stored message."""

    id: UUID
    run_id: UUID
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    conversation: str
    external_id: str | None
    occurred_at: datetime
    created_at: datetime


class RetrievedMemory(Schema):
    """A memory that the answer was based on."""

    id: UUID
    kind: Literal["summary", "turn", "recent"]
    score: float
    period: str | None = None
    tags: list[str] | None = None
    memory: str | None = None
    logs: list[TracedLog] = Field(description="The messages behind it; empty when they have been deleted since.")


class Trace(Schema):
    run: TracedRun
    took: RunDurations
    waited_for: PreviousRun | None = Field(description="The user's previous run, if it was still in flight.")
    waiting: list[QueuedRun] = Field(description="The user's runs that arrived while this one was in flight.")
    stages: list[StageSpan]
    history: list[RunTransition]
    calls: list[ModelCall]
    costs: list[TryCost] = Field(description="The cost of the model calls of each try.")
    tools: list[ToolExecution] = Field(description="The executed tool calls.")
    steps: list[TracedStep] = Field(description="The steps of a task, in their order.")
    prompts: list[UsedPrompt]
    memories: list[RetrievedMemory] = Field(description="The memories that the answer was based on, with their texts.")


async def get_trace(request: Request) -> Response:
    """Return the trace of a run: stages, model calls, prompts, memories and timings."""
    run_id = read_id(request, "run")
    state, principal = app_state(request), principal_of(request)
    trace = await read_trace(state.reads, run_id)
    if (user_id := trace["run"]["user_id"]) != str(principal.user_id):
        await state.db.value(queries.note_audit, "trace_read", user_id, run_id, {}, principal.name)
    return JSONResponse(trace)
