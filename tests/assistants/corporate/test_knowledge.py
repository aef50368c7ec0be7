"""Tools that search documents, through the executor: a LightRAG server at its stand-in, and our own knowledge."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from structlog.testing import capture_logs

from maas.assistants.corporate.knowledge import KnowledgeQuery
from maas.assistants.corporate.knowledge_tools import Backends, make_backends, make_knowledge_tools
from maas.assistants.corporate.lightrag import LightragBackend
from maas.assistants.corporate.lightrag_client import Mode
from maas.assistants.corporate.own_knowledge import OwnBackend, listed, quoted
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from maas.knowledge.search import Found, Passage
from maas.settings import load_settings
from maas.tools.calls import MAX_DATA_BYTES, ToolResult
from maas.tools.executor import Executor
from maas.tools.permissions import Permissions
from maas.tools.rows import size
from maas.tools.tool import ToolContext, Toolset
from shared.db import Database, open_database
from shared.models import ToolCall
from shared.vendors.service import Limits
from tests.assistants.corporate.knowledge import LIGHTRAG, LIGHTRAG_KEY, TRACK
from tests.programs import run_maas
from tests.remembering import remember
from tests.standins.running import Running, standin

NAMES = ("lightrag_query", "lightrag_query_data", "lightrag_track_status", "lightrag_get_pipeline_status")
QUESTION = {"query": "How long is the Vacation?"}
ALLOWED, OTHER = UUID(int=7), UUID(int=8)
QUICK = Limits(read_s=0.3, total_s=0.5, max_bytes=1_000_000, first_pause_s=0.01, max_pause_s=0.02)
MANY = {f"note{number:02}.md": {"text": f"The Vacation of person {number}."} for number in range(60)}


class Knowledge:
    """The four tools, and calls of them on behalf of a user."""

    def __init__(self, deps: Deps, backends: Backends | None = None) -> None:
        self.tools = Toolset(make_knowledge_tools(deps, backends))

    async def call(self, name: str, arguments: dict[str, Any], user: UUID = ALLOWED) -> dict[str, Any]:
        """The body that a model reads."""

        async def count() -> int:
            return 1

        async def record(_: ToolResult) -> None:
            pass

        permissions = Permissions(frozenset(NAMES))
        executor = Executor(self.tools, permissions, ToolContext(user, uuid4()), count, record)
        (result,) = await executor.run([ToolCall("1", name, json.dumps(arguments))])
        body: dict[str, Any] = json.loads(result.text())
        return body

    async def data(self, name: str, arguments: dict[str, Any], user: UUID = ALLOWED) -> dict[str, Any]:
        body = await self.call(name, arguments, user)
        assert body["success"] and "cut" not in body.get("_meta", {}), body
        assert size(body["data"]) <= MAX_DATA_BYTES
        data: dict[str, Any] = body["data"]
        return data


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with standin("lightrag", LIGHTRAG) as running:
        yield running


@pytest.fixture
def server(running: Running) -> Running:
    running.reset()
    return running


@pytest.fixture
async def db(fresh_database: str) -> AsyncIterator[Database]:
    """As the role of orchestrators."""
    separator = "&" if "?" in fresh_database else "?"
    async with open_database(f"{fresh_database}{separator}role=maas_worker", 4, "test") as db:
        yield db


@pytest.fixture
def deps(db: Database) -> Deps:
    return Deps(db, load_settings(), RoleModels({}, BuiltinModel()))


@pytest.fixture
async def knowledge(deps: Deps, server: Running) -> AsyncIterator[Knowledge]:
    """Tools at the server, which is open to one user."""
    backend = LightragBackend(server.url, LIGHTRAG_KEY, (str(ALLOWED),), QUICK, QUICK)
    yield Knowledge(deps, Backends(OwnBackend(deps.db), backend))
    await backend.close()


def test_the_tools(deps: Deps) -> None:
    tools = Knowledge(deps).tools
    assert tuple(one.name for one in tools) == NAMES
    assert {(one.domain, one.effect) for one in tools} == {("knowledge", "read")}
    properties = make_knowledge_tools(deps)[0].parameters["properties"]
    assert properties["mode"]["enum"] == list(get_args(Mode)) == ["mix", "local", "global", "hybrid"]


async def test_an_answer_with_sources(knowledge: Knowledge, server: Running) -> None:
    data = await knowledge.data("lightrag_query", QUESTION)
    assert data["response"].startswith("The Vacation lasts 28 days")
    assert data["references"] == [{"reference_id": "1", "file_path": "vacation.md"}]
    assert (data["found"], data["llm_generated"]) == (1, True) and "note" not in data
    (request,) = server.journal()
    assert request["body"] == {**QUESTION, "mode": "mix", "include_references": True, "top_k": 10}
    assert request["headers"] == {"x-api-key": LIGHTRAG_KEY} and LIGHTRAG_KEY not in json.dumps(data)


async def test_without_sources_nobody_knows_how_many_there_are(knowledge: Knowledge) -> None:
    data = await knowledge.data("lightrag_query", QUESTION | {"include_references": False})
    assert (data["references"], data["found"]) == ([], None) and "note" not in data


async def test_details(knowledge: Knowledge) -> None:
    data = await knowledge.data("lightrag_query_data", QUESTION)
    (passage,) = data["passages"]
    assert (passage["file_path"], passage["text"]) == ("vacation.md", LIGHTRAG["documents"]["vacation.md"]["text"])
    assert data["entities"][0]["name"] == "Vacation" and data["relations"][0]["target"] == "Ivanov"
    assert data["references"] == [{"reference_id": "1", "file_path": "vacation.md"}] and data["found"] == 1


@pytest.mark.parametrize("mode", get_args(Mode))
async def test_each_mode_goes_out_as_it_is(knowledge: Knowledge, server: Running, mode: str) -> None:
    for name in NAMES[:2]:
        await knowledge.data(name, QUESTION | {"mode": mode, "top_k": 100, "include_references": False})
    body = {**QUESTION, "mode": mode, "top_k": 100, "include_references": False}
    assert [one["body"] for one in server.journal()] == [body, body]


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "naive"},
        {"mode": "bypass"},
        {"query": "  ab  "},
        {"query": "x" * 2001},
        {"top_k": 0},
        {"top_k": 101},
        {"query": "a\x00bcd"},
    ],
)
async def test_wrong_arguments_reach_nobody(knowledge: Knowledge, server: Running, wrong: dict[str, Any]) -> None:
    for name in NAMES[:2]:
        body = await knowledge.call(name, QUESTION | wrong)
        assert body["error_code"] == "validation_error", body
    for track_id in ("", "../pipeline_status", "x" * 101):
        assert (await knowledge.call(NAMES[2], {"track_id": track_id}))["error_code"] == "validation_error"
    assert server.journal() == []


@pytest.mark.parametrize("name", NAMES[:2])
async def test_nothing_found_is_said(knowledge: Knowledge, name: str) -> None:
    data = await knowledge.data(name, {"query": "zzzz qqqq"})
    assert (data["found"], data["references"]) == (0, []) and "other keywords" in data["note"]
    assert "no-context" not in json.dumps(data)


@pytest.mark.parametrize("name", NAMES[:2])
async def test_fifty_results_ask_for_a_period(knowledge: Knowledge, server: Running, name: str) -> None:
    server.merge({"documents": MANY, "chunk_top_k": 49})
    assert "note" not in await knowledge.data(name, QUESTION | {"top_k": 100, "query": "Vacation person"})
    server.merge({"chunk_top_k": 50})
    data = await knowledge.data(name, {"top_k": 100, "query": "Vacation of person"})
    assert data["found"] == 50 and data["note"].startswith("50 results:") and "period" in data["note"]


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize(
    ("fault", "is_pipeline_busy", "is_busy"),
    [
        ({"kind": "status", "status": 503}, False, True),
        ({"kind": "status", "status": 429}, False, True),
        ({"kind": "hang"}, False, True),
        ({"kind": "status", "status": 500}, True, True),
        ({"kind": "status", "status": 500}, False, False),
        ({"kind": "status", "status": 400}, True, False),
        ({"kind": "status", "status": 422}, False, False),
        ({"kind": "malformed"}, False, False),
    ],
    ids=str,
)
async def test_a_busy_server(
    knowledge: Knowledge, server: Running, name: str, fault: dict[str, Any], is_pipeline_busy: bool, is_busy: bool
) -> None:
    server.merge({"busy": is_pipeline_busy})
    server.fault(times=9, path="/query", **fault)
    body = await knowledge.call(name, QUESTION)
    assert body["error_code"] == "failed" and "LightRAG" in body["message"]
    assert ("is busy now" in body["message"] and "simpler query" in body["message"]) == is_busy


async def test_a_large_reply_is_one_error(knowledge: Knowledge, server: Running) -> None:
    server.merge({"padding": 3_000_000})
    assert "larger than" in (await knowledge.call(NAMES[0], QUESTION))["message"]


async def test_long_texts_are_cut(knowledge: Knowledge, server: Running) -> None:
    """The result stays JSON with all members, however long the documents and their names are."""
    long = {f"{'папка/' * 60}{number}.md": {"text": "Отпуск длится «28» дней. " * 200} for number in range(20)}
    server.merge({"documents": long | {name: None for name in LIGHTRAG["documents"]}})
    for name in NAMES[:2]:
        body = await knowledge.call(name, {"query": "Сколько длится отпуск"})
        data, left_out = body["data"], body["_meta"]["left_out"]
        assert size(data) <= MAX_DATA_BYTES
        assert data["found"] == 20 and 0 < len(data["references"]) < 20
        assert left_out["references"] == {"rows": 20 - len(data["references"]), "of": 20}
        if name == "lightrag_query_data":
            assert left_out["passages"]["rows"] == left_out["passages"]["of"] - len(data["passages"])


async def test_uploads_and_the_pipeline(knowledge: Knowledge, server: Running) -> None:
    data = await knowledge.data("lightrag_track_status", {"track_id": TRACK})
    assert (data["found"], data["statuses"]) == (2, {"processed": 1, "failed": 1})
    assert [(one["name"], one["error"]) for one in data["documents"]] == [
        ("vacation.md", None),
        ("broken.pdf", "no text"),
    ]
    data = await knowledge.data("lightrag_track_status", {"track_id": "insert_of_nobody"})
    assert data["found"] == 0 and "track_id" in data["note"]
    assert (await knowledge.data("lightrag_get_pipeline_status", {}))["busy"] is False
    server.merge({"busy": True})
    data = await knowledge.data("lightrag_get_pipeline_status", {"user": "x"})
    assert data == {
        "busy": True,
        "documents": 2,
        "steps_done": 1,
        "steps": 2,
        "message": "Extracting stage 1/2: vacation.md",
    }


async def test_the_key_is_in_no_log_and_no_result(knowledge: Knowledge, server: Running) -> None:
    server.fault("status", times=9, path="/query", status=500, message=f"wrong key {LIGHTRAG_KEY}")
    with capture_logs() as logs:
        body = await knowledge.call("lightrag_query", QUESTION)
    assert LIGHTRAG_KEY not in f"{body}{logs}" and any(one["event"] == "vendor_call_retried" for one in logs)


@pytest.mark.parametrize(
    ("users", "open_to"),
    [
        ("", ()),
        (str(ALLOWED), (ALLOWED,)),
        (f"{OTHER}, {str(ALLOWED).upper()}", (ALLOWED, OTHER)),
        ("*", (ALLOWED, OTHER)),
    ],
)
async def test_who_may_ask_the_server(
    deps: Deps, server: Running, monkeypatch: pytest.MonkeyPatch, users: str, open_to: tuple[UUID, ...]
) -> None:
    monkeypatch.setenv("LIGHTRAG_BASE_URL", server.url)
    monkeypatch.setenv("LIGHTRAG_API_KEY", LIGHTRAG_KEY)
    monkeypatch.setenv("LIGHTRAG_USERS", users)
    settings = load_settings()
    with capture_logs() as logs:
        backends = make_backends(Deps(deps.db, settings, RoleModels({}, BuiltinModel())))
    assert [one["event"] for one in logs] == ([] if users else ["lightrag_users_missing"])
    chosen = {user: backends.of(user) for user in (ALLOWED, OTHER)}
    assert tuple(user for user, one in chosen.items() if isinstance(one, LightragBackend)) == open_to
    assert all(isinstance(one, LightragBackend | OwnBackend) for one in chosen.values())


# Our own knowledge


async def test_a_user_who_may_not_ask_the_server_gets_our_own(knowledge: Knowledge, server: Running) -> None:
    """Nothing goes out, whichever tool is called."""
    for name in NAMES[:2]:
        data = await knowledge.data(name, {"query": "zzzz qqqq ничего"}, OTHER)
        assert data["found"] == 0 and "other keywords" in data["note"]
    assert (await knowledge.data(NAMES[2], {"track_id": TRACK}, OTHER))["found"] == 0
    assert set(await knowledge.data(NAMES[3], {}, OTHER)) >= {"busy", "documents", "chunks", "failed"}
    assert server.journal() == []


def passage(number: int, text: str, heading: str = "Отпуск > Длительность", page: int | None = 3) -> Passage:
    return Passage(UUID(int=9), number, "manuals/vacation.md", heading, page, 120, text, 0.91234)


def test_our_own_answer_is_numbered_quotations() -> None:
    found = Found([passage(1, "Отпуск длится 28 дней.\x00"), passage(2, "Заявление — за две недели.", "", None)], 61)
    data = quoted(found, KnowledgeQuery("Сколько длится отпуск")).fitted()[0]
    assert data == {
        "response": "[1] manuals/vacation.md, Отпуск > Длительность, page 3\n«Отпуск длится 28 дней.»\n\n"
        "[2] manuals/vacation.md\n«Заявление — за две недели.»",
        "references": [
            {"reference_id": "1", "file_path": "manuals/vacation.md", "heading": "Отпуск > Длительность", "page": 3},
            {"reference_id": "2", "file_path": "manuals/vacation.md"},
        ],
        "llm_generated": False,
        "found": 61,
    }
    without = quoted(found, KnowledgeQuery("Сколько длится отпуск", include_references=False))
    assert without.references == () and without.response == data["response"]


def test_our_own_passages() -> None:
    found = Found([passage(1, "Отпуск длится 28 дней.")], 1)
    data, left_out = listed(found, KnowledgeQuery("Сколько длится отпуск")).fitted()
    reference = {
        "reference_id": "1",
        "file_path": "manuals/vacation.md",
        "heading": "Отпуск > Длительность",
        "page": 3,
    }
    assert data == {
        "passages": [reference | {"text": "Отпуск длится 28 дней.", "score": 0.912}],
        "entities": [],
        "relations": [],
        "references": [reference],
        "found": 1,
    }
    assert left_out == {}


@pytest.mark.parametrize("make", [quoted, listed])
def test_a_hundred_long_passages_fit(make: Any) -> None:
    found = Found([passage(number, "«Ж»\n" * 500, "Глава " * 100) for number in range(100)], 1000)
    data, left_out = make(found, KnowledgeQuery("Сколько длится отпуск", top_k=100)).fitted()
    assert size(data) < MAX_DATA_BYTES - 500 and len(data["references"]) > 5
    assert left_out["references"] == {"rows": 100 - len(data["references"]), "of": 100}


async def test_our_own_documents_are_found_by_their_user(
    fresh_database: str, knowledge: Knowledge, server: Running, tmp_path: Path
) -> None:
    file = tmp_path / "vacation.md"
    file.write_text("# Отпуск\n\nОтпуск длится 28 календарных дней.\n")
    environment = os.environ | {"DATABASE_URL": fresh_database}
    added = run_maas("knowledge", "add", str(file), "--user", str(OTHER), environment=environment, folder=tmp_path)
    assert added.returncode == 0, added.stderr
    data = await knowledge.data("lightrag_query", {"query": "Сколько дней длится отпуск?"}, OTHER)
    assert (data["found"], data["llm_generated"]) == (1, False) and "28 календарных дней" in data["response"]
    (reference,) = data["references"]
    assert reference["reference_id"] == "1" and "vacation.md" in reference["file_path"]
    assert reference["heading"] == "Отпуск"
    data = await knowledge.data("lightrag_query_data", {"query": "Сколько дней длится отпуск?"}, OTHER)
    assert "28 календарных дней" in data["passages"][0]["text"] and 0 <= data["passages"][0]["score"] <= 1
    assert (await knowledge.data("lightrag_get_pipeline_status", {}, OTHER))["documents"] == 1
    stranger = await knowledge.data("lightrag_query", {"query": "Сколько дней длится отпуск?"}, uuid4())
    assert stranger["found"] == 0 and "said" not in stranger and server.journal() == []


async def test_notes_and_dialogues_are_found_by_their_user(fresh_database: str, knowledge: Knowledge) -> None:
    """Beside documents of either backend, and where there are none; nobody else finds them."""
    note = "Запомни: переезд склада на Лесную назначен на 14 мая."
    with psycopg.connect(fresh_database, row_factory=dict_row, autocommit=True) as connection:
        for user in (ALLOWED, OTHER):
            remember(connection, user, [(datetime(2026, 4, 2, 10, tzinfo=UTC), note)])
    for name in NAMES[:2]:
        for user in (ALLOWED, OTHER):
            data = await knowledge.data(name, {"query": "Когда переезд склада?"}, user)
            assert data["said"] == [{"when": "2026-04-02", "by": "user", "text": note}]
            assert data["found"] == len(data["references"]) + 1 and ("note" in data) is False
    for query, user in (("Когда переезд склада?", uuid4()), ("Какой номер у пропуска?", OTHER)):
        data = await knowledge.data(NAMES[0], {"query": query}, user)
        assert data["found"] == 0 and "said" not in data
