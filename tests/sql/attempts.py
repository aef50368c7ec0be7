"""Who may do what with SQL: everything tried as everybody, as the table that docs/sql.md shows."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg
from psycopg import errors
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine

Connection = psycopg.Connection[DictRow]
ANN, BEN, ADMIN = UUID(int=1), UUID(int=2), UUID(int=3)
ROLES = ("anon", "authenticated", "maas_app", "maas_ops", "maas_server", "maas_worker")
CLIENTS = ROLES[:3]
WHO = {
    "`anon`": ("anon", None),
    "`authenticated`": ("authenticated", ANN),
    "of these, an admin": ("authenticated", ADMIN),
    "`maas_app`": ("maas_app", None),
    "`maas_ops`": ("maas_ops", None),
    "`maas_server`": ("maas_server", None),
    "`maas_worker`": ("maas_worker", None),
}
VIEWS = (
    "v_actions", "v_cost_daily", "v_cost_user", "v_daily_metrics", "v_embedding", "v_engines", "v_facts",
    "v_left_out_days",
    "v_orchestrators", "v_queue", "v_rates", "v_run_cost", "v_run_history", "v_runs_current", "v_runs_stuck",
    "v_sessions", "v_stage_latency", "v_stage_recent", "v_user_memory", "v_user_queue", "v_user_quotas",
    "v_webhooks",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody tries; statements that give a user_id show whose rows they reach."""

    name: str
    statements: tuple[str, ...]


def see(*tables: str, columns: str = "*") -> tuple[str, ...]:
    return tuple(f"select {columns} from {table}" for table in tables)


def call(*calls: str) -> tuple[str, ...]:
    return tuple(f"select {one}" for one in calls)


def ask(user: UUID, table: str = "pipeline_runs", **columns: str) -> str:
    names, values = ", ".join(("", *columns)), ", ".join(("", *columns.values()))
    return f"insert into {table} (user_id, user_query{names}) values ('{user}', 'Who am I?'{values})"


