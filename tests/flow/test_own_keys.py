"""Keys that people make for themselves: bound to them, shown once, no more than they need, gone with them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import jwt
import pytest

from maas.users import MAX_OWN_KEYS
from tests.polling import poll
from tests.stack import Stack

SECRET = "a secret of thirty-two bytes or more"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that believes tokens of one secret, and nobody who answers."""
    folder = tmp_path_factory.mktemp("stack")
    with Stack(fresh_database, folder, MAAS_AUTH="jwt", MAAS_JWT_SECRET=SECRET) as running:
        running.start_server()
        yield running


def token_of(user: UUID) -> dict[str, str]:
    claims = {"sub": str(user), "exp": int(time.time()) + 3600, "role": "authenticated"}
    return bearer(jwt.encode(claims, SECRET, "HS256"))


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def make(stack: Stack, user: UUID, **body: Any) -> dict[str, str]:
    reply = stack.client.post(f"/v1/users/{user}/keys", json={"name": "notes"} | body, headers=token_of(user))
    assert reply.status_code == 201, reply.text
    made: dict[str, str] = reply.json()
    return made


def listed(stack: Stack, user: UUID) -> list[dict[str, Any]]:
    reply = stack.client.get(f"/v1/users/{user}/keys", headers=token_of(user))
    assert reply.status_code == 200, reply.text
    results: list[dict[str, Any]] = reply.json()["results"]
    return results


def test_a_person_makes_sees_and_revokes_a_key(stack: Stack) -> None:
    ann = uuid4()
    made = make(stack, ann, scopes=["read"], days=3)
    key, headers = made["key"], bearer(made["key"])
    assert re.fullmatch(r"maas_[0-9a-f]{12}_[0-9a-f]{64}", key)
    assert stack.client.get("/v1/runs", headers=headers).json() == {"results": [], "next": None}
    poll(lambda: listed(stack, ann)[0]["last_used_at"] is not None, what="its use is shown")
    (row,) = listed(stack, ann)
    assert (row["id"], row["name"], row["scopes"], row["state"]) == (made["id"], "notes", ["read"], "active")
    secret = key.rpartition("_")[2]
    assert secret not in str(listed(stack, ann)) + stack.log()
    assert secret not in str(stack.rows("select to_jsonb(k) as row from api_keys k"))
    asked = stack.client.post("/v1/runs", json={"user_id": str(ann), "query": "hello"}, headers=headers)
    assert (asked.status_code, asked.json()["error"]["code"]) == (403, "forbidden")
    path = f"/v1/users/{ann}/keys/{made['id']}"
    assert stack.client.delete(path, headers=token_of(ann)).status_code == 204
    poll(lambda: stack.client.get("/v1/runs", headers=headers).status_code == 401, what="the key is refused")
    assert listed(stack, ann)[0]["state"] == "revoked"
    actors = stack.rows("select action, actor from audit where user_id = %s and action like 'key%%' order by id", ann)
    assert actors == [{"action": name, "actor": f"jwt:{ann}"} for name in ("key_create", "key_revoke")]


def test_it_reaches_nobody_elses_data(stack: Stack) -> None:
    ann, bob = uuid4(), uuid4()
    headers = bearer(make(stack, ann)["key"])
    for path in (f"/v1/runs?user_id={bob}", f"/v1/users/{bob}/export", f"/v1/memories?user_id={bob}"):
        assert stack.client.get(path, headers=headers).status_code == 404, path
    asked = stack.client.post("/v1/runs", json={"user_id": str(bob), "query": "hello"}, headers=headers)
    assert asked.status_code == 404
    for path in ("/v1/admin/users", "/metrics"):
        assert stack.client.get(path, headers=headers).status_code == 403
    others = make(stack, bob)
    assert stack.client.get(f"/v1/users/{bob}/keys", headers=token_of(ann)).status_code == 404
    for path in (f"/v1/users/{bob}/keys/{others['id']}", f"/v1/users/{ann}/keys/{others['id']}"):
        assert stack.client.delete(path, headers=token_of(ann)).status_code == 404
    assert listed(stack, bob)[0]["state"] == "active"


def test_a_key_makes_no_keys_and_ends_none(stack: Stack) -> None:
    """Whoever finds it loses it when its owner revokes it."""
    ann = uuid4()
    made = make(stack, ann)
    path, headers = f"/v1/users/{ann}/keys", bearer(made["key"])
    replies = [
        stack.client.post(path, json={"name": "second"}, headers=headers),
        stack.client.get(path, headers=headers),
        stack.client.delete(f"{path}/{made['id']}", headers=headers),
        stack.client.delete(f"/v1/users/{ann}", headers=headers),
    ]
    assert [reply.status_code for reply in replies] == [403] * 4
    assert len(listed(stack, ann)) == 1


@pytest.mark.parametrize(
    "change",
    [{"scopes": ["admin"]}, {"scopes": ["metrics"]}, {"scopes": []}, {"prefix": "a"}, {"days": 0}, {"name": " "}],
)
def test_a_wider_key_is_not_made(stack: Stack, change: dict[str, Any]) -> None:
    ann = uuid4()
    body = {"name": "wide"} | change
    assert stack.client.post(f"/v1/users/{ann}/keys", json=body, headers=token_of(ann)).status_code == 422
    assert listed(stack, ann) == []


def test_a_user_has_so_many_and_those_that_ended_do_not_pile_up(stack: Stack) -> None:
    ann = uuid4()
    made = [make(stack, ann) for _ in range(MAX_OWN_KEYS)]
    refused = stack.client.post(f"/v1/users/{ann}/keys", json={"name": "more"}, headers=token_of(ann))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "quota_exceeded")
    for _ in range(MAX_OWN_KEYS + 5):
        path = f"/v1/users/{ann}/keys/{made.pop()['id']}"
        assert stack.client.delete(path, headers=token_of(ann)).status_code == 204
        made.append(make(stack, ann))
    states = [row["state"] for row in listed(stack, ann)]
    assert states.count("active") == MAX_OWN_KEYS and states.count("revoked") <= MAX_OWN_KEYS + 1


def test_keys_go_with_their_user_and_an_administrator_sees_them(stack: Stack) -> None:
    ann, root = uuid4(), uuid4()
    stack.rows("insert into user_roles (user_id, role) values (%s, 'admin')", root)
    made = make(stack, ann)
    path = f"/v1/users/{ann}/keys"
    poll(lambda: stack.client.get(path, headers=token_of(root)).status_code == 200, what="root is an administrator")
    (row,) = stack.client.get(path, headers=token_of(root)).json()["results"]
    assert row["id"] == made["id"]
    noted = "select from audit where user_id = %s and actor = %s and action = 'user_access'"
    assert stack.rows(noted, ann, f"jwt:{root}")
    all_keys = stack.client.get("/v1/admin/keys?limit=1", headers=token_of(root)).json()
    assert [one["id"] for one in all_keys["results"]] == [made["id"]] and all_keys["next"]
    older = stack.client.get(f"/v1/admin/keys?limit=1&before={all_keys['next']}", headers=token_of(root)).json()
    assert [one["id"] for one in older["results"]] not in ([], [made["id"]])
    assert stack.client.delete(f"/v1/users/{ann}", headers=token_of(ann)).status_code == 200
    assert stack.rows("select from api_keys where user_id = %s", ann) == []
    poll(lambda: stack.client.get("/v1/runs", headers=bearer(made["key"])).status_code == 401, what="it is refused")
