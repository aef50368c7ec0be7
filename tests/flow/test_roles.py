"""Server and orchestrator as logins that own nothing: everything works, and nothing says "permission denied"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from maas.http.routes import all_routes
from tests.embedding_server import EmbeddingServer
from tests.flow.test_users import export, post
from tests.http_server import HTTPServer
from tests.logins import logins
from tests.model_server import ModelServer
from tests.pictures import picture
from tests.polling import poll
from tests.stack import Stack, maas

CLERK = json.dumps({"toolset": ["box"], "default_mode": "plan"})
NOTHING_OF_THIS = ("permission denied", "row-level security", "must be owner")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ModelServer, EmbeddingServer]]:
    with HTTPServer(threaded=True) as http:
        models = ModelServer(http)
        yield models, EmbeddingServer(http)
        models.close()


@pytest.fixture(scope="module")
def addresses(fresh_database: str) -> Iterator[dict[str, str]]:
    with logins(fresh_database, "maas_server", "maas_worker", "maas_ops") as found:
        yield found


@pytest.fixture(scope="module")
def stack(
    fresh_database: str,
    addresses: dict[str, str],
    servers: tuple[ModelServer, EmbeddingServer],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    models, embedder = servers
    settings = models.settings() | embedder.settings()
    settings |= {
        "MAAS_TOOLS": "tests.toolbox:TOOLS",
        "MAAS_COMPACT_EVERY": "1",
        "MAAS_AUTH": "keys",
        "MAAS_A2A": "mentor",
    }
    with Stack(fresh_database, tmp_path_factory.mktemp("roles"), **settings) as running:
        running.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", CLERK)
        scopes = [word for scope in ("ask", "read", "metrics", "admin") for word in ("--scope", scope)]
        key = maas(running, "keys", "create", "all", *scopes).stdout.strip()
        running.client.headers["authorization"] = f"Bearer {key}"
        running.start_server(DATABASE_URL=addresses["maas_server"])
        running.start_orchestrator(DATABASE_URL=addresses["maas_worker"], TOOLBOX=str(running.folder))
        yield running
        logged = running.log()
    assert [line for line in logged.splitlines() if any(words in line for words in NOTHING_OF_THIS)] == []


def call(stack: Stack, method: str, path: str, status: int = 200, **options: Any) -> Any:
    reply = stack.client.request(method, path, **options)
    assert reply.status_code == status, reply.text
    return reply.json() if reply.content else None


def test_who_they_are(stack: Stack, addresses: dict[str, str]) -> None:
    """Neither owner nor superuser: what they must not do is refused."""
    for address in addresses.values():
        with psycopg.connect(address, autocommit=True) as session:
            for statement in ("update pipeline_runs set status = 'READY'", "create table public.mine (x int)"):
                with pytest.raises(errors.InsufficientPrivilege):
                    session.execute(statement.encode())
    users = stack.rows(
        "select distinct usename from pg_stat_activity where application_name ~ '^maas (server|orchestrator)'"
    )
    assert len(users) == 2
    for role in ("maas_server", "maas_worker"):
        address = addresses[role]
        assert "migrations: up to date" in maas(stack, "doctor", DATABASE_URL=address).stdout
    call(stack, "GET", "/v1/actions", params={"user_id": str(uuid4())})
    poll(lambda: stack.rows("select from api_keys where last_used_at is not null"), what="the use of a key is noted")


def test_a_dialogue_with_an_action(stack: Stack, servers: tuple[ModelServer, EmbeddingServer], user: UUID) -> None:
    models, _ = servers
    photo = call(
        stack,
        "POST",
        "/v1/attachments",
        201,
        data={"user_id": str(user)},
        files={"file": ("a", picture("JPEG"), "image/jpeg")},
    )["id"]
    opened = call(stack, "POST", "/v1/conversations", 201, json={"user_id": str(user), "assistant": "clerk"})["id"]
    models.rounds["responder"] = [[("write_line", '{"text": "one"}')]]
    asked = stack.ask(user, "Write it.", assistant="clerk", conversation_id=opened, attachment_ids=[photo])
    assert stack.answer(asked)["status"] == "COMPLETED"
    stack.wait_archived(asked)
    models.rounds.clear()
    (action,) = call(stack, "GET", "/v1/actions", params={"user_id": str(user)})["results"]
    path = f"/v1/actions/{action['id']}"
    call(stack, "PATCH", path, json={"user_id": str(user), "arguments": {"text": "two"}})
    run_id = UUID(call(stack, "POST", f"{path}/approve", json={"user_id": str(user)})["action_run_id"])
    stack.wait_archived(run_id)
    assert (stack.folder / "lines").read_text() == "two\n"
    assert call(stack, "GET", path)["status"] == "done"
    call(stack, "PATCH", f"/v1/conversations/{opened}", json={"title": "Lines", "mode": "auto"})
    assert len(call(stack, "GET", f"/v1/conversations/{opened}/messages")["results"]) == 4
    assert call(stack, "POST", f"/v1/conversations/{opened}/clear")["messages"] == 4
    call(stack, "DELETE", f"/v1/attachments/{photo}", 204, params={"user_id": str(user)})


def test_a_memory_from_import_to_erasing(
    stack: Stack, addresses: dict[str, str], servers: tuple[ModelServer, EmbeddingServer], user: UUID
) -> None:
    _, embedder = servers
    old = {"role": "user", "content": "My boat is called Zephyr.", "at": "2024-03-01T10:00:00Z", "external_id": "1"}
    assert post(stack, user, old).status_code == 202
    note = stack.ask(user, "remember: my cat is called Rex")
    stack.wait_archived(note)
    asked = stack.ask(user, "What is my boat called?")
    stack.wait_archived(asked)
    if stack.rows("select from pg_extension where extname = 'vector'"):
        vectors = "select from embeddings where user_id = %s and embedding is not null"
        poll(lambda: stack.rows(vectors, user), what="turns have vectors")
        assert embedder.calls
    poll(lambda: stack.rows("select from lsm_storage where user_id = %s and level = 1", user), what="a day is merged")
    added = {"user_id": str(user), "memory": "I live in Bergen."}
    assert call(stack, "POST", "/v1/memories", 202, json=added)["raw_log_ids"]
    poll(
        lambda: not stack.rows("select from pipeline_runs where user_id = %s and queue_state < 2", user),
        what="all is archived",
    )
    found = call(stack, "POST", "/v1/memories/search", json={"user_id": str(user), "query": "Zephyr boat"})["results"]
    assert found
    call(stack, "POST", "/v1/context", json={"user_id": str(user), "query": "boat", "max_tokens": 500})
    trace = call(stack, "GET", f"/v1/runs/{asked}/trace")
    assert trace["calls"] and trace["prompts"]
    replayed = maas(stack, "replay", str(asked), "--json", DATABASE_URL=addresses["maas_worker"])
    assert replayed.returncode == 0, replayed.stderr
    lines = export(stack, user)
    call(stack, "DELETE", f"/v1/memories/{found[0]['id']}")
    assert call(stack, "DELETE", f"/v1/users/{user}")
    assert post(stack, user, *lines).status_code == 202
    assert call(stack, "DELETE", f"/v1/users/{user}")
    assert stack.rows("select from raw_logs where user_id = %s", user) == []


def test_operators_verbs(
    stack: Stack, addresses: dict[str, str], servers: tuple[ModelServer, EmbeddingServer], user: UUID
) -> None:
    models, _ = servers
    models.hold("responder")
    asked = stack.ask(user, "Who waits?")
    poll(lambda: models.calls["responder"], what="it is being answered")
    call(stack, "POST", f"/v1/runs/{asked}/cancel", 202)
    assert stack.answer(asked)["error_code"] == "cancelled"
    looked = maas(stack, "top", "--once", DATABASE_URL=addresses["maas_ops"])
    assert looked.returncode == 0, looked.stderr
    models.release("responder")
    call(stack, "POST", f"/v1/runs/{asked}/retry", 202)
    assert stack.answer(asked)["status"] == "COMPLETED"
    stack.wait_archived(asked)
    events = stack.client.get(f"/v1/runs/{asked}/events").text
    assert "event: done" in events
    assert "maas_runs_finished_total" in stack.client.get("/metrics").text


def test_every_route(stack: Stack, user: UUID) -> None:
    """With an id that is there and bodies that are not: no route fails for want of a right."""
    asked = stack.ask(user, "Hello?")
    stack.wait_archived(asked)
    for route in all_routes():
        body = {"user_id": str(user)} if route.body else None
        for one in (asked, uuid4()):
            path = route.path.replace("{id}", str(one))
            path = path.replace("{role}", "Mentor").replace("{key}", "0" * 12)
            reply = stack.client.request(route.method, path, params={"user_id": str(user), "wait": 0}, json=body)
            assert reply.status_code < 500, (route.method, path, reply.text)
    headers = {"A2A-Version": "1.0", "X-MaaS-User": str(user)}
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
    for path in ("/v1/a2a/mentor", "/v1/a2a/mentor/"):
        assert stack.client.post(path, headers=headers, json=call).json()["result"]["tasks"] == []