OWN_STATES = {
    "status": "'READY'",
    "final_answer": "'mine'",
    "final_context_payload": "'mine'",
    "queue_state": "2",
    "kind": "'task'",
    "seq": "0",
    "queue_key": f"'{BEN}'",
    "owner": "1",
    "archive_status": "'SKIPPED'",
    "created_at": "'1970-01-01'",
}
WRITTEN = {name: OWN_STATES[name] for name in ("status", "final_answer", "archive_status", "created_at")}
SENT = ("draft_context", "final_context_payload", "analysis_result")
MEMORY = (
    "raw_logs", "lsm_storage", "memory_corrections", "memories", "facts", "chat_conversations", "chat_messages",
    "attachments",
)  # fmt: skip
ATTEMPTS = (
    Attempt("see requests and answers", see("pipeline_runs", columns="user_id, user_query, status, final_answer")),
    Attempt("see what models were sent", tuple(f"select user_id, {one} from pipeline_runs" for one in SENT)),
    Attempt("see messages, summaries, facts, dialogues, images, notes", see(*MEMORY)),
    Attempt("see model calls, events, what tools did", see("llm_calls", "run_events", "tool_executions")),
    Attempt("see the views of operators, `v_*`", see(*VIEWS)),
    Attempt("read prompts", see("system_prompts", "system_prompts_history")),
    Attempt("see names, roles, secrets and the audit", see("user_identities", "user_roles", "user_secrets", "audit")),
    Attempt("ask for oneself", (ask(ANN, id="gen_random_uuid()", metadata="'{}'", mode="'auto'"),)),
    Attempt("ask for somebody else", (ask(BEN),)),
    Attempt("see `run_requests`, with every column", see("run_requests")),
    Attempt("ask for oneself by `run_requests`", (ask(ANN, "run_requests", idempotency_key="'x'"),)),
    Attempt("ask for somebody else by `run_requests`", (ask(BEN, "run_requests"),)),
    Attempt(
        "ask for users by their names",
        ("insert into run_requests (user_name, user_query) values ('ann', 'Hi')", "select maas_user_id('ann')"),
    ),
    Attempt("ask with a source and a caller", (ask(ANN, source="'x'"), ask(ANN, caller="'x'"))),
    Attempt(
        "ask with a state of one's own",
        (
            *(ask(ANN, **{name: value}) for name, value in OWN_STATES.items()),
            *(ask(ANN, "run_requests", **{name: value}) for name, value in WRITTEN.items()),
        ),
    ),
    Attempt(
        "change a request",
        (
            *(f"update pipeline_runs set {name} = {value}" for name, value in OWN_STATES.items()),
            *(f"update run_requests set {name} = {value}" for name, value in WRITTEN.items()),
        ),
    ),
    Attempt(
        "delete a request or its messages",
        (
            *(f"{verb} {table}" for table in ("pipeline_runs", "raw_logs") for verb in ("delete from", "truncate")),
            "delete from run_requests",
        ),
    ),
    Attempt(
        "write messages or summaries",
        (
            f"insert into raw_logs (user_id, run_id, message_type, content, conversation) "
            f"values ('{ANN}', '{ANN}', 'user_query', 'I said so', 'c')",
            f"insert into chat_messages (conversation_id, user_id, role, content) "
            f"select id, user_id, 'system', 'obey' from chat_conversations where user_id = '{ANN}'",
            "update raw_logs set content = 'other'",
            "update lsm_storage set summary = 'other'",
            "update facts set statement = 'other'",
            f"insert into fact_decisions (user_id, key, verdict) values ('{ANN}', 'k', 'wrong')",
        ),
    ),
    Attempt("see webhooks", see("webhook_endpoints")),
    Attempt(
        "create, change, replay, delete webhooks",
        call(
            f"maas_create_webhook('{BEN}', 'https://hooks.example/')",
            f"maas_change_webhook('{BEN}', p_has_texts => true)",
            f"maas_rotate_webhook('{BEN}')",
            f"maas_replay_webhook('{BEN}')",
            f"maas_delete_webhook('{BEN}')",
        ),
    ),
    Attempt(
        "add and remove webhooks of one's own",
        call("maas_add_webhook('https://hooks.example/')", f"maas_remove_webhook('{BEN}')"),
    ),
    Attempt("see schedules", see("schedules")),
    Attempt(
        "create, change, delete, run schedules",
        call(
            f"maas_create_schedule('{BEN}', 'hello', '* * * * *')",
            f"maas_change_schedule('{BEN}', 'hello')",
            f"maas_delete_schedule('{BEN}')",
            f"maas_run_schedule('{BEN}', now(), array[now()], now())",
        ),
    ),
    Attempt("cancel, retry", call(f"maas_cancel_run('{BEN}')", f"maas_retry_run('{BEN}')")),
    Attempt(
        "import, forget, erase, decide",
        call(
            f"maas_import('{BEN}', 'x', '[]')",
            f"maas_forget('{BEN}')",
            f"maas_erase('{BEN}')",
            f"maas_decide_action('{BEN}', '{BEN}', 'approve', 'me')",
            f"maas_clear_conversation('{BEN}')",
            f"maas_forget_conversation('{BEN}')",
            f"maas_share_conversation('{BEN}', '', 1, true)",
            f"maas_list_links('{BEN}')",
            f"maas_revoke_link('{BEN}')",
            f"maas_list_apps('{BEN}')",
            f"maas_disconnect_app('{BEN}')",
            f"maas_connect_app('{BEN}', 'c', 'n', 'https://a.example/', '{{read}}', 'r', '', 'c', 60)",
            "maas_app_of_token('')",
            f"maas_decide_fact('{BEN}', '{BEN}', 'wrong')",
            f"maas_correct_fact('{BEN}', '{BEN}', 'I am Ann.')",
            f"maas_merge_fact_names('{BEN}', 'user', 'ann')",
        ),
    ),
    Attempt(
        "claim and answer",
        call(
            "maas_register('h', 1, '{}', 1, '1 s')",
            "maas_step(1, '{}', 1)",
            "maas_reap(3)",
            "maas_add_events('[]')",
            "maas_heartbeat(1, '1 s')",
            "maas_unregister(1)",
            "maas_excuse(1, '{}')",
        ),
    ),
    Attempt(
        "edit prompts and prices",
        (
            "update system_prompts set prompt_template = 'obey', is_active = true",
            "update model_prices set input = 0",
            "insert into model_prices (provider, model, input, output) values ('x', 'y', 0, 0)",
            "delete from model_prices",
        ),
    ),
    Attempt("make oneself an admin", (f"insert into user_roles (user_id, role) values ('{ANN}', 'admin')",)),
    Attempt(
        "create a table, a function, a schema, a role",
        (
            "create table public.mine (x int)",
            "create function public.mine() returns int language sql as 'select 1'",
            "create schema mine",
            "create role mine",
        ),
    ),
    Attempt(
        "drop, alter, lock, bypass",
        (
            "drop table pipeline_runs cascade",
            "alter table pipeline_runs disable row level security",
            'drop policy "Users see own runs" on pipeline_runs',
            "create policy mine on pipeline_runs using (true)",
            "lock table pipeline_runs in access exclusive mode",
            "alter function maas_erase(uuid, text, int) security invoker",
        ),
    ),
)


def values(connection: Connection, query: str, *args: object) -> list[object]:
    return [next(iter(row.values())) for row in connection.execute(query.encode(), args or None).fetchall()]


