"""The view run_requests: what an application may insert and read, and what it is refused, as each role."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from tests.logins import login
from tests.sql.attempts import ANN, BEN, Connection, become, values
from tests.sql.engine import Engine, insert, run_of

SET = [
    "user_id",
    "user_query",
    "assistant",
    "conversation_id",
    "mode",
    "is_remembered",
    "metadata",
    "idempotency_key",
    "priority",
    "run_at",
    "debounce",
    "attributes",
]
READ = [
    "status",
    "final_answer",
    "error_code",
    "error_message",
    "archive_status",
    "memory",
    "created_at",
    "completed_at",
]
ROLES = ["maas_app", "authenticated"]


@contextmanager
def acting(connection: Connection, role: str, user: UUID | None = ANN) -> Iterator[None]:
    """As the role with the user's claims; nothing of it stays."""
    with connection.transaction(force_rollback=True):
        become(connection, role, user)
        yield


def ask(connection: Connection, **columns: object) -> dict[str, object]:
    """The row of an insert that returns all of it; of ANN unless it says who."""
    columns = {"user_id": ANN, "user_query": "Who am I?"} | columns
    statement = sql.SQL("insert into run_requests ({}) values ({}) returning *").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(map(sql.Placeholder, columns))
    )
    row = connection.execute(statement, columns).fetchone()
    assert row is not None
    return row


def test_its_columns_are_those_that_an_application_sets_and_reads(known: Connection) -> None:
    names = "select attname from pg_attribute where attrelid = 'run_requests'::regclass and attnum > 0 order by attnum"
    assert values(known, names) == ["id", "user_id", "user_name", *SET[1:], *READ]


@pytest.mark.parametrize("role", ROLES)
def test_what_is_inserted_is_what_a_direct_insert_makes(known: Connection, role: str) -> None:
    dialogue = uuid4()
    sent = {"conversation_id": dialogue, "mode": "plan", "is_remembered": False, "metadata": Jsonb({"a": 1})}
    with acting(known, role):
        row = ask(known, assistant="mentor", idempotency_key="k", **sent)
        (seen,) = known.execute("select * from run_requests where id = %s", (row["id"],)).fetchall()
        assert seen == row and (row["status"], row["archive_status"], row["memory"]) == ("NEW", "PENDING", "ok")
        known.execute("reset role")
        run = run_of(known, UUID(str(row["id"])))
        assert (run["kind"], run["source"], run["queue_state"], run["queue_key"]) == ("ask", "sql", -2, ANN)
        assert {name: run[name] for name in sent} == sent | {"metadata": {"a": 1}}
        assert values(known, "select content from raw_logs where run_id = %s", row["id"]) == ["Who am I?"]
        assert values(known, "select content from chat_messages where conversation_id = %s", dialogue) == ["Who am I?"]


@pytest.mark.parametrize("role", ROLES)
def test_null_means_the_default(known: Connection, role: str) -> None:
    """Of every column, as an ORM sends it, and DEFAULT likewise."""
    nulls = dict.fromkeys([*SET[2:], "id", "user_name", *READ])
    with acting(known, role):
        row = ask(known, **nulls, user_id=ANN)
        assert (row["assistant"], row["is_remembered"], row["metadata"]) == ("mentor", True, None)
        assert isinstance(row["id"], UUID)
        row = ask(known, metadata=Jsonb(None))
        assert values(known, "select metadata is null from run_requests where id = %s", row["id"]) == [True]
        defaults = ", ".join(["default"] * 14)
        known.execute(f"insert into run_requests values (default, '{ANN}', default, 'x', {defaults})".encode())


def test_null_means_the_default_in_the_table_too(connection: Connection) -> None:
    row = connection.execute(
        """insert into pipeline_runs (id, user_id, user_query, assistant, attachment_ids, is_remembered)
           values (null, %s, 'x', null, null, null) returning id, assistant, attachment_ids, is_remembered""",
        (ANN,),
    ).fetchone()
    assert row is not None and row["id"] is not None
    assert (row["assistant"], row["attachment_ids"], row["is_remembered"]) == ("mentor", [], True)


# Whose request it is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_without_a_user_it_is_the_one_of_the_claims(known: Connection, role: str) -> None:
    with acting(known, role):
        assert ask(known, user_id=None)["user_id"] == ANN
    with acting(known, role, None), pytest.raises(errors.NotNullViolation, match="user_id: set it"):
        ask(known, user_id=None)


def test_without_claims_of_any_form_it_has_to_be_named(known: Connection) -> None:
    """Where MaaS may not create auth.uid() and nobody else did."""
    with known.transaction(force_rollback=True):
        known.execute("drop schema auth cascade")
        become(known, "maas_app", ANN)
        assert ask(known)["user_id"] == ANN
        with pytest.raises(errors.NotNullViolation, match="user_id: set it"):
            ask(known, user_id=None)


