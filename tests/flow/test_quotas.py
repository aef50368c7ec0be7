"""What is kept of one user has limits, by whichever way it comes: one clear error, and nothing is changed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.pictures import picture
from tests.stack import Stack

QUOTAS = {
    "MAAS_USER_CONVERSATIONS": "2",
    "MAAS_USER_DOCUMENTS": "1",
    "MAAS_USER_IMAGES": "1",
    "MAAS_USER_MEMORY_BYTES": str(1 << 20),
}
TABLES = ("chat_conversations", "chat_messages", "pipeline_runs", "raw_logs", "knowledge_documents", "attachments")


@pytest.fixture(scope="module")
def small(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server, and an orchestrator with small quotas, which writes them to the database."""
    with Stack(fresh_database, tmp_path_factory.mktemp("quotas")) as stack:
        stack.start_server()
        stack.start_orchestrator(**QUOTAS)
        yield stack


def rows(stack: Stack, user: UUID) -> list[int]:
    return [len(stack.rows(f"select from {table} where user_id = %s", user)) for table in TABLES]


def refused(stack: Stack, user: UUID, reply: httpx2.Response, before: list[int]) -> dict[str, Any]:
    """The details of the error; nothing was added."""
    assert reply.status_code == 403, reply.text
    error: dict[str, Any] = reply.json()["error"]
    assert error["code"] == "quota_exceeded" and "retry-after" not in reply.headers
    assert f"an operator can raise MAAS_{error['details']['name'].upper()}" in error["message"]
    assert rows(stack, user) == before
    return dict(error["details"])


def test_conversations(small: Stack, user: UUID) -> None:
    """A request that opens one is refused with it; conversations that there are go on."""
    first = small.client.post("/v1/conversations", json={"user_id": str(user), "assistant": "mentor"}).json()["id"]
    small.wait_archived(small.ask(user, "hello", conversation_id=str(uuid4())))
    before = rows(small, user)
    again = small.client.post("/v1/conversations", json={"user_id": str(user), "assistant": "mentor"})
    assert refused(small, user, again, before) == {"name": "user_conversations", "quota": 2, "used": 3}
    body = {"user_id": str(user), "query": "hello", "conversation_id": str(uuid4())}
    assert refused(small, user, small.client.post("/v1/runs", json=body), before)["quota"] == 2
    assert small.client.post("/v1/runs", json=body | {"conversation_id": first}).status_code == 202


def test_a_refusal_fails_nobody_else_in_the_same_statement(small: Stack, user: UUID) -> None:
    """Requests of one moment are inserted together."""
    for _ in range(2):
        small.client.post("/v1/conversations", json={"user_id": str(user), "assistant": "mentor"})

    def post(number: int) -> int:
        whose = user if number % 2 else uuid4()
        body = {"user_id": str(whose), "query": "hello", "conversation_id": str(uuid4())}
        return small.client.post("/v1/runs", json=body).status_code

    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(post, range(32)))
    assert codes == [202, 403] * 16


def test_an_openai_client_learns_that_repeating_is_useless(small: Stack, user: UUID) -> None:
    for _ in range(2):
        small.client.post("/v1/conversations", json={"user_id": str(user), "assistant": "mentor"})
    body = {
        "model": "mentor",
        "user": str(user),
        "messages": [{"role": "user", "content": "hello"}],
        "metadata": {"conversation_id": str(uuid4())},
    }
    reply = small.client.post("/v1/chat/completions", json=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "insufficient_quota")


def test_documents_and_images(small: Stack, user: UUID) -> None:
    """What is there may be replaced, or removed to make room."""

    def document(name: str, text: str) -> httpx2.Response:
        file = {"file": (name, text.encode())}
        return small.client.post("/v1/knowledge", data={"user_id": str(user), "name": name}, files=file)

    def image(colour: str) -> httpx2.Response:
        file = {"file": ("a.png", picture("PNG", colour=colour), "image/png")}
        return small.client.post("/v1/attachments", data={"user_id": str(user)}, files=file)

    stored = document("a.txt", "The first text.")
    assert stored.status_code == 201 and image("red").status_code == 201
    before = rows(small, user)
    assert refused(small, user, document("b.txt", "Another one."), before)["name"] == "user_documents"
    assert refused(small, user, image("blue"), before)["name"] == "user_images"
    assert document("a.txt", "A later text.").status_code == 201 and image("red").status_code < 300
    path = f"/v1/knowledge/{stored.json()['id']}"
    assert small.client.delete(path, params={"user_id": str(user)}).status_code == 200
    assert document("b.txt", "Another one.").status_code == 201


def test_an_import_that_goes_beyond_changes_nothing(small: Stack, user: UUID) -> None:
    """As a whole, however many of its messages would still fit."""
    lines = [
        json.dumps({"role": "user", "content": secrets.token_hex(10_000), "external_id": str(n)}) for n in range(80)
    ]
    path, kind = f"/v1/users/{user}/import", {"content-type": "application/x-ndjson"}
    whole = small.client.post(path, content="\n".join(lines), headers=kind)
    details = refused(small, user, whole, [0] * len(TABLES))
    assert (details["name"], details["quota"]) == ("user_memory_bytes", 1 << 20)
    assert small.rows("select from audit where user_id = %s", user) == []
    assert small.client.post(path, content="\n".join(lines[:40]), headers=kind).status_code == 202


def test_an_export_of_conversations_is_not_imported_beyond(small: Stack, user: UUID, tmp_path: Path) -> None:
    """The ways around: conversations come with an import, too."""
    other = uuid4()
    for _ in range(2):
        small.client.post("/v1/conversations", json={"user_id": str(other), "assistant": "mentor"})
    small.client.post("/v1/conversations", json={"user_id": str(user), "assistant": "mentor"})
    exported = small.client.get(f"/v1/users/{other}/export").content
    before = rows(small, user)
    kind = {"content-type": "application/x-ndjson"}
    reply = small.client.post(f"/v1/users/{user}/import", content=exported, headers=kind)
    assert refused(small, user, reply, before)["name"] == "user_conversations"
