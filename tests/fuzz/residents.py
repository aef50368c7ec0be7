"""Users who each have all that a user can have, and know a word that nobody else may read."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from maas.http.authorize import Resource
from maas.users import NewKey, create_key
from shared.db import open_database
from tests.http_calls import make
from tests.pictures import picture
from tests.stack import Stack

# What the server of residents has open: every way in.
SETTINGS = {"MAAS_A2A": "mentor", "MAAS_AUTH": "keys", "MAAS_LINK_DAYS": "7"}
SCOPES = ("ask", "read", "admin")
NAME = "select maas_resolve_user('api', %s) as id"
FACT = """
insert into facts (user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, origin)
select user_id, content, 'safe', 'opened by', 'possession', 'user', occurred_at, known_at, array[id], 'rule'
from raw_logs where user_id = %s order by seq limit 1 returning id
"""
ACTION = "select maas_propose_action(%s, 'call', 'send_mail', jsonb_build_object('to', %s::text), 'dangerous') as id"


@dataclass(frozen=True, slots=True)
class Resident:
    """`secret` stands in everything of theirs that is words; `headers` say who they are, over HTTP.

    `is_named`: their key is bound to the beginning of a name, not to one user.
    """

    user_id: UUID
    secret: str
    headers: dict[str, str]
    things: dict[Resource, UUID]
    is_named: bool


def settle(stack: Stack, count: int, seed: int) -> list[Resident]:
    """So many users, every other one with a key that is bound to the beginning of their name."""
    draw = random.Random(seed)
    secrets = [f"zq{draw.randrange(16**12):012x}" for _ in range(count)]
    users = [UUID(str(stack.rows(NAME, f"house{n}:{secret}")[0]["id"])) for n, secret in enumerate(secrets)]
    keys = asyncio.run(_keys(stack.dsn, users))
    headers = [{"Authorization": f"Bearer {key}"} for key in keys]
    things = [_furnish(stack, *one) for one in zip(users, secrets, headers, strict=True)]
    stack.wait_archived(*(one["run"] for one in things), seconds=60)
    named = [n % 2 == 1 for n in range(count)]
    return [Resident(*one) for one in zip(users, secrets, headers, things, named, strict=True)]


async def _keys(dsn: str, users: Sequence[UUID]) -> list[str]:
    async with open_database(dsn, 2, "residents") as db:
        return [
            await create_key(
                db, NewKey("resident", SCOPES, None if n % 2 else user, f"house{n}:" if n % 2 else None), "test"
            )
            for n, user in enumerate(users)
        ]


def _furnish(stack: Stack, user: UUID, secret: str, headers: dict[str, str]) -> dict[Resource, UUID]:
    whose: dict[str, Any] = {"user_id": str(user)}
    named = headers | {"A2A-Version": "1.0", "X-MaaS-User": str(user)}

    def post(path: str, **options: Any) -> Any:
        reply = stack.client.post(path, headers=named, **options)
        assert reply.status_code < 300, reply.text
        return reply.json()

    words = f"The word that opens my safe is {secret}."
    talk = post("/v1/conversations", json=whose)["id"]
    run = UUID(post("/v1/runs", json=whose | {"query": words, "conversation_id": talk})["request_id"])
    image = post("/v1/attachments", data=whose, files={"file": ("a.png", picture(), "image/png")})["id"]
    memory = post("/v1/memories", json=whose | {"memory": words})["raw_log_ids"][0]
    post(f"/v1/memories/{memory}/correct", json=whose | {"memory": f"{words} It is a new one."})
    paper = {"file": ("safe.txt", words.encode(), "text/plain")}
    document = post("/v1/knowledge", data=whose | {"name": "safe.txt"}, files=paper)["id"]
    response = {"model": "mentor", "user": str(user), "input": words, "background": True}
    response_id = post("/v1/responses", json=response)["id"].removeprefix("resp_")
    task = {"message": {"messageId": secret, "role": "ROLE_USER", "parts": [{"text": words}]}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
    post("/v1/a2a/mentor", json=call | {"params": task | {"configuration": {"returnImmediately": True}}})
    webhook = post("/v1/webhooks", json=whose | {"url": f"https://hooks.example/{secret}"})["id"]
    schedule = post("/v1/schedules", json=whose | {"query": words, "cron": "0 0 1 1 *"})["id"]
    link = post(f"/v1/conversations/{talk}/links", json={})["id"]
    action = stack.rows(ACTION, run, secret)[0]["id"]
    return {
        "run": run,
        "conversation": UUID(talk),
        "attachment": UUID(image),
        "memory": UUID(memory),
        "fact": UUID(str(stack.rows(FACT, user)[0]["id"])),
        "action": UUID(str(action)),
        "user": user,
        "document": UUID(document),
        "response": UUID(response_id),
        "webhook": UUID(webhook),
        "schedule": UUID(schedule),
        "link": UUID(link),
        "app": make(stack, "app", user, secret),
    }
