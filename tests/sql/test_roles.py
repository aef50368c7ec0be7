"""What each role may do, and that nothing else is open."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from maas.plugins import sql_folders
from shared.migrate import migrate
from shared.postgres import EmbeddedPostgres, acquire
from tests.conftest import ROOT, SQL_FOLDER
from tests.logins import login
from tests.polling import poll
from tests.sql.attempts import ANN, CLIENTS, ROLES, Connection, become, matrix, values
from tests.sql.engine import insert

RELATIONS = "(select * from pg_class where relnamespace = 'maas'::regnamespace and relkind in ('r', 'v', 'S', 'p'))"
FUNCTIONS = "(select * from pg_proc where pronamespace = 'maas'::regnamespace)"
OF_AN_EXTENSION = "exists (select from pg_depend d where d.objid = x.oid and d.deptype = 'e')"


def test_the_matrix_of_the_documents_is_what_happens(known: Connection) -> None:
    assert matrix(known) in (ROOT / "docs" / "sql.md").read_text()


# What the catalogue says ----------------------------------------------------------------------------------------------


def test_every_table_has_row_security(known: Connection) -> None:
    loose = """select relname from pg_class
        where relnamespace = 'maas'::regnamespace and relkind in ('r', 'p') and not relrowsecurity"""
    assert values(known, loose) == []


def test_all_that_is_ours_is_in_our_schema(known: Connection) -> None:
    relations = f"""select relname from pg_class x where relnamespace = 'public'::regnamespace
        and relkind in ('r', 'v', 'm', 'S', 'p') and not {OF_AN_EXTENSION}"""
    functions = (
        f"""select proname from pg_proc x where pronamespace = 'public'::regnamespace and not {OF_AN_EXTENSION}"""
    )
    extensions = "select extname from pg_extension where extnamespace = 'maas'::regnamespace"
    assert values(known, relations) == values(known, functions) == values(known, extensions) == []


def closed_to_everybody(connection: Connection) -> bool:
    functions = f"""select oid from {FUNCTIONS} f where has_function_privilege('public', oid, 'execute')
        or has_function_privilege('anon', oid, 'execute')"""
    relations = f"""select oid from {RELATIONS} c cross join aclexplode(c.relacl) a
        where a.grantee = 0 or a.grantee = 'anon'::regrole"""
    columns = f"""select attname from {RELATIONS} c join pg_attribute on attrelid = c.oid
        cross join aclexplode(attacl) a where a.grantee = 0 or a.grantee = 'anon'::regrole"""
    return all(values(connection, query) == [] for query in (functions, relations, columns))


def test_everybody_may_do_nothing(known: Connection) -> None:
    """Nor may anon."""
    assert closed_to_everybody(known)
    for role in ROLES:
        assert values(known, "select has_schema_privilege(%s, 'maas', 'create')", role) == [False]


def test_a_later_function_is_closed(known: Connection) -> None:
    with known.transaction(force_rollback=True):
        known.execute("create function maas.maas_later() returns int language sql as 'select 1'")
        assert values(known, "select has_function_privilege('maas_server', 'maas_later()', 'execute')") == [False]


@pytest.mark.parametrize("role", ROLES)
def test_functions_are_executed_by_those_named(known: Connection, role: str) -> None:
    allowed = f"""select proname from {FUNCTIONS} f where has_function_privilege(%s, oid, 'execute')"""
    named = "select distinct unnest(functions) from maas_all_function_rights() where role_name = %s"
    found = set(values(known, allowed, role))
    assert found == set(values(known, named, role))
    assert role not in CLIENTS or found <= {
        "maas_is_admin",
        "maas_new_id",
        "maas_session_user",
        "maas_add_webhook",
        "maas_remove_webhook",
        "maas_joined_run",
        "maas_request_digest",
    }


def test_who_runs_as_the_owner_finds_our_tables(known: Connection) -> None:
    """Every trigger of ours among them: an insert of a client fires some. Those of the view are not the owner."""
    loose = f"""select proname from {FUNCTIONS} p
        where (p.prosecdef or p.prorettype = 'trigger'::regtype)
          and (p.prosecdef = (proname in ('insert_request', 'refuse_request_change'))
            or coalesce(p.proconfig::text, '') !~ 'search_path=pg_catalog, (public, )?pg_temp')"""
    assert values(known, loose) == []


def test_views_that_see_all_are_for_the_trusted(known: Connection) -> None:
    """A client has two views, which see what its session may see."""
    views = f"select relname from {RELATIONS} c where relkind = 'v' and has_table_privilege(%s, oid, 'select')"
    sees = "select reloptions from pg_class where oid in ('maas.run_requests'::regclass, 'maas.memories'::regclass)"
    theirs = ["memories", "run_requests"]
    assert [sorted(map(str, values(known, views, role))) for role in CLIENTS] == [[], theirs, theirs]
    assert values(known, sees) == [["security_invoker=true"]] * 2


def test_rights_may_be_granted_again(known: Connection) -> None:
    relations = f"""select c.relname, c.relacl::text,
          (select array_agg(attacl::text order by attnum) from pg_attribute where attrelid = c.oid) as columns,
          (select array_agg(polname order by polname) from pg_policy where polrelid = c.oid) as policies
        from {RELATIONS} c order by 1"""
    functions = f"""select p.oid::regprocedure::text as name, p.prosecdef, p.proconfig, p.proacl::text
        from {FUNCTIONS} p order by 1"""

    def state() -> list[object]:
        return [known.execute(query).fetchall() for query in (relations, functions)]

    before = state()
    with known.transaction(force_rollback=True):
        known.execute("grant all on pipeline_runs to anon, public")
        known.execute("grant execute on function maas_step to public")
        assert values(known, "select maas_grant_rights()") == [[]]
        assert state() == before


# Operators, server and orchestrator -----------------------------------------------------------------------------------


def test_an_operator_works(sessions: dict[str, Connection], connection: Connection) -> None:
    ops = sessions["maas_ops"]
    run = insert(connection)
    assert values(ops, "select maas_cancel_run(id) from v_runs_current where id = %s", run) == ["cancelling"]
    assert values(ops, "select maas_retry_run(%s)", run) == ["not_failed"]
    edit = "update system_prompts set prompt_template = 'Be brief.' where role_name = 'Mentor' returning version"
    assert values(ops, edit) == [2]
    assert len(values(ops, "select version from system_prompts_history where role_name = 'Mentor'")) == 1
    with pytest.raises(errors.InsufficientPrivilege):
        ops.execute("update system_prompts set version = 1")


def test_row_security_keeps_the_plans_of_a_search(known: Connection) -> None:
    """A policy that lets all pass must not keep a condition from an index."""
    question = "explain (costs off) select id from raw_logs where user_id = %s and tsv @@ 'secret'::tsquery"
    plans = []
    for role in ("maas_server", "maas_worker", None):
        with known.transaction(force_rollback=True):
            known.execute("drop index maas.idx_raw_logs_user_id, maas.idx_raw_logs_external_id")
            known.execute("set local enable_seqscan = off")
            if role is not None:
                become(known, role, None)
            plans.append(values(known, question, ANN))
    assert plans[0] == plans[1] == plans[2]
    assert re.search("Index Cond: .*secret", "\n".join(map(str, plans[0])))


# Other databases ------------------------------------------------------------------------------------------------------


def test_supabase_keeps_what_it_has_made(postgres: EmbeddedPostgres, template: str) -> None:
    """Its own auth.uid() stays; that it opens every new table and function to anon and authenticated does not."""
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute("create database supabase")
    url = make_conninfo(postgres.dsn, dbname="supabase")
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute(
            """create schema auth;
               grant usage on schema auth to anon, authenticated;
               create function auth.uid() returns uuid language sql stable as $$select '{user}'::uuid$$;
               alter default privileges in schema public grant all on tables to anon, authenticated;
               alter default privileges in schema public grant all on sequences to anon, authenticated;
               alter default privileges in schema public grant all on functions to anon, authenticated;
               create table public.theirs (x int)""".replace("{user}", str(ANN)).encode()
        )
        migrate(url, SQL_FOLDER, sql_folders())
        assert closed_to_everybody(connection)
        with connection.transaction(force_rollback=True):
            become(connection, "authenticated", None)
            ask = "insert into maas.pipeline_runs (user_id, user_query) values (%s, 'x') returning user_id"
            assert values(connection, ask, ANN) == [ANN]
            ask = "insert into maas.run_requests (user_query) values ('x') returning user_id"
            assert values(connection, ask) == [ANN]
            assert values(connection, "select count(*) from theirs") == [0]


@pytest.fixture(scope="module")
def bare(reachable_tmp: Path, pg_bin: Path | None) -> Iterator[EmbeddedPostgres]:
    server = acquire(reachable_tmp / f"bare-{uuid.uuid4().hex[:6]}", bin_dir=pg_bin)
    yield server
    server.close(wait=True)


@pytest.fixture(scope="module")
def owner(bare: EmbeddedPostgres) -> Iterator[Connection]:
    """The owner of a migrated database of that server, who may create no role."""
    with psycopg.connect(bare.dsn, autocommit=True) as admin, login(bare.dsn) as url:
        name = sql.Identifier(str(conninfo_to_dict(url)["user"]))
        admin.execute(sql.SQL("create database plain owner {}").format(name))
        url = make_conninfo(url, dbname="plain")
        migrate(url, SQL_FOLDER, sql_folders())
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            yield connection
        admin.execute("drop database plain with (force)")


def migrate_beside(bare: EmbeddedPostgres) -> None:
    """Migrate a second database while another session has created a role and not committed yet."""
    with psycopg.connect(bare.dsn, autocommit=True, row_factory=dict_row) as admin, psycopg.connect(bare.dsn) as other:
        admin.execute("create database second")
        other.execute("create role anon nologin")
        failed: list[BaseException] = []

        def second() -> None:
            try:
                migrate(make_conninfo(bare.dsn, dbname="second"), SQL_FOLDER, sql_folders())
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=second)
        thread.start()
        waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = 'second'"
        poll(lambda: failed or values(admin, waiting), what="the other migration waits")
        other.commit()
        thread.join()
        assert failed == []


def test_where_the_roles_are_missing(bare: EmbeddedPostgres, owner: Connection) -> None:
    """An owner who may create none goes on without them, and grants when they are there; two who create them agree."""
    notices: list[str] = []
    owner.add_notice_handler(lambda note: notices.append(note.message_primary or ""))
    assert values(owner, "select maas_grant_rights()") == [list(ROLES)]
    assert len([line for line in notices if "cannot be created here" in line]) == len(ROLES)
    assert insert(owner)
    migrate_beside(bare)
    assert values(owner, "select maas_grant_rights()") == [[]]
    assert values(owner, "select count(distinct polroles) from pg_policy") == [5]


def test_a_policy_follows_its_rule(connection: Connection) -> None:
    """One whose rule has changed is made again, as `maas migrate` does for an earlier version's; others stay."""
    policies = "select polname as name, oid, pg_get_expr(polqual, polrelid) as rule from pg_policy order by oid"
    before = connection.execute(policies).fetchall()
    connection.execute("select maas_grant_rights()")
    assert connection.execute(policies).fetchall() == before
    connection.execute(
        "select maas_ensure_policy('pipeline_runs', 'Admins see all', 'select', 'authenticated', 'using (false)')"
    )
    after = connection.execute(policies).fetchall()
    assert len(after) == len(before)
    assert [(row["name"], row["rule"]) for row in after if row not in before] == [("Admins see all", "false")]


def test_a_writer_whose_beginning_is_hidden_counts_as_slow(bare: EmbeddedPostgres, owner: Connection) -> None:
    with psycopg.connect(make_conninfo(bare.dsn, dbname="plain")) as writer:
        assert values(owner, "select maas_log_horizon() > now() - interval '5 minutes'") == [True]
        writer.execute("insert into pipeline_runs (user_id, user_query) values (gen_random_uuid(), 'x')")
        assert values(owner, "select maas_log_horizon() < now() - interval '10 minutes'") == [True]
