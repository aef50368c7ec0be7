"""Telegram's Bot API: updates of a bot, and messages that it sends and edits.

The token is a part of every URL, so it is masked in all that is logged. A message that was sent cannot be found again:
a `send_` whose outcome is unknown is never repeated here, an edit may be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import httpx2
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from shared.log import hide
from shared.text import clean
from shared.vendors import Vendor, VendorError
from shared.vendors.service import Limits, Refusal, Service, refusal_of_status

VENDOR = Vendor("telegram", "Telegram")
MAX_TEXT_UNITS = 4096  # UTF-16 units of a message after its entities are parsed
MAX_RICH_CHARS = 32_768  # of the HTML of a rich message
MAX_CALLBACK_BYTES = 64
MAX_FILE_BYTES = 20 * 1024 * 1024  # that a bot may download
MAX_STICKER_BYTES = 512 * 1024
STICKER_SIDE = 512  # pixels of its longer side
MAX_BUTTON_CHARS = 64
MAX_UPDATES = 100  # a page
TELEGRAM_LIMITS = Limits(total_s=20.0, max_bytes=MAX_FILE_BYTES, max_pause_s=2.0)
POLL_MARGIN_S = 10.0
_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,100}")
_FILE_PATH = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}/){0,9}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")
_NOT_MODIFIED = "message is not modified"
Json = dict[str, Any]
Keyboard = Sequence[Sequence[tuple[str, str]]]  # rows of buttons: the text and the callback data of each


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


Id = Annotated[int, Field(ge=-(2**62), le=2**62)]
Text = Annotated[str, Field(max_length=100_000)]


class TelegramUser(_Model):
    id: Id
    is_bot: bool = False
    first_name: Text = ""
    username: Text | None = None
    language_code: Text | None = None


class TelegramChat(_Model):
    """A chat; `type` is private, group, supergroup or channel."""

    id: Id
    type: Text


class PhotoSize(_Model):
    file_id: Text
    width: int
    height: int
    file_size: int | None = None


class Document(_Model):
    file_id: Text
    mime_type: Text | None = None
    file_size: int | None = None


class Entity(_Model):
    """A part of a text; `offset` and `length` are in UTF-16 units."""

    type: Text
    offset: int
    length: int


class SentMessage(_Model):
    message_id: Id


class Message(_Model):
    """A message of a chat. `sender_chat` is set where a channel or an anonymous admin speaks."""

    message_id: Id
    chat: TelegramChat
    sender: TelegramUser | None = Field(None, alias="from")
    sender_chat: TelegramChat | None = None
    text: Text | None = None
    caption: Text | None = None
    photo: list[PhotoSize] = []
    document: Document | None = None
    entities: list[Entity] = []
    caption_entities: list[Entity] = []
    reply_to_message: Message | None = None


class CallbackQuery(_Model):
    """A press of a button under a message."""

    id: Text
    sender: TelegramUser = Field(alias="from")
    message: Message | None = None
    data: Text | None = None


class Update(_Model):
    """What happened in a chat; only one member besides `update_id` is set."""

    update_id: Id
    message: Message | None = None
    callback_query: CallbackQuery | None = None


class _File(_Model):
    file_path: Text
    file_size: int | None = None


class NumberedUpdate(BaseModel):
    """An update as it came, of which only the number is known."""

    model_config = ConfigDict(extra="allow")
    update_id: Id


@dataclass(frozen=True, slots=True)
class RichText:
    """A text with the entities of Telegram that format it; with `html` a rich message, which newer clients show."""

    text: str
    entities: tuple[Json, ...] = ()
    html: str | None = None

    def to_json(self) -> Json:
        if self.html is not None:
            return {"rich_message": {"html": self.html}}
        body: Json = {"text": self.text, "link_preview_options": {"is_disabled": True}}
        return body | ({"entities": list(self.entities)} if self.entities else {})


class TelegramClient:
    """One bot. All methods, and a text that is no token, raise VendorError; `forbidden`: the bot is blocked."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str, token: str, limits: Limits = TELEGRAM_LIMITS) -> None:
        hide(token)
        base = base_url.rstrip("/")
        self._service = Service(http, VENDOR, f"{base}/bot{token}", None, token, _read_refusal, limits)
        self._files = Service(http, VENDOR, f"{base}/file/bot{token}", None, token, _read_refusal, limits)
        if not is_token(token):
            raise self._service.error("unauthorized", "a token is a number, a colon and a secret")

    async def get_me(self) -> TelegramUser:
        """Return the bot itself."""
        me: TelegramUser = await self._repeatable("getMe", {}, _result_of(TelegramUser))
        return me

    async def get_updates(self, offset: int | None, timeout_s: int, kinds: Sequence[str]) -> list[Json]:
        """Return the updates from `offset` on, after at most `timeout_s` seconds; those before are confirmed by it."""
        body: Json = {"timeout": timeout_s, "limit": MAX_UPDATES, "allowed_updates": list(kinds)}
        if offset is not None:
            body["offset"] = offset
        found = await self._service.read(
            "/getUpdates", _result_of(list[NumberedUpdate]), method="POST", json=body, read_s=timeout_s + POLL_MARGIN_S
        )
        return [one.model_dump(mode="json") for one in found]

    async def send_message(
        self, chat_id: int, content: RichText, keyboard: Keyboard = (), reply_to: int | None = None
    ) -> int:
        """Send a text once and return the id of the message."""
        body = {"chat_id": chat_id, **content.to_json()}
        if keyboard:
            body["reply_markup"] = _markup(keyboard)
        if reply_to is not None:
            body["reply_parameters"] = {"message_id": reply_to, "allow_sending_without_reply": True}
        return await self._send("sendMessage", body)

    async def edit_message_text(
        self, chat_id: int, message_id: int, content: RichText, keyboard: Keyboard = ()
    ) -> None:
        """Replace text and keyboard of a message; the same again is no error."""
        body = {"chat_id": chat_id, "message_id": message_id, **content.to_json()}
        body["reply_markup"] = _markup(keyboard)
        await self._edit("editMessageText", body)

    async def edit_message_reply_markup(self, chat_id: int, message_id: int, keyboard: Keyboard = ()) -> None:
        """Replace the keyboard of a message; the same again is no error."""
        body = {"chat_id": chat_id, "message_id": message_id, "reply_markup": _markup(keyboard)}
        await self._edit("editMessageReplyMarkup", body)

    async def delete_message(self, chat_id: int, message_id: int) -> None:
        await self._repeatable("deleteMessage", {"chat_id": chat_id, "message_id": message_id}, _ignore)

    async def send_message_draft(self, chat_id: int, draft_id: int, content: RichText) -> None:
        """Show a text that is being written, for half a minute; a draft with the same id replaces the one before."""
        body = {"chat_id": chat_id, "draft_id": draft_id, **content.to_json()}
        body.pop("link_preview_options", None)
        await self._repeatable("sendMessageDraft", body, _ignore)

    async def send_chat_action(self, chat_id: int, action: str) -> None:
        """Show for five seconds what the bot is doing: typing, upload_photo, choose_sticker."""
        await self._repeatable("sendChatAction", {"chat_id": chat_id, "action": action}, _ignore)

    async def answer_callback_query(self, query_id: str, text: str = "") -> None:
        """End the waiting of whoever pressed a button, with a notice if there is a text."""
        body: Json = {"callback_query_id": query_id}
        if text:
            body |= {"text": text[:200], "show_alert": False}
        await self._service.write("POST", "/answerCallbackQuery", _ignore, json=body)

    async def set_my_commands(self, commands: Mapping[str, str], language: str = "") -> None:
        """Set the list of commands, with their descriptions, that clients of this language show; "": all others."""
        listed = [{"command": name, "description": text} for name, text in commands.items()]
        await self._repeatable("setMyCommands", {"commands": listed, "language_code": language}, _ignore)

    async def set_webhook(self, url: str, secret: str, kinds: Sequence[str]) -> None:
        """Have updates sent to this URL, with the secret in the header X-Telegram-Bot-Api-Secret-Token."""
        body = {"url": url, "secret_token": secret, "allowed_updates": list(kinds), "max_connections": 40}
        await self._repeatable("setWebhook", body, _ignore)

    async def delete_webhook(self) -> None:
        """Have updates wait for `get_updates`."""
        await self._repeatable("deleteWebhook", {}, _ignore)

    async def get_file(self, file_id: str) -> bytes:
        """Return the content of a file that a user has sent."""
        found = await self._repeatable("getFile", {"file_id": file_id}, _result_of(_File))
        if found.file_size is not None and found.file_size > MAX_FILE_BYTES:
            raise self._service.error("invalid", "the file is larger than 20 MB")
        if not _FILE_PATH.fullmatch(found.file_path):
            raise self._service.error("bad_reply", "this is not the path of a file")
        return await self._files.download(f"/{found.file_path}")

    async def send_sticker(self, chat_id: int, webp: bytes) -> int:
        """Send a still sticker once and return the id of the message."""
        return await self._send("sendSticker", {"chat_id": chat_id}, {"sticker": ("sticker.webp", webp, "image/webp")})

    async def send_photo(self, chat_id: int, content: bytes, media_type: str) -> int:
        """Send a photo once and return the id of the message."""
        return await self._send("sendPhoto", {"chat_id": chat_id}, {"photo": ("photo", content, media_type)})

    async def _send(self, method: str, body: Json, files: Mapping[str, tuple[str, bytes, str]] | None = None) -> int:
        parse: Callable[[Any], SentMessage] = _result_of(SentMessage)
        if files is None:
            sent = await self._service.write("POST", f"/{method}", parse, json=body)
        else:
            form = {name: one if isinstance(one, str) else json.dumps(one) for name, one in body.items()}
            sent = await self._service.write("POST", f"/{method}", parse, form=form, files=files)
        return sent.message_id

    async def _edit(self, method: str, body: Json) -> None:
        try:
            await self._repeatable(method, body, _ignore)
        except VendorError as error:
            if error.code != "invalid" or _NOT_MODIFIED not in error.message:
                raise

    async def _repeatable(self, method: str, body: Json, parse: Any) -> Any:
        """Call a method that may be carried out twice."""
        return await self._service.read(f"/{method}", parse, method="POST", json=body)


