"""The bodies of requests and responses of /v1/memories and /v1/context."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal, Self, cast
from uuid import UUID

from pydantic import ConfigDict, Field, Strict, model_validator

from maas import queries
from maas.engine.states import Status
from maas.http.schemas import (
    MAX_METADATA_BYTES,
    Integer,
    JsonObject,
    MemoryMetadata,
    MemoryOrigin,
    MessageText,
    Name,
    OccurredAt,
    QueryText,
    RequestBody,
    RunAccepted,
    Schema,
    Source,
    StorableText,
    Timestamp,
    only_field,
)
from maas.memory.client_memories import ENTITIES
from maas.memory.search import role_of


class SearchQuery(RequestBody):
    user_id: UUID
    query: QueryText
    tags: list[StorableText] | None = Field(
        None, max_length=50, description="Only messages whose summary has one of these tags."
    )
    scope: Literal["hot", "warm", "cold"] | None = Field(
        None, description="Prefer memories up to 3 days old (hot), up to 14 days old (warm), or older (cold)."
    )
    since: Timestamp | None = Field(
        None, alias="from", description="Only messages from this time on; without an offset, in MAAS_TIMEZONE."
    )
    until: Timestamp | None = Field(
        None, alias="to", description="Only messages before this time; without an offset, in MAAS_TIMEZONE."
    )
    as_of: Timestamp | None = Field(None, description="Only what was known at this time.")
    filters: JsonObject | None = Field(
        None,
        description="AND, OR, NOT over metadata, times, categories and words, as of mem0. They choose among the "
        "messages of the user that are among the 200 best hits, and the results have their metadata.",
    )
    limit: Integer = Field(10, ge=1, le=50)
    summaries: Annotated[bool, Strict()] = Field(
        False, description="Return one summary instead of its messages when three or more of them are found."
    )
    facts: Annotated[bool, Strict()] = Field(
        False, description="Return first the facts, at most three, that hold and have half of the words of the query."
    )


class ContextQuery(RequestBody):
    user_id: UUID
    query: QueryText
    max_tokens: Integer = Field(2000, ge=50, le=100_000)
    as_of: Timestamp | None = Field(None, description="Only what was known at this time.")


class NewMessage(RequestBody):
    """One message of a dialogue that is to be remembered."""

    role: Literal["user", "assistant"]
    content: MessageText
    at: OccurredAt | None = None
    speaker: Name | None = None
    external_id: Name | None = Field(None, description="A message with the same id is stored once.")


class NewMemories(RequestBody):
    """Either one `memory` or the messages of a dialogue as `turns`."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [only_field("memory", "turns"), only_field("turns", "memory", "external_id")]}
    )

    user_id: UUID
    memory: QueryText | None = Field(None, description="One statement of the user.")
    turns: list[NewMessage] | None = Field(None, min_length=1, max_length=500)
    conversation: Name | None = None
    at: OccurredAt | None = Field(None, description="When it was said; by default now.")
    external_id: Name | None = Field(None, description="The id of `memory`; the same id again is the same memory.")
    metadata: MemoryMetadata | None = Field(
        None, description=f"Of all messages, to filter by; at most {MAX_METADATA_BYTES} bytes of JSON."
    )
    agent_id: Name | None = Field(None, description="The agent that it was said to, to filter by.")
    app_id: Name | None = Field(None, description="The application, to filter by.")
    run_id: Name | None = Field(None, description="The session, to filter by.")

    @property
    def client(self) -> dict[str, Any] | None:
        """What is kept beside each message, for filters."""
        kept = {name: value for name in (*ENTITIES, "metadata") if (value := getattr(self, name)) is not None}
        return kept or None

    @model_validator(mode="after")
    def _has_either_memory_or_turns(self) -> Self:
        if (self.memory is None) == (self.turns is None):
            raise ValueError("send either memory or turns")
        if self.turns is not None and self.external_id is not None:
            raise ValueError("external_id belongs into each turn")
        return self


class MemoriesAccepted(RunAccepted):
    """The messages were stored and can be searched now; the run summarizes them."""

    raw_log_ids: list[UUID] = Field(description="The ids of the stored messages.")


class Memory(Schema):
    """A message (kind turn), a summary of messages, or a fact."""

    id: UUID
    kind: Literal["turn", "summary", "fact"]
    memory: str
    score: float | None = None
    speaker: str | None = None
    period: str
    level: int | None = Field(None, description="Of a summary: 0 an exchange, 1 a day, 2 a week, 3 a month.")
    tags: list[str]
    raw_log_ids: list[UUID] = Field(description="The messages that it was made of.")
    occurred_at: datetime
    created_at: datetime
    corrected_by: UUID | None = Field(None, description="The memory that corrects this one.")
    corrects: UUID | None = Field(None, description="The memory that this one corrects.")
    origins: list[MemoryOrigin] = Field([], description="What it was made from, if not from what the user said.")
    metadata: dict[str, Any] | None = Field(None, description="What it was added with, in a search with filters.")