def populate(connection: Connection) -> None:
    """Two users who have all that a user can have."""
    connection.execute("insert into user_roles (user_id, role) values (%s, 'admin')", (ADMIN,))
    engine = Engine(connection)
    for user, name in ((ANN, "ann"), (BEN, "ben")):
        connection.execute("select maas_resolve_user('api', %s)", (name,))
        connection.execute("select maas_store_attachment(%s, null, 'image/png', 1, 1, 'x')", (user,))
        connection.execute(
            "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, %s, %s)",
            (user, f"The secret of {name}", uuid4()),
        )
        (run,) = engine.claim()
        connection.execute("select maas_add_note(%s, %s)", (run["id"], f"The note of {name}"))
        connection.execute("select maas_propose_action(%s, 'c', 'pay', '{}', 'write')", (run["id"],))
        connection.execute("select maas_add_event(%s, 'buttons', '{}')", (run["id"],))
        call = {
            "run_id": str(run["id"]),
            "attempt": run["attempt"],
            "stage": "analyzer",
            "round": 1,
            "provider": "p",
            "model": "m",
            "role_name": "Analyzer",
            "reply": "r",
            "finish": "stop",
            "attempts": 1,
            "tokens_in": 1,
            "tokens_out": 1,
            "ms": 1,
        }
        connection.execute("select maas_pin_calls(%s, %s, %s)", (run["id"], run["attempt"], Jsonb([call])))
        connection.execute("select maas_record_read(%s, %s, 'c', 't', 'h', 'done', 1)", (run["id"], run["attempt"]))
        connection.execute("select maas_create_webhook(%s, 'https://hooks.example/')", (user,))
        connection.execute("select maas_create_schedule(%s, 'hello', '30 8 * * 1-5')", (user,))
        connection.execute(
            """insert into debounced_requests (id, user_id, run_id, caller, digest) select id, user_id, id, '', ''
               from pipeline_runs where id = %s""",
            (run["id"],),
        )
        connection.execute("select maas_write_audit('export', %s, null, '{}', 'test')", (user,))
        connection.execute(
            """insert into facts (user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids,
                 origin)
               select user_id, content, 'user', 'secret', 'state', 'user', now(), now(), array[id], 'rule'
               from raw_logs where user_id = %s order by seq limit 1""",
            (user,),
        )
        engine.finish(run)
        connection.execute(
            """insert into memory_corrections (id, user_id, memory_id, root_id)
               select a.id, a.user_id, q.id, q.id from raw_logs a join raw_logs q using (run_id, user_id)
               where a.user_id = %s and a.message_type = 'assistant_response' and q.message_type = 'user_query'""",
            (user,),
        )


def become(connection: Connection, role: str, user: UUID | None) -> None:
    """Act as the role until the transaction ends, with the claims that a gateway sets."""
    claims = json.dumps({"sub": str(user), "role": role}) if user else ""
    connection.execute("select set_config('request.jwt.claims', %s, true)", (claims,))
    connection.execute(f"set local role {role}".encode())


def reach(connection: Connection, role: str, user: UUID | None, statement: str) -> str:
    """What comes of a statement: no, yes, nothing, own or all (whose rows); nothing of it is kept."""
    try:
        with connection.transaction(force_rollback=True):
            become(connection, role, user)
            cursor = connection.execute(statement.encode())
            columns = [column.name for column in cursor.description or ()]
            users = {row["user_id"] for row in cursor.fetchall()} if "user_id" in columns else None
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.GeneratedAlways):
        return "no"
    if users is None:
        return "yes"
    return "all" if BEN in users else "own" if users else "nothing"


def cell(connection: Connection, role: str, user: UUID | None, attempt: Attempt) -> str:
    """What comes of all statements of an attempt: a dash where each is refused, some where they differ."""
    found = {reach(connection, role, user, statement) for statement in attempt.statements}
    if found == {"no"}:
        return "—"
    if "no" in found:
        return "some"
    return "all" if "all" in found else "own" if "own" in found else found.pop() if len(found) == 1 else "yes"


def matrix(connection: Connection) -> str:
    """The table of all attempts by everybody, in Markdown."""
    lines = [["", *WHO], ["--"] * (len(WHO) + 1)]
    for attempt in ATTEMPTS:
        lines.append([attempt.name, *(cell(connection, role, user, attempt) for role, user in WHO.values())])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    with psycopg.connect(sys.argv[1], autocommit=True, row_factory=dict_row) as session:
        populate(session)
        print(matrix(session), end="")


def may_execute(connection: Connection, role: str, user: UUID, statement: str) -> bool:
    """Whether Postgres lets this user of a role execute a statement, which is undone."""
    try:
        with connection.transaction(force_rollback=True):
            become(connection, role, user)
            connection.execute(statement.encode())
    except errors.InsufficientPrivilege:
        return False
    return True
