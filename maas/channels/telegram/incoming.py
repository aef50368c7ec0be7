"""What an update says: who wrote what in which chat, and whether it is for the bot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from maas.channels.telegram.client import Entity, Message, PhotoSize, TelegramUser, Update
from maas.channels.telegram.phrases import Language, language_of
from shared.text import clean

_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s+|$)")
_IMAGES = ("image/jpeg", "image/png", "image/webp")


@dataclass(frozen=True, slots=True)
class Press:
    """A press of a button: its data, and the message that it stands under."""

    query_id: str
    data: str
    message_id: int


@dataclass(frozen=True, slots=True)
class Incoming:
    """An update that is for the bot. `photo` is the id of a file, `command` the name of a command without its slash."""

    update_id: int
    chat_id: int
    is_group: bool
    sender: TelegramUser
    language: Language
    message_id: int
    text: str = ""
    command: str | None = None
    photo: str | None = None
    press: Press | None = None

    @property
    def name(self) -> str:
        """The name of the user, among those of Telegram."""
        return str(self.sender.id)

    @property
    def dialogue(self) -> str:
        """The dialogue: a private chat; in a group everybody has one of their own."""
        return f"{self.chat_id}:{self.sender.id}" if self.is_group else str(self.chat_id)

    @property
    def answered_message(self) -> int | None:
        """The message that an answer refers to; in private chats it is clear."""
        return self.message_id if self.is_group else None

    @property
    def is_said(self) -> bool:
        """Whether it is something to answer, and neither a command nor a press of a button."""
        return self.press is None and self.command is None and bool(self.text or self.photo)

    @property
    def metadata(self) -> dict[str, Any]:
        """What is stored with a run."""
        return {"first_name": clean(self.sender.first_name)[:100], "language_code": self.language}


def read_update(payload: Mapping[str, Any], bot_id: int, username: str) -> Incoming | None:
    """What an update says; None if it is not for the bot, or nothing that a bot can answer."""
    try:
        update = Update.model_validate(payload)
    except ValidationError:
        return None
    query = update.callback_query
    if query is not None and query.message is not None and query.data is not None and not query.sender.is_bot:
        chat = query.message.chat
        press = Press(query.id, query.data, query.message.message_id)
        return Incoming(
            update.update_id,
            chat.id,
            chat.type != "private",
            query.sender,
            language_of(query.sender.language_code),
            query.message.message_id,
            press=press,
        )
    message = update.message
    if message is None or message.sender is None or message.sender.is_bot or message.sender_chat is not None:
        return None
    is_group = message.chat.type != "private"
    written = clean(_without_mentions(message, username) if is_group else _text_of(message)[0]).strip()
    name, addressed, rest = _split_command(written)
    is_ours = addressed is None or addressed.lower() == username.lower()
    if not is_ours or (is_group and not (addressed or _is_addressed(message, bot_id, username))):
        return None
    return Incoming(
        update.update_id,
        message.chat.id,
        is_group,
        message.sender,
        language_of(message.sender.language_code),
        message.message_id,
        rest,
        name,
        _photo_of(message),
    )


def chat_of(payload: Mapping[str, Any]) -> int:
    """The chat of an update as it came; 0 if it has none."""
    query = payload.get("callback_query")
    message = query.get("message") if isinstance(query, dict) else payload.get("message")
    chat = message.get("chat") if isinstance(message, dict) else None
    number = chat.get("id") if isinstance(chat, dict) else None
    return number if isinstance(number, int) else 0


def _split_command(text: str) -> tuple[str | None, str | None, str]:
    """The name of a command, the bot that it names, and the rest of the text."""
    if (match := _COMMAND.match(text)) is None:
        return None, None, text
    return match[1].lower(), match[2], text[match.end() :].strip()


def _is_addressed(message: Message, bot_id: int, username: str) -> bool:
    """Whether a message of a group names the bot or answers it."""
    replied = message.reply_to_message
    if replied is not None and replied.sender is not None and replied.sender.id == bot_id:
        return True
    text, entities = _text_of(message)
    units = text.encode("utf-16-le")
    return any(_names(units, one, username) for one in entities)


def _text_of(message: Message) -> tuple[str, Sequence[Entity]]:
    """The text of a message or the caption of its photo, with its entities."""
    if message.text is not None:
        return message.text, message.entities
    return message.caption or "", message.caption_entities


def _without_mentions(message: Message, username: str) -> str:
    """The text of a message without the name of the bot."""
    text, entities = _text_of(message)
    units = text.encode("utf-16-le")
    for one in sorted(entities, key=lambda entity: -entity.offset):
        if _names(units, one, username):
            units = units[: 2 * one.offset] + units[2 * (one.offset + one.length) :]
    return units.decode("utf-16-le", errors="replace")


def _names(units: bytes, entity: Entity, username: str) -> bool:
    """Whether an entity of a text is the name of the bot."""
    part = units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le", errors="replace")
    return entity.type == "mention" and part.lower() == f"@{username.lower()}"


def _photo_of(message: Message) -> str | None:
    """The id of the largest size of a photo, or of an image that was sent as a file."""
    if message.photo:
        largest: PhotoSize = max(message.photo, key=lambda one: one.width * one.height)
        return largest.file_id
    if message.document is not None and message.document.mime_type in _IMAGES:
        return message.document.file_id
    return None
