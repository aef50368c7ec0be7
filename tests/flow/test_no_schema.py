"""A server that was started before `maas migrate` says so at every route, and serves once that was done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import jwt
import psycopg
import pytest
from psycopg import sql

from maas.plugins import sql_folders
from maas.prompting.prompts import seed_prompts
from shared.migrate import migrate
from shared.postgres import EmbeddedPostgres
from tests.conftest import SQL_FOLDER
from tests.http_calls import error_of
from tests.people import Person, refresh, refusal
from tests.polling import poll
from tests.stack import NOBODY, Stack

USER = str(uuid4())
METADATA = {f"/.well-known/oauth-{name}" for name in ("protected-resource", "authorization-server")} | {
    "/.well-known/oauth-protected-resource/mcp"
}
CARDS = {
    "/.well-known/agent-card.json",
    "/v1/a2a/{model}/.well-known/agent-card.json",
}  # there is none without MAAS_A2A
WITHOUT_DATABASE = {"/mem0/v1/ping/", "/healthz", "/openapi.json", "/docs", "/v1/caller", "/v1/users"} | METADATA
SIGN_IN = {"/auth/v1/user", "/auth/v1/settings", "/auth/v1/health"}  # there is none without MAAS_AUTH=local
POSTED = {
    "/v1/runs": {"user_id": USER, "query": "hi"},
    "/v1/conversations": {"user_id": USER},
    "/v1/memories": {"user_id": USER, "memory": "I sail."},
    "/v1/memories/search": {"user_id": USER, "query": "boat"},
    "/v1/context": {"user_id": USER, "query": "boat"},
    "/v1/chat/completions": {"model": "mentor", "user": USER, "messages": [{"role": "user", "content": "hi"}]},
}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "search_memories", "arguments": {"query": "boat", "user_id": USER}},
}
MCP = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


@pytest.fixture
def empty(postgres: EmbeddedPostgres) -> Iterator[str]:
    """DSN of a database without anything."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield postgres.dsn.rpartition("/")[0] + f"/{name}"
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def is_alive(client: httpx2.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def test_the_sign_in(empty: str, tmp_path: Path) -> None:
    """The server starts, says what is missing in the shape of GoTrue, and serves once the schema is there."""
    with Stack(empty, tmp_path, MAAS_AUTH="local") as stack:
        stack.launch("server.py")
        poll(lambda: is_alive(stack.client))
        person = Person(stack)
        assert refusal(person.sign_up()) == refusal(person.sign_in()) == (503, "no_schema")
        assert refusal(refresh(stack, "x")) == (503, "no_schema")
        token = jwt.encode({"sub": USER, "session_id": USER, "exp": 9e9}, "x" * 32, "HS256")
        with_token = {"authorization": f"Bearer {token}"}
        assert refusal(stack.client.get("/auth/v1/user", headers=with_token)) == (503, "no_schema")
        client = {"client_name": "Editor", "redirect_uris": ["https://app.example/"]}
        registration = stack.client.post("/oauth/register", json=client)
        assert (registration.status_code, registration.json()["error"]) == (503, "no_schema")
        migrate(empty, SQL_FOLDER, sql_folders())
        assert stack.client.post("/oauth/register", json=client).status_code == 201
        assert person.sign_up().status_code == 200 and person.get().status_code == 200


def test_every_endpoint(empty: str, tmp_path: Path) -> None:
    with Stack(empty, tmp_path / "open") as stack, Stack(empty, tmp_path / "closed", MAAS_AUTH="keys") as closed:
        for one in (stack, closed):
            one.folder.mkdir()
            one.launch("server.py")
        poll(lambda: is_alive(stack.client) and is_alive(closed.client))
        read = {path for path, route in stack.client.get("/openapi.json").json()["paths"].items() if "get" in route}
        refused = {}
        for path in read - WITHOUT_DATABASE - SIGN_IN - CARDS:
            url = re.sub(r"{\w+}", str(NOBODY), path)
            more: dict[str, Any] = {"telegramChatId": 1, "assistant": "mentor", "q": "hello", "conversation": "tea"}
            refused[path] = stack.client.get(url, params={"user_id": USER, **more})
        assert any(path.endswith("/events") for path in refused)
        assert {"/v1/models", "/readyz", "/metrics"} <= set(refused)
        refused |= {f"POST {path}": stack.client.post(path, json=body) for path, body in POSTED.items()}
        refused["key"] = closed.client.get(
            f"/v1/runs/{NOBODY}", headers={"authorization": f"Bearer maas_{'a' * 12}_{'b' * 64}"}
        )
        for route, reply in refused.items():
            error = error_of(reply.text)
            assert (reply.status_code, error["code"]) == (503, "no_schema"), route
            assert "maas migrate" in error["message"], route
        assert "run `maas migrate`" in stack.client.post("/mcp", json=CALL, headers=MCP).text

        migrate(empty, SQL_FOLDER, sql_folders())
        seed_prompts(empty)
        assert stack.client.get("/readyz").status_code == 200
        for path, body in POSTED.items():
            if path != "/v1/chat/completions":  # it waits for an answer
                assert stack.client.post(path, json=body).is_success, path
        assert "maas migrate" not in stack.client.post("/mcp", json=CALL, headers=MCP).text

        stack.rows("delete from maas.schema_files where name = 'functions/step'")
        stack.rows("alter table raw_logs rename column is_remembered to was_remembered")
        old = stack.client.post("/v1/memories/search", json=POSTED["/v1/memories/search"])
        assert (old.status_code, old.json()["error"]["code"]) == (503, "no_schema")
        assert "earlier version" in old.json()["error"]["message"]
