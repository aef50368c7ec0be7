"""Notes in SQL: a run that is executed again after a crash says the same, and an erased one writes nothing."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import DictRow

from maas.named_queries import query_texts
from tests.sql.engine import insert

Connection = psycopg.Connection[DictRow]


def verdict(connection: Connection, function: str, run: UUID, words: str) -> str:
    row = connection.execute(f"select maas_{function}_note(%s, %s) as verdict".encode(), (run, words)).fetchone()
    assert row is not None
    return str(row["verdict"])


def notes(connection: Connection, user: UUID) -> list[str]:
    rows = connection.execute("select content from maas_notes(%s)", (user,)).fetchall()
    return [row["content"] for row in rows]


def test_the_same_run_says_the_same(connection: Connection) -> None:
    user = uuid4()
    first, second, third = (insert(connection, user) for _ in range(3))
    assert [verdict(connection, "add", first, "tea") for _ in range(2)] == ["noted", "noted"]
    assert verdict(connection, "add", second, "Tea.") == "known"
    assert notes(connection, user) == ["tea"]
    assert [verdict(connection, "drop", second, "TEA") for _ in range(2)] == ["forgotten", "forgotten"]
    assert verdict(connection, "drop", third, "tea") == "unknown"
    assert notes(connection, user) == []


def test_nobody_touches_anothers_notes(connection: Connection) -> None:
    mine, theirs = uuid4(), uuid4()
    verdict(connection, "add", insert(connection, theirs), "tea")
    run = insert(connection, mine)
    assert verdict(connection, "drop", run, "tea") == "unknown"
    assert verdict(connection, "add", run, "tea") == "noted"
    assert (notes(connection, mine), notes(connection, theirs)) == (["tea"], ["tea"])


def test_an_erased_run_writes_nothing(connection: Connection) -> None:
    user = uuid4()
    run = insert(connection, user)
    connection.execute("select maas_erase(%s)", (user,))
    verdict(connection, "add", run, "tea")
    verdict(connection, "drop", run, "tea")
    assert connection.execute("select from facts").rowcount == 0


def test_a_note_is_a_fact_that_a_person_decides_about(connection: Connection) -> None:
    user = uuid4()
    first, second = (insert(connection, user) for _ in range(2))
    assert verdict(connection, "add", first, "tea") == "noted"
    row = connection.execute("select id, kind, state from maas_facts(%s)", (user,)).fetchone()
    assert row is not None and (row["kind"], row["state"]) == ("note", "true")
    assert connection.execute("select from maas_find_facts(%s, 'tea')", (user,)).rowcount == 0
    connection.execute("select maas_decide_fact(%s, %s, 'unused')", (user, row["id"]))
    assert notes(connection, user) == []
    assert verdict(connection, "drop", second, "tea") == "unknown"
    assert verdict(connection, "add", second, "tea") == "noted"
    assert notes(connection, user) == ["tea"]


def test_a_corrected_note_says_what_is_right(connection: Connection) -> None:
    user = uuid4()
    first, second, third = (insert(connection, user) for _ in range(3))
    verdict(connection, "add", first, "tea at four")
    row = connection.execute("select id from maas_facts(%s)", (user,)).fetchone()
    assert row is not None
    connection.execute("select from maas_correct_fact(%s, %s, 'tea at five')", (user, row["id"]))
    assert notes(connection, user) == ["tea at five"]
    assert verdict(connection, "drop", second, "tea at four") == "unknown"
    assert verdict(connection, "add", second, "tea at four") == "noted"
    assert notes(connection, user) == ["tea at five", "tea at four"]
    assert verdict(connection, "drop", third, "tea at five") == "forgotten"
    assert notes(connection, user) == ["tea at four"]


def test_a_draft_looks_for_notes_in_their_own_index(connection: Connection) -> None:
    """However many facts the user has, of whom most have no note."""
    user = uuid4()
    connection.execute(
        """insert into facts (
             user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, origin)
           select %s, 'Likes ' || n, 'user', 'likes:' || n, 'preference', 'user', now(), now(), array[%s::uuid], 'rule'
           from generate_series(1, 5000) n""",
        (user, uuid4()),
    )
    connection.execute("analyze facts")
    connection.execute("set plan_cache_mode = force_generic_plan")
    look = f"prepare look(uuid[], uuid[], bigint[], int[]) as {query_texts()['draft_inputs']}"
    connection.execute(look.encode())
    asked = (insert(connection, user), user)
    plan = connection.execute(
        b"explain (analyze, buffers, format json) execute look(array[%s]::uuid[], array[%s]::uuid[], '{9}', '{5}')"
        % tuple(f"'{one}'".encode() for one in asked)
    ).fetchone()
    assert plan is not None
    indexes = re.findall(r"'Index Name': '(\w+)'", str(plan))
    assert "idx_facts_notes" in indexes
    assert plan["QUERY PLAN"][0]["Plan"]["Shared Hit Blocks"] < 100
