"""What a user with claims reaches, and the ways round that are none; every attempt is made as that role."""

from __future__ import annotations

import json
from uuid import uuid4

import psycopg
import pytest
from psycopg import RawCursor, errors, sql
from psycopg.rows import dict_row

from maas.named_queries import query_texts
from tests.sql.attempts import ANN, BEN, CLIENTS, MEMORY, ROLES, Connection, become, values
from tests.sql.engine import run_of

HIDDEN = {
    "analysis_result",
    "draft_context",
    "final_context_payload",
    "caller",
    "queue_state",
    "replaces",
    "queue_key",
    "owner",
    "attempt",
    "try",
    "deaths",
    "losses",
    "client_context",
    "answer_by",
    "not_before",
}


def test_a_user_reaches_no_column_of_anybody_else(known: Connection) -> None:
    """Each column of each table and view, alone, so that a grant of one column is found."""
    columns = known.execute(
        """select c.relname as name, a.attname as column, exists (
             select from pg_attribute u where u.attrelid = c.oid and u.attname = 'user_id') as has_user
           from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           where c.relnamespace = 'maas'::regnamespace and c.relkind in ('r', 'v')"""
    ).fetchall()
    reached: dict[str, set[str]] = {}
    for one in columns:
        shown = sql.SQL("select {}, {} from {}").format(
            sql.Identifier(one["column"]),
            sql.Identifier("user_id") if one["has_user"] else sql.SQL("null"),
            sql.Identifier(one["name"]),
        )
        try:
            with known.transaction(force_rollback=True):
                become(known, "authenticated", ANN)
                cursor = known.cursor(row_factory=psycopg.rows.tuple_row)
                users = {row[1] for row in cursor.execute(shown)}
        except errors.InsufficientPrivilege:
            continue
        reached.setdefault(one["name"], set()).add(one["column"])
        assert users == {ANN}, one
    assert set(reached) == {
        "debounced_requests",
        "pipeline_runs",
        "run_requests",
        "schedules",
        "webhook_endpoints",
        *MEMORY,
    }
    every = {one["column"] for one in columns if one["name"] == "pipeline_runs"}
    assert every - reached["pipeline_runs"] == HIDDEN


def test_what_a_user_asks_is_answered_like_any_request(known: Connection) -> None:
    """All that the triggers do happens with nothing but the columns that a client may set."""
    with known.transaction(force_rollback=True):
        become(known, "authenticated", ANN)
        dialogue, photo = uuid4(), values(known, "select id from attachments where kind = 'upload'")
        assert len(photo) == 1
        row = known.execute(
            """insert into pipeline_runs
                 (id, user_id, user_query, assistant, conversation_id, mode, metadata, attachment_ids)
               values (gen_random_uuid(), %s, 'And now?', 'mentor', %s, 'plan', '{"a": 1}', %s)
               returning id, status, kind, source""",
            (ANN, dialogue, photo),
        ).fetchone()
        assert row is not None and (row["status"], row["kind"], row["source"]) == ("NEW", "ask", "sql")
        assert values(known, "select content from chat_messages where conversation_id = %s", dialogue) == ["And now?"]
        assert values(known, "select content from raw_logs where run_id = %s", row["id"]) == ["And now?"]
        assert values(known, "select title from chat_conversations where id = %s", dialogue) == ["And now?"]
        known.execute("reset role")
        found = run_of(known, row["id"])
    assert (found["queue_state"], found["queue_key"], found["attachment_ids"]) == (-2, ANN, photo)


@pytest.mark.parametrize("role", ["authenticated", "maas_app"])
def test_the_client_by_sql_needs_no_more(known: Connection, role: str) -> None:
    """Sent twice, it is one request; what is read of it are columns that a client may see."""
    sent = uuid4()
    with known.transaction(force_rollback=True), RawCursor(known, row_factory=dict_row) as cursor:
        become(known, role, ANN)
        for _ in range(2):
            fields = (str(sent), str(ANN), "And now?", "mentor", None, None, "{}", "{}", -1, None, '{"batch": 7}', None)
            cursor.execute(query_texts()["client_insert"].encode(), fields)
        row = cursor.execute(query_texts()["client_look"].encode(), (str(sent),)).fetchone()
    assert row is not None and (row["request_id"], row["status"]) == (sent, "NEW")


