"""Requests for any route, built from its entry in the table, and resources of a user that they may name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from maas.http.attachments import FORM_TYPE
from maas.http.authorize import Resource
from maas.http.route import Route
from tests.pictures import picture
from tests.stack import NOBODY, Stack

CHAT = "telegramChatId"
USUAL: dict[object, Any] = {str: "hello", dict: {}}
SAID = [{"role": "user", "content": "hello"}]
A2A_MESSAGE = {
    "message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
    "configuration": {"returnImmediately": True},
}
MORE: dict[str, dict[str, Any]] = {
    "post_memories": {"memory": "I like tea."},
    "post_document": {"name": "a.txt"},
    "post_shared_document": {"name": "a.txt"},
    "post_text": {"name": "a.txt"},
    "get_passages": {"q": "hello"},
    "get_imported_messages": {"conversation": "tea"},
    "post_correct": {"memory": "I like coffee."},
    "post_correct_fact": {"fact": "I like coffee."},
    "post_decide": {"verdict": "pinned"},
    "post_merge_names": {"name": "user", "same_as": "me"},
    "post_response": {"model": "mentor", "input": "hello", "background": True},  # which waits for nobody
    "post_embeddings": {"model": "maas", "input": "hello"},
    "post_message": {"model": "mentor", "messages": SAID},
    "post_ui_chat": {"id": "tea", "messages": [{"role": "user", "parts": [{"type": "text", "text": "hello"}]}]},
    "post_ag_ui": {"threadId": "tea", "runId": "one", "messages": [{"id": "m1", "role": "user", "content": "hello"}]},
    "post_a2a": {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": A2A_MESSAGE},
    "post_mem0_memories": {"messages": SAID},
    "put_mem0_memory": {"text": "I like coffee."},
    "put_mem0_batch": {"memories": []},
    "delete_mem0_batch": {"memories": []},
    "post_decisions": {"decision": "approve", "actions": [{"id": str(NOBODY), "fingerprint": "0" * 32}]},
    "post_shared": {"token": "q7Zk2m0Hn3yXc9VbT1sR4w"},
    "post_client": {"redirect_uris": ["https://app.example/callback"]},
    "patch_conversation": {"title": "Tea"},
    "post_brain_chat": {"message": "hello", "assistant": "mentor"},
    "post_telegram_chat": {"message": "hello", "assistant": "mentor"},
    "post_telegram_clear": {"assistant": "mentor"},
    "post_telegram_mode": {"mode": "plan", "assistant": "mentor"},
    "get_telegram_status": {"assistant": "mentor"},
    "get_tools": {"assistant": "mentor"},
    "put_prompt": {"is_active": True, "version": 0},
    "post_webhook": {"url": "https://hooks.example/maas"},
    "post_shared_webhook": {"url": "https://hooks.example/maas"},
    "post_schedule": {"cron": "30 8 * * 1-5"},
    "put_filter": {"query": "status=FAILED"},
    "put_limit": {"value": 20},
    "put_price": {"provider": "nobody", "model": "x", "input": 1, "output": 2},
    "post_drop_price": {"provider": "nobody", "model": "y"},
    "put_budget": {"daily_tokens": 1000, "daily_dollars": None},
    "put_user_budget": {"daily_tokens": 1000, "daily_dollars": None},
    "put_trial_set": {"run_ids": [str(NOBODY)]},
    "post_trial": {"run_id": str(NOBODY)},
    "put_roles": {"is_admin": True},
    "post_pause": {"subject": "model", "name": "openai:none"},
    "post_resume": {"subject": "model", "name": "openai:none"},
    "post_tool_call": {"assistant": "mentor", "tool": "getLeads"},
    "post_supervisor": {"complexity": "low"},
    "post_brain_stream": {"message": "hello", "assistant": "mentor"},
    "post_chat_completion": {"model": "mentor", "messages": SAID, "stream": True},
}
PLACES = (
    ("model", "mentor"),
    ("chat", "tea"),
    ("role", "Mentor"),
    ("set", "usual"),
    ("list", "runs"),
    ("filter", "usual"),
    ("limit", "user_schedules"),
    ("entity_type", "user"),
    ("entity", "nobody"),
)
BY_HEADER = ("post_a2a",)  # whose user only the header names
FACT = """
insert into facts (user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, origin)
select user_id, content, 'user', 'likes:tea', 'preference', 'user', occurred_at, known_at, array[id], 'rule'
from raw_logs where user_id = %s order by seq desc limit 1 returning id
"""
ACCOUNT = """
insert into auth_users (user_id, email, password_hash) values (%s, gen_random_uuid() || '@example.org', repeat('x', 60))
on conflict do nothing
"""
APP = """
select maas_connect_app(%s, 'editor', 'Editor', 'https://app.example/', '{read}', 'https://maas.example/mcp',
  sha256(uuid_send(gen_random_uuid())), 'challenge', 3600) as id
