"""Limits that operators set while everything runs: quotas and rates of one user, instead of the settings."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from annotated_types import Ge, Le
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.engine.limits import NAMES
from maas.settings import SUBJECTS

Connection = psycopg.Connection[DictRow]
UNBOUNDED = {10**9, 10**15}  # where the settings name no maximum
CONVERSATION = "insert into chat_conversations (user_id) values (%s)"


def set_limit(connection: Connection, name: str | None, value: Any, actor: str | None = None) -> None:
    connection.execute("select maas_set_limit(%s, %s, %s)", (name, value, actor))


def audited(connection: Connection) -> list[tuple[Any, ...]]:
    rows = connection.execute("select action, actor, details from audit where action like 'limit%' order by id")
    return [tuple(row.values()) for row in rows]


def refuses(connection: Connection, user: UUID) -> bool:
    """Whether another conversation of the user is refused."""
    try:
        connection.execute(CONVERSATION, (user,))
    except psycopg.Error as error:
        assert error.sqlstate == "MQ001" and "the limit user_conversations that was set" in str(error), error
        return True
    return False


def test_the_bounds_are_those_of_the_settings(connection: Connection) -> None:
    bounds = {row["name"]: row for row in connection.execute("select * from maas_limit_ranges()")}
    assert set(bounds) == set(NAMES)
    fields = {name: field for kind in SUBJECTS.values() for name, field in kind.model_fields.items()}
    for name, row in bounds.items():
        marks = fields[name].metadata
        assert row["minimum"] == next(one.ge for one in marks if isinstance(one, Ge))
        most = next((one.le for one in marks if isinstance(one, Le)), None)
        assert row["maximum"] == most if most is not None else row["maximum"] in UNBOUNDED


def test_a_limit_that_is_set_holds_at_once_until_it_is_ended(connection: Connection) -> None:
    user = uuid4()
    connection.execute(CONVERSATION, (user,))
    set_limit(connection, "user_conversations", 1, "key:desk")
    assert refuses(connection, user)
    (share,) = connection.execute("select used, quota, share from v_user_quotas where user_id = %s", (user,))
    assert share == {"used": 1, "quota": 1, "share": 1}
    configured = Jsonb({"user_conversations": "9000"})  # as an orchestrator writes its settings at start
    connection.execute(
        "update engine_settings s set value = v.value from jsonb_each_text(%s) v(key, value) where s.key = v.key",
        (configured,),
    )
    assert refuses(connection, user)
    set_limit(connection, "user_conversations", 2)
    assert not refuses(connection, user)
    assert refuses(connection, user)
    ended = "select maas_drop_limit('user_conversations') as was_set"
    assert [connection.execute(ended).fetchone() for _ in range(2)] == [{"was_set": True}, {"was_set": False}]
    assert not refuses(connection, user)
    (login,) = connection.execute("select 'sql:' || session_user as name")
    assert audited(connection) == [
        ("limit_set", "key:desk", {"name": "user_conversations", "value": 1, "before": None}),
        ("limit_set", login["name"], {"name": "user_conversations", "value": 2, "before": 1}),
        ("limit_drop", login["name"], {"name": "user_conversations", "before": 2}),
    ]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("user_images", 0, "user_images must be between 1 and 1000000; nothing was changed"),
        ("user_images", -5, "user_images must be between 1"),
        ("user_images", 1_000_001, "user_images must be between 1"),
        ("user_images", 2**63 - 1, "user_images must be between 1"),
        ("user_images", None, "user_images must be between 1"),
        ("user_rate", -1, "user_rate must be between 0"),
        ("timezone", 5, "timezone is no limit; there are sign_in_address_rate, sign_in_rate, user_conversations"),
        (None, 5, "null is no limit"),
    ],
)
def test_a_limit_out_of_its_bounds_changes_nothing(
    connection: Connection, name: str | None, value: int | None, message: str
) -> None:
    set_limit(connection, "user_images", 7)
    before = audited(connection)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=message):
        set_limit(connection, name, value)
    assert [(row["name"], row["value"]) for row in connection.execute("select * from set_limits")] == [
        ("user_images", 7)
    ]
    assert audited(connection) == before


def test_no_webhooks_at_all_can_be_counted(connection: Connection) -> None:
    """The share of a quota of nothing was a division by zero, for the whole view."""
    user = uuid4()
    connection.execute("select maas_create_webhook(%s, 'https://hooks.example/a', null, false, 'x')", (user,))
    set_limit(connection, "user_webhooks", 0)
    (row,) = connection.execute("select name, quota, share from v_user_quotas where user_id = %s", (user,))
    assert row == {"name": "user_webhooks", "quota": 0, "share": None}
