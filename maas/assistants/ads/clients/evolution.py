"""The Evolution API, version 2, for WhatsApp: state of the connection, chats, their messages, sending a text."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, TypeAdapter

from shared.text import clean
from shared.vendors import Vendor
from shared.vendors.service import DEFAULT_LIMITS, MAX_PAGES, Limits, Name, Refusal, Service, refusal_of_status

VENDOR = Vendor("evolution", "WhatsApp")
MESSAGES_A_PAGE = 100
MAX_TEXT_CHARS = 65_536
OTHER_CHATS = ("@g.us", "@broadcast", "@newsletter")  # groups, states and channels
PERSONS = ("@s.whatsapp.net", "@c.us")  # addresses that begin with a phone number
NO_MESSAGES = frozenset({"reactionMessage", "protocolMessage", "pollUpdateMessage", "senderKeyDistributionMessage"})
_CAPTIONED = ("imageMessage", "videoMessage", "documentMessage")
_WRAPPERS = ("ephemeralMessage", "viewOnceMessage", "viewOnceMessageV2", "documentWithCaptionMessage")
_MAX_WRAPPERS = 3
_NUMBER = re.compile(r"[0-9]{5,20}")
_AD = re.compile(r"[0-9]{1,30}")


@dataclass(frozen=True, slots=True)
class Instance:
    """A WhatsApp number of the server; `state` is open, connecting or close."""

    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat with one person; `jid` is WhatsApp's address of that person."""

    jid: str
    name: str
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message; `is_outgoing`: sent by the business. `text` is empty for a voice message or a picture without text.

    `number` is the phone number of the person of the chat, None where WhatsApp tells none: an address of the kind lid
    has none in it. `ad_fb_id` is the ad of Facebook that the person tapped to write this message.
    """

    message_id: str
    jid: str
    is_outgoing: bool
    text: str
    sent_at: datetime
    number: str | None = None
    ad_fb_id: str | None = None


class EvolutionClient:
    """One instance, that is one WhatsApp number, of an Evolution API server. All methods raise VendorError."""

    def __init__(
        self, http: httpx2.AsyncClient, base_url: str, instance: str, api_key: str, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._service = Service(http, VENDOR, base_url, ("apikey", ""), api_key, _read_refusal, limits)
        self._instance = instance

    async def state(self) -> str:
        """Return the state of the connection: open, connecting or close."""
        found = await self._service.read(self._path("instance/connectionState"), _State.model_validate)
        return found.instance.state

    async def instances(self) -> list[Instance]:
        """Return the instances of the server that the key may see."""
        found = await self._service.read("/instance/fetchInstances", _INSTANCES.validate_python)
        return [Instance(one.name, one.state) for one in found]

    async def chats(self) -> list[Chat]:
        """Return the chats with single persons, the last changed first; those without a time come last."""
        path = self._path("chat/findChats")
        found = await self._service.read(path, _CHATS.validate_python, method="POST", json={})
        chats = [Chat(one.jid, one.name, one.updated_at) for one in found if not one.jid.endswith(OTHER_CHATS)]
        return sorted(chats, key=lambda one: one.updated_at or datetime.min.replace(tzinfo=UTC), reverse=True)

    async def messages(self, jid: str, since: datetime | None) -> AsyncIterator[list[ChatMessage]]:
        """Yield pages of the messages of a chat that were sent since then, the newest first.

        A message that arrives meanwhile shifts the pages, so one may come twice.
        """
        path = self._path("chat/findMessages")
        for page in range(1, MAX_PAGES + 1):
            order = {"where": {"key": {"remoteJid": jid}}, "page": page, "offset": MESSAGES_A_PAGE}
            found = (await self._service.read(path, _Found.model_validate, method="POST", json=order)).messages
            is_over = page >= found.pages or not found.records
            if since is not None:
                is_over = is_over or all(one.sent_at < since for one in found.records)
            messages = [one.shown() for one in found.records if one.is_message and one.key.remote_jid == jid]
            if fresh := [one for one in messages if since is None or one.sent_at >= since]:
                yield fresh
            if is_over:
                return
        raise self._service.error("bad_reply", "its list of pages has no end")

    async def send_text(self, number: str, text: str) -> str:
        """Send a text to a phone number or a jid and return the id of the message."""
        body = {"number": number, "text": text}
        sent = await self._service.write("POST", self._path("message/sendText"), _Sent.model_validate, json=body)
        return sent.key.id

    def _path(self, action: str) -> str:
        if self._instance in ("", ".", ".."):
            raise self._service.error("invalid", "this is not the name of an instance")
        return f"/{action}/{quote(self._instance, safe='')}"


def _read_refusal(status: int, headers: Mapping[str, str], body: Any) -> Refusal:
    """Errors are {status, error, response: {message}}, a text, texts, or numbers that have no WhatsApp."""
    response = body.get("response") if isinstance(body, dict) else None
    message = response.get("message") if isinstance(response, dict) else None
    first = message[0] if isinstance(message, list) and message else message
    if isinstance(first, dict) and first.get("exists") is False:
        return Refusal("not_found", "the number does not use WhatsApp")
    if status == 400 and isinstance(first, str) and "Connection Closed" in first:
        return Refusal("unavailable", "the phone is not connected")
    return refusal_of_status(status, headers, first)


def _seconds(value: object) -> object:
    """Return the seconds of a stamp, which may be a text, or a 64-bit number in two halves."""
    return value.get("low") if isinstance(value, dict) else value


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message of any kind, an empty one if it has none."""
    for _ in range(_MAX_WRAPPERS):
        inner = next((one for name in _WRAPPERS if isinstance(one := message.get(name), dict)), None)
        if inner is None or not isinstance(inner.get("message"), dict):
            break
        message = inner["message"]
    texts = [message.get("conversation")]
    for name, field in (("extendedTextMessage", "text"), *((name, "caption") for name in _CAPTIONED)):
        if isinstance(part := message.get(name), dict):
            texts.append(part.get(field))
    return next((clean(text)[:MAX_TEXT_CHARS] for text in texts if isinstance(text, str) and text), "")


