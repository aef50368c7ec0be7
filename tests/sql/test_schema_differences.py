"""What `maas doctor` says of a database whose tables, functions or rights are not those of this version."""

from __future__ import annotations

import pytest

from maas.cli.migrate import describe_schema
from maas.plugins import sql_folders
from shared.errors import Advice, MaasError
from shared.schema_differences import find_differences
from tests.conftest import SQL_FOLDER
from tests.logins import login
from tests.sql.attempts import Connection

CHANGED = """
drop index maas.idx_pipeline_runs_waiting;
alter table maas.api_keys drop column per_minute cascade;
alter table maas.pipeline_runs alter source drop default, alter caller drop not null,
  disable trigger on_pipeline_change;
drop policy "Users see own runs" on maas.pipeline_runs;
create or replace function maas.notify_engines() returns trigger language plpgsql as $$ begin return null; end $$"""
ADDED = """
create policy all_rows on maas.raw_logs using (true);
grant select on maas.raw_logs to public;
alter table maas.pauses add check (reason <> 'x');
create trigger mine before insert on maas.pauses for each row execute function maas.touch_updated_at();
grant execute on function maas.notify_engines() to public;
create index on maas.raw_logs (content);
alter table maas.raw_logs add mine text;
create table maas.mine (id int primary key)"""


def test_a_database_of_this_version(database: str, connection: Connection) -> None:
    assert describe_schema(database) == "as this version has it"
    assert connection.execute("select to_regnamespace('maas_present')::text as left").fetchall() == [{"left": None}]


def test_what_is_missing_different_and_added(database: str, connection: Connection) -> None:
    """Tables, columns and indexes of others change nothing; what else is added to ours is named."""
    connection.execute(CHANGED)
    connection.execute(ADDED)
    missing, changed, added = find_differences(database, SQL_FOLDER, sql_folders())
    assert missing == [
        "column per_minute of api_keys",
        "constraint api_keys_per_minute_check of api_keys",
        "index idx_pipeline_runs_waiting of pipeline_runs",
        "policy Users see own runs of pipeline_runs",
        "table v_keys",
    ]
    assert changed == [
        "column caller of pipeline_runs",
        "column source of pipeline_runs",
        "function notify_engines()",
        "trigger on_pipeline_change of pipeline_runs",
    ]
    assert added == [
        "constraint pauses_reason_check1 of pauses",
        "policy all_rows of raw_logs",
        "right public of notify_engines()",
        "right public of raw_logs",
        "trigger mine of pauses",
    ]
    with pytest.raises(
        MaasError, match=r"missing: column per_minute of api_keys, .*; different: column caller"
    ) as caught:
        describe_schema(database)
    assert not isinstance(caught.value, Advice)


def test_what_others_have_added_alone(database: str, connection: Connection) -> None:
    connection.execute("create policy all_rows on maas.raw_logs using (true)")
    with pytest.raises(Advice, match=r"nor of a plugin that is on: policy all_rows of raw_logs$"):
        describe_schema(database)


def test_plugins_that_are_off_are_no_difference(database: str) -> None:
    missing, changed, _ = find_differences(database, SQL_FOLDER)
    assert (missing, changed) == ([], [])


def test_only_the_owner_can_tell(database: str) -> None:
    with login(database, "maas_server") as url, pytest.raises(Advice, match="only the owner"):
        describe_schema(url)
