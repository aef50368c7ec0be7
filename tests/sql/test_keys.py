"""Keys and names: stored as hashes, ended once, found by id; one name is one user, whoever races."""

from __future__ import annotations

from threading import Barrier, Thread
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow

from maas import queries
from maas.users import NewKey, create_key, is_secret_of, list_keys, revoke_key, split_key
from shared.db import open_database
from shared.errors import MaasError
from tests.sql.engine import value

Connection = psycopg.Connection[DictRow]
CREATE = "select maas_create_key(%s, %s, %s, %s, %s, %s, %s, %s, 'test')"


def create(
    connection: Connection, key_id: str = "0123456789ab", user: UUID | None = None, days: int | None = None
) -> str:
    connection.execute(CREATE, (key_id, "app", bytes(32), ["ask"], user, None, None, days))
    return key_id


async def test_only_the_hash_is_kept(database: str, connection: Connection) -> None:
    """Nothing in any row of the key gives access."""
    async with open_database(database, 2, "test") as db:
        key = await create_key(db, NewKey("app", {"read", "ask"}, per_minute=60, days=30), "test")
        other = await create_key(db, NewKey("another"), "test")
        parts = split_key(key)
        assert parts is not None and len(bytes.fromhex(parts[1])) == 32
        row = await db.row(queries.find_key, parts[0])
        assert is_secret_of(row, parts[1]) and not is_secret_of(row, key) and not is_secret_of(None, parts[1])
        strange = split_key(other)
        assert strange is not None and not is_secret_of(row, strange[1])
        assert [one["name"] for one in await list_keys(db)] == ["app", "another"]
        assert [one["scopes"] for one in await list_keys(db)] == [["ask", "read"]] * 2
        assert await revoke_key(db, parts[0], "test")
        assert not await revoke_key(db, parts[0], "test")
        with pytest.raises(MaasError, match="not_found"):
            await revoke_key(db, "ffffffffffff", "test")
    stored = str(connection.execute("select to_jsonb(k) from api_keys k").fetchall())
    stored += str(connection.execute("select to_jsonb(a) from audit a").fetchall())
    assert parts[1] not in stored and parts[0] in stored


def test_what_is_done_to_keys_is_noted(connection: Connection) -> None:
    user = uuid4()
    key_id = create(connection, user=user)
    assert value(connection, "select maas_revoke_key(%s, 'test')", key_id) == "revoked"
    assert value(connection, "select maas_revoke_key(%s, 'test')", key_id) == "revoked_before"
    assert value(connection, "select maas_revoke_key('ffffffffffff')") == "not_found"
    rows = connection.execute(
        "select actor, action, user_id, details->>'key' as key from audit where action like 'key%' order by id"
    ).fetchall()
    same = {"actor": "test", "user_id": user, "key": key_id}
    assert rows == [{"action": "key_create", **same}, {"action": "key_revoke", **same}]


def test_a_key_expires_and_is_touched_once_a_minute(connection: Connection) -> None:
    """The clock is moved, nobody waits."""
    key_id = create(connection, days=1)
    state = "select state from v_keys where id = %s"
    touched = "select last_used_at from v_keys where id = %s"
    assert value(connection, state, key_id) == "active"
    connection.execute("select maas_touch_key(%s)", (key_id,))
    first = value(connection, touched, key_id)
    connection.execute("select set_config('maas.now', (now() + interval '50 s')::text, false)")
    connection.execute("select maas_touch_key(%s)", (key_id,))
    assert value(connection, touched, key_id) == first is not None
    connection.execute("select set_config('maas.now', (now() + interval '70 s')::text, false)")
    connection.execute("select maas_touch_key(%s)", (key_id,))
    assert value(connection, touched, key_id) != first
    connection.execute("select set_config('maas.now', (now() + interval '25 hours')::text, false)")
    assert value(connection, state, key_id) == "expired"
    connection.execute("select maas_revoke_key(%s)", (key_id,))
    assert value(connection, state, key_id) == "revoked"


@pytest.mark.parametrize(
    ("key_id", "name", "secret", "scopes", "user", "prefix", "rate"),
    [
        ("0123456789AB", "app", bytes(32), ["ask"], None, None, None),
        ("0123456789ab", "", bytes(32), ["ask"], None, None, None),
        ("0123456789ab", "app", b"plain", ["ask"], None, None, None),
        ("0123456789ab", "app", bytes(32), [], None, None, None),
        ("0123456789ab", "app", bytes(32), ["everything"], None, None, None),
        ("0123456789ab", "app", bytes(32), ["ask"], uuid4(), "a", None),
        ("0123456789ab", "app", bytes(32), ["ask"], None, "", None),
        ("0123456789ab", "app", bytes(32), ["ask"], None, None, 0),
    ],
    ids=["id", "name", "hash", "no scope", "scope", "two bounds", "prefix", "rate"],
)
def test_a_wrong_key_is_not_stored(
    connection: Connection,
    key_id: str,
    name: str,
    secret: bytes,
    scopes: list[str],
    user: UUID | None,
    prefix: str | None,
    rate: int | None,
) -> None:
    with pytest.raises(errors.CheckViolation):
        connection.execute(CREATE, (key_id, name, secret, scopes, user, prefix, rate, None))
    assert connection.execute("select from audit where action like 'key%'").fetchall() == []


def test_a_key_goes_with_its_user(connection: Connection) -> None:
    user = uuid4()
    create(connection, user=user)
    create(connection, "ba9876543210")
    connection.execute("select maas_erase(%s)", (user,))
    assert connection.execute("select id from api_keys").fetchall() == [{"id": "ba9876543210"}]


def test_one_name_is_one_user_whoever_races(database: str, connection: Connection) -> None:
    """Eight connections ask for the same new names at one moment, in opposite orders."""
    names = [f"name {number}" for number in range(50)]
    barrier, found = Barrier(8), {number: dict[str, object]() for number in range(8)}

    def ask(number: int) -> None:
        with psycopg.connect(database, autocommit=True) as mine:
            barrier.wait(20)
            for name in names if number % 2 else reversed(names):
                row = mine.execute("select maas_resolve_user('api', %s)", (name,)).fetchone()
                assert row is not None
                found[number][name] = row[0]

    threads = [Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(found[number] == found[0] for number in range(8)) and len(found[0]) == 50
    assert len(set(found[0].values())) == 50
    assert value(connection, "select count(*) from user_identities") == 50


def test_a_user_has_no_more_keys_whoever_races(database: str, connection: Connection) -> None:
    """Eight connections make the last key at one moment."""
    user, barrier = uuid4(), Barrier(8)
    for number in range(19):
        create(connection, f"{number:012x}", user)
    verdicts: list[object] = []

    def ask(number: int) -> None:
        with psycopg.connect(database, autocommit=True) as mine:
            barrier.wait(20)
            query = "select maas_create_own_key(%s, %s, 'app', %s, '{ask}', null)"
            row = mine.execute(query, (user, f"a{number:011x}", bytes(32))).fetchone()
            assert row is not None
            verdicts.append(row[0])

    threads = [Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(map(str, verdicts)) == ["created"] + ["too_many"] * 7
    assert value(connection, "select count(*) from api_keys where user_id = %s", user) == 20
