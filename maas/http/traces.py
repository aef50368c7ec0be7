"""/v1/runs/{id}/trace: everything that is known of a run, for those who debug an answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from maas.http.access import caller
from maas.http.parameters import read_id
from maas.http.rooms import rooms
from maas.http.shapes import Shape
from maas.pipeline.states import ArchiveStatus, Status
from maas.pipeline.trace import read_trace


class TracedRun(Shape):
    id: UUID
    seq: int = Field(description="the turn: a user's runs are answered in this order")
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
    lane: int = Field(description="-2 inbox, -1 waiting, 0 runnable, 1 in flight, 2 finished")
    try_: int = Field(alias="try")
    attempt: int
    deaths: int
    analysis_result: dict[str, Any] | None
    sources: list[dict[str, Any]] | None
    draft_context: str | None
    final_context_payload: str | None
    final_answer: str | None
    error_code: str | None
    error_message: str | None
    degraded: list[str]
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
    buttons: list[dict[str, Any]] | None = Field(description="what the user may press")
    drawn: list[UUID] | None = Field(description="images that were drawn for the answer")


class Took(Shape):
    asked_at: datetime = Field(description="when the present try began")
    answer_ms: float | None
    archive_ms: float | None


class Before(Shape):
    id: UUID
    seq: int
    ended_at: datetime | None


class After(Shape):
    id: UUID
    seq: int
    created_at: datetime


class Span(Shape):
    stage: Literal["queue", "analyzer", "draft_builder", "assembler", "final_responder", "archivist"]
    state: Literal["done", "running", "failed"]
    began_ms: float
    ms: float | None
    calls: int
    model_ms: float
    is_degraded: bool = Field(description="finished by rule")
    why: str | None = Field(description="why it came to the rules, or failed")


class Happened(Shape):
    happened: str
    at: datetime
    details: dict[str, Any] | None


class Call(Shape):
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
    attempts: int = Field(description="requests that went out")
    tokens_in: int
    tokens_out: int
    tokens_cached: int = Field(description="those of tokens_in that the provider had cached")
    ms: float
    price: int | None = Field(description="millionths of a dollar; null: unknown")
    error: str | None
    request_hash: str | None
    calls: Any = Field(description="tools that it asked for")
    created_at: datetime


class Cost(Shape):
    try_: int = Field(alias="try")
    calls: int
    attempts: int = Field(description="requests that went out")
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    ms: float
    price: int = Field(description="millionths of a dollar, without what has no price")
    unpriced: int = Field(description="calls of models without a price")


class Executed(Shape):
    try_: int = Field(alias="try")
    attempt: int = Field(description="the claim of the run that made it")
    call_id: str
    tool: str
    effect: Literal["read", "write", "dangerous"]
    status: Literal["started", "done", "failed", "in_doubt"]
    ms: float | None
    created_at: datetime


class UsedPrompt(Shape):
    role: str
    version: int | None = Field(description="0: the built-in text")
    current_version: int | None
    text: str | None


class TracedLog(Shape):
    id: UUID
    run_id: UUID
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    conversation: str
    external_id: str | None
    occurred_at: datetime
    created_at: datetime


class GivenMemory(Shape):
    id: UUID
    kind: Literal["summary", "turn", "recent"]
    score: float
    period: str | None = None
    tags: list[str] | None = None
    memory: str | None = None
    logs: list[TracedLog] = Field(description="empty: forgotten since")


class Trace(Shape):
    run: TracedRun
    took: Took
    waited_for: Before | None = Field(description="the user's run before, if that was still in flight")
    waiting: list[After] = Field(description="the user's runs that came while this one was in flight")
    stages: list[Span]
    history: list[Happened]
    calls: list[Call]
    costs: list[Cost] = Field(description="the calls of each try together")
    tools: list[Executed] = Field(description="what tools did")
    prompts: list[UsedPrompt]
    memories: list[GivenMemory] = Field(description="what the answer was given, down to the words")


async def get_trace(request: Request) -> Response:
    """How a request went: stages, model calls, prompts, memories, timings."""
    run_id = read_id(request, "run")
    parts, who = rooms(request), caller(request)
    trace = await read_trace(parts.db, run_id)
    if (user_id := trace["run"]["user_id"]) != str(who.user_id):
        await parts.db.value("note_audit", "trace_read", user_id, run_id, {}, who.name)
    return JSONResponse(trace)
