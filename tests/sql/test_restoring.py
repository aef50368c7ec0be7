"""Under which ids an export comes back: nobody can know or choose them, and no row comes twice."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4, uuid5

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine
from tests.sql.test_forget import exchange

Connection = psycopg.Connection[DictRow]
AT = "2024-01-01T00:00:00Z"


def log(**columns: Any) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "run_id": str(uuid4()),
        "turn_no": 0,
        "message_type": "user_query",
        "content": "x",
        "conversation": "c",
        "archived_at": AT,
        "record_id": None,
        **columns,
    }


def record(**columns: Any) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "run_id": None,
        "level": 0,
        "time_bucket_start": "2024-01-01",
        "summary": "x",
        "tags": [],
        "time_bucket_end": "2024-01-01",
        "raw_log_ids": [],
        "superseded_by": None,
        "words_gone": True,
        **columns,
    }


def restore(connection: Connection, table: str, user: UUID, *rows: dict[str, Any], keep: bool = False) -> int:
    row = connection.execute("select maas_restore(%s, %s, %s, %s) as n", (table, user, Jsonb(rows), keep)).fetchone()
    assert row is not None
    return int(row["n"])


def rows(connection: Connection, table: str, user: UUID) -> list[DictRow]:
    return connection.execute(f"select * from {table} where user_id = %s".encode(), (user,)).fetchall()


def test_ids_of_a_file_are_made_anew_and_still_lead_to_each_other(connection: Connection) -> None:
    user, other = uuid4(), uuid4()
    words, parent = log(), record(level=1)
    merged = record(raw_log_ids=[words["id"], str(uuid4())], superseded_by=parent["id"], run_id=words["run_id"])
    words["record_id"] = merged["id"]
    for one in (user, other):
        assert restore(connection, "raw_logs", one, words) == 1
        assert restore(connection, "lsm_storage", one, merged, parent) == 2
        assert restore(connection, "raw_logs", one, words) == 0, "the same file again"
        assert restore(connection, "lsm_storage", one, merged, parent) == 0
    found = [(rows(connection, "raw_logs", one), rows(connection, "lsm_storage", one)) for one in (user, other)]
    for (got,), records in found:
        (child,) = (one for one in records if one["level"] == 0)
        (above,) = (one for one in records if one["level"] == 1)
        assert (got["record_id"], child["superseded_by"]) == (child["id"], above["id"])
        assert (child["raw_log_ids"][0], child["run_id"]) == (got["id"], got["run_id"])
    old = {words["id"], words["run_id"], merged["id"], parent["id"]}
    known = old | {str(uuid5(one, name)) for one in (user, other) for name in old}
    new = [{str(got["id"]), str(got["run_id"]), *(str(one["id"]) for one in made)} for (got,), made in found]
    assert len(new[0] | new[1]) == 8 and not known & (new[0] | new[1])


def test_an_operator_keeps_what_is_free(connection: Connection) -> None:
    """What somebody else has comes under another id; what the user brought before stays as it is."""
    user, other = uuid4(), uuid4()
    mine, theirs = log(), log()
    assert restore(connection, "raw_logs", user, mine) == 1
    assert restore(connection, "raw_logs", user, mine, keep=True) == 0, "brought by the user before"
    assert restore(connection, "raw_logs", other, theirs, keep=True) == 1
    assert restore(connection, "raw_logs", other, theirs) == 0, "and the other way about"
    assert [str(one["id"]) for one in rows(connection, "raw_logs", other)] == [theirs["id"]]
    also = log(run_id=theirs["run_id"], message_type="assistant_response")
    assert restore(connection, "raw_logs", user, theirs, also, keep=True) == 2
    (stays,) = rows(connection, "raw_logs", other)
    for one in rows(connection, "raw_logs", user):
        assert not {str(one["id"]), str(one["run_id"])} & {str(stays["id"]), str(stays["run_id"])}


def test_rows_of_the_user_keep_their_ids(connection: Connection) -> None:
    engine, user = Engine(connection), uuid4()
    _, log_ids = exchange(connection, engine, user, "mine")
    (first, *_) = rows(connection, "raw_logs", user)
    connection.execute("select maas_forget(%s)", (log_ids[0],))
    again = log(id=str(log_ids[0]), run_id=str(first["run_id"]))
    restore(connection, "raw_logs", user, again)
    got = [one for one in rows(connection, "raw_logs", user) if one["message_type"] == "user_query"]
    assert [one["run_id"] for one in got] == [first["run_id"]], "the run is still theirs"
    assert got[0]["id"] != log_ids[0], "the words were nobody's any more"


@pytest.mark.parametrize("keep", [True, False])
def test_what_names_rows_of_another_is_refused_whatever_it_is_called(connection: Connection, keep: bool) -> None:
    """Also if ids were taken at their word."""
    engine, owner, stranger = Engine(connection), uuid4(), uuid4()
    record_id, log_ids = exchange(connection, engine, owner, "mine")
    (theirs, *_) = rows(connection, "raw_logs", owner)
    connection.execute(
        """create or replace function maas.maas_map_ids(p_user uuid, p_ids uuid[], p_keep boolean) returns jsonb
           language sql as 'select jsonb_object_agg(i, i) from unnest(p_ids) i'"""
    )
    for table, row in (
        ("raw_logs", log(id=str(log_ids[0]))),
        ("raw_logs", log(run_id=str(theirs["run_id"]))),
        ("raw_logs", log(record_id=str(record_id))),
        ("raw_logs", log(archived_run_id=str(theirs["run_id"]))),
        ("lsm_storage", record(superseded_by=str(record_id))),
        ("lsm_storage", record(raw_log_ids=[str(log_ids[0])])),
        ("lsm_storage", record(run_id=str(theirs["run_id"]))),
        ("lsm_storage", record(id=str(log_ids[0]))),
    ):
        with pytest.raises(errors.ForeignKeyViolation, match="names rows of another user"):
            restore(connection, table, stranger, row, keep=keep)
    assert rows(connection, "raw_logs", stranger) == rows(connection, "lsm_storage", stranger) == []


def test_nobody_reaches_the_secret(sessions: dict[str, Connection]) -> None:
    for one in sessions.values():
        for attempt in (
            "select * from restore_key",
            "select maas_restored_id(gen_random_uuid(), gen_random_uuid())",
            "select maas_map_ids(gen_random_uuid(), '{}', false)",
            "update restore_key set inner_pad = ''",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                one.execute(attempt.encode())


def test_every_database_has_a_secret_of_its_own(connection: Connection) -> None:
    (row,) = connection.execute("select octet_length(inner_pad) as i, octet_length(outer_pad) as o from restore_key")
    assert (row["i"], row["o"]) == (64, 64)
    with pytest.raises(errors.UniqueViolation):
        connection.execute("insert into restore_key values ('', '')")
    user, old = uuid4(), uuid4()
    ids = [
        connection.execute("select maas_restored_id(%s, %s) as id", pair).fetchone()
        for pair in ((user, old), (user, old), (uuid4(), old), (user, uuid4()))
    ]
    assert len({row["id"] for row in ids if row}) == 3
    assert all(row and row["id"].version == 8 for row in ids)
    connection.execute("update restore_key set outer_pad = sha256('x') || sha256('y')")
    assert connection.execute("select maas_restored_id(%s, %s) as id", (user, old)).fetchone() not in ids


@pytest.mark.parametrize("is_named_by_words", [True, False])
def test_levels_of_records_belong_together(connection: Connection, is_named_by_words: bool) -> None:
    """Else who forgets the child would take along a record that words lead to, and no import would come in again."""
    user, above = uuid4(), record(level=int(is_named_by_words))
    child = record() if is_named_by_words else record(superseded_by=above["id"])
    restore(connection, "lsm_storage", user, above, child)
    if is_named_by_words:
        restore(connection, "raw_logs", user, log(record_id=above["id"]))
    with pytest.raises(errors.ForeignKeyViolation, match="do not belong together"):
        connection.execute("select maas_finish_restore(%s, 'x')", (user,))
