"""Connected apps in SQL: who may read what, and what happens where the same code or token comes twice at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from tests.sql.attempts import ROLES, may_execute, values
from tests.sql.test_accounts import add, at, hashed

Connection = psycopg.Connection[DictRow]
EXCHANGE = "select verdict from maas_exchange_code(%s, 'c', null, 'challenge', null, %s, %s, 900, 30)"
RENEW = "select verdict from maas_renew_app(%s, 'c', null, %s, %s, 900, 30)"


def connect(connection: Connection, user: UUID, code: str = "code") -> UUID:
    statement = """select maas_connect_app(%s, 'c', 'Editor', 'https://a.example/', '{read}', 'r', %s, 'challenge', 60,
        'test')"""
    (app,) = values(connection, statement, user, hashed(code))
    return UUID(str(app))


def verdict(connection: Connection, statement: str, *tokens: str) -> object:
    (found,) = values(connection, statement, *map(hashed, tokens))
    return found


@pytest.mark.parametrize("role", ROLES)
def test_no_role_reads_a_hash_and_servers_use_functions(connection: Connection, role: str) -> None:
    user = add(connection, "ann@example.org")
    app = connect(connection, user)

    may = partial(may_execute, connection, role, user)
    for table in ("app_clients", "connected_apps", "app_tokens"):
        assert not may(f"select * from {table}") and not may(f"delete from {table}")
    for statement in (
        "select maas_register_client('c', 'Editor', '{https://a.example/}', 10)",
        "select maas_find_client('c')",
        f"select maas_list_apps('{user}')",
        f"select maas_app_owner('{app}')",
        "select maas_app_of_token('')",
        "select maas_revoke_app_token('', 'c')",
        f"select maas_disconnect_app('{app}')",
    ):
        assert may(statement) == (role == "maas_server"), statement
    for statement in (
        f"select maas_give_app_tokens('{app}', '', '', 1, 1)",
        f"select maas_end_reused_app('{app}', '{user}', 'code')",
        f"select maas_disconnect_apps('{user}', 'x')",
    ):
        assert not may(statement), statement


@pytest.mark.parametrize(("statement", "token"), [(EXCHANGE, "code"), (RENEW, "r1")])
def test_of_two_at_once_one_gets_tokens_and_the_app_is_disconnected(
    connection: Connection, database: str, statement: str, token: str
) -> None:
    app = connect(connection, add(connection, "ann@example.org"))
    if statement == RENEW:
        assert verdict(connection, EXCHANGE, "code", "a1", "r1") == "given"

    def present(name: str) -> object:
        with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
            return verdict(other, statement, token, f"a{name}", f"r{name}")

    with ThreadPoolExecutor(2) as pool:
        assert sorted(map(str, pool.map(present, ("2", "3")))) == ["given", "reused"]
    assert values(connection, "select count(*) from connected_apps where id = %s", app) == [0]
    assert values(connection, "select count(*) from app_tokens") == [0]
    assert verdict(connection, statement, token, "a4", "r4") == "unknown"


def test_a_blocked_user_connects_no_app_and_renews_none(connection: Connection) -> None:
    user = add(connection, "ann@example.org")
    connect(connection, user)
    assert verdict(connection, EXCHANGE, "code", "a1", "r1") == "given"
    connection.execute("insert into user_roles (user_id, role) values (%s, 'blocked')", (user,))
    assert verdict(connection, RENEW, "r1", "a2", "r2") == "unknown"
    statement = "select maas_connect_app(%s, 'c', 'n', 'r', '{read}', 'r', %s, 'challenge', 60)"
    assert values(connection, statement, user, hashed("other")) == [None]


def test_what_was_not_used_expires(connection: Connection) -> None:
    user = add(connection, "ann@example.org")
    connect(connection, user)
    at(connection, 61)
    assert verdict(connection, EXCHANGE, "code", "a1", "r1") == "unknown"
    app = connect(connection, user, "next")  # which deletes what has expired
    assert values(connection, "select id from connected_apps") == [app]
    assert verdict(connection, EXCHANGE, "next", "a1", "r1") == "given"
    at(connection, 61 + 901)
    assert values(connection, "select app_id from maas_app_of_token(%s)", hashed("a1")) == []
    assert verdict(connection, RENEW, "r1", "a2", "r2") == "given"
    assert values(connection, "select app_id from maas_app_of_token(%s)", hashed("a2")) == [app]
    at(connection, 61 + 901 + 31 * 86_400)
    assert verdict(connection, RENEW, "r2", "a3", "r3") == "unknown"
    assert values(connection, "select id from maas_list_apps(%s)", user) == []


def test_old_refresh_tokens_do_not_pile_up(connection: Connection) -> None:
    app = connect(connection, add(connection, "ann@example.org"))
    assert verdict(connection, EXCHANGE, "code", "a1", "r1") == "given"
    connection.execute("update connected_apps set generation = 1500 where id = %s", (app,))
    connection.execute("update app_tokens set generation = 1500 where hash = %s", (hashed("r1"),))
    connection.execute(
        "insert into app_tokens (hash, app_id, user_id, kind, generation, expires_at) select sha256(n::text::bytea),"
        " a.id, a.user_id, 'refresh', n, a.expires_at from connected_apps a, generate_series(1, 1499) n"
    )
    assert verdict(connection, RENEW, "r1", "a2", "r2") == "given"
    assert values(connection, "select min(generation) from app_tokens where kind = 'refresh'") == [501]
