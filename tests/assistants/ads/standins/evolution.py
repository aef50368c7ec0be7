"""A stand-in for an Evolution API server (WhatsApp): chats and messages of instances, and texts that are sent.

State: `api_key`; `instances` {name: {state: open|close|connecting, chats: {jid: {name, updated_at}}, messages: {jid:
[{id, text, at, is_outgoing, kind, number, sender, ad}]}, without_whatsapp: [numbers]}}. `number` is what a message of
the kind lid has as remoteJidAlt, `sender` as senderPn; `ad` is the ad that was tapped. `updated_at` is an ISO time,
`at` seconds since 1970; `now` is the time of sent messages, that of this machine without it. Newest messages come
first.
"""

from __future__ import annotations

import math
import re
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.standins.server import Fault, Json, StandIn, run, standin_of

ERRORS = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
PERSON = "@s.whatsapp.net"
DEFAULT_PAGE = 50


class Refused(Exception):
    """An error of the Evolution API; `message` is a text, or a list."""

    def __init__(self, status: int, message: Any) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def error(refused: Refused) -> Response:
    body = {
        "status": refused.status,
        "error": ERRORS.get(refused.status, "Internal Server Error"),
        "response": {"message": refused.message},
    }
    return JSONResponse(body, refused.status)


def refuse(fault: Fault) -> Response:
    return error(Refused(fault.status, fault.message))


def instance_of(request: Request) -> Json:
    """The instance of a request with a valid key."""
    state, name = standin_of(request).state, request.path_params["instance"]
    if request.headers.get("apikey") != state.get("api_key"):
        raise Refused(401, "Unauthorized")
    if name not in state.get("instances", {}):
        raise Refused(404, [f'The "{name}" instance does not exist'])
    instance: Json = state["instances"][name]
    return instance


async def connection_state(request: Request) -> Response:
    instance = {"instanceName": request.path_params["instance"], "state": instance_of(request).get("state", "open")}
    return JSONResponse({"instance": instance})


async def fetch_instances(request: Request) -> Response:
    state = standin_of(request).state
    if request.headers.get("apikey") != state.get("api_key"):
        raise Refused(401, "Unauthorized")
    return JSONResponse(
        [
            {"id": f"i{place}", "name": name, "connectionStatus": one.get("state", "open"), "integration": "BAILEYS"}
            for place, (name, one) in enumerate(state.get("instances", {}).items())
        ]
    )


async def find_chats(request: Request) -> Response:
    instance = instance_of(request)
    return JSONResponse(
        [
            {"id": f"c{place}", "remoteJid": jid, "pushName": chat.get("name"), "updatedAt": chat.get("updated_at")}
            for place, (jid, chat) in enumerate(instance.get("chats", {}).items())
        ]
    )


async def find_messages(request: Request) -> Response:
    instance, body = instance_of(request), await request.json()
    jid = body.get("where", {}).get("key", {}).get("remoteJid")
    page, a_page = body.get("page", 1), body.get("offset", DEFAULT_PAGE)
    stored = sorted(instance.get("messages", {}).get(jid, []), key=lambda one: one["at"], reverse=True)
    part = stored[(page - 1) * a_page : page * a_page]
    messages = {
        "total": len(stored),
        "pages": math.ceil(len(stored) / a_page),
        "currentPage": page,
        "records": [record(jid, one, (page - 1) * a_page + place) for place, one in enumerate(part)],
    }
    return JSONResponse({"messages": messages})


def record(jid: str, stored: Json, place: int) -> Json:
    """A message; texts come in two shapes, and times as numbers or as texts."""
    kind = stored.get("kind", ("conversation", "extendedTextMessage")[place % 2])
    text = stored.get("text", "")
    contents: Json = {"conversation": text, "extendedTextMessage": {"text": text}, "imageMessage": {"caption": text}}
    key = {"id": stored["id"], "fromMe": stored.get("is_outgoing", False), "remoteJid": jid}
    if jid.endswith("@lid"):
        key |= {"addressingMode": "lid"}
    for name, field in (("number", "remoteJidAlt"), ("sender", "senderPn")):
        if name in stored:
            key[field] = f"{stored[name]}{PERSON}"
    context: Json | None = None
    if "ad" in stored:
        reply = {"title": "Кухни", "sourceType": "ad", "sourceId": stored["ad"], "ctwaClid": "AfclId"}
        context = {"externalAdReply": reply, "entryPointConversionSource": "ctwa_ad"}
        if kind == "extendedTextMessage":
            contents[kind]["contextInfo"] = context
    return {
        "id": f"r{place}",
        "key": key,
        "messageType": kind,
        "message": {kind: contents.get(kind, {})},
        "contextInfo": None if kind == "extendedTextMessage" else context,
        "messageTimestamp": stored["at"] if place % 3 else str(stored["at"]),
    }


async def send_text(request: Request) -> Response:
    instance, body = instance_of(request), await request.json()
    number, text = body.get("number"), body.get("text")
    if not isinstance(number, str) or not isinstance(text, str) or not text:
        raise Refused(400, [['instance requires property "number" and "text"']])
    if instance.get("state", "open") != "open":
        raise Refused(400, ["Error: Connection Closed"])
    digits = re.sub(r"[^0-9]", "", number.partition("@")[0])
    jid = number if "@" in number else f"{digits}{PERSON}"
    without = [re.sub(r"[^0-9]", "", one) for one in instance.get("without_whatsapp", [])]
    if not 8 <= len(digits) <= 15 or digits in without:
        raise Refused(400, [{"jid": jid, "exists": False, "number": number}])
    messages = instance.setdefault("messages", {}).setdefault(jid, [])
    now = standin_of(request).state.get("now", int(time.time()))
    sent = {"id": f"3EB0{digits}{len(messages):04X}", "text": text, "at": now, "is_outgoing": True}
    messages.append(sent)
    instance.setdefault("chats", {}).setdefault(jid, {})
    key = {"id": sent["id"], "fromMe": True, "remoteJid": jid}
    reply = {"key": key, "message": {"conversation": text}, "messageTimestamp": now, "status": "PENDING"}
    return JSONResponse(reply, 201)


async def on_refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return error(refused)


def make(fixture: Json) -> StandIn:
    routes = [
        Route("/instance/fetchInstances", fetch_instances, methods=["GET"]),
        Route("/instance/connectionState/{instance}", connection_state, methods=["GET"]),
        Route("/chat/findChats/{instance}", find_chats, methods=["POST"]),
        Route("/chat/findMessages/{instance}", find_messages, methods=["POST"]),
        Route("/message/sendText/{instance}", send_text, methods=["POST"]),
    ]
    return StandIn([*routes], refuse, fixture, {Refused: on_refused})


if __name__ == "__main__":
    run(make)
