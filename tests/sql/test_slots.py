"""Sessions of dialogues: one active, begun from where the run found it, fenced like every write of a run."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine, insert, run_of

Connection = psycopg.Connection[DictRow]


def opened(connection: Connection, run: DictRow, attempt: int | None = None) -> DictRow | None:
    row = connection.execute(
        "select maas_open_session(%s, %s) as began", (run["id"], attempt or run["attempt"])
    ).fetchone()
    assert row is not None
    return row["began"]  # type: ignore[no-any-return]


def kept(connection: Connection, run: DictRow, session: DictRow, attempt: int | None = None) -> bool:
    row = connection.execute(
        "select maas_save_session(%s, %s, %s) as done", (run["id"], attempt or run["attempt"], Jsonb(session))
    ).fetchone()
    assert row is not None
    return bool(row["done"])


def test_a_run_begins_where_it_began(connection: Connection) -> None:
    user = uuid4()
    insert(connection, user)
    engine = Engine(connection)
    (run,) = engine.claim()
    session = opened(connection, run)
    assert session is not None and session["slots"] == {} and session["state"] == "assistant_chat"
    changed = session | {"slots": {"style": "anime", "size": "big"}, "confirmed": True}
    assert kept(connection, run, changed)
    assert opened(connection, run) == session
    row = connection.execute("select style, emotion, confirmed, slots from assistant_sessions").fetchone()
    assert row == {"style": "anime", "emotion": None, "confirmed": True, "slots": changed["slots"]}
    engine.finish(run)
    insert(connection, user)
    (later,) = engine.claim()
    assert opened(connection, later) == changed
    assert not kept(connection, later, changed | {"id": str(uuid4())})


def test_who_lost_the_run_opens_and_keeps_nothing(connection: Connection) -> None:
    insert(connection)
    (run,) = Engine(connection).claim()
    session = opened(connection, run)
    assert session is not None
    assert opened(connection, run, run["attempt"] + 1) is None
    assert not kept(connection, run, session, run["attempt"] + 1)


def test_one_session_is_active(connection: Connection) -> None:
    """Of a user, an assistant and a conversation, where there is one."""
    values = "insert into assistant_sessions (user_id, assistant) values (%s, 'stickers')"
    user = uuid4()
    connection.execute(values, (user,))
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(values, (user,))
    connection.execute("update assistant_sessions set is_active = false")
    connection.execute(values, (user,))


@pytest.mark.parametrize("change", ["insert", "update"])
def test_the_old_state_is_turned(connection: Connection, change: str) -> None:
    state = "wait_assistant_confirm" if change == "insert" else "assistant_wait_photo"
    values = "insert into assistant_sessions (user_id, assistant, state) values (%s, 'stickers', %s)"
    connection.execute(values, (uuid4(), state))
    if change == "update":
        connection.execute("update assistant_sessions set state = 'wait_assistant_confirm'")
    row = connection.execute("select state from assistant_sessions").fetchone()
    assert row == {"state": "assistant_chat"}


def test_a_button_is_pressed_once(connection: Connection) -> None:
    """Only one that was offered, by its user, within the limit of unfinished requests."""
    user = uuid4()
    run = insert(connection, user)
    offer = Jsonb({"buttons": [{"id": "assistant_confirm", "label": "Confirm"}]})
    connection.execute("select maas_add_event(%s, 'buttons', %s)", (run, offer))

    def press(button: str = "assistant_confirm", whose: UUID = user, limit: int | None = None) -> DictRow:
        row = connection.execute(
            "select * from maas_press_button(%s, %s, %s, %s)", (run, whose, button, limit)
        ).fetchone()
        assert row is not None
        return row

    assert press(whose=uuid4())["verdict"] == "not_found"
    assert press("assistant_keep_photo")["verdict"] == "not_offered"
    assert press(limit=1)["verdict"] == "queue_full"
    first = press(limit=2)
    assert first["verdict"] == "pressed" and press(limit=2) == first
    pressed = run_of(connection, first["run_id"])
    assert (pressed["kind"], pressed["user_query"], pressed["user_id"]) == ("action", "Confirm", user)
