"""Webhooks of one's own by plain SQL: what a session may do whose claims name a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest

from tests.sql.attempts import ANN, BEN, become, values
from tests.sql.test_webhooks import Connection, answer, claim, create

ADD = "select secret from maas_add_webhook('https://hooks.example/ann', '{run.completed}')"
REMOVE = "select maas_remove_webhook(%s)"


@contextmanager
def claims_of(connection: Connection, user: UUID | None) -> Iterator[None]:
    """A session of `authenticated`, for a transaction."""
    with connection.transaction():
        become(connection, "authenticated", user)
        yield


def test_a_user_adds_and_removes_webhooks(connection: Connection) -> None:
    """The secret is shown once, deliveries are signed with it; those of others are not there."""
    foreign, of_all = create(connection, BEN), create(connection, None)
    with claims_of(connection, ANN):
        (secret,) = values(connection, ADD)
        ((own, url),) = [
            (row["id"], row["url"]) for row in connection.execute("select id, url from webhook_endpoints").fetchall()
        ]
        assert url == "https://hooks.example/ann"
        assert [values(connection, REMOVE, one)[0] for one in (foreign, of_all)] == [False, False]
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("select value from webhook_secrets")
    answer(connection)
    sent = {row["endpoint_id"]: row["secrets"] for row in claim(connection)}
    assert sent[own] == [secret] and foreign not in sent and of_all in sent
    audit = "select actor from audit where action = 'webhook' and subject = %s"
    assert values(connection, audit, own) == [f"sql:{ANN}"]
    with claims_of(connection, ANN):
        assert [values(connection, REMOVE, own)[0] for _ in range(2)] == [True, False]
    assert values(connection, "select count(*)::int from webhook_endpoints") == [2]


def test_what_a_session_may_not_add(connection: Connection) -> None:
    """Nothing without claims, no events of operators, no more than the quota."""
    connection.execute("update engine_settings set value = '1' where key = 'user_webhooks'")
    for_operators = "select maas_add_webhook('https://hooks.example/', '{user.erased}')"
    for user, statement, state in ((None, ADD, "42501"), (ANN, for_operators, "22023")):
        with pytest.raises(psycopg.Error) as caught, claims_of(connection, user):
            connection.execute(statement.encode())
        assert caught.value.sqlstate == state
    with claims_of(connection, ANN):
        connection.execute(ADD)
    with pytest.raises(psycopg.Error) as caught, claims_of(connection, ANN):
        connection.execute(ADD)
    assert caught.value.sqlstate == "MQ001"