class MemoryPage(Schema):
    results: list[Memory]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class MemoryTotals(Schema):
    messages: int = Field(description="Messages that are remembered.")
    summaries: int = Field(description="Summaries in force: those that no summary of a day, week or month replaces.")
    since: datetime | None = Field(description="When the first of these messages was said; null: there is none.")
    last_saved_at: datetime | None = Field(description="When a message or a summary was saved last.")


class MemoryDay(Schema):
    day: date = Field(description="A day in MAAS_TIMEZONE.")
    messages: int = Field(description="Remembered messages that were said on it.", ge=1)


class MemoryDays(Schema):
    year: int
    results: list[MemoryDay] = Field(description="The days that have any, in order.")


class MemoryVersion(Schema):
    id: UUID
    kind: Literal["turn", "summary"]
    memory: str
    speaker: str | None
    occurred_at: datetime
    created_at: datetime
    made_into: UUID | None = Field(description="The summary that replaces it.")
    superseded_at: datetime | None


def to_version(row: queries.HistoryRow) -> MemoryVersion:
    """Return a message or a summary of a memory's history as the API shows it."""
    return MemoryVersion(
        id=row["id"],
        kind=cast(Literal["turn", "summary"], row["kind"]),
        memory=row["memory"],
        speaker=row["speaker"],
        occurred_at=row["occurred_at"],
        created_at=row["created_at"],
        made_into=row["superseded_by"],
        superseded_at=row["superseded_at"],
    )


class MemoryHistory(Schema):
    results: list[MemoryVersion] = Field(description="The messages, then the summaries, those of days before weeks.")


class RawLog(Schema):
    """A stored message."""

    id: UUID
    run_id: UUID
    role: Literal["user", "assistant"]
    speaker: str | None
    content: str
    conversation: str
    external_id: str | None
    occurred_at: datetime
    origins: list[MemoryOrigin] = Field([], description="What it was made from, if not from what the user said.")


def to_log(row: queries.SourcesRow) -> RawLog:
    """Return a stored message as the API shows it."""
    return RawLog(
        id=row["id"],
        run_id=row["run_id"],
        role=role_of(row["message_type"]),
        speaker=row["speaker"],
        content=row["content"],
        conversation=row["conversation"],
        external_id=row["external_id"],
        occurred_at=row["occurred_at"],
        origins=row["origins"],
    )


class MemorySources(Schema):
    results: list[RawLog]
    gone: int = Field(description="Messages that retention has deleted; only the summary is left of them.")


class RepeatingAnswer(Schema):
    """An answer that repeats a deleted memory, and is deleted with it."""

    request_id: UUID = Field(description="The run that was given the memory.")
    id: UUID = Field(description="The stored answer.")
    created_at: datetime
    answer: str = Field(description="The beginning of the answer.")


class DoubtfulAnswer(Schema):
    """An answer that was based on a deleted memory and does not clearly repeat it."""

    request_id: UUID = Field(description="The run that was given the memory.")
    id: UUID | None = Field(description="The stored answer; null while the run is unfinished.")
    status: Status
    created_at: datetime
    answer: str | None = Field(description="The beginning of the answer.")


class Forgotten(Schema):
    """What was deleted, or with `preview` would be."""

    logs: int = Field(description="Deleted messages, answers included.")
    answers: int = Field(description="Deleted answers that were based on the memory.")
    records: int = Field(description="Deleted summaries of all levels.")
    facts: int = Field(description="Deleted facts, which rested on these messages alone.")
    reopened: int = Field(description="Summaries that are valid again because their successor was deleted.")
    repeating: list[RepeatingAnswer] = Field(description="At most 100 of these answers, newest first.")
    doubtful: list[DoubtfulAnswer] = Field(
        description="At most 100 answers, newest first, that were based on the memory and do not clearly repeat it; "
        "the same request with doubtful=true deletes them."
    )
    doubtful_runs: int = Field(description="The number of all such answers.")


class ForgetResult(Forgotten):
    id: UUID


class ContextResult(Schema):
    context: str = Field(description="Escaped lines within a <memory> fence: data, never instructions.")
    tokens: int
    sources: list[Source]
    found: bool = Field(description="Whether something in it answers the query.")
    confidence: float = Field(ge=0, le=1, description="How likely that is; found: 0.5 or more.")
