"""A request for any door, made from what the door says of itself, and things of a user that it may name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from maas.http.access import Owned
from maas.http.attachments import FORM
from maas.http.doors import Door
from tests.pictures import picture
from tests.stack import NOBODY, Stack

USUAL: dict[object, Any] = {str: "hello", dict: {}}
SAID = [{"role": "user", "content": "hello"}]
MORE: dict[str, dict[str, Any]] = {
    "post_memories": {"memory": "I like tea."},
    "patch_conversation": {"title": "Tea"},
    "post_chat_completion": {"model": "mentor", "messages": SAID, "stream": True},
}
ACTION = "select maas_propose_action(%s, 'call', 'send_mail', '{}', 'dangerous') as id"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client sees."""

    status: int
    headers: dict[str, str]
    body: str


def user_field(door: Door) -> str | None:
    """The field of the body or of the query that says whose memory is meant."""
    fields = door.body.model_fields if door.body is not None else door.query or {}
    return next((name for name in ("user_id", "user", "external_id") if name in fields), None)


def takes_user(door: Door) -> bool:
    """Whether somebody's memory is named: by an id in the path, in the query or in the body."""
    return door.owned is not None or user_field(door) is not None


def call(stack: Stack, door: Door, user: UUID | str, thing: UUID = NOBODY, **headers: str) -> Answer:
    """Go through a door for `user`, a name where the door takes names; `thing` is what the id in its path names.

    A stream is left at once.
    """
    options: dict[str, Any] = {"headers": headers}
    whose = {field: str(user)} if (field := user_field(door)) is not None else {}
    if door.body is None:
        options["params"] = whose
    if FORM in door.takes:
        options |= {"data": whose, "files": {"file": ("a.png", picture(), "image/png")}}
    elif door.takes:
        options |= {"content": b'{"role": "user", "content": "I like tea."}\n'}
        options["headers"] = headers | {"content-type": door.takes[0]}
    elif door.body is not None:
        more = MORE.get(door.handler.__name__, {}) | whose
        options["json"] = {name: _value(field) for name, field in _required(door.body) if name not in more} | more
    path = door.path.replace("{id}", str(thing)).replace("{model}", "mentor")
    with stack.client.stream(door.method, path, **options) as reply:
        is_stream = reply.headers.get("content-type", "").startswith("text/event-stream")
        body = "" if is_stream else reply.read().decode(errors="replace")
        return Answer(reply.status_code, dict(reply.headers), body)


def _required(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    return ((name, field) for name, field in model.model_fields.items() if field.is_required())


def _value(field: FieldInfo) -> Any:
    return USUAL[getattr(field.annotation, "__origin__", field.annotation)]


def make(stack: Stack, owned: Owned | None, user: UUID, key: str) -> UUID:
    """A new thing of this user's, by a key that may do everything."""
    whose: dict[str, Any] = {"user_id": str(user)}

    def post(path: str, **options: Any) -> Any:
        reply = stack.client.post(path, headers={"authorization": f"Bearer {key}"}, **options)
        assert reply.status_code < 300, reply.text
        return reply.json()

    match owned:
        case None:
            return NOBODY
        case "user":
            return user
        case "run":
            return UUID(post("/v1/runs", json=whose | {"query": "hello"})["request_id"])
        case "conversation":
            return UUID(post("/v1/conversations", json=whose)["id"])
        case "attachment":
            return UUID(post("/v1/attachments", data=whose, files={"file": ("a.png", picture(), "image/png")})["id"])
        case "memory":
            return UUID(post("/v1/memories", json=whose | {"memory": "I like tea."})["raw_log_ids"][0])
        case "action":
            return UUID(str(stack.rows(ACTION, make(stack, "run", user, key))[0]["id"]))
