"""The tables, columns, indexes and triggers that others rely on."""

from __future__ import annotations

import re
from itertools import product

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.engine.states import Status, is_legal
from maas.http import conversations
from maas.named_queries import query_texts
from maas.prompting.prompts import prompt_files

Connection = psycopg.Connection[DictRow]
COLUMNS = {
    "pipeline_runs": {
        "id": "uuid",
        "user_id": "uuid",
        "user_query": "text",
        "status": "character varying",
        "analysis_result": "jsonb",
        "draft_context": "text",
        "final_context_payload": "text",
        "final_answer": "text",
        "error_message": "text",
        "created_at": "timestamp with time zone",
        "updated_at": "timestamp with time zone",
    },
    "lsm_storage": {
        "id": "uuid",
        "user_id": "uuid",
        "time_bucket_start": "date",
        "time_bucket_end": "date",
        "tags": "ARRAY",
        "summary": "text",
        "raw_log_ids": "ARRAY",
        "created_at": "timestamp with time zone",
    },
    "system_prompts": {
        "role_name": "character varying",
        "prompt_template": "text",
        "is_active": "boolean",
        "version": "integer",
        "updated_at": "timestamp with time zone",
    },
    "raw_logs": {
        "id": "uuid",
        "user_id": "uuid",
        "message_type": "character varying",
        "content": "text",
        "metadata": "jsonb",
        "created_at": "timestamp with time zone",
    },
}
INDEXES = {
    "idx_pipeline_runs_status",
    "idx_pipeline_runs_user_id",
    "idx_pipeline_runs_created_at",
    "idx_lsm_time_bucket",
    "idx_lsm_tags",
    "idx_lsm_created_at",
    "idx_raw_logs_user_id",
    "idx_raw_logs_created_at",
    "idx_raw_logs_message_type",
}
TRIGGERS = {"on_pipeline_change": "notify_pipeline_change", "on_pipeline_status_change": "notify_pipeline_change"}
REQUIRED = {
    "pipeline_runs": {"user_id", "user_query"},
    "lsm_storage": {"time_bucket_start", "time_bucket_end", "tags", "summary"},
    "system_prompts": {"prompt_template"},
    "raw_logs": {"user_id", "message_type", "content"},
}


@pytest.mark.parametrize("table", COLUMNS)
def test_documented_columns(connection: Connection, table: str) -> None:
    rows = connection.execute(
        "select column_name, data_type, is_nullable from information_schema.columns where table_name = %s", (table,)
    ).fetchall()
    types = {row["column_name"]: row["data_type"] for row in rows}
    assert COLUMNS[table].items() <= types.items()
    not_null = {row["column_name"] for row in rows if row["is_nullable"] == "NO"}
    assert not_null >= REQUIRED[table]


def test_documented_indexes(connection: Connection) -> None:
    found = {row["indexname"] for row in connection.execute("select indexname from pg_indexes").fetchall()}
    assert found >= INDEXES


def test_documented_triggers(connection: Connection) -> None:
    rows = connection.execute(
        "select tgname, proname from pg_trigger t join pg_proc p on p.oid = t.tgfoid where not tgisinternal"
    ).fetchall()
    assert {row["tgname"]: row["proname"] for row in rows}.items() >= TRIGGERS.items()


def test_status_is_in_no_index(connection: Connection) -> None:
    """Status updates must stay HOT: neither a key nor a predicate names a column that every transition changes."""
    rows = connection.execute("select indexdef from pg_indexes where tablename = 'pipeline_runs'").fetchall()
    for row in rows:
        for column in ("status", "archive_status", "updated_at"):
            assert f"({column}" not in row["indexdef"], row["indexdef"]
            assert f" {column} " not in row["indexdef"], row["indexdef"]


def test_tag_search_uses_gin(connection: Connection) -> None:
    connection.execute(
        """insert into lsm_storage (user_id, time_bucket_start, time_bucket_end, tags, summary)
           select gen_random_uuid(), now(), now(), array['tag' || n], 'summary' from generate_series(1, 5000) n"""
    )
    connection.execute("analyze lsm_storage")
    plan = connection.execute(
        "explain select id from lsm_storage where tags @> array['tag7'] and not is_provisional"
    ).fetchall()
    assert "idx_lsm_tags" in str(plan)


def test_state_machine_equals_python(connection: Connection) -> None:
    """One table of transitions, written in two languages."""
    for before, after in product(Status, Status):
        row = connection.execute("select maas_is_legal(%s, %s) as ok", (before.value, after.value)).fetchone()
        assert row is not None
        assert row["ok"] == is_legal(before, after), (before, after)


def test_every_table_view_and_function_says_what_it_is(connection: Connection) -> None:
    silent = connection.execute(
        """select relname from pg_class where relnamespace = 'maas'::regnamespace and relkind = 'v'
             and obj_description(oid, 'pg_class') is null
           union all
           select proname from pg_proc p where pronamespace = 'maas'::regnamespace
             and obj_description(oid, 'pg_proc') is null"""
    ).fetchall()
    assert silent == []