def test_nobody_asks_for_another_user(known: Connection) -> None:
    for role, user, named in (
        ("authenticated", ANN, {"user_id": BEN}),
        ("authenticated", ANN, {"user_id": BEN, "idempotency_key": "of ben"}),
        ("authenticated", None, {"user_id": BEN}),
        ("authenticated", ANN, {"user_id": None, "user_name": "ben"}),
        ("authenticated", ANN, {"user_id": None, "user_name": str(ANN)}),
        ("maas_app", None, {"user_id": None, "user_name": "ben"}),
        ("maas_server", None, {}),
        ("maas_ops", None, {}),
        ("anon", ANN, {}),
    ):
        with acting(known, role, user), pytest.raises(errors.InsufficientPrivilege) as refused:
            ask(known, **named)
        assert str(BEN) not in str(refused.value)


def test_nobody_sees_another_user(known: Connection) -> None:
    with known.transaction(force_rollback=True):
        known.execute("insert into run_requests (user_id, user_query) values (%s, 'x'), (%s, 'y')", (ANN, BEN))
        everybody = set(values(known, "select user_id from run_requests"))
        assert {ANN, BEN} <= everybody
        for role, user, seen in (
            ("authenticated", ANN, {ANN}),
            ("authenticated", uuid4(), set()),
            ("authenticated", None, set()),
            ("maas_app", None, everybody),
        ):
            with known.transaction(force_rollback=True):
                become(known, role, user)
                assert set(values(known, "select user_id from run_requests")) == seen


def test_only_questions_are_seen(connection: Connection) -> None:
    connection.execute('select maas_import(%s, \'x\', \'[{"role": "user", "content": "Hi."}]\')', (ANN,))
    assert values(connection, "select count(*) from pipeline_runs") == [1]
    assert values(connection, "select count(*) from run_requests") == [0]


def test_a_login_may_be_allowed_to_name_users(database: str, connection: Connection) -> None:
    """By a grant to the login that migrations keep; a name is the same user as over HTTP, a new one a new user."""
    known_user = values(connection, "select maas_resolve_user('api', 'ann@example.org')")[0]
    with login(database, "maas_app") as url, psycopg.connect(url, autocommit=True) as session:
        session.row_factory = psycopg.rows.dict_row  # type: ignore[assignment]
        shop: Connection = session  # type: ignore[assignment]
        with pytest.raises(errors.InsufficientPrivilege, match="may not name users"):
            ask(shop, user_id=None, user_name="ann@example.org")
        name = sql.Identifier(shop.info.user)
        connection.execute(sql.SQL("grant execute on function maas.maas_user_id(text) to {}").format(name))
        assert values(connection, "select maas_grant_rights()") == [[]]
        row = ask(shop, user_id=None, user_name="ann@example.org")
        assert (row["user_id"], row["user_name"]) == (known_user, "ann@example.org")
        new = ask(shop, user_id=None, user_name="Ёлка 5")["user_id"]
        assert new != known_user and ask(shop, user_id=None, user_name="Ёлка 5")["user_id"] == new
        assert ask(shop, user_id=None, user_name=str(ANN).upper())["user_id"] == ANN
        assert values(shop, "select count(*) from run_requests where user_id = (select maas_user_id('Ёлка 5'))") == [2]
        for wrong in ("", " \u00a0\n", "x" * 201):
            with pytest.raises(errors.CheckViolation, match="user_name: must be text of 1 to 200 characters"):
                ask(shop, user_id=None, user_name=wrong)
        with pytest.raises(errors.CheckViolation, match="not both"):
            ask(shop, user_name="ann@example.org")
        connection.execute(sql.SQL("revoke all on function maas.maas_user_id(text) from {}").format(name))


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("column", READ)
def test_what_is_read_only_cannot_be_set(known: Connection, role: str, column: str) -> None:
    with acting(known, role), pytest.raises(errors.GeneratedAlways, match=f"^{column}: MaaS writes this") as refused:
        ask(known, **{column: "2026-01-01" if column.endswith("_at") else "x"})
    assert refused.value.diag.column_name == column


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("condition", ["", " where false", f" where user_id = '{BEN}'"])
def test_a_request_is_not_changed(known: Connection, role: str, condition: str) -> None:
    """The same words for rows that are there, for those of others, and for none."""
    for statement, call in (
        ("update run_requests set user_query = 'x'", "cancel_run"),
        ("delete from run_requests", "erase"),
    ):
        with acting(known, role), pytest.raises(errors.InsufficientPrivilege) as refused:
            known.execute((statement + condition).encode())
        assert f"maas_{call}" in (refused.value.diag.message_hint or "")


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("user_query", " \u00a0\n", errors.CheckViolation),
        ("user_query", None, errors.NotNullViolation),
        ("user_query", "я" * 32_769, errors.CheckViolation),
        ("assistant", "nobody", errors.ForeignKeyViolation),
        ("mode", "bogus", errors.CheckViolation),
        ("idempotency_key", "", errors.CheckViolation),
        ("idempotency_key", "k" * 3000, errors.CheckViolation),
        ("metadata", Jsonb(json.loads("[" * 101 + "]" * 101)), errors.CheckViolation),
    ],
)
def test_a_bad_value_is_refused_by_name(
    connection: Connection, column: str, value: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match=column):
        ask(connection, **{column: value})
    assert values(connection, "select count(*) from pipeline_runs") == [0]