def is_token(text: str) -> bool:
    """Return whether this looks like the token of a bot: its id, a colon and a secret."""
    return _TOKEN.fullmatch(text) is not None


def utf16_length(text: str) -> int:
    """Return the length in the units in which Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


def _markup(keyboard: Keyboard) -> Json:
    rows = [[{"text": text[:MAX_BUTTON_CHARS], "callback_data": data} for text, data in row] for row in keyboard]
    return {"inline_keyboard": rows}


def _ignore(body: Any) -> None:
    if not isinstance(body, dict) or body.get("ok") is not True:
        raise ValueError("it is not a success")


def _result_of(kind: Any) -> Any:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def parse(body: Any) -> Any:
        _ignore(body)
        return adapter.validate_python(body.get("result"))

    return parse


def _read_refusal(status: int, headers: Mapping[str, str], body: Any) -> Refusal:
    """Errors are {ok: false, error_code, description, parameters: {retry_after}}."""
    described = body.get("description") if isinstance(body, dict) else None
    description = clean(described) if isinstance(described, str) else ""
    parameters = body.get("parameters") if isinstance(body, dict) else None
    wait_s = parameters.get("retry_after") if isinstance(parameters, dict) else None
    if isinstance(wait_s, int | float) and not isinstance(wait_s, bool) and 0 <= wait_s < 10**6:
        return Refusal("rate_limited", description, float(wait_s))
    if status == 404 and description == "Not Found":
        return Refusal("unauthorized", "404 the token is of no bot")
    if status == 400 and "not found" in description.lower():
        return Refusal("not_found", f"400 {description}")
    return refusal_of_status(status, headers, description)
