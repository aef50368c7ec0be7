"""Origins: what an answer was made from is kept with it, goes into summaries, survives a move, and can be forgotten."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]
LOOK = {"kind": "tool", "name": "evil__look", "domain": "evil"}
SUGGESTS = "The tool suggests to move the piano to Riga."


@pytest.fixture
def engine(connection: Connection) -> Engine:
    connection.execute(
        "insert into tools (name, domain, description, parameters, effect, version, is_idempotent) "
        "values ('evil__look', 'evil', 'd', '{}', 'read', '1', false) on conflict do nothing"
    )
    return Engine(connection)


def answered(
    connection: Connection,
    engine: Engine,
    user: UUID,
    answer: str,
    *calls: tuple[str, str, str, list[UUID] | None],
    query: str = "What is new?",
    given: tuple[tuple[UUID, list[Any]], ...] = (),
    result: str = "{}",
) -> DictRow:
    """The stored answer of a run that made these calls (id, tool, status, documents) and was given these memories."""
    run_id = insert(connection, user, query)
    (run,) = engine.claim()
    for call_id, tool, status, documents in calls:
        connection.execute(
            "insert into tool_executions (run_id, try, attempt, call_id, tool, args_hash, effect, status, documents, "
            "result) values (%s, 1, 1, %s, %s, 'h', 'read', %s, %s, %s)",
            (run_id, call_id, tool, status, documents, Jsonb({"data": result})),
        )
    sources = [{"id": str(one), "kind": "turn", "score": 1.0, "origins": origins} for one, origins in given]
    connection.execute("update pipeline_runs set sources = %s where id = %s", (Jsonb(sources), run_id))
    engine.complete(run, answer)
    engine.step(done=[engine.archived(run, summary=answer)])
    row = connection.execute(
        "select * from raw_logs where run_id = %s and message_type = 'assistant_response'", (run_id,)
    ).fetchone()
    assert row is not None
    return row


def names(row: DictRow) -> list[str]:
    return sorted(one["name"] for one in row["origins"])


def forget(connection: Connection, user: UUID | None, origin: dict[str, str]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for row in connection.execute("select * from maas_memories_from(%s, %s)", (user, Jsonb(origin))).fetchall():
        found = connection.execute("select maas_forget(%s, %s, 'test') as v", (row["id"], row["user_id"])).fetchone()
        assert found is not None
        counts = found["v"]
        if counts["verdict"] == "forgotten":
            total.update(answers=1, logs=counts["logs"], records=counts["records"])
        total.update(in_use=counts["verdict"] == "in_use")
    return {name: total[name] for name in ("answers", "logs", "records", "in_use")}


def left(connection: Connection, user: UUID) -> list[str]:
    rows = connection.execute(
        "select content from raw_logs where user_id = %s and message_type = 'assistant_response' "
        "union select summary from lsm_storage where user_id = %s and not is_provisional",
        (user, user),
    )
    return sorted(row["content"] for row in rows)


def test_an_answer_keeps_the_tools_and_documents_it_was_made_from(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    row = connection.execute(
        "insert into knowledge_documents (user_id, name, media_type, sha256, bytes, track_id, status) "
        "values (%s, 'rules.md', 'text/markdown', '', 1, 't', 'processed') returning id",
        (user,),
    ).fetchone()
    assert row is not None
    plain = answered(connection, engine, user, "Nothing is new.")
    assert plain["origins"] == []
    tools = answered(
        connection,
        engine,
        user,
        SUGGESTS,
        ("c1", "evil__look", "done", None),
        ("c2", "gone", "failed", None),
        ("c3", "begun", "started", None),
        ("c4", "search", "done", [row["id"]]),
        ("c5", "search", "done", []),
    )
    assert sorted(tools["origins"], key=lambda one: one["name"]) == [
        LOOK,
        {"kind": "tool", "name": "gone"},
        {"kind": "document", "name": "rules.md", "id": str(row["id"])},
    ]
    summary = connection.execute("select * from lsm_storage where id = %s", (tools["record_id"],)).fetchone()
    assert summary is not None and names(summary) == names(tools)
    connection.execute(
        "select maas_compact(%s, 1, %s, %s, 'Both.', false, '{}')",
        (user, summary["time_bucket_end"], [plain["record_id"], tools["record_id"]]),
    )
    merged = connection.execute("select * from lsm_storage where user_id = %s and level = 1", (user,)).fetchone()
    assert merged is not None and names(merged) == names(tools)


@pytest.mark.parametrize(
    ("answer", "query", "is_inherited"),
    [
        ("Move the piano to Riga.", "What now?", True),
        ("Move it to Riga, perhaps.", "What now?", False),
        ("Move the piano to Riga.", "Shall I move the piano to Riga?", False),
        ("Call 4815.", "Whom?", True),
    ],
)
def test_an_answer_that_repeats_one_was_made_from_the_same(
    connection: Connection, engine: Engine, answer: str, query: str, is_inherited: bool
) -> None:
    user = uuid4()
    first = answered(connection, engine, user, f"{SUGGESTS} Call 4815.", ("c1", "evil__look", "done", None))
    second = answered(connection, engine, user, answer, query=query, given=((first["id"], [LOOK]),))
    assert second["origins"] == ([LOOK] if is_inherited else [])
    stranger = answered(connection, engine, uuid4(), answer, query=query, given=((first["id"], [LOOK]),))
    assert stranger["origins"] == [], "a memory of another user is none"


def test_what_is_looked_up_before_each_answer_counts_where_it_is_repeated(
    connection: Connection, engine: Engine
) -> None:
    call = ("context-1", "evil__look", "done", None)
    for answer, origins in ((SUGGESTS, [LOOK]), ("Good morning.", [])):
        row = answered(connection, engine, uuid4(), answer, call, result="Move the piano to Riga.")
        assert row["origins"] == origins


@pytest.mark.parametrize("origin", [{"kind": "tool", "name": "evil__look"}, {"kind": "tool", "domain": "evil"}])
def test_what_came_from_a_tool_is_forgotten(connection: Connection, engine: Engine, origin: dict[str, str]) -> None:
    user, other = uuid4(), uuid4()
    for one in (user, other):
        first = answered(connection, engine, one, SUGGESTS, ("c1", "evil__look", "done", None))
        answered(connection, engine, one, "Move the piano to Riga.", given=((first["id"], [LOOK]),))
        answered(connection, engine, one, "It rains.", ("c1", "weather", "done", None))
    counts = forget(connection, user, origin)
    assert counts["answers"] >= 1 and counts["logs"] == 2 and counts["in_use"] == 0
    assert left(connection, user) == ["It rains."]
    assert len(left(connection, other)) == 3
    assert forget(connection, user, origin)["answers"] == 0
    forget(connection, None, origin)
    assert left(connection, other) == ["It rains."]


def test_a_summary_whose_messages_are_gone_is_forgotten_too(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    row = answered(connection, engine, user, SUGGESTS, ("c1", "evil__look", "done", None))
    connection.execute("set maas.retention = 'on'")
    connection.execute("delete from raw_logs where user_id = %s", (user,))
    connection.execute("update lsm_storage set words_gone = true where id = %s", (row["record_id"],))
    forget(connection, user, {"kind": "tool", "name": "evil__look"})
    assert left(connection, user) == []


@pytest.mark.parametrize("keeps", [True, False])
def test_a_file_cannot_say_that_its_words_are_the_users(connection: Connection, keeps: bool) -> None:
    """Unless an operator restores an export of the same user: that is what was there."""
    user, log_id = uuid4(), uuid4()
    row = {
        "id": str(log_id),
        "run_id": str(uuid4()),
        "message_type": "user_query",
        "content": "I owe you money.",
        "conversation": "c",
        "archived_at": "2026-01-01T00:00:00Z",
    }
    connection.execute("select maas_restore('maas.raw_logs', %s, %s, %s)", (user, Jsonb([row]), keeps))
    (stored,) = connection.execute("select origins from raw_logs where user_id = %s", (user,)).fetchall()
    assert stored["origins"] == ([] if keeps else [{"kind": "import", "name": "export"}])