def test_what_is_somebody_elses_cannot_be_named(known: Connection) -> None:
    for column, table in (("conversation_id", "chat_conversations"), ("id", "pipeline_runs")):
        (theirs,) = values(known, f"select id from {table} where user_id = %s", BEN)
        with acting(known, "authenticated"), pytest.raises(errors.IntegrityError, match=f"^{column}: ") as refused:
            ask(known, **{column: theirs})
        assert str(BEN) not in str(refused.value) and "secret" not in str(refused.value)


def test_the_queue_of_a_user_of_claims_is_limited(connection: Connection) -> None:
    connection.execute("update engine_settings set value = '2' where key = 'user_queue_limit'")
    with acting(connection, "maas_app"):
        for _ in range(3):
            ask(connection)
    with acting(connection, "authenticated"), pytest.raises(psycopg.Error) as refused:
        for _ in range(3):
            ask(connection)
    assert refused.value.sqlstate == "MQ002"


# What is sent again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ["id", "idempotency_key"])
def test_the_same_again_is_one_request(known: Connection, role: str, name: str) -> None:
    """The first row comes back; another request under its name is refused, and so is one that claims less is kept."""
    key = {name: str(uuid4()), "metadata": Jsonb({"a": 1})}
    with acting(known, role):
        first = ask(known, **key)
        assert ask(known, **key) == first == ask(known, **key, assistant="mentor", is_remembered=True)
        known.execute(
            "insert into run_requests (id, user_id, user_query) values (%s, %s, 'x') on conflict do nothing",
            (uuid4(), ANN),
        )
        for other in ({"user_query": "Who?"}, {"metadata": None}, {"mode": "plan"}, {"is_remembered": False}):
            with pytest.raises(errors.UniqueViolation, match=f"^{name}: is that of another"), known.transaction():
                ask(known, **(key | other))
        known.execute("reset role")
        assert values(known, "select count(*) from raw_logs where run_id = %s", first["id"]) == [1]


def test_a_key_is_its_users_own(connection: Connection) -> None:
    """Neither another user's nor that of a caller over HTTP."""
    taken = insert(connection, ANN)
    connection.execute("update pipeline_runs set caller = 'http', source = 'http', idempotency_key = 'k'")
    rows = [ask(connection, user_id=user, idempotency_key="k")["id"] for user in (ANN, BEN, ANN, BEN)]
    assert rows[:2] == rows[2:] and len({taken, *rows}) == 3
    assert set(values(connection, "select caller from pipeline_runs")) == {"http", f"sql:{ANN}", f"sql:{BEN}"}


def test_two_who_send_the_same_at_once_make_one_request(connection: Connection, database: str) -> None:
    with psycopg.connect(database, row_factory=psycopg.rows.dict_row) as first:
        sent = ask(first, idempotency_key="k")
        with psycopg.connect(database, row_factory=psycopg.rows.dict_row) as second:
            second.execute("set lock_timeout = '200ms'")
            with pytest.raises(errors.LockNotAvailable):
                ask(second, idempotency_key="k")
            second.rollback()
            first.commit()
            assert ask(second, idempotency_key="k")["id"] == sent["id"]


# What it sets in motion -----------------------------------------------------------------------------------------------


def test_it_is_notified_and_answered_like_a_direct_insert(connection: Connection, database: str) -> None:
    engine = Engine(connection)
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute("listen pipeline_events; listen pipeline_wakeup")
        sent = ask(connection, user_query="My boat is called Zephyr.")
        notes = list(listener.notifies(timeout=5, stop_after=2))
    assert {note.channel for note in notes} == {"pipeline_events", "pipeline_wakeup"}
    (event,) = (json.loads(note.payload) for note in notes if note.payload)
    assert (event["id"], event["status"], event["operation"]) == (str(sent["id"]), "NEW", "INSERT")
    (run,) = engine.claim()
    assert run["id"] == sent["id"]
    engine.complete(run, "Zephyr it is.")
    engine.finish(run)
    (row,) = connection.execute("select * from run_requests").fetchall()
    assert (row["status"], row["archive_status"], row["final_answer"]) == ("COMPLETED", "ARCHIVED", "Zephyr it is.")
    assert row["completed_at"] is not None


def test_many_rows_and_a_copy_are_many_requests(connection: Connection) -> None:
    connection.execute(
        "insert into run_requests (user_id, user_query) select %s, 'q' || n from generate_series(1, 5) n", (ANN,)
    )
    with connection.cursor() as cursor, cursor.copy("copy run_requests (user_id, user_query) from stdin") as copy:
        copy.write_row((ANN, "q6"))
    asked = "select content from raw_logs where user_id = %s order by seq"
    assert values(connection, asked, ANN) == [f"q{n}" for n in range(1, 7)]
