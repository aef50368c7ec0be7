"""Accounts in SQL: who may read what, how refresh tokens are replaced, and what ends them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow, dict_row

from tests.polling import poll
from tests.sql.attempts import ROLES, may_execute, values
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
HASH = "scrypt$32768$8$3$" + "x" * 60


def hashed(text: str) -> bytes:
    return text.encode().ljust(32, b"\0")


def add(connection: Connection, email: str, is_admin: bool = False) -> UUID:
    statement = "select user_id from maas_create_account(%s, %s, 'Ann', null, %s)"
    (user,) = values(connection, statement, email, HASH, is_admin)
    return UUID(str(user))


def begin(connection: Connection, user: UUID, token: str) -> UUID:
    (session,) = values(connection, "select maas_begin_session(%s, 'password', %s, 30)", user, hashed(token))
    return UUID(str(session))


def replace(connection: Connection, token: str, following: str) -> object:
    statement = "select verdict from maas_refresh_session(%s, %s, 30, 10)"
    (verdict,) = values(connection, statement, hashed(token), hashed(following))
    return verdict


def at(connection: Connection, seconds: int) -> None:
    connection.execute("select set_config('maas.now', (now() + make_interval(secs => %s))::text, false)", (seconds,))


@pytest.mark.parametrize("role", ROLES)
def test_no_role_reads_a_hash_but_servers_by_functions(connection: Connection, role: str) -> None:
    user = add(connection, "ann@example.org")
    begin(connection, user, "first")

    may = partial(may_execute, connection, role, user)
    is_server = role == "maas_server"
    for table, column in (
        ("auth_users", "password_hash"),
        ("auth_refresh_tokens", "hash"),
        ("auth_links", "hash"),
        ("signing_key", "secret"),
        ("auth_users", "*"),
    ):
        assert not may(f"select {column} from {table}")
    for statement in (
        "select email, name from auth_users",
        "select * from auth_sessions",
        "select maas_find_account('ann@example.org')",
        f"select maas_password_hash('{user}')",
        "select maas_signing_key()",
        f"select maas_sign_up('ben@example.org', '{HASH}', null, null, true)",
        f"select maas_end_sessions('{user}', '{user}', 'global')",
    ):
        assert may(statement) == is_server, statement
    for statement in (
        f"select maas_create_account('ben@example.org', '{HASH}', null, null, true)",
        "update auth_users set email = 'x@y.z'",
        "delete from auth_sessions",
        "update signing_key set secret = ''",
        f"insert into user_roles values ('{user}', 'admin')",
    ):
        assert not may(statement), statement


def test_a_token_is_valid_once_and_a_moment_longer(connection: Connection) -> None:
    session = begin(connection, add(connection, "ann@example.org"), "a0")
    assert replace(connection, "a0", "a1") == "refreshed"
    at(connection, 9)
    assert replace(connection, "a0", "b1") == "refreshed"
    assert replace(connection, "b1", "b2") == "refreshed"
    at(connection, 18)
    assert replace(connection, "a1", "a2") == "refreshed"  # its sibling was replaced 9 s ago
    at(connection, 20)
    assert replace(connection, "a1", "a3") == "reused"
    for token in ("a0", "a1", "a2", "b2", "none"):
        assert replace(connection, token, "c") == "unknown"
    assert values(connection, "select revoked_at is not null from auth_sessions where id = %s", session) == [True]


def test_a_session_lives_while_it_is_used(connection: Connection) -> None:
    """Every use prolongs it by 30 days; hashes of tokens that would have expired are dropped."""
    day = 86_400
    begin(connection, add(connection, "ann@example.org"), "0")
    for number in range(4):
        at(connection, (number + 1) * 20 * day)
        assert replace(connection, str(number), str(number + 1)) == "refreshed"
    assert values(connection, "select generation from auth_refresh_tokens order by 1") == [3, 4]
    at(connection, 111 * day)
    assert replace(connection, "4", "5") == "expired"


def test_two_sessions_that_replace_one_token_wait_for_each_other(connection: Connection, database: str) -> None:
    """The second sees what the first did, and gets a sibling."""
    begin(connection, add(connection, "ann@example.org"), "0")
    with (
        psycopg.connect(database, row_factory=dict_row) as first,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        assert replace(first, "0", "1a") == "refreshed"
        later = pool.submit(replace, second, "0", "1b")
        waiting = "select from pg_stat_activity where pid = %s and wait_event_type = 'Lock'"
        poll(lambda: connection.execute(waiting, (second.info.backend_pid,)).fetchall(), what="the second waits")
        first.commit()
        assert later.result(10) == "refreshed"
    assert values(connection, "select generation from auth_sessions") == [1]


def test_one_code_makes_one_administrator(connection: Connection, database: str) -> None:
    """Two who use two codes at once: the second finds an administrator."""
    offer = "select maas_offer_admin_code(%s, 24)"
    assert values(connection, offer, hashed("one")) == values(connection, offer, hashed("two")) == [True]
    sign_up = "select verdict from maas_sign_up(%s, %s, null, %s, false)"
    with (
        psycopg.connect(database, row_factory=dict_row) as first,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as second,
        ThreadPoolExecutor(1) as pool,
    ):
        assert values(first, sign_up, "ann@example.org", HASH, hashed("one")) == ["created"]
        later = pool.submit(values, second, sign_up, "ben@example.org", HASH, hashed("two"))
        waiting = "select from pg_stat_activity where pid = %s and wait_event_type = 'Lock'"
        poll(lambda: connection.execute(waiting, (second.info.backend_pid,)).fetchall(), what="the second waits")
        first.commit()
        assert later.result(10) == ["wrong_code"]
    assert values(connection, "select count(*) from user_roles") == [1]
    assert values(connection, "select count(*) from auth_links") == [0]
    assert values(connection, offer, hashed("three")) == [False]


def test_a_code_that_failed_is_not_spent(connection: Connection) -> None:
    """An email that has an account leaves it valid; it expires after a day, and 21 codes at most are kept."""
    add(connection, "ann@example.org")
    sign_up = "select verdict from maas_sign_up(%s, %s, null, %s, true)"
    connection.execute("select maas_offer_admin_code(%s, 24)", (hashed("code"),))
    assert values(connection, sign_up, "ANN@example.org", HASH, hashed("code")) == ["exists"]
    at(connection, 86_401)
    assert values(connection, sign_up, "ben@example.org", HASH, hashed("code")) == ["wrong_code"]
    at(connection, 0)
    assert values(connection, sign_up, "ben@example.org", HASH, hashed("code")) == ["created"]
    connection.execute("delete from user_roles")
    for number in range(30):
        connection.execute("select maas_offer_admin_code(%s, 24)", (hashed(str(number)),))
    assert values(connection, "select count(*) from auth_links") == [21]


def test_erasing_leaves_nothing_of_an_account(connection: Connection) -> None:
    user, other = add(connection, "qzx77wv@example.org", True), add(connection, "ben@example.org")
    for one in (user, other):
        begin(connection, one, str(one)[:30])
        connection.execute("select maas_create_link(%s, %s, 24)", (one, hashed(str(one)[5:35])))
    assert tables_with(connection, "qzx77wv") == ["auth_users"]
    (receipt,) = values(connection, "select maas_erase(%s)", user)
    assert isinstance(receipt, dict)
    left = {name: count for name, count in receipt.items() if count}
    assert left == {"auth_users": 1, "auth_sessions": 1, "auth_refresh_tokens": 1, "auth_links": 1, "user_roles": 1}
    assert tables_with(connection, "qzx77wv") == []
    assert values(connection, "select user_id from auth_users") == [other]
    assert values(connection, "select maas_begin_session(%s, 'password', %s, 30)", user, hashed("x")) == [None]
    assert values(connection, "select maas_create_link(%s, %s, 24)", user, hashed("x")) == [False]


def test_a_new_password_ends_links_and_other_sessions(connection: Connection) -> None:
    user = add(connection, "ann@example.org")
    this, other = begin(connection, user, "this"), begin(connection, user, "other")
    connection.execute("select maas_create_link(%s, %s, 24)", (user, hashed("link")))
    connection.execute("select maas_change_account(%s, %s, null, 'Anna')", (user, this))
    assert values(connection, "select count(*) from auth_sessions where revoked_at is null") == [2]
    connection.execute("select maas_change_account(%s, %s, %s, null)", (user, this, HASH + "y"))
    ended = "select id from auth_sessions where revoked_at is not null"
    assert values(connection, ended) == [other] and values(connection, "select count(*) from auth_links") == [0]
    assert values(connection, "select name from auth_users") == ["Anna"]
    actions = values(connection, "select action from audit where user_id = %s order by id", user)
    assert actions == ["account_create", "password_link", "password_change"]


def test_each_database_has_a_signing_key_of_its_own(connection: Connection) -> None:
    """A copy of the template has that of the template; it is one row of 256 bits."""
    (secret,) = values(connection, "select maas_signing_key()")
    assert isinstance(secret, str) and len(secret) == 64 and len(set(secret)) > 8
    with pytest.raises(errors.UniqueViolation):
        connection.execute("insert into signing_key values (sha256('x'))")
