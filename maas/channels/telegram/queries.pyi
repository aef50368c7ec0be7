"""The queries of sql/queries: their rows and arguments. Written by tests/sql/test_query_types.py with RECORD=1."""

from typing import Any, Literal, Never, TypedDict
from uuid import UUID

from shared import query as pg
from shared.query import Query, Value

# telegram.sql

class TelegramLockRow(TypedDict):
    pg_try_advisory_lock: bool | Any

telegram_lock: Value[bool, TelegramLockRow, pg.int8]

telegram_open: Value[int, Never, pg.int8, pg.text, pg.text]

telegram_take: Value[int, Never, pg.int8, pg.jsonb]

class TelegramUnhandledRow(TypedDict):
    update_id: int
    payload: Any

telegram_unhandled: Query[TelegramUnhandledRow, pg.int8, pg.int8]

telegram_handled: Value[None, Never, pg.int8, pg.int8, pg.text]

telegram_fail: Value[int, Never, pg.int8, pg.int8, pg.text]

class TelegramAskRow(TypedDict):
    verdict: str | Any
    run_id: UUID | Any
    reply_id: int | Any
    user_id: UUID | Any

telegram_ask: Query[
    TelegramAskRow,
    pg.int8,
    pg.int8,
    pg.int8,
    pg.int8,
    pg.text,
    pg.text,
    pg.text,
    pg.text,
    pg.text,
    pg.jsonb,
    pg.array[pg.uuid],
    pg.int4,
    pg.float8,
]

telegram_hold: Value[None, Never, pg.text, pg.text, pg.text, pg.float8]

class TelegramStartRow(TypedDict):
    verdict: str | Any
    run_id: UUID | Any
    reply_id: int | Any
    user_id: UUID | Any

telegram_start: Query[TelegramStartRow, pg.int8, pg.int8, pg.int8, pg.text, pg.text, pg.text, pg.text, pg.jsonb]

class TelegramNoticeRow(TypedDict):
    reply_id: int | Any
    user_id: UUID | Any

telegram_notice: Query[TelegramNoticeRow, pg.int8, pg.int8, pg.int8, pg.int8, pg.text, pg.text, pg.text]

telegram_follow: Value[int, Never, pg.int8, pg.int8, pg.uuid, pg.uuid, pg.text, pg.int8]

class TelegramOpenRepliesRow(TypedDict):
    id: int | Any
    chat_id: int | Any
    user_id: UUID | Any
    run_id: UUID | None
    notice: str | None
    reply_to: int | None
    language: str | Any
    wait_s: float | Any
    is_task: bool | Any

telegram_open_replies: Query[TelegramOpenRepliesRow, pg.int8, pg.int8]

class TelegramTasksRow(TypedDict):
    run_id: UUID | Any
    chat_id: int | Any
    user_id: UUID | Any
    language: str | Any
    reply_to: int | Any

telegram_tasks: Query[TelegramTasksRow, pg.int8]

class TelegramMessagesRow(TypedDict):
    id: int
    part: int
    kind: Literal["text", "image", "action"]
    action_id: UUID | None
    message_id: int | None
    shown: str | None
    state: Literal["sending", "sent", "closed", "orphaned", "in_doubt", "deleted"]

telegram_messages: Query[TelegramMessagesRow, pg.int8]

telegram_place: Value[int, Never, pg.int8, pg.int4, pg.text, pg.uuid]

telegram_set_message: Value[bool, Never, pg.int8, pg.text, pg.int8, pg.text]

telegram_end: Value[None, Never, pg.int8, pg.text, pg.text]

telegram_delay: Value[None, Never, pg.int8, pg.int8, pg.float8]

telegram_report: Value[None, Never, pg.int8, pg.text]

telegram_clean: Value[None, Never]

class TelegramDecidedRow(TypedDict):
    id: int
    message_id: int | None
    chat_id: int
    user_id: UUID
    language: str
    reply_to: int | None
    action_id: UUID
    tool: str
    arguments: Any
    effect: Literal["read", "write", "dangerous"]
    wording: Any
    status: str | Any
    action_run_id: UUID | None

telegram_decided: Query[TelegramDecidedRow, pg.int8]

class TelegramActionRow(TypedDict):
    tool: str
    arguments: Any
    effect: Literal["read", "write", "dangerous"]
    wording: Any

telegram_action: Query[TelegramActionRow, pg.uuid, pg.uuid]

class TelegramBotsRow(TypedDict):
    bot_id: int
    username: str
    assistant: str
    error: str | None
    silent_s: float | Any
    waiting: int | Any
    oldest_s: float | Any
    open: int | Any
    dropped: int | Any
    orphaned: int | Any
    in_doubt: int | Any

telegram_bots: Query[TelegramBotsRow]
