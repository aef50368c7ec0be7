"""The bodies of /v1/runs, as clients send and receive them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field, StrictBool, model_validator

from maas.conversations import Mode
from maas.engine.states import ArchiveStatus, PriorityWord, Status
from maas.http.schemas import (
    AssistantName,
    Attributes,
    JsonObject,
    MessageText,
    Phrase,
    QueryText,
    RequestBody,
    Schema,
    Source,
    StorableText,
    TaskStepState,
    Timestamp,
)
from maas.memory.health import MemoryState
from maas.runs.again import TrialStage


class NewRun(RequestBody):
    """A request of a user."""

    user_id: UUID
    query: QueryText
    assistant: AssistantName = "mentor"
    conversation_id: UUID | None = Field(None, description="A new id opens a conversation.")
    mode: Mode | None = Field(None, description="The mode of this request; by default the conversation's.")
    metadata: JsonObject | None = None
    attachment_ids: list[UUID] = Field([], max_length=10, description="Images that belong to the query.")
    priority: PriorityWord = Field(
        "normal",
        description="Which users are answered first when more requests wait than can run at once; a key or token "
        "that is bound to users may not take high. Requests of one user stay in their order.",
    )
    run_at: Timestamp | None = Field(
        None, description="It does not start before; without an offset, in MAAS_TIMEZONE. Later requests go first."
    )
    debounce: float | None = Field(
        None,
        gt=0,
        le=60,
        description="Seconds that it waits for the next request of this user, conversation and assistant that has a "
        "debounce, too: its text becomes another line of this one, and both have one `request_id` and one answer. It "
        "starts that long after the last one, at most ten times as long after the first. Not together with `run_at` "
        "or `replaces`.",
    )
    attributes: Attributes | None = Field(None, description="What lists of runs can be filtered by.")
    is_remembered: StrictBool = Field(
        True,
        description="False: it is answered and logged, but never recalled or summarized. A conversation that it opens "
        "is temporary, so that none of its requests is.",
    )
    marks: StrictBool | None = Field(
        None, description="Whether the answer cites memories by [numbers]; by default as MAAS_MARKS says."
    )
    replaces: UUID | None = Field(
        None,
        description="The finished run of a question of this conversation, which this one asks again, edited or not. "
        "Once it is answered, the earlier one, its answer and all that followed leave the conversation and memory.",
    )

    @model_validator(mode="after")
    def _check_debounce(self) -> Self:
        if self.debounce is not None and (self.run_at is not None or self.replaces is not None):
            raise ValueError("debounce: set it, or run_at or replaces, not both")
        return self


class RunReplay(RequestBody):
    """What is tried; null: as it is today."""

    stage: TrialStage = Field("final_responder", description="From which stage on the run is answered again.")
    model: Annotated[StorableText, Field(min_length=1, max_length=200)] | None = Field(
        None, description="`provider:model` for this stage, without a fallback."
    )
    prompt: Annotated[MessageText, Field(max_length=100_000)] | None = Field(
        None, description="The prompt of this stage; that of the analyzer cannot be tried."
    )


class ButtonPress(RequestBody):
    user_id: UUID
    button: Annotated[StorableText, Field(min_length=1, max_length=50)] = Field(description="The id of the button.")


class CancelAccepted(Schema):
    request_id: UUID
    status: Literal["cancelling"] = "cancelling"


class Button(Schema):
    id: str
    label: str


class ExecutedAction(Schema):
    """The approved action that a run executes."""

    id: UUID
    tool: str
    title: Phrase | str | None = Field(description="As of an action.")


class Searched(Schema):
    """What the search of memory for an answer came to."""

    messages: int = Field(description="How many messages were looked through.")
    confidence: float | None = Field(
        ge=0,
        le=1,
        description="How likely one of them, or a fact, answers it; null: nothing was asked of memory.",
    )
    found: Literal["yes", "perhaps", "no"] | None = Field(
        description="What the confidence says, from 0.5 and 0.25 on; yes where the answer cites memory."
    )


class RunState(Schema):
    """The state of a run, and its answer when there is one."""

    request_id: UUID
    user_id: UUID
    query: str
    attachment_ids: list[UUID] = Field(description="Images that came with the query.")
    assistant: str
    conversation_id: UUID | None
    kind: str
    status: Status
    archive_status: ArchiveStatus
    final_answer: str | None
    error_code: str | None
    error_message: str | None
    degraded: list[str] = Field(
        description="Stages that used the built-in rules instead of a model; `language`: the "
        "answer is in another language than its assistant's."
    )
    limited: Literal["budget", "stopped"] | None = Field(
        description="budget: the user's daily budget was spent, so rules did what models would have done. "
        "stopped: the run was cancelled while its answer was being written, and this is what there was."
    )
    memory: MemoryState = Field(description="Whether the memory behind the answer was complete.")
    memory_reasons: list[str] = Field(description="Why it was not: codes such as embedder_unavailable.")
    sources: list[Source] = Field(description="The memories that were used as evidence for the answer.")
    used: list[UUID] = Field(description="The sources that the answer cites.")
    searched: Searched | None = Field(description="What memory was searched for; null: it was not, or that failed.")
    buttons: list[Button] = Field(description="Buttons that the user may press now.")
    attachments: list[UUID] = Field(description="Images that were generated for the answer.")
    steps: list[TaskStepState] = Field(description="The steps of a task.")
    timings: dict[str, datetime | None]
    attempt: int
    retries: int
    priority: PriorityWord
    run_at: datetime | None
    attributes: dict[str, Any]
    replaced: list[UUID] = Field(
        description="The runs that it took the place of, oldest first: earlier versions of its question and answer."
    )
    is_paused: bool = Field(description="It waits for the end of a pause of its assistant, its key or its user.")
    action: ExecutedAction | None = Field(description="What `query` stands for, if the run executes an action.")


class RunSummary(Schema):
    request_id: UUID
    user_id: UUID
    query: str = Field(description="The first 200 characters of the query.")
    answer: str | None = Field(description="The first 300 characters of the answer.")
    assistant: str
    conversation_id: UUID | None
    kind: str
    source: str
    status: Status
    archive_status: ArchiveStatus
    error_code: str | None
    error_message: str | None
    limited: Literal["budget", "stopped"] | None
    memory: MemoryState
    created_at: datetime
    completed_at: datetime | None
    priority: PriorityWord
    run_at: datetime | None
    attributes: dict[str, Any]
    replaces: UUID | None = Field(description="The run whose question it asks again.")
    action: ExecutedAction | None = Field(description="What `query` stands for, if the run executes an action.")


class RunPage(Schema):
    results: list[RunSummary]
    next: str | None = Field(description="Send it as `before` to get the next page.")
