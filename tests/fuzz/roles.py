"""The way of SQL: a gateway's role with somebody's claims, at the rows of somebody else."""

from __future__ import annotations

import json
import random

import psycopg

from maas.http.authorize import Resource
from tests.fuzz.residents import Resident
from tests.fuzz.routes import Tried

CLAIMS = "select set_config('request.jwt.claims', %s, true)"
BECOME = "set local role authenticated"
OWN = (
    "pipeline_runs",
    "run_requests",
    "raw_logs",
    "lsm_storage",
    "memory_corrections",
    "memories",
    "facts",
    "chat_conversations",
    "chat_messages",
    "attachments",
)
HIDDEN = (
    "chat_pending_actions",
    "llm_calls",
    "run_events",
    "tool_executions",
    "audit",
    "user_identities",
    "api_keys",
    "v_runs_current",
    "v_user_memory",
    "v_facts",
    "fact_decisions",
    "fact_names",
    "v_cost_user",
)
THINGS: tuple[Resource, ...] = ("run", "memory", "fact")
WRITES = (
    "insert into pipeline_runs (user_id, user_query) values (%(user)s, 'I was here.') returning user_id",
    "insert into run_requests (user_id, user_query) values (%(user)s, 'I was here.') returning user_id",
    "insert into run_requests (user_name, user_query) values (%(user)s::text, 'I was here.') returning user_id",
    "update pipeline_runs set user_query = 'mine' where user_id = %(user)s returning user_id",
    "delete from raw_logs where user_id = %(user)s returning user_id",
    "select maas_erase(%(user)s, 'me')",
    "select maas_forget(%(memory)s)",
    "select maas_cancel_run(%(run)s)",
    "select maas_decide_fact(%(user)s, %(fact)s, 'wrong')",
    "select statement from maas_facts(%(user)s)",
)


class SqlRoute:
    """Each statement in a transaction that is rolled back."""

    name = "sql"

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def attempt(self, draw: random.Random, caller: Resident, owner: Resident) -> Tried:
        is_own = caller is owner
        table = draw.choice(OWN if is_own else OWN + HIDDEN)
        looks = [f"select user_id from {table}", f"select user_id from {table} where user_id = %(user)s"]
        if table in ("pipeline_runs", "run_requests"):
            looks.append(f"select user_id from {table} where id = %(run)s")
        statement = draw.choice(looks if is_own or draw.random() < 0.7 else WRITES)
        names = {"user": owner.user_id} | {str(kind): owner.things[kind] for kind in THINGS}
        claims = json.dumps({"sub": str(caller.user_id), "role": "authenticated"})
        try:
            with self._connection.transaction(force_rollback=True):
                self._connection.execute(CLAIMS, (claims,))
                self._connection.execute(BECOME)
                rows = self._connection.execute(statement.encode(), names).fetchall()
                is_read = any(row[0] == owner.user_id for row in rows) or (bool(rows) and "maas_" in statement)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            is_read = False
        return Tried(statement.partition(" where ")[0], is_read, f"as {caller.user_id}: {statement} {names}")