def number_of(jid: str) -> str | None:
    """Return the phone number in an address, None if it has none."""
    number = jid.partition("@")[0].partition(":")[0]
    return number if jid.endswith(PERSONS) and _NUMBER.fullmatch(number) else None


def _ad_of(message: _Message) -> str | None:
    """Return the id of the ad that led to a message; what led there from a post or a site has none."""
    contents = message.message or {}
    parts = [part for part in contents.values() if isinstance(part, dict)]
    for context in (message.context, contents.get("contextInfo"), *(part.get("contextInfo") for part in parts)):
        reply = context.get("externalAdReply") if isinstance(context, dict) else None
        if isinstance(reply, dict) and reply.get("sourceType") == "ad" and _AD.fullmatch(str(reply.get("sourceId"))):
            return str(reply["sourceId"])
    return None


Id = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
OptionalId = Annotated[str | None, BeforeValidator(lambda value: value if isinstance(value, str) else None)]
OptionalName = Annotated[Name, BeforeValidator(lambda value: "" if value is None else value)]
Stamp = Annotated[AwareDatetime, BeforeValidator(_seconds)]


class _Connection(BaseModel):
    state: Annotated[str, Field(pattern=r"^[a-z]{1,20}$")]


class _State(BaseModel):
    instance: _Connection


class _Instance(BaseModel):
    name: Annotated[str, Field(pattern=r"^[ -~]{1,200}$")]
    state: Annotated[OptionalName, Field(alias="connectionStatus")] = ""


class _Chat(BaseModel):
    jid: Annotated[Id, Field(alias="remoteJid")]
    name: Annotated[OptionalName, Field(alias="pushName")] = ""
    updated_at: Annotated[AwareDatetime | None, Field(alias="updatedAt")] = None


class _SentKey(BaseModel):
    id: Id


class _Sent(BaseModel):
    key: _SentKey


class _Key(_SentKey):
    remote_jid: Annotated[Id, Field(alias="remoteJid")]
    is_outgoing: Annotated[bool, Field(alias="fromMe")] = False
    other_jid: Annotated[OptionalId, Field(alias="remoteJidAlt")] = None
    sender: Annotated[OptionalId, Field(alias="senderPn")] = None

    @property
    def number(self) -> str | None:
        """The phone number of the person of the chat; `sender` is that person only in a message that came in."""
        jids = (self.remote_jid, self.other_jid, None if self.is_outgoing else self.sender)
        return next((number for jid in jids if jid is not None and (number := number_of(jid))), None)


class _Message(BaseModel):
    key: _Key
    sent_at: Annotated[Stamp, Field(alias="messageTimestamp")]
    kind: Annotated[str | None, Field(alias="messageType")] = None
    message: dict[str, Any] | None = None
    context: Annotated[Any, Field(alias="contextInfo")] = None

    @property
    def is_message(self) -> bool:
        return bool(self.message) and self.kind not in NO_MESSAGES

    def shown(self) -> ChatMessage:
        return ChatMessage(
            self.key.id,
            self.key.remote_jid,
            self.key.is_outgoing,
            _text_of(self.message or {}),
            self.sent_at,
            self.key.number,
            None if self.key.is_outgoing else _ad_of(self),
        )


class _Messages(BaseModel):
    pages: int = 1
    records: list[_Message] = []


class _Found(BaseModel):
    messages: _Messages


_CHATS = TypeAdapter(list[_Chat])
_INSTANCES = TypeAdapter(list[_Instance])
