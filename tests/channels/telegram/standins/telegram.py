"""A stand-in for Telegram's Bot API: updates wait with offsets, messages are kept with the times of their edits.

State: `bots` {token: {id, username}}; `files` {file_id: {path, content in base64}}; `blocked` [chat ids that refuse
with 403]; `flood` {chat id: seconds since 1970 until which it refuses with 429}. What is sent is in `chats` {chat id:
{messages: {id: {text, entities, keyboard, sticker, photo, reply_to, at, edits: [{at, text}], is_deleted}}, drafts,
actions}}, answers to buttons in `answers`. Updates come by `POST /__control/state` with `push`: {token: {number:
[updates without their ids]}}, in the order of the numbers.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import re
import time
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.standins.server import Fault, Json, StandIn, run, standin_of

KINDS = {
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
}
MEMBERS = {"type", "offset", "length", "url", "user", "language", "custom_emoji_id"}


class Refused(Exception):
    def __init__(self, status: int, description: str, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.status, self.description, self.retry_after = status, description, retry_after


def error(refused: Refused) -> Response:
    body: Json = {"ok": False, "error_code": refused.status, "description": refused.description}
    if refused.retry_after is not None:
        body["parameters"] = {"retry_after": refused.retry_after}
    return JSONResponse(body, refused.status)


def refuse(fault: Fault) -> Response:
    wait_s = round(fault.retry_after) if fault.retry_after is not None else None
    return error(Refused(fault.status, fault.message, wait_s))


def bad(text: str) -> Refused:
    return Refused(400, f"Bad Request: {text}")


class Bot:
    """One request of a bot: its state, and the parameters of the request."""

    def __init__(self, request: Request, parameters: Json) -> None:
        self._standin = standin_of(request)
        self.token = request.path_params["token"]
        if not re.fullmatch(r"[0-9]+:[A-Za-z0-9_-]+", self.token):
            raise Refused(404, "Not Found")
        if self.token not in self.state.get("bots", {}):
            raise Refused(401, "Unauthorized")
        self.me = self.state["bots"][self.token]
        self.parameters = parameters

    @property
    def state(self) -> Json:
        """As it is now: another request may have replaced it."""
        return self._standin.state

    def whole(self, name: str, default: int | None = None) -> int:
        value = self.parameters.get(name, default)
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise bad(f"{name} is wrong")
        return value

    def chat(self) -> Json:
        chat_id = self.whole("chat_id")
        wait_s = self.state.get("flood", {}).get(str(chat_id), 0) - time.time()
        if wait_s > 0:
            raise Refused(429, f"Too Many Requests: retry after {int(wait_s) + 1}", int(wait_s) + 1)
        if chat_id in self.state.get("blocked", []):
            raise Refused(403, "Forbidden: bot was blocked by the user")
        chat: Json = self.state.setdefault("chats", {}).setdefault(str(chat_id), {"messages": {}})
        return chat

    def message(self, chat: Json, name: str = "message_id") -> Json:
        found: Json | None = chat["messages"].get(str(self.whole(name)))
        if found is None or found.get("is_deleted"):
            raise bad("message to edit not found")
        return found

    def text(self) -> Json:
        """The text of a message with its entities, checked as Telegram checks them."""
        if (rich := self.parameters.get("rich_message")) is not None:
            html = rich.get("html", "")
            if "text" in self.parameters or not 0 < len(html) <= 32_768:
                raise bad("rich message is damaged")
            return {"text": re.sub(r"<[^>]*>", "", html), "entities": [], "rich": html, "keyboard": self.keyboard()}
        text = self.parameters.get("text")
        if not isinstance(text, str) or not text.strip():
            raise bad("message text is empty")
        units = len(text.encode("utf-16-le")) // 2
        if units > 4096:
            raise bad("message is too long")
        entities = self.parameters.get("entities", [])
        for one in entities:
            if set(one) - MEMBERS or one.get("type") not in KINDS or one["offset"] < 0 or one["length"] < 1:
                raise bad("can't parse entities: unsupported entity")
            if one["offset"] + one["length"] > units:
                raise bad("can't parse entities: entity is beyond the text")
            part = text.encode("utf-16-le")[2 * one["offset"] : 2 * (one["offset"] + one["length"])]
            with_halves = False
            try:
                part.decode("utf-16-le")
            except UnicodeDecodeError:
                with_halves = True
            if with_halves or (one["type"] == "text_link") != ("url" in one):
                raise bad("can't parse entities: entity is damaged")
        return {"text": text, "entities": entities, "keyboard": self.keyboard()}

    def keyboard(self) -> list[Any]:
        markup = self.parameters.get("reply_markup", {"inline_keyboard": []})
        rows = markup.get("inline_keyboard") if isinstance(markup, dict) else None
        if not isinstance(rows, list):
            raise bad('field "inline_keyboard" must be of type Array')
        for button in (one for row in rows for one in row):
            if not button.get("text") or not 1 <= len(button.get("callback_data", "").encode()) <= 64:
                raise bad("BUTTON_DATA_INVALID")
        return rows

    def add(self, message: Json) -> Json:
        chat = self.chat()
        reply_to = self.parameters.get("reply_parameters", {})
        if reply_to and not reply_to.get("allow_sending_without_reply"):
            self.message(chat, "reply_to")
        number = self.state["next_message"] = self.state.get("next_message", 1000) + 1
        chat["messages"][str(number)] = message | {
            "at": time.time(),
            "edits": [],
            "reply_to": reply_to.get("message_id"),
        }
        return {
            "message_id": number,
            "date": int(time.time()),
            "chat": {"id": self.whole("chat_id"), "type": "private"},
        }


async def get_me(bot: Bot) -> Any:
    return {"id": bot.me["id"], "is_bot": True, "first_name": "Bot", "username": bot.me["username"]}


async def get_updates(bot: Bot) -> Any:
    if bot.me.get("webhook"):
        raise Refused(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first")
    deadline = time.monotonic() + bot.whole("timeout", 0)
    offset = bot.whole("offset", 0)
    turn = bot.me["poll"] = bot.me.get("poll", 0) + 1  # a second poller ends the first one
    take_in(bot.state)
    waiting = bot.me.setdefault("updates", [])
    if offset < 0:
        waiting[:] = waiting[offset:]
    waiting[:] = [one for one in waiting if one["update_id"] >= offset]
    while not bot.me["updates"] and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
        take_in(bot.state)
        if bot.me["poll"] != turn:
            raise Refused(
                409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
            )
    return bot.me["updates"][: bot.whole("limit", 100)]


def take_in(state: Json) -> None:
    """Number the updates that were pushed."""
    for token, pushed in (state.pop("push", None) or {}).items():
        me = state["bots"][token]
        for one in (one for number in sorted(pushed, key=int) for one in pushed[number]):
            me["last_update"] = me.get("last_update", 100) + 1
            me.setdefault("updates", []).append({"update_id": me["last_update"]} | one)


async def send_message(bot: Bot) -> Any:
    return bot.add(bot.text())


async def edit_message_text(bot: Bot) -> Any:
    chat = bot.chat()
    found, content = bot.message(chat), bot.text()
    if all(found.get(name) == value for name, value in content.items()):
        raise bad("message is not modified: specified new message content and reply markup are exactly the same")
    found |= content
    found["edits"].append({"at": time.time(), "text": content["text"]})
    return True


async def edit_markup(bot: Bot) -> Any:
    found, keyboard = bot.message(bot.chat()), bot.keyboard()
    if found.get("keyboard") == keyboard:
        raise bad("message is not modified")
    found["keyboard"] = keyboard
    return True


async def delete_message(bot: Bot) -> Any:
    bot.message(bot.chat())["is_deleted"] = True
    return True


async def send_draft(bot: Bot) -> Any:
    if bot.whole("chat_id") < 0:
        raise bad("drafts are for private chats")
    if not bot.whole("draft_id"):
        raise bad("draft_id must be other than zero")
    bot.chat().setdefault("drafts", []).append(
        {"id": bot.whole("draft_id"), "at": time.time(), "text": bot.text()["text"]}
    )
    return True


async def send_action(bot: Bot) -> Any:
    bot.chat().setdefault("actions", []).append(bot.parameters.get("action"))
    return True


async def answer_callback(bot: Bot) -> Any:
    answers = bot.state.setdefault("answers", {})
    query = bot.parameters.get("callback_query_id")
    if not isinstance(query, str) or query in answers:
        raise bad("query is too old and response timeout expired or query ID is invalid")
    answers[query] = bot.parameters.get("text", "")
    return True


async def set_commands(bot: Bot) -> Any:
    for one in bot.parameters["commands"]:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", one["command"]) or not 1 <= len(one["description"]) <= 256:
            raise bad("BOT_COMMAND_INVALID")
    bot.me.setdefault("commands", {})[bot.parameters.get("language_code", "")] = bot.parameters["commands"]
    return True


async def set_webhook(bot: Bot) -> Any:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", bot.parameters.get("secret_token", "")):
        raise bad("secret token contains unallowed characters")
    bot.me["webhook"] = {"url": bot.parameters["url"], "secret": bot.parameters["secret_token"]}
    return True


async def delete_webhook(bot: Bot) -> Any:
    bot.me.pop("webhook", None)
    return True


async def get_file(bot: Bot) -> Any:
    found = bot.state.get("files", {}).get(bot.parameters.get("file_id"))
    if found is None:
        raise bad("wrong file_id or the file is temporarily unavailable")
    size = len(base64.b64decode(found["content"]))
    if size > 20 * 1024 * 1024:
        raise bad("file is too big")
    return {"file_id": bot.parameters["file_id"], "file_unique_id": "u", "file_size": size, "file_path": found["path"]}


async def send_sticker(bot: Bot) -> Any:
    return bot.add({"sticker": await uploaded(bot, "sticker", 512 * 1024)})


async def send_photo(bot: Bot) -> Any:
    return bot.add({"photo": await uploaded(bot, "photo", 10 * 1024 * 1024)})


async def uploaded(bot: Bot, name: str, limit: int) -> Json:
    file = bot.parameters.get(name)
    content = await file.read() if isinstance(file, UploadFile) else b""
    if not content or len(content) > limit:
        raise bad(f"wrong file: {name} of {len(content)} bytes")
    return {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content": base64.b64encode(content).decode(),
    }


METHODS = {
    "getMe": get_me,
    "getUpdates": get_updates,
    "sendMessage": send_message,
    "editMessageText": edit_message_text,
    "editMessageReplyMarkup": edit_markup,
    "deleteMessage": delete_message,
    "sendMessageDraft": send_draft,
    "sendChatAction": send_action,
    "answerCallbackQuery": answer_callback,
    "setMyCommands": set_commands,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getFile": get_file,
    "sendSticker": send_sticker,
    "sendPhoto": send_photo,
}


async def call(request: Request) -> Response:
    method = METHODS.get(request.path_params["method"])
    parameters: Json = dict(request.query_params)
    if request.headers.get("content-type", "").startswith("multipart/"):
        parameters |= dict(await request.form())
    elif content := await request.body():
        with contextlib.suppress(ValueError):
            parameters |= json.loads(content)
    bot = Bot(request, parameters)
    if method is None:
        raise Refused(404, "Not Found: method not found")
    return JSONResponse({"ok": True, "result": await method(bot)})


async def file(request: Request) -> Response:
    bot = Bot(request, {})
    for one in bot.state.get("files", {}).values():
        if one["path"] == request.path_params["path"]:
            return Response(base64.b64decode(one["content"]), media_type="application/octet-stream")
    raise Refused(404, "Not Found")


async def on_refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return error(refused)


def make(fixture: Json) -> StandIn:
    routes = [
        Route("/bot{token}/{method}", call, methods=["GET", "POST"]),
        Route("/file/bot{token}/{path:path}", file, methods=["GET"]),
    ]
    return StandIn([*routes], refuse, fixture, {Refused: on_refused})


if __name__ == "__main__":
    run(make)
