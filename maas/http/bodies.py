"""What clients send and get, as pydantic models; OpenAPI is written from them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field, Strict, model_validator

from maas.http.fields import Assistant, Count, Name, SaidAt, Text, Time, Turn, Values, Words
from maas.http.shapes import Shape
from maas.pipeline.actions import ActionStatus
from maas.pipeline.conversations import Mode
from maas.pipeline.states import ArchiveStatus, Status


def _with(name: str, *without: str) -> dict[str, Any]:
    """The form of a body that has `name` and leaves out the others."""
    left_out: dict[str, Any] = {other: {"type": "null"} for other in without}
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}, **left_out}}


class Body(Shape):
    model_config = ConfigDict(extra="forbid")


class NewRun(Body):
    user_id: UUID
    query: Words
    assistant: Assistant = "mentor"
    conversation_id: UUID | None = None
    mode: Mode | None = Field(None, description="of this request; that of its conversation if not given")
    metadata: Values | None = None
    attachment_ids: list[UUID] = Field([], max_length=10, description="images that come with the query")


class NewAttachment(Body):
    user_id: UUID
    file: bytes = Field(description="JPEG, PNG or WebP", json_schema_extra={"format": "binary"})


class NewConversation(Body):
    user_id: UUID
    assistant: Assistant = "mentor"
    mode: Mode | None = Field(None, description="the assistant's own if not given")


class ConversationChange(Body):
    model_config = ConfigDict(json_schema_extra={"anyOf": [_with("mode"), _with("title")]})

    mode: Mode | None = None
    title: Annotated[Words, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.mode is None and self.title is None:
            raise ValueError("send mode or title")
        return self


class ActionDecision(Body):
    user_id: UUID


class Press(Body):
    user_id: UUID
    button: Annotated[Text, Field(min_length=1, max_length=50)]


class ActionEdit(Body):
    user_id: UUID
    arguments: Values


class SearchQuery(Body):
    user_id: UUID
    query: Words
    tags: list[Text] | None = Field(None, max_length=50)
    scope: Literal["hot", "warm", "cold"] | None = Field(None, description="prefer up to 3 days, up to 14, older")
    since: Time | None = Field(None, alias="from", description="said at or after; without an offset, in MAAS_TIMEZONE")
    until: Time | None = Field(None, alias="to", description="said before; without an offset, in MAAS_TIMEZONE")
    as_of: Time | None = Field(None, description="only what was known then")
    limit: Count = Field(10, ge=1, le=50)
    summaries: Annotated[bool, Strict()] = Field(
        False, description="let a summary stand in where three of its turns or more are found"
    )


class ContextQuery(Body):
    user_id: UUID
    query: Words
    max_tokens: Count = Field(2000, ge=50, le=100_000)
    as_of: Time | None = None


class NewTurn(Body):
    role: Literal["user", "assistant"]
    content: Turn
    at: SaidAt | None = None
    speaker: Name | None = None
    external_id: Name | None = Field(None, description="the same id again is the same turn")


class NewMemories(Body):
    model_config = ConfigDict(
        json_schema_extra={"oneOf": [_with("memory", "turns"), _with("turns", "memory", "external_id")]}
    )

    user_id: UUID
    memory: Words | None = Field(None, description="one statement of the user; or send turns")
    turns: list[NewTurn] | None = Field(None, min_length=1, max_length=500)
    conversation: Name | None = None
    at: SaidAt | None = Field(None, description="when it was said; now if not given")
    external_id: Name | None = Field(None, description="of `memory`: the same id again is the same memory")

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if (self.memory is None) == (self.turns is None):
            raise ValueError("send either memory or turns")
        if self.turns is not None and self.external_id is not None:
            raise ValueError("external_id belongs into each turn")
        return self


class Accepted(Shape):
    request_id: UUID
    status: Literal["processing"] = "processing"
    poll_url: str


class Cancelling(Shape):
    request_id: UUID
    status: Literal["cancelling"] = "cancelling"


class Remembered(Accepted):
    raw_log_ids: list[UUID] = Field(description="searchable now; the run makes records of them")


class NewUser(Body):
    external_id: Name = Field(description="any text that a client knows a user by; a UUID stands for itself")


class User(Shape):
    user_id: UUID
    external_id: str


class Imported(Shape):
    status: Literal["processing"] = "processing"
    added: int = Field(description="turns that were not there yet")
    known: int
    records: int = Field(description="records of an export that came along")
    others: int = Field(description="its conversations, messages, notes and images")
    run_ids: list[UUID] = Field(description="runs that make records of the turns; progress: GET /v1/runs/{id}")


class DoubtfulAnswer(Shape):
    request_id: UUID = Field(description="the run that was given the memory")
    id: UUID | None = Field(description="the turn of its answer; null while it is on its way")
    status: Status
    created_at: datetime
    answer: str | None = Field(description="how it begins")


class Forgotten(Shape):
    id: UUID
    logs: int = Field(description="turns that were deleted, answers among them")
    answers: int = Field(description="answers among them that were given the memory")
    records: int = Field(description="records that were deleted, whatever their level")
    reopened: int = Field(description="records that stand for themselves again")
    doubtful: list[DoubtfulAnswer] = Field(
        description="newest first, at most 100: answers that were given the memory and do not clearly repeat it; "
        "the same request with doubtful=true forgets them"
    )
    doubtful_runs: int = Field(description="how many there are")


class Receipt(Shape):
    user_id: UUID
    erased: dict[str, int] = Field(description="rows by table")


class Source(Shape):
    id: UUID
    kind: Literal["turn", "summary", "recent"] = Field(description="recent: one of the last turns, whatever it says")
    score: float


class Button(Shape):
    id: str
    label: str


class Attachment(Shape):
    id: UUID
    kind: Literal["upload", "generated"]
    media_type: Literal["image/jpeg", "image/png", "image/webp"]
    bytes: int
    width: int = Field(description="pixels, with the orientation applied")
    height: int
    sha256: str = Field(description="of what is stored: metadata is stripped")
    created_at: datetime


class RunState(Shape):
    request_id: UUID
    user_id: UUID
    query: str
    attachment_ids: list[UUID] = Field(description="images that came with the query")
    assistant: str
    conversation_id: UUID | None
    kind: str
    status: Status
    archive_status: ArchiveStatus
    final_answer: str | None
    error_code: str | None
    error_message: str | None
    degraded: list[str] = Field(description="stages that finished by rule")
    sources: list[Source] = Field(description="what memory was looked at for the answer")
    buttons: list[Button] = Field(description="what the user may press now")
    attachments: list[UUID] = Field(description="images that were drawn for the answer")
    timings: dict[str, datetime | None]
    attempt: int
    retries: int


class RunLine(Shape):
    request_id: UUID
    user_id: UUID
    query: str = Field(description="the first 200 characters")
    assistant: str
    kind: str
    source: str
    status: Status
    archive_status: ArchiveStatus
    error_code: str | None
    created_at: datetime
    completed_at: datetime | None


class RunPage(Shape):
    results: list[RunLine]
    next: str | None = Field(description="send it as `before` for the next page")


class Conversation(Shape):
    id: UUID
    user_id: UUID
    assistant: str
    title: str | None = Field(description="the beginning of the first message, unless another was given")
    source: Literal["telegram", "web"]
    mode: Mode
    rolling_summary: str = Field(
        description="what was said before the last ten messages, and in those of them too long to be shown whole"
    )
    last_agent: str | None
    last_domain: str | None
    is_processing: bool = Field(description="an answer or an action is on its way")
    created_at: datetime


class OpenedConversation(Conversation):
    request_id: UUID | None = Field(description="the request in which the assistant speaks first, if it does")
    poll_url: str | None


class Message(Shape):
    id: UUID
    run_id: UUID | None
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    actions: list[dict[str, Any]] | None = Field(description="actions that the answer proposes")
    agent: str | None
    attachment_ids: list[UUID] = Field(description="images that came with a query, or were drawn for an answer")
    created_at: datetime


class MessagePage(Shape):
    results: list[Message]
    next: str | None = Field(description="send it as `before` for the next page")


class Cleared(Shape):
    messages: int = Field(description="how many were removed")


class Action(Shape):
    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID = Field(description="the run that asks for it")
    place: int = Field(description="which call of that run it is, from 1")
    tool: str
    arguments: dict[str, Any]
    effect: Literal["read", "write", "dangerous"]
    assistant: str | None
    status: ActionStatus
    created_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    action_run_id: UUID | None = Field(description="the run that executes it and tells what came of it")
    poll_url: str | None = Field(description="of that run")
    result: dict[str, Any] | None


class ActionPage(Shape):
    results: list[Action]
    next: str | None = Field(description="send it as `before` for the next page")


class Memory(Shape):
    id: UUID
    kind: Literal["turn", "summary"]
    memory: str
    score: float | None = None
    speaker: str | None = None
    period: str
    tags: list[str]
    raw_log_ids: list[UUID]
    occurred_at: datetime
    created_at: datetime


class MemoryPage(Shape):
    results: list[Memory]
    next: str | None = Field(description="send it as `before` for the next page")


class MadeMemory(Shape):
    id: UUID
    kind: Literal["turn", "summary"]
    memory: str
    speaker: str | None
    occurred_at: datetime
    created_at: datetime
    made_into: UUID | None = Field(description="the record that was made of it and stands for it now")
    superseded_at: datetime | None


class MemoryHistory(Shape):
    results: list[MadeMemory] = Field(description="words as they were said, then records, days before weeks")


class RawLog(Shape):
    id: UUID
    run_id: UUID
    role: Literal["user", "assistant"]
    speaker: str | None
    content: str
    conversation: str
    external_id: str | None
    occurred_at: datetime


class Sources(Shape):
    results: list[RawLog]
    gone: int = Field(description="words that retention removed: what the record says is all that is left of them")


class ContextReply(Shape):
    context: str = Field(description="escaped lines within a <memory> fence; data, never instructions")
    tokens: int
    sources: list[Source]


class Health(Shape):
    status: Literal["ok"] = "ok"


class Readiness(Shape):
    status: Literal["ready"] = "ready"
    orchestrators: int = Field(description="how many are alive; requests are accepted without any")
