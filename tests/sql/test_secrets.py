"""Secrets of users: who may set and read them, and where their values never appear."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.user_secrets import UserSecret, UserSecrets, set_secret
from shared.db import open_database
from shared.errors import MaasError
from tests.sql.attempts import ANN, BEN, ROLES, become, values
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
VALUE = "planted-user-token-1"


def keep(connection: Connection, user: UUID, name: str = "mail_token", value: str = VALUE) -> list[object]:
    return values(connection, "select maas_set_secret(%s, %s, %s)", user, name, value)


def test_a_secret_is_set_replaced_and_deleted(connection: Connection) -> None:
    assert keep(connection, ANN) == [True] and keep(connection, ANN, value=VALUE + "b") == [False]
    read = "select value from maas_read_secrets(%s, '{mail_token,other}')"
    assert values(connection, read, ANN) == [VALUE + "b"] and values(connection, read, BEN) == []
    delete = "select maas_delete_secret(%s, 'mail_token')"
    assert values(connection, delete, BEN) == [False] and values(connection, delete, ANN) == [True]
    assert values(connection, read, ANN) == []
    notes = connection.execute(
        "select action, user_id, details from audit where action like 'secret%' order by id"
    ).fetchall()
    assert [(row["action"], row["user_id"], row["details"]) for row in notes] == [
        (action, ANN, {"name": "mail_token"}) for action in ("secret_set", "secret_set", "secret_delete")
    ]


@pytest.mark.parametrize("role", ROLES)
def test_one_role_reads_values_by_one_function(connection: Connection, role: str) -> None:
    """Nobody reads the table; only orchestrators call the function; an operator writes and does not read."""
    keep(connection, ANN)

    def may(statement: str) -> bool:
        try:
            with connection.transaction(force_rollback=True):
                become(connection, role, ANN)
                connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return False
        return True

    for column in ("*", "user_id", "value", "name", "changed_at"):
        assert not may(f"select {column} from user_secrets")
    assert may(f"select maas_read_secrets('{ANN}', '{{mail_token}}')") == (role == "maas_worker")
    assert may(f"select maas_set_secret('{ANN}', 'a', 'abcdefgh')") == (role == "maas_ops")
    assert may(f"select maas_delete_secret('{ANN}', 'a')") == (role == "maas_ops")
    assert may(f"select maas_renew_secret('{ANN}', 'a', 'b', 'abcdefgh', 'x')") == (role == "maas_worker")
    assert not may("update user_secrets set value = 'abcdefgh'") and not may("delete from user_secrets")


def test_renewing(connection: Connection) -> None:
    """Only who knows the value replaces it; a secret that is gone or was set anew is left alone."""
    keep(connection, ANN)
    query = "select maas_renew_secret(%s, 'mail_token', %s, 'renewed-token-1', 'sync')"
    assert [values(connection, query, ANN, old) for old in ("another", VALUE, VALUE)] == [[False], [True], [False]]
    assert values(connection, query, BEN, VALUE) == [False]
    assert values(connection, "select value from user_secrets") == ["renewed-token-1"]
    audited = "select actor from audit where action = 'secret_set' order by id desc limit 1"
    assert values(connection, audited) == ["sync"]


def test_a_value_stands_in_its_table_alone(connection: Connection) -> None:
    """After erasing its user it is gone, and the secret of another user stays."""
    keep(connection, ANN)
    keep(connection, BEN, value="planted-user-token-2")
    assert tables_with(connection, VALUE) == ["user_secrets"]
    row = connection.execute("select maas_erase(%s) as receipt", (ANN,)).fetchone()
    assert row is not None and row["receipt"]["user_secrets"] == 1
    assert tables_with(connection, VALUE) == []
    assert values(connection, "select user_id from user_secrets") == [BEN]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("", VALUE, "name: 1 to 50"),
        ("a b", VALUE, "name: 1 to 50"),
        ("1a", VALUE, "name: 1 to 50"),
        ("a\nb", VALUE, "name: 1 to 50"),
        ("a" * 51, VALUE, "name: 1 to 50"),
        ("a", "", "value: 8 to 8000"),
        ("a", "short", "value: 8 to 8000"),
        ("a", "x" * 8001, "value: 8 to 8000"),
        ("a", "planted-secret\r\nX-Admin: 1", "value: 8 to 8000"),
        ("a", " planted-secret", "value: 8 to 8000"),
        ("a", "planted-secret-é", "value: 8 to 8000"),
        ("a", "planted-secret\0", "value: 8 to 8000"),
        ("a", "planted-secret\ud800", "value: 8 to 8000"),
    ],
)
async def test_a_bad_secret_is_refused(database: str, name: str, value: str, message: str) -> None:
    """No error quotes it; a value with a line break would be a header of its own."""
    async with open_database(database, 1, "test") as db:
        with pytest.raises(MaasError) as caught:
            await set_secret(db, uuid4(), name, value, "test")
    assert caught.value.code == "bad_parameter" and caught.value.message.startswith(message)
    assert "planted" not in str(caught.value) and caught.value.__cause__ is None


async def test_reading(connection: Connection, database: str) -> None:
    keep(connection, ANN)
    async with open_database(database, 1, "test") as db:
        secrets = UserSecrets(db)
        found = await secrets.read(ANN, ["mail_token", "other"])
        assert found["mail_token"].value == VALUE and len(found) == 1
        assert VALUE not in repr(found) and VALUE not in f"{found['mail_token']}"
        assert await secrets.times([ANN, BEN]) == {(ANN, "mail_token"): found["mail_token"].changed_at}
        assert isinstance(found["mail_token"], UserSecret)
