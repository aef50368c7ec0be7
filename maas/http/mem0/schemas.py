"""The bodies of requests and responses of mem0's API, as far as MaaS serves it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, Strict, WithJsonSchema

from maas.http.schemas import MAX_METADATA_BYTES, NUMBER, MemoryMetadata, Name, QueryText, Schema, only_field
from shared.text import clean

MAX_TOP_K = 100
MAX_PAGE_SIZE = 500
MAX_BATCH = 1000
MAX_CATEGORIES = 100
MAX_IGNORED_NAMES = 100
MAX_NAME_CHARS = 64


Seconds = Annotated[float, Field(ge=-62_104_060_800, lt=253_370_764_800), NUMBER]  # the years 2 to 9998
TopK = Annotated[int, Field(ge=1, le=MAX_TOP_K), NUMBER]
IsoTime = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Categories = Annotated[list[str], Field(max_length=MAX_CATEGORIES)]
Flag = Annotated[bool, Strict()]


class Mem0Request(Schema):
    """Base of the bodies of mem0's API: fields that MaaS does not know have no effect, and the response names them."""

    model_config = ConfigDict(extra="allow")

    def ignored(self, names: Iterable[str] = ()) -> tuple[str, ...]:
        """The fields without effect that are set, those that MaaS knows but cannot honour among them."""
        extra = [name for name, value in (self.model_extra or {}).items() if value not in (None, [], {})]
        return tuple(dict.fromkeys(clean(name)[:MAX_NAME_CHARS] for name in (*names, *extra)))[:MAX_IGNORED_NAMES]


class Mem0Message(Mem0Request):
    role: str = Field(description="user or assistant; messages of other roles are left out.")
    content: str | list[dict[str, Any]] | None = Field(
        None, description="Text, or parts of the type `text`; other parts are left out."
    )
    name: Name | None = Field(None, description="Who speaks.")


class Mem0Add(Mem0Request):
    """Messages to remember. Each of the user is a memory; those of the assistant are kept as their context."""

    messages: list[Mem0Message] = Field(min_length=1, max_length=500)
    user_id: Name | None = Field(None, description="The user by name, any text; or by `filters`.")
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = Field(None, description="The session; it is the conversation of the messages.")
    metadata: MemoryMetadata | None = Field(None, description=f"At most {MAX_METADATA_BYTES} bytes of JSON.")
    filters: dict[str, Any] | None = Field(None, description="The same ids, where they are not fields of their own.")
    timestamp: Seconds | None = Field(None, description="When it was said, in seconds since 1970; by default now.")
    infer: Flag | None = Field(None, description="Accepted and ignored: messages are kept word for word.")


class Mem0Search(Mem0Request):
    query: QueryText
    user_id: Name | None = Field(None, description="The user by name, any text; or by `filters`.")
    filters: dict[str, Any] | None = Field(
        None, description="AND, OR, NOT over ids, times, metadata, categories and words."
    )
    categories: Categories | None = Field(None, description="Only memories of one of these categories.")
    top_k: TopK | None = Field(None, description="By default 10.")
    threshold: Annotated[float, NUMBER] | None = Field(None, description="Only memories with at least this score.")
    latest_only: Flag | None = Field(None, description="A memory always reads as its latest version.")
    facts: Flag | None = Field(None, description="Return first the facts, at most three, that fit the query.")


class Mem0List(Mem0Request):
    user_id: Name | None = Field(None, description="The user by name, any text; or by `filters`.")
    filters: dict[str, Any] | None = Field(
        None, description="AND, OR, NOT over ids, times, metadata, categories and words."
    )
    categories: Categories | None = Field(None, description="Only memories of one of these categories.")
    start_date: IsoTime | None = Field(None, description="Only memories of this time or later, in ISO 8601.")
    end_date: IsoTime | None = Field(None, description="Only memories of this time or earlier, in ISO 8601.")
    latest_only: Flag | None = Field(None, description="A memory always reads as its latest version.")


class Mem0Update(Mem0Request):
    model_config = ConfigDict(json_schema_extra={"anyOf": [only_field("text"), only_field("metadata")]})

    text: QueryText | None = Field(None, description="What is right instead.")
    metadata: MemoryMetadata | None = Field(None, description="Replaces what was there.")


class Mem0BatchItem(Mem0Update):
    memory_id: UUID


class Mem0BatchUpdate(Mem0Request):
    memories: list[Mem0BatchItem] = Field(max_length=MAX_BATCH)


class Mem0BatchId(Mem0Request):
    memory_id: UUID


class Mem0BatchDelete(Mem0Request):
    memories: list[Mem0BatchId] = Field(max_length=MAX_BATCH)


class Mem0Memory(Schema):
    """A message of the user as its newest correction reads, or a fact."""

    id: UUID
    memory: str
    user_id: str
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    metadata: dict[str, Any] | None = None
    categories: list[str] = Field([], description="The tags of the summary that it is in; empty until that is written.")
    created_at: datetime = Field(description="When it was said.")
    updated_at: datetime = Field(description="When it was corrected last.")
    score: float | None = Field(None, description="Of a search: 0 to 1.")


class Mem0Added(Schema):
    id: UUID
    event: Literal["ADD"] = "ADD"
    memory: str


class Mem0AddResult(Schema):
    results: list[Mem0Added] = Field(description="The messages of the user, which can be searched now.")
    status: Literal["SUCCEEDED"] = "SUCCEEDED"
    event_id: UUID = Field(description="The run that summarizes them.")


class Mem0Results(Schema):
    results: list[Mem0Memory]


class Mem0Page(Mem0Results):
    count: int
    next: str | None = Field(description="The path of the next page.")
    previous: str | None = Field(description="The path of the page before.")


class Mem0Version(Schema):
    id: UUID
    memory_id: UUID
    event: Literal["ADD", "UPDATE"]
    old_memory: str | None
    new_memory: str
    user_id: str
    created_at: datetime
    updated_at: datetime


class Mem0Done(Schema):
    message: str


class Mem0Ping(Schema):
    """That the key is valid. The Python SDK does not start without an organization and a project: they have no use."""

    status: Literal["ok"] = "ok"
    org_id: Literal["maas"] = "maas"
    project_id: Literal["maas"] = "maas"
    user_email: None = None


class Mem0Entity(Schema):
    id: UUID
    name: str
    type: Literal["user"] = "user"
    created_at: datetime | None


class Mem0Entities(Schema):
    count: int
    next: str | None = Field(description="The path of the next page.")
    previous: str | None = Field(description="The path of the page before.")
    results: list[Mem0Entity]
