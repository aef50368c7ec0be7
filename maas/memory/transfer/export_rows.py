"""The lines of an export, and the columns that each may have when it is imported."""

from __future__ import annotations

import base64
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_serializer,
    model_validator,
)

from maas.memory.dates import to_utc
from maas.memory.facts import Kind, Verdict
from maas.memory.notes import MAX_NOTE_CHARS
from shared.images import SanitizedImage, sanitize_image

PLUGIN_TYPE = "plugin"  # of the rows of all plugins


def _day(day: date) -> date:
    to_utc(datetime(day.year, day.month, day.day))
    return day


Time = Annotated[AwareDatetime, AfterValidator(to_utc)]
Day = Annotated[date, AfterValidator(_day)]
Name = Annotated[str, Field(max_length=200)]
FactName = Annotated[str, Field(min_length=1, max_length=100)]


class ExportHeader(BaseModel):
    """The first line of an export."""

    version: Literal[1]
    user_id: UUID


class ExportLine(BaseModel):
    """A line of an export, which is a row of `table`; a column that is not declared is refused.

    `ignored` are columns that are exported but not imported. `converted` are those that `row` replaces by others.
    """

    model_config = ConfigDict(extra="forbid")
    table: ClassVar[str]
    ignored: ClassVar[frozenset[str]] = frozenset()
    converted: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _drop_ignored(cls, line: dict[str, Any]) -> dict[str, Any]:
        return {name: line[name] for name in line if name != "type" and name not in cls.ignored}

    def row(self) -> dict[str, Any]:
        """Return the row as JSON, by columns of the table."""
        return self.model_dump(mode="json", exclude=set(self.converted))


class ExportRow(ExportLine):
    """A line with an id of its own."""

    id: UUID
    created_at: Time