"""
LINK = "select id from maas_share_conversation(%s, sha256(uuid_send(gen_random_uuid())), 7, true)"
ACTION = "select maas_propose_action(%s, 'call', 'send_mail', '{}', 'dangerous') as id"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client sees."""

    status: int
    headers: dict[str, str]
    body: str


def error_of(body: str) -> dict[str, Any]:
    """The error in the body of a reply, `code` and `message`; those of /mem0 have a shape of their own."""
    value = json.loads(body)
    error: dict[str, Any] = value.get("error") or {"code": value["code"], "message": value["detail"]}
    return error


def user_field(route: Route) -> str | None:
    """The field of the body or of the query that says whose memory is meant."""
    fields = {one.alias or name for name, one in route.body.model_fields.items()} if route.body else route.query or {}
    return next((name for name in ("user_id", "userId", "user", "external_id", CHAT) if name in fields), None)


def chat_of(user: UUID | str) -> str:
    """The private chat of a user."""
    return str(UUID(str(user)).int % 10**12 + 1)


def takes_user(route: Route) -> bool:
    """Whether somebody's memory is named: by an id in the path, in the query or in the body."""
    return route.resource is not None or user_field(route) is not None or route.handler.__name__ in BY_HEADER


def call(stack: Stack, route: Route, user: UUID | str, thing: UUID = NOBODY, **headers: str) -> Answer:
    """Call a route for `user`, a name where the route takes names; `thing` is the id in its path.

    A stream is left at once.
    """
    options: dict[str, Any] = {"headers": headers}
    if route.handler.__name__ in BY_HEADER:
        options["headers"] = headers | {"X-MaaS-User": str(user), "A2A-Version": "1.0"}
    field = user_field(route)
    whose = {field: chat_of(user) if field == CHAT else str(user)} if field is not None else {}
    more = MORE.get(route.handler.__name__, {}) | whose
    if route.body is None:
        options["params"] = more
    if FORM_TYPE in route.request_types:
        options |= {"data": more, "files": {"file": ("a.png", picture(), "image/png")}}
    elif route.request_types:
        options |= {"content": b'{"role": "user", "content": "I like tea."}\n'}
        options["headers"] = headers | {"content-type": route.request_types[0]}
    elif route.body is not None:
        options["json"] = {name: _value(field) for name, field in _required(route.body) if name not in more} | more
    path = route.path.replace("{id}", str(thing))
    for name, value in PLACES:
        path = path.replace(f"{{{name}}}", value)
    with stack.client.stream(route.method, path, **options) as reply:
        is_stream = reply.headers.get("content-type", "").startswith("text/event-stream")
        body = "" if is_stream else reply.read().decode(errors="replace")
        return Answer(reply.status_code, dict(reply.headers), body)


def _required(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    return ((field.alias or name, field) for name, field in model.model_fields.items() if field.is_required())


def _value(field: FieldInfo) -> Any:
    return USUAL[getattr(field.annotation, "__origin__", field.annotation)]


def make(stack: Stack, owned: Resource | None, user: UUID, key: str) -> UUID:  # noqa: C901 - a case for each kind
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
        case "fact":
            make(stack, "memory", user, key)
            return UUID(str(stack.rows(FACT, user)[0]["id"]))
        case "run":
            return UUID(post("/v1/runs", json=whose | {"query": "hello"})["request_id"])
        case "conversation":
            return UUID(post("/v1/conversations", json=whose)["id"])
        case "attachment":
            return UUID(post("/v1/attachments", data=whose, files={"file": ("a.png", picture(), "image/png")})["id"])
        case "document":
            files = {"file": ("a.txt", f"A note of {user}.".encode(), "text/plain")}
            return UUID(post("/v1/knowledge", data=whose | {"name": "a.txt"}, files=files)["id"])
        case "response":
            name = post("/v1/responses", json=MORE["post_response"] | {"user": str(user)})["id"]
            return UUID(name.removeprefix("resp_"))
        case "memory":
            return UUID(post("/v1/memories", json=whose | {"memory": "I like tea."})["raw_log_ids"][0])
        case "webhook":
            return UUID(post("/v1/webhooks", json=whose | MORE["post_webhook"])["id"])
        case "schedule":
            return UUID(post("/v1/schedules", json=whose | MORE["post_schedule"] | {"query": "hello"})["id"])
        case "link":
            return UUID(str(stack.rows(LINK, make(stack, "conversation", user, key))[0]["id"]))
        case "app":
            stack.rows(ACCOUNT, user)
            return UUID(str(stack.rows(APP, user)[0]["id"]))
        case "action":
            return UUID(str(stack.rows(ACTION, make(stack, "run", user, key))[0]["id"]))
