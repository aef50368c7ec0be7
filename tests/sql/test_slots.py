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


def open_as(
    connection: Connection, run: DictRow, agent: str | None, scope: str, is_opening: bool = False
) -> tuple[UUID, dict[str, str]]:
    """The id of the session that the run gets, and its values."""
    row = connection.execute(
        "select maas_open_session(%s, %s, %s, %s, %s) as began",
        (run["id"], run["attempt"], agent, scope, is_opening),
    ).fetchone()
    assert row is not None
    return UUID(row["began"]["id"]), row["began"]["slots"]


def next_run(connection: Connection, engine: Engine, user: UUID, conversation: UUID | None = None) -> DictRow:
    """A claimed run of this user, after the one before has ended."""
    connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, 'Hi', %s)",
        (user, conversation),
    )
    (run,) = engine.claim()
    return run


@pytest.mark.parametrize(("scope", "same"), [("conversation", False), ("latest", False), ("user", True)])
def test_the_session_of_another_conversation(connection: Connection, scope: str, same: bool) -> None:
    """Scope user goes on in it, latest ends the first, conversation has one in each."""
    user, engine = uuid4(), Engine(connection)
    run = next_run(connection, engine, user, uuid4())
    first, _ = open_as(connection, run, "interview", scope)
    engine.finish(run)
    run = next_run(connection, engine, user, uuid4())
    second, _ = open_as(connection, run, "interview", scope)
    assert (first == second) == same
    active = connection.execute("select id from assistant_sessions where is_active").fetchall()
    assert {row["id"] for row in active} == ({first, second} if scope == "conversation" else {second})


@pytest.mark.parametrize(("scope", "same"), [("conversation", False), ("latest", False), ("user", True)])
def test_the_opening_said_again(connection: Connection, scope: str, same: bool) -> None:
    """It begins anew, but for a session that goes on in every conversation, which each begins with the opening."""
    user, engine, conversation = uuid4(), Engine(connection), uuid4()
    run = next_run(connection, engine, user, conversation)
    first, _ = open_as(connection, run, None, scope)
    engine.finish(run)
    run = next_run(connection, engine, user, conversation)
    second, _ = open_as(connection, run, None, scope, is_opening=True)
    assert (first == second) == same


def test_agents_have_sessions_of_their_own(connection: Connection) -> None:
    user, engine, conversation = uuid4(), Engine(connection), uuid4()
    run = next_run(connection, engine, user, conversation)
    ids = [open_as(connection, run, agent, "latest")[0] for agent in (None, "interview", "survey", "interview")]
    assert len(set(ids)) == 3 and ids[1] == ids[3]
    shown = connection.execute("select agent, state, collected from v_sessions order by agent nulls first").fetchall()
    assert [tuple(row.values()) for row in shown] == [
        (agent, "collecting", []) for agent in (None, "interview", "survey")
    ]


def test_operators_see_no_values(connection: Connection) -> None:
    """But which are there, and how far a dialogue is."""
    columns = "user_id, assistant, slots, optional, confirmed"
    values = f"insert into assistant_sessions ({columns}) values (%s, 'stickers', %s, %s, %s)".encode()
    for slots, optional, confirmed in (
        ({"style": "anime"}, {"state": "offered"}, False),
        ({"style": "anime", "pose": "up"}, {}, True),
    ):
        connection.execute(values, (uuid4(), Jsonb(slots), Jsonb(optional), confirmed))
    connection.execute("set role maas_ops")
    rows = connection.execute("select state, collected, is_active from v_sessions order by state").fetchall()
    assert [tuple(row.values()) for row in rows] == [
        ("complete", ["pose", "style"], True),
        ("offered", ["style"], True),
    ]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select slots from assistant_sessions")


def pressed_session(connection: Connection, run: DictRow) -> DictRow | None:
    row = connection.execute("select maas_open_pressed_session(%s, %s) as it", (run["id"], run["attempt"])).fetchone()
    assert row is not None
    return row["it"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_over", [False, True])
def test_a_press_finds_the_session_of_its_button(connection: Connection, is_over: bool) -> None:
    """Not one that has begun since, and never one of another user."""
    user, engine, conversation = uuid4(), Engine(connection), uuid4()
    run = next_run(connection, engine, user, conversation)
    session, _ = open_as(connection, run, None, "conversation")
    offer = Jsonb({"buttons": [{"id": "assistant_confirm", "label": "Confirm"}]})
    connection.execute("select maas_add_event(%s, 'buttons', %s)", (run["id"], offer))
    engine.finish(run)
    if is_over:
        later = next_run(connection, engine, user, conversation)
        assert open_as(connection, later, None, "conversation", is_opening=True)[0] != session
        engine.finish(later)
    connection.execute("select * from maas_press_button(%s, %s, 'assistant_confirm')", (run["id"], user))
    (press,) = engine.claim()
    before = connection.execute("select count(*) as n from assistant_sessions").fetchone()
    assert pressed_session(connection, press | {"attempt": press["attempt"] + 1}) is None
    found = pressed_session(connection, press)
    assert found is not None and found.get("id") == (None if is_over else str(session))
    assert connection.execute("select count(*) as n from assistant_sessions").fetchone() == before
    connection.execute("update assistant_sessions set user_id = %s", (uuid4(),))
    assert pressed_session(connection, press) == {}
