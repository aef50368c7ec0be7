"""Loading of stored data into a table that is open for it: what is refused, and that a repetition changes nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.loading import BATCH_LINES, MAX_LINE_BYTES, LoadCounts, load_file
from shared.db import open_database
from shared.errors import MaasError
from tests.sql.attempts import become

Connection = psycopg.Connection[DictRow]
ANN, BEN = UUID(int=1), UUID(int=2)
TABLES = """
create table maas.shelves (id int primary key, user_id uuid not null, name text unique);
create table maas.jars (
  id uuid primary key, user_id uuid not null, shelf int references maas.shelves, label text not null, grams numeric,
  is_open boolean, tags text[], more jsonb, filled_at timestamptz, secret text, at time,
  twice numeric generated always as (grams * 2) stored);
insert into maas.loadable_tables (name, columns) values
  ('shelves', '{id,name}'), ('jars', '{id,shelf,label,grams,is_open,tags,more,filled_at,twice,at}');
"""


@pytest.fixture
def pantry(connection: Connection) -> Iterator[Connection]:
    """A database with two tables of an assistant."""
    connection.execute(TABLES)
    yield connection


async def load(database: str, table: str, *lines: object, user: UUID | None = ANN) -> LoadCounts:
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    async with open_database(database, 2, "test") as db:
        return await load_file(db, io.BytesIO(b"\n".join(texts)), "jars.ndjson", table, user, "test")


def jar(**columns: Any) -> dict[str, Any]:
    return {"id": str(uuid4()), "label": "honey"} | columns


async def test_the_same_file_twice_changes_nothing(pantry: Connection, database: str) -> None:
    lines = [
        jar(
            grams=12345678901234567,
            tags=["a", "b"],
            more={"x": [1]},
            is_open=True,
            filled_at="2026-01-02 03:04:05",
            at="10:30",
        )
        for _ in range(BATCH_LINES + 7)
    ]
    assert await load(database, "jars", *lines) == LoadCounts(added=BATCH_LINES + 7)
    before = pantry.execute("select j.xmin::text, j.* from jars j order by id").fetchall()
    assert await load(database, "jars", *lines) == LoadCounts(unchanged=BATCH_LINES + 7)
    assert pantry.execute("select j.xmin::text, j.* from jars j order by id").fetchall() == before
    row = before[0]
    assert (row["user_id"], row["tags"], row["more"], row["is_open"]) == (ANN, ["a", "b"], {"x": [1]}, True)
    assert row["filled_at"].isoformat() == "2026-01-02T03:04:05+00:00" and row["grams"] == 12345678901234567
    notes = pantry.execute("select actor, user_id, details from audit where action = 'load'").fetchall()
    details = {"table": "jars", "added": BATCH_LINES + 7, "changed": 0}
    assert notes == [{"actor": "test", "user_id": ANN, "details": details}]


async def test_numbers_keep_every_digit(pantry: Connection, database: str) -> None:
    line = b'{"id": "%s", "label": "x", "grams": 0.12345678901234567890123}' % str(uuid4()).encode()
    await load(database, "jars", line)
    row = pantry.execute("select grams::text as grams from jars").fetchone()
    assert row == {"grams": "0.12345678901234567890123"}


async def test_columns_that_a_line_leaves_out_stay(pantry: Connection, database: str) -> None:
    """A later line with the same key counts, also within one batch."""
    one = jar(grams=5)
    key = {"id": one["id"], "label": "jam"}
    assert await load(database, "jars", one, key, key | {"label": "tea"}) == LoadCounts(added=1, changed=2)
    row = pantry.execute("select label, grams from jars").fetchone()
    assert row == {"label": "tea", "grams": 5}


async def test_a_line_with_the_key_alone(pantry: Connection, database: str) -> None:
    assert await load(database, "shelves", {"id": 1}) == LoadCounts(added=1)
    assert await load(database, "shelves", {"id": 1}, {"id": 1}) == LoadCounts(unchanged=2)


async def test_rows_that_name_their_users(pantry: Connection, database: str) -> None:
    rows = [jar(user_id=str(ANN)), jar(user_id=str(BEN).upper())]
    assert (await load(database, "jars", *rows, user=None)).added == 2
    assert {row["user_id"] for row in pantry.execute("select user_id from jars").fetchall()} == {ANN, BEN}
    assert (await load(database, "jars", jar(user_id=str(ANN)), user=ANN)).added == 1


async def refused(database: str, words: str, *lines: object, table: str = "jars", user: UUID | None = ANN) -> None:
    with pytest.raises(MaasError) as caught:
        await load(database, table, *lines, user=user)
    assert caught.value.code == "bad_load" and "\n" not in caught.value.message
    assert caught.value.message.startswith("jars.ndjson, line ") and words in caught.value.message, caught.value.message


WRONG: tuple[tuple[object, str], ...] = (
    (b"{", "line 3: not JSON"),
    (b"[]", "line 3: must be a JSON object"),
    (b"{}", "line 3: must be a JSON object"),
    (b'{"id": 1, "id": 2}', "line 3: not JSON: a name occurs twice"),
    (b'{"id": NaN}', "line 3: not JSON"),
    (b'{"label": "\xff"}', "line 3: not UTF-8"),
    (b'{"label": "a\\u0000b"}', "line 3: holds a NUL"),
    (b'{"label": "\\ud800"}', "line 3: holds a NUL character, a lone surrogate"),
    (b'{"label": "' + b"x" * MAX_LINE_BYTES + b'"}', "line 3: exceeds 1 MiB"),
    (b"[" * 5000, "line 3: not JSON"),
    (jar(colour="red"), 'line 3: there is no column "colour"; open: id, shelf, label'),
    (jar(secret="x"), 'line 3: the column "secret" is not open for loading'),
    (jar(twice=4), 'line 3: there is no column "twice"'),
    (jar(ctid="x"), 'line 3: there is no column "ctid"'),
    (jar(grams="5"), "line 3: grams: must be a number, not a string"),
    (jar(label=5), "line 3: label: must be a string, not a number"),
    (jar(label={"a": 1}), "line 3: label: must be a string, not an object"),
    (jar(tags="a"), "line 3: tags: must be an array, not a string"),
    (jar(is_open=1), "line 3: is_open: must be a boolean, not a number"),
    (jar(shelf=1.5), "line 3: invalid input syntax for type integer"),
    (jar(shelf=10**30), "line 3: "),
    (jar(filled_at="now"), "line 3: filled_at: must begin with year-month-day"),
    (jar(filled_at="2026-13-01"), "line 3: date/time field value out of range"),
    (jar(at="now"), "line 3: at: must begin with hours:minutes"),
    (jar(at="25:00"), "line 3: date/time field value out of range"),
    (jar(id="x"), "line 3: invalid input syntax for type uuid"),
    (jar(id=None), "line 3: id: null, but the key needs a value"),
    (jar(label=None), "line 3: null value in column"),
    ({"label": "honey"}, "line 3: a row needs id"),
    (jar(shelf=9), "line 3: insert or update on table"),
    (jar(shelf=2), "line 3: shelf: names a row of another user"),
    (jar(id=str(UUID(int=77))), "line 3: id: names a row of another user"),
    (jar(user_id=str(BEN)), "line 3: user_id: must be 00000000-0000-0000-0000-000000000001"),
    (jar(user_id=5), "line 3: user_id: must be a string"),
)


@pytest.mark.parametrize(("line", "words"), WRONG, ids=range(len(WRONG)))
async def test_a_wrong_line_is_named(pantry: Connection, database: str, line: object, words: str) -> None:
    """Nothing of its batch is there."""
    pantry.execute("insert into shelves values (1, %s, 'a'), (2, %s, 'b')", (ANN, BEN))
    pantry.execute("insert into jars (id, user_id, label) values (%s, %s, 'of Ben')", (UUID(int=77), BEN))
    await refused(database, words, jar(shelf=1), b"", line, jar())
    assert pantry.execute("select label from jars").fetchall() == [{"label": "of Ben"}]
    assert pantry.execute("select from audit where action = 'load'").rowcount == 0


async def test_rows_without_a_user(pantry: Connection, database: str) -> None:
    await refused(database, "line 1: a row needs user_id", jar(), user=None)
    await refused(database, "line 1: user_id: null", jar(user_id=None), user=None)


@pytest.mark.parametrize(
    ("table", "quoted"),
    [
        ("api_keys", "api_keys"),
        ("pipeline_runs", "pipeline_runs"),
        ("nothing", "nothing"),
        ("jars; drop table jars", '"jars; drop table jars"'),
        ('ja"rs', '"ja""rs"'),
        ("JARS", '"JARS"'),
        ("", '""'),
    ],
)
async def test_tables_that_are_not_open(pantry: Connection, database: str, table: str, quoted: str) -> None:
    await refused(database, f"the table {quoted} is not open for loading; open: ad_accounts, ", jar(), table=table)


async def test_no_table_is_open_by_default(connection: Connection, database: str) -> None:
    connection.execute("delete from loadable_tables")  # those of built-in assistants
    await refused(database, "line 1: the table jars is not open for loading; no table is open", jar())


async def test_a_name_that_no_table_can_have(database: str) -> None:
    for table in ("a\0b", "a\ud800"):
        with pytest.raises(MaasError, match="--table"):
            await load(database, table, jar())


async def test_batches_before_a_wrong_line_stay(pantry: Connection, database: str) -> None:
    """The corrected file is loaded from its start."""
    lines: list[object] = [jar() for _ in range(2 * BATCH_LINES)]
    await refused(database, f"line {2 * BATCH_LINES}: ", *lines[:-1], jar(grams="x"))
    assert pantry.execute("select from jars").rowcount == BATCH_LINES
    assert await load(database, "jars", *lines) == LoadCounts(added=BATCH_LINES, unchanged=BATCH_LINES)


async def test_a_row_of_another_user_within_a_batch(pantry: Connection, database: str) -> None:
    one = jar(user_id=str(ANN))
    await refused(database, "line 2: id: names a row of another user", one, one | {"user_id": str(BEN)}, user=None)
    assert pantry.execute("select from jars").rowcount == 0


async def test_columns_named_as_the_statement_numbers_lines(pantry: Connection, database: str) -> None:
    """A later line of the same key wins, whatever the columns of the table are called."""
    columns = "place int, line int, round int, value text"
    pantry.execute(f"create table maas.steps (id int primary key, user_id uuid not null, {columns})".encode())
    pantry.execute("insert into loadable_tables (name, columns) values ('steps', '{id,place,line,round,value}')")
    lines = [{"id": 1, "place": 9 - n, "line": n, "round": 1, "value": f"v{n}"} for n in range(3)]
    assert await load(database, "steps", *lines) == LoadCounts(added=1, changed=2)
    assert pantry.execute("select place, line, round, value from steps").fetchall() == [
        {"place": 7, "line": 2, "round": 1, "value": "v2"}
    ]


def test_who_may_load(pantry: Connection) -> None:
    rows = json.dumps([{"id": 1, "name": "a"}])
    for role in ("anon", "authenticated", "maas_app", "maas_server", "maas_worker"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), pantry.transaction():
            become(pantry, role, ANN)
            pantry.execute("select maas_load('shelves', %s, %s)", (rows, ANN))
    with pantry.transaction():
        become(pantry, "maas_ops", None)
        row = pantry.execute("select * from maas_load('shelves', %s, %s)", (rows, ANN)).fetchone()
    assert row == {"added": 1, "changed": 0, "unchanged": 0}