class OriginRow(BaseModel):
    """What a message was made from."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["tool", "document", "import"]
    name: Annotated[str, Field(max_length=500)]
    domain: Name | None = None
    id: UUID | None = None

    @model_serializer
    def _without_nulls(self) -> dict[str, str]:
        fields = {"kind": self.kind, "name": self.name, "domain": self.domain, "id": str(self.id) if self.id else None}
        return {name: value for name, value in fields.items() if value is not None}


class LogRow(ExportRow):
    """A message in memory."""

    table = "raw_logs"
    ignored = frozenset({"archive_owed"})  # refers to a run, and runs are not imported
    converted = frozenset({"role", "at"})

    run_id: UUID
    known_at: Time
    turn_no: int = Field(0, ge=0, lt=2**31)
    role: Literal["user", "assistant"]
    content: str
    speaker: str | None
    conversation: Name
    external_id: Name | None
    metadata: dict[str, Any] | None
    at: Time
    archived_at: Time | None
    archived_run_id: UUID | None
    record_id: UUID | None
    is_remembered: bool = True
    origins: list[OriginRow] = Field([], max_length=1000)

    def row(self) -> dict[str, Any]:
        """Return the columns of raw_logs; a message that is not remembered counts as archived."""
        kind = "user_query" if self.role == "user" else "assistant_response"
        row = super().row() | {"message_type": kind, "occurred_at": self.at.isoformat()}
        return row if self.is_remembered else row | {"archived_at": row["archived_at"] or row["created_at"]}


class SummaryRow(ExportRow):
    """A summary of messages."""

    table = "lsm_storage"

    run_id: UUID | None
    known_at: Time
    level: int = Field(ge=0, le=9)
    time_bucket_start: Day
    time_bucket_end: Day
    tags: list[Name] = Field(max_length=1000)
    summary: str
    raw_log_ids: list[UUID]
    is_provisional: Literal[False] = False
    is_degraded: bool = False
    words_gone: bool = False
    occurred_at: Time
    superseded_by: UUID | None
    superseded_at: Time | None
    origins: list[OriginRow] = Field([], max_length=1000)


class CorrectionRow(ExportRow):
    """A message that corrects a memory; `id` is that of the message."""

    table = "memory_corrections"

    memory_id: UUID
    root_id: UUID


class FactRow(ExportRow):
    """What is true of a user, or was."""

    table = "facts"

    statement: Annotated[str, Field(min_length=1, max_length=MAX_NOTE_CHARS)]
    subject: FactName
    attribute: FactName
    kind: Kind
    change: Literal["states", "begins", "ends", "corrects"]
    depends_on: list[FactName] = Field(max_length=100)
    said_by: Annotated[str, Field(min_length=1, max_length=200)]
    said_at: Time
    known_at: Time
    true_from: Day | None
    true_until: Day | None
    raw_log_ids: list[UUID]
    run_id: UUID | None = None
    origin: Literal["rule", "model", "person", "asked"]
    model: Name | None
    origins: list[OriginRow] = Field([], max_length=1000)


class FactDecisionRow(ExportRow):
    """What a person decided about a statement."""

    table = "fact_decisions"

    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    verdict: Verdict


class FactNameRow(ExportRow):
    """Two names of one subject."""

    table = "fact_names"

    name: FactName
    same_as: FactName


class ConversationRow(ExportRow):
    """A conversation."""

    table = "chat_conversations"
    # The author of a file could name accounts and chats of other users.
    ignored = frozenset({"telegram_chat_id", "user_account_id", "ad_account_id", "is_open"})

    assistant: str
    mode: str
    title: str | None
    source: str = "web"
    rolling_summary: str = ""
    last_agent: str | None = None
    last_domain: str | None = None
    is_pinned: bool = False
    is_archived: bool = False
    is_remembered: bool = True


class MessageRow(ExportRow):
    """A message of a conversation."""

    table = "chat_messages"

    conversation_id: UUID
    run_id: UUID | None
    role: str
    content: str
    attachment_ids: list[UUID] = Field([], max_length=1000)
    actions: list[dict[str, Any]] | None = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_result: Any = None
    agent: str | None = None
    tokens_used: int | None = Field(None, ge=0, lt=2**31)
    is_folded: bool = False


class NoteRow(ExportRow):
    """A note in an export from before notes were facts."""

    table = "facts"
    converted = frozenset({"content"})

    run_id: UUID
    content: Annotated[str, Field(min_length=1, max_length=MAX_NOTE_CHARS)]

    def row(self) -> dict[str, Any]:
        """Return the columns of facts."""
        said_at = self.created_at.isoformat()
        return super().row() | {
            "statement": self.content,
            "subject": "user",
            "attribute": f"note:{self.run_id}",
            "kind": "note",
            "change": "states",
            "depends_on": [],
            "said_by": "user",
            "said_at": said_at,
            "known_at": said_at,
            "raw_log_ids": [],
            "origin": "person",
            "origins": [],
        }


class DocumentRow(ExportRow):
    """A document of the user, without its passages."""

    table = "knowledge_documents"

    name: Annotated[str, Field(min_length=1, max_length=500)]
    media_type: Annotated[str, Field(min_length=1, max_length=100)]
    sha256: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
    bytes: int = Field(ge=0, lt=2**40)
    pages: int | None = Field(ge=0, lt=2**31)
    summary: Annotated[str, Field(max_length=4000)]
    track_id: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]

    def row(self) -> dict[str, Any]:
        """Return the columns of knowledge_documents; its passages are in the export, so it is processed."""
        return super().row() | {"status": "processed"}


class PassageRow(ExportLine):
    """A passage of a document."""

    table = "knowledge_chunks"

    document_id: UUID
    number: int = Field(ge=1, le=20_000)
    heading: Annotated[str, Field(max_length=500)]
    page: int | None = Field(ge=0, lt=2**31)
    position: int = Field(ge=0, lt=2**31)
    text: Annotated[str, Field(max_length=2000)]


def _picture(text: object) -> SanitizedImage:
    if not isinstance(text, str):
        raise ValueError("must be base64")
    return sanitize_image(base64.b64decode(text, validate=True))


class AttachmentRow(ExportRow):
    """An image in base64; its media type and size are read from its bytes."""

    table = "attachments"
    ignored = frozenset({"media_type", "width", "height", "sha256"})
    converted = frozenset({"content"})

    run_id: UUID | None
    kind: Literal["upload", "generated"]
    content: Annotated[SanitizedImage, BeforeValidator(_picture)]

    def row(self) -> dict[str, Any]:
        """Return the columns of attachments, type and size as the image itself has them."""
        image = self.content
        return super().row() | {"media_type": image.media_type, "width": image.width, "height": image.height}


ROW_TYPES: dict[str, type[ExportLine]] = {
    "log": LogRow,
    "record": SummaryRow,
    "correction": CorrectionRow,
    "fact": FactRow,
    "fact_decision": FactDecisionRow,
    "fact_name": FactNameRow,
    "conversation": ConversationRow,
    "message": MessageRow,
    "note": NoteRow,
    "document": DocumentRow,
    "passage": PassageRow,
    "attachment": AttachmentRow,
}
SKIPPED_TYPES = frozenset({"run", "action", PLUGIN_TYPE})  # exported for reading, not imported