@pytest.mark.parametrize("what", ["conversation_id", "attachment_ids", "id"])
def test_what_is_somebody_elses_cannot_be_named(known: Connection, what: str) -> None:
    """The error says no more than that it cannot be used."""
    theirs = {
        "conversation_id": "select id from chat_conversations where user_id = %s",
        "attachment_ids": "select array[id] from attachments where user_id = %s",
        "id": "select id from pipeline_runs where user_id = %s",
    }
    (thing,) = values(known, theirs[what], BEN)
    statement = sql.SQL("insert into pipeline_runs (user_id, user_query, {}) values (%s, 'x', %s)").format(
        sql.Identifier(what)
    )
    with pytest.raises(errors.IntegrityError) as refused, known.transaction():
        become(known, "authenticated", ANN)
        known.execute(statement, (ANN, thing))
    assert str(BEN) not in str(refused.value) and "secret" not in str(refused.value)


@pytest.mark.parametrize("table", ["pipeline_runs", "run_requests"])
def test_errors_hide_how_much_memory_somebody_has(known: Connection, table: str) -> None:
    """Row security refuses a request before the quota of its user is looked at."""
    statement = f"insert into {table} (user_id, user_query) values (%s, repeat('x', 65000))".encode()
    with known.transaction(force_rollback=True):
        known.execute("select setseed(0.5)")
        known.execute("update engine_settings set value = '1' where key = 'user_memory_bytes'")
        become(known, "authenticated", ANN)
        for user, error in ((ANN, "MQ001"), (BEN, "42501")):
            found = set()
            for _ in range(100):  # a text of that length is checked once in sixteen times
                try:
                    with known.transaction(force_rollback=True):
                        known.execute(statement, (user,))
                except psycopg.Error as refused:
                    found.add(refused.sqlstate)
            assert found == {error}


JUNK = (
    "", " ", "{", "null", "5", '"x"', "[]", "[1]", "{}", "[" * 20000,
    '{"sub": null}', '{"sub": ""}', '{"sub": 5}', '{"sub": "me"}', '{"sub": []}', '{"sub": {"a": 1}}',
    '{"sub": "\\u0000"}', '{"sub": "%"}', '{"sub": "' + "x" * 100000 + '"}', f'{{"sub": "{BEN} or true"}}',
    f'{{"user_id": "{BEN}"}}', f'{{"SUB": "{BEN}"}}', f'{{"role": "maas_server", "sub": "", "x": "{BEN}"}}',
)  # fmt: skip


@pytest.mark.parametrize("setting", ["request.jwt.claims", "request.jwt.claim.sub"])
def test_claims_that_name_nobody_open_nothing(known: Connection, setting: str) -> None:
    """Nor do they raise an error, which would repeat them."""
    for claims in JUNK:
        with known.transaction(force_rollback=True):
            known.execute("select set_config(%s, %s, true)", (setting, claims))
            known.execute("set local role authenticated")
            assert values(known, "select auth.uid()") == [None], claims[:50]
            assert values(known, "select maas_is_admin()") == [False]
            for table in ("pipeline_runs", *MEMORY):
                assert values(known, f"select count(user_id) from {table}") == [0]
            with pytest.raises(errors.InsufficientPrivilege):
                known.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'x')", (BEN,))


def test_claims_of_either_form(known: Connection) -> None:
    for name, claims in (("request.jwt.claims", json.dumps({"sub": str(BEN)})), ("request.jwt.claim.sub", str(BEN))):
        with known.transaction(force_rollback=True):
            known.execute("select set_config(%s, %s, true)", (name, claims))
            known.execute("set local role authenticated")
            assert values(known, "select distinct user_id from pipeline_runs") == [BEN]


def test_a_users_own_function_sees_no_row_of_others(known: Connection) -> None:
    """A cheap function in a condition is called after the policy, not before."""
    notices: list[str] = []
    known.add_notice_handler(lambda note: notices.append(note.message_primary or ""))
    with known.transaction(force_rollback=True):
        become(known, "authenticated", ANN)
        known.execute(
            """create function pg_temp.tell(t text) returns boolean language plpgsql cost 0.0000001 as $$
               begin raise notice '%', t; return true; end $$"""
        )
        known.execute("select id from pipeline_runs where pg_temp.tell(user_query)")
        known.execute("select id from raw_logs where pg_temp.tell(content)")
    assert notices and not [words for words in notices if "ben" in words]


