"""/api/brain/telegram: messages, mode and state of private chats of Telegram, by the id of the chat."""

from __future__ import annotations

import re
from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator, Field, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from maas import queries as core
from maas.assistants.ads.routes.brain import (
    ASSISTANT,
    BrainBody,
    BrainSchema,
    answer_when_finished,
    read_own_account,
    run_metadata,
    submit,
)
from maas.conversations import (
    Mode,
    change_conversation,
    clear_conversation,
    open_chat_conversation,
    unknown_assistant,
)
from maas.http.authorize import check_user, note_user, principal_of, read_body
from maas.http.conversations import ClearResult
from maas.http.request_input import read_idempotency_key, read_parameter
from maas.http.schemas import AssistantName, Name, QueryText, json_response
from maas.http.state import app_state
from maas.runs.submit import Submission
from maas.users import TELEGRAM, find_user, get_or_create_user
from shared.errors import MaasError
from shared.json import is_storable

CHAT_PATTERN = "^[1-9][0-9]{0,15}$"
CHAT_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string", "pattern": CHAT_PATTERN}, {"type": "integer", "minimum": 1, "maximum": 2**52}]
}
_UNKNOWN = "there is no such chat"


def read_chat_id(value: object) -> str:
    """The id of a private chat. Raises ValueError."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int) or not re.fullmatch(CHAT_PATTERN, str(value)):
        raise ValueError("must be the id of a private chat, a number above 0; groups are not served")
    return str(value)


ChatId = Annotated[str, BeforeValidator(read_chat_id), WithJsonSchema(CHAT_SCHEMA)]


class TelegramChat(BrainBody):
    telegram_chat_id: ChatId
    assistant: AssistantName = ASSISTANT


class TelegramMessage(TelegramChat):
    message: QueryText
    ad_account_id: Name | None = Field(
        None, description="The ad account that tools work on from now on: its id or `act_NUMBER`."
    )


class TelegramModeChange(TelegramChat):
    mode: Mode


class TelegramStatus(BrainSchema):
    telegram_chat_id: str
    conversation_id: UUID
    mode: Mode
    is_processing: bool = Field(description="Whether a run or an action of the conversation is unfinished.")
    message_count: int
    last_agent: str | None
    last_domain: str | None


async def post_telegram_chat(request: Request) -> Response:
    """Send a message of a private chat to an assistant and wait for its answer; the chat is the user."""
    body = await read_body(request, TelegramMessage)
    state, principal, key = app_state(request), principal_of(request), read_idempotency_key(request)
    if not await state.db.rows(core.assistant_definition, body.assistant):
        raise await unknown_assistant(state.db, body.assistant)
    known = await _find_user(request, body.telegram_chat_id)
    if known is None and (principal.is_bound or body.ad_account_id is not None):
        raise MaasError("not_found", _UNKNOWN)
    user_id = known or await get_or_create_user(state.db, body.telegram_chat_id, TELEGRAM)
    await note_user(request, user_id)
    account = await read_own_account(state.db, user_id, None, body.ad_account_id)
    conversation_id = await open_chat_conversation(state.db, body.telegram_chat_id, user_id, body.assistant, account)
    submission = Submission(
        user_id=user_id,
        query=body.message,
        assistant=body.assistant,
        conversation_id=conversation_id,
        metadata=run_metadata(account),
        source=TELEGRAM,
        caller=principal.name,
        idempotency_key=key,
    )
    return await answer_when_finished(request, await submit(request, submission))


async def post_telegram_clear(request: Request) -> Response:
    """Remove the messages of a chat; the user's memory keeps them."""
    body = await read_body(request, TelegramChat)
    status = await _read_status(request, body.telegram_chat_id, body.assistant)
    return json_response(ClearResult(messages=await clear_conversation(app_state(request).db, status.conversation_id)))


async def post_telegram_mode(request: Request) -> Response:
    """Change the mode of a chat; it applies from the next message on."""
    body = await read_body(request, TelegramModeChange)
    status = await _read_status(request, body.telegram_chat_id, body.assistant)
    await change_conversation(app_state(request).db, status.conversation_id, body.mode)
    return json_response(status.model_copy(update={"mode": body.mode}))


async def get_telegram_status(request: Request) -> Response:
    """Return the state of a chat: its mode, whether an answer is in progress, its messages, who answered last."""
    chat_id: str | None = read_parameter(request, "telegramChatId", read_chat_id)
    if chat_id is None:
        raise MaasError("bad_parameter", "telegramChatId: is required")
    assistant: str = read_parameter(request, "assistant", str, ASSISTANT)
    return json_response(await _read_status(request, chat_id, assistant))


async def _find_user(request: Request, chat_id: str) -> UUID | None:
    """The user of a chat; None for a new chat. Raises MaasError('not_found') for one that the principal may not see."""
    user_id = await find_user(app_state(request).db, chat_id, TELEGRAM)
    if user_id is not None:
        try:
            await check_user(request, user_id)
        except MaasError as error:  # its message would reveal the user id
            raise (MaasError("not_found", _UNKNOWN) if error.code == "not_found" else error) from error
    return user_id


async def _read_status(request: Request, chat_id: str, assistant: str) -> TelegramStatus:
    """Raises MaasError('not_found') for a chat that has no conversation with the assistant, or is not the caller's."""
    db, user_id = app_state(request).db, await _find_user(request, chat_id)
    known = user_id is not None and is_storable(assistant)
    row = await db.row(core.chat_status, chat_id, user_id, assistant) if known else None
    if user_id is None or row is None:
        raise MaasError("not_found", _UNKNOWN)
    return TelegramStatus(
        telegram_chat_id=chat_id,
        conversation_id=row["id"],
        mode=row["mode"],
        is_processing=row["is_processing"],
        message_count=row["message_count"],
        last_agent=row["last_agent"],
        last_domain=row["last_domain"],
    )