def test_period_label(connection: Connection) -> None:
    row = connection.execute("select maas_period('2025-11-20') as a, maas_period('2024-12-30') as b").fetchone()
    assert row == {"a": "2025-Week-47", "b": "2025-Week-01"}


def test_assistants_and_prompts_are_seeded(connection: Connection) -> None:
    read = connection.execute("select role_name, version, is_active from system_prompts order by 1").fetchall()
    rows = [row for row in read if not row["role_name"].endswith(".en")]
    english = {name for name in prompt_files() if name.endswith(".en")}
    assert {row["role_name"] for row in read if row not in rows} == english
    assert [(row["role_name"], row["version"], row["is_active"]) for row in rows] == [
        (role, 1, True)
        for role in (
            *("AdsAgent", "AdsAssistant", "AdsOrchestrator", "Analyzer", "Archivist", "Assembler", "Compactor"),
            *("CorporateInterview", "CorporateKnowledge", "CorporateLegacy", "CorporateRouter"),
            *("CreativeAgent", "CreativeAnalyst", "CrmAgent", "DialogAnalyst", "Facts", "FinalResponder", "Mentor"),
            *("Planner", "Stickers", "TaskDecomposer", "WhatsappAgent"),
        )
    ]
    assert connection.execute("select name, role_name from assistants").fetchall() == [
        {"name": "mentor", "role_name": "Mentor"}
    ]


def test_prompt_history(connection: Connection) -> None:
    """An UPDATE raises the version and keeps the old text; a deleted role goes on counting."""
    connection.execute("update system_prompts set prompt_template = 'second' where role_name = 'Mentor'")
    row = connection.execute(
        "select version, prompt_template from system_prompts where role_name = 'Mentor'"
    ).fetchone()
    assert row == {"version": 2, "prompt_template": "second"}
    connection.execute("delete from system_prompts where role_name = 'Mentor'")
    connection.execute("insert into system_prompts (role_name, prompt_template) values ('Mentor', 'third')")
    rows = connection.execute("select version, prompt_template from system_prompts_history order by version").fetchall()
    assert [row["version"] for row in rows] == [1, 2]
    assert rows[1]["prompt_template"] == "second"
    now = connection.execute("select version from system_prompts where role_name = 'Mentor'").fetchone()
    assert now == {"version": 3}


# Others know them by name, and nothing fills them yet; no endpoint shows them.
EMPTY = {
    "chat_conversations": {"user_account_id"},
    "assistant_sessions": {"current_step"},
}
BY_OTHERS = {  # operators, a migration, and assistants that open their tables
    "restore_key": {"inner_pad", "outer_pad"},
    "signing_key": {"secret"},
    "loadable_tables": {"columns"},
}


def test_every_column_is_filled(connection: Connection) -> None:
    """By a function, a query, a default or `maas load`; what others write or is empty on purpose is named above."""
    loaded = {
        (row["name"], column)
        for row in connection.execute("select name, columns || '{user_id}' as columns from loadable_tables").fetchall()
        for column in row["columns"]
    }
    rows = connection.execute(
        """select c.relname as table, a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
           left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
           where c.relnamespace = 'maas'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_files'
             and a.attnum > 0 and not a.attisdropped
             and d.adbin is null and a.attidentity = '' and not exists (
               select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey))"""
    ).fetchall()
    functions = connection.execute(
        "select pg_get_functiondef(oid) as body from pg_proc where pronamespace = 'maas'::regnamespace order by 1"
    ).fetchall()
    code = re.sub(r"--[^\n]*", "", "\n".join([*(row["body"] for row in functions), *query_texts().values()]))
    set_by_triggers = set(re.findall(r"\bnew\.(\w+) :=", code))
    empty: dict[str, set[str]] = {}
    for row in rows:
        table, name = row["table"], row["name"]
        inserts = re.findall(rf"insert into maas\.{table}\b[^(]*\(([^)]*)\)", code)
        updates = re.findall(
            rf"(?:update|insert into) maas\.{table}\b.*?\bset\b(.*?)(?:;|\bwhere\b|\breturning\b)", code, re.DOTALL
        )
        is_inserted = any(name in re.split(r"\W+", columns) for columns in inserts)
        is_set = any(re.search(rf"\b{name} =", settings) for settings in updates)
        if not (is_inserted or is_set or name in set_by_triggers or (table, name) in loaded):
            empty.setdefault(table, set()).add(name)
    assert empty == EMPTY | BY_OTHERS


def test_no_endpoint_shows_what_is_empty() -> None:
    shown = set(conversations.ConversationMessage.model_fields) | set(conversations.Conversation.model_fields)
    assert not shown & set().union(*EMPTY.values())