# Ways round -----------------------------------------------------------------------------------------------------------


def test_nobody_becomes_somebody_else(sessions: dict[str, Connection], connection: Connection) -> None:
    (owner,) = values(connection, "select current_user")
    for role, session in sessions.items():
        for other in (*(other for other in ROLES if other != role), owner):
            for verb in ("set role", "set session authorization", "reset role; set role"):
                with pytest.raises(errors.InsufficientPrivilege):
                    session.execute(f"{verb} {other}".encode())


def test_tables_of_a_session_mislead_nobody(sessions: dict[str, Connection], connection: Connection) -> None:
    """Under whatever name, and before ours in the search path: triggers, policies and functions find ours."""
    names = (
        "pipeline_runs",
        "raw_logs",
        "user_roles",
        "assistants",
        "chat_messages",
        "attachments",
        "engine_settings",
        "audit",
    )
    for session in sessions.values():
        for name in names:
            session.execute(f"create temp table {name} (id uuid, user_id uuid, role text)".encode())
        session.execute("set search_path = pg_temp, public, maas")
        session.execute("insert into user_roles (user_id, role) values (%s, 'admin')", (ANN,))
    client, server, ops = sessions["authenticated"], sessions["maas_server"], sessions["maas_ops"]
    client.execute("select set_config('request.jwt.claims', %s, false)", (json.dumps({"sub": str(ANN)}),))
    assert values(client, "select distinct user_id from maas.pipeline_runs") == [ANN]
    (run,) = values(client, "insert into maas.pipeline_runs (user_id, user_query) values (%s, 'x') returning id", ANN)
    assert values(client, "select count(*) from raw_logs") == [0]
    assert values(connection, "select content from raw_logs where run_id = %s", run) == ["x"]
    server.execute("insert into raw_logs (id, user_id) select id, user_id from maas.raw_logs")
    with pytest.raises(errors.FeatureNotSupported):
        server.execute("select maas_restore('pg_temp.raw_logs', %s, '[{\"id\": null}]')", (ANN,))
    assert values(ops, "select maas_cancel_run(%s)", run) == ["cancelling"]
    server.execute("select maas_erase(%s)", (BEN,))
    assert values(connection, "select count(*) from raw_logs where user_id = %s", BEN) == [0]
    assert values(server, "select count(*) from raw_logs where user_id = %s", BEN) == [2]
    assert values(connection, "select actor from audit where action = 'erase'")[0] == f"sql:{server.info.user}"


REFUSED = (
    "set local row_security = off; select id from pipeline_runs",
    "copy pipeline_runs to stdout",
    "copy pipeline_runs to program 'cat'",
    "select * from pipeline_runs",
    "select p from pipeline_runs p",
    "select id from pipeline_runs for update",
    "select id from run_requests for update",
    "update run_requests set user_query = 'x' where false",
    "delete from run_requests where false",
    "insert into pipeline_runs (id, user_id, user_query) select id, user_id, 'x' from pipeline_runs "
    "on conflict (id) do update set user_query = 'x'",
    "update pipeline_runs set user_query = 'x'",
    "create trigger mine after insert on pipeline_runs execute function notify_pipeline_change()",
    "select nextval('run_seq')",
    "select setval('raw_logs_seq_seq', 1)",
    "select maas_add_event(gen_random_uuid(), 'x', '{}')",
    "select maas_user_tables()",
    "select maas_grant_rights()",
    "do $$ begin perform maas_erase('00000000-0000-0000-0000-000000000002'); end $$",
    "create function pg_temp.mine() returns jsonb language sql as "
    "$$select maas_erase('00000000-0000-0000-0000-000000000002')$$; select pg_temp.mine()",
    "comment on table pipeline_runs is 'mine'",
    "alter role authenticated superuser",
    "grant maas_server to authenticated",
    "alter default privileges for role maas_server grant all on tables to public",
    "alter database postgres set search_path = evil",
    "select rolpassword from pg_authid",
)


@pytest.mark.parametrize("role", CLIENTS)
def test_a_client_is_refused(known: Connection, role: str) -> None:
    for statement in REFUSED:
        with pytest.raises(errors.InsufficientPrivilege), known.transaction(force_rollback=True):
            become(known, role, ANN)
            known.execute(statement.encode())
