"""What the lines of an export hold, each kind with its table and with every column that a line may have."""

from __future__ import annotations

import base64
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from maas.memory.history import keep_time
from shared.pictures import Picture, read_picture

Time = Annotated[AwareDatetime, AfterValidator(keep_time)]
Name = Annotated[str, Field(max_length=200)]


def _day(day: date) -> date:
    keep_time(datetime(day.year, day.month, day.day))
    return day


Day = Annotated[date, AfterValidator(_day)]


class Header(BaseModel):
    version: Literal[1]
    user_id: UUID


class Exported(BaseModel):
    """A row of `table`; columns that are not named here are refused.

    `ignored` are columns that an export has and nobody brings back, `left_out` those that `row` turns into others.
    """

    model_config = ConfigDict(extra="forbid")
    table: ClassVar[str]
    ignored: ClassVar[frozenset[str]] = frozenset()
    left_out: ClassVar[frozenset[str]] = frozenset()

    id: UUID
    created_at: Time

    @model_validator(mode="before")
    @classmethod
    def _ignore(cls, line: dict[str, Any]) -> dict[str, Any]:
        return {name: line[name] for name in line if name != "type" and name not in cls.ignored}

    def row(self) -> dict[str, Any]:
        """In columns of the table, as JSON."""
        return self.model_dump(mode="json", exclude=set(self.left_out))


class LogRow(Exported):
    table = "raw_logs"
    ignored = frozenset({"archive_owed"})  # to a run that stays behind
    left_out = frozenset({"role", "at"})

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

    def row(self) -> dict[str, Any]:
        kind = "user_query" if self.role == "user" else "assistant_response"
        row = super().row() | {"message_type": kind, "occurred_at": self.at.isoformat()}
        return row if self.is_remembered else row | {"archived_at": row["archived_at"] or row["created_at"]}


class RecordRow(Exported):
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


class ConversationRow(Exported):
    table = "chat_conversations"
    # Who writes a file could name accounts and chats of others.
    ignored = frozenset({"telegram_chat_id", "user_account_id", "ad_account_id"})

    assistant: str
    mode: str
    title: str | None
    source: str = "web"
    rolling_summary: str = ""
    last_agent: str | None = None
    last_domain: str | None = None


class MessageRow(Exported):
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


class NoteRow(Exported):
    table = "user_notes"

    run_id: UUID
    content: str


def _picture(text: object) -> Picture:
    if not isinstance(text, str):
        raise ValueError("must be base64")
    return read_picture(base64.b64decode(text, validate=True))


class AttachmentRow(Exported):
    """What kind of image it is, its bytes say."""

    table = "attachments"
    ignored = frozenset({"media_type", "width", "height", "sha256"})
    left_out = frozenset({"content"})

    run_id: UUID | None
    kind: Literal["upload", "generated"]
    content: Annotated[Picture, BeforeValidator(_picture)]

    def row(self) -> dict[str, Any]:
        image = self.content
        return super().row() | {"media_type": image.media_type, "width": image.width, "height": image.height}


KINDS: dict[str, type[Exported]] = {
    "log": LogRow, "record": RecordRow, "conversation": ConversationRow, "message": MessageRow, "note": NoteRow,
    "attachment": AttachmentRow,
}  # fmt: skip
SKIPPED = frozenset({"run", "action"})  # to read, not to be restored
