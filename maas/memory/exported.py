"""What the lines of an export hold, each kind with its table and with the ids that point to other lines."""

from __future__ import annotations

import base64
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

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
    """A row of `table`; `ids` and `id_lists` name its columns of ids. Columns that this version does not know stay."""

    model_config = ConfigDict(extra="allow")
    table: ClassVar[str]
    ids: ClassVar[tuple[str, ...]]
    id_lists: ClassVar[tuple[str, ...]] = ()
    left_out: ClassVar[frozenset[str]] = frozenset({"type"})

    id: UUID
    created_at: Time

    def row(self) -> dict[str, Any]:
        """In columns of the table, as JSON."""
        return self.model_dump(mode="json", exclude=set(self.left_out))


class LogRow(Exported):
    table = "raw_logs"
    ids = ("id", "run_id", "archived_run_id", "record_id")
    left_out = frozenset({"type", "role", "at"})

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
    ids = ("id", "run_id", "superseded_by")
    id_lists = ("raw_log_ids",)

    run_id: UUID | None
    known_at: Time
    level: int = Field(ge=0, le=9)
    time_bucket_start: Day
    time_bucket_end: Day
    tags: list[Name] = Field(max_length=1000)
    summary: str
    raw_log_ids: list[UUID]
    is_provisional: Literal[False] = False
    occurred_at: Time
    superseded_by: UUID | None
    superseded_at: Time | None


class ConversationRow(Exported):
    table = "chat_conversations"
    ids = ("id",)
    # Who writes a file could name accounts and chats of others.
    left_out = frozenset({"type", "telegram_chat_id", "user_account_id", "ad_account_id"})

    assistant: str
    mode: str
    title: str | None


class MessageRow(Exported):
    table = "chat_messages"
    ids = ("id", "conversation_id", "run_id")
    id_lists = ("attachment_ids",)

    conversation_id: UUID
    run_id: UUID | None
    role: str
    content: str
    attachment_ids: list[UUID] = Field([], max_length=1000)


class NoteRow(Exported):
    table = "user_notes"
    ids = ("id", "run_id")

    run_id: UUID
    content: str


def _picture(text: object) -> Picture:
    if not isinstance(text, str):
        raise ValueError("must be base64")
    return read_picture(base64.b64decode(text, validate=True))


class AttachmentRow(Exported):
    """What kind of image it is, its bytes say."""

    table = "attachments"
    ids = ("id", "run_id")
    left_out = frozenset({"type", "content"})

    run_id: UUID | None
    kind: Literal["upload", "generated"]
    content: Annotated[Picture, BeforeValidator(_picture)]

    def row(self) -> dict[str, Any]:
        image = self.content
        told = {"media_type": image.media_type, "width": image.width, "height": image.height}
        return super().row() | told | {"content": f"\\x{image.data.hex()}"}


KINDS: dict[str, type[Exported]] = {
    "log": LogRow, "record": RecordRow, "conversation": ConversationRow, "message": MessageRow, "note": NoteRow,
    "attachment": AttachmentRow,
}  # fmt: skip
SKIPPED = frozenset({"run", "action"})  # to read, not to be restored
