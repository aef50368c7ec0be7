"""Conversations in SQL: opened by their first run, owned by one user, filled in the transactions of their runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import RawCursor
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.named_queries import query_texts
from tests.sql.engine import Engine, failed, one
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
Read = Callable[..., list[dict[str, Any]]]
MARK = "qzx77wv"


@pytest.fixture
def read(connection: Connection) -> Read:
    """A named query with its $1 placeholders."""

    def run(name: str, *args: object) -> list[dict[str, Any]]:
        with RawCursor(connection, row_factory=dict_row) as cursor:
            return cursor.execute(query_texts()[name].encode(), args).fetchall()

    return run


def say(connection: Connection, user: UUID, conversation: UUID, query: str = "hello there", **columns: Any) -> UUID:
    row = connection.execute(
        """insert into pipeline_runs (user_id, user_query, conversation_id, assistant, source)
           values (%s, %s, %s, %s, %s) returning id""",
        (user, query, conversation, columns.get("assistant", "mentor"), columns.get("source", "sql")),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def messages(connection: Connection, conversation: UUID) -> list[tuple[str, str]]:
    rows = connection.execute(
        "select role, content from chat_messages where conversation_id = %s order by created_at", (conversation,)
    ).fetchall()
    return [(row["role"], row["content"]) for row in rows]


def test_the_first_run_opens_the_conversation(connection: Connection) -> None:
    user, conversation = uuid4(), uuid4()
    say(connection, user, conversation, "  What is\n\nthe   weather? " + "x" * 300, source="telegram")
    say(connection, user, conversation, "And tomorrow?")
    row = one(connection, "select * from ai_conversations where id = %s", conversation)
    assert row["title"] == "What is the weather? " + "x" * 59
    assert (row["user_id"], row["assistant"], row["source"], row["mode"]) == (user, "mentor", "telegram", "auto")
    assert row["is_processing"]
    assert [role for role, _ in messages(connection, conversation)] == ["user", "user"]


def test_a_title_may_be_missing(connection: Connection) -> None:
    user, conversation = uuid4(), uuid4()
    say(connection, user, conversation, " " * 2000 + "at last")
    assert one(connection, "select title from chat_conversations where id = %s", conversation) == {"title": None}
    say(connection, user, conversation, "second")
    assert one(connection, "select title from chat_conversations where id = %s", conversation) == {"title": "second"}


def test_the_assistant_has_a_mode_of_its_own(connection: Connection) -> None:
    for default, mode in (("plan", "plan"), ("sideways", "auto")):
        connection.execute("update assistants set definition = %s", (Jsonb({"default_mode": default}),))
        conversation = uuid4()
        say(connection, uuid4(), conversation)
        assert one(connection, "select mode from chat_conversations where id = %s", conversation) == {"mode": mode}


@pytest.mark.parametrize("whose", ["another user's", "another assistant's"])
def test_a_conversation_belongs_to_one(connection: Connection, whose: str) -> None:
    """Nothing of the refused run is kept."""
    connection.execute("insert into assistants (name, role_name) values ('second', 'Mentor')")
    owner, conversation = uuid4(), uuid4()
    say(connection, owner, conversation)
    stranger = uuid4() if whose == "another user's" else owner
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="is not a conversation of this user") as refused:
        say(connection, stranger, conversation, MARK, assistant="mentor" if stranger != owner else "second")
    assert refused.value.diag.column_name == "conversation_id"
    assert tables_with(connection, MARK) == []
    assert len(messages(connection, conversation)) == 1


def test_the_answer_comes_with_the_run_and_once(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    say(connection, user, conversation, "a question")
    (run,) = engine.claim()
    one(connection, "select maas_propose_action(%s, 'c1', 'pay', %s, 'write') as id", run["id"], Jsonb({"sum": 5}))
    engine.complete(run)
    assert messages(connection, conversation) == [("user", "a question"), ("assistant", "an answer")]
    row = one(connection, "select actions, run_id from chat_messages where role = 'assistant'")
    assert row["run_id"] == run["id"]
    assert [(action["tool"], action["arguments"]) for action in row["actions"]] == [("pay", {"sum": 5})]
    assert not one(connection, "select is_processing from ai_conversations")["is_processing"]
    assert one(connection, "select role, actions_json from ai_messages where role = 'user'")["actions_json"] is None


def test_a_question_stands_whatever_becomes_of_it(connection: Connection, engine: Engine) -> None:
    """And a second try does not say it again."""
    user, conversation = uuid4(), uuid4()
    run_id = say(connection, user, conversation, "a question")
    (run,) = engine.claim()
    engine.step(done=[failed(run)])
    assert messages(connection, conversation) == [("user", "a question")]
    connection.execute("select maas_retry_run(%s)", (run_id,))
    engine.complete(engine.claim()[0])
    assert messages(connection, conversation) == [("user", "a question"), ("assistant", "an answer")]


def test_a_run_without_a_conversation_touches_none(connection: Connection, engine: Engine) -> None:
    connection.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'plain')", (uuid4(),))
    engine.complete(engine.claim()[0])
    assert one(connection, "select count(*) as n from chat_conversations") == {"n": 0}
    assert one(connection, "select count(*) as n from chat_messages") == {"n": 0}


def test_the_draft_gets_the_last_ten_in_the_order_of_turns(connection: Connection, engine: Engine, read: Read) -> None:
    """Sent at once they are exchanges all the same; what is elsewhere is not seen."""
    user, conversation, elsewhere = uuid4(), uuid4(), uuid4()
    say(connection, user, elsewhere, "elsewhere")
    engine.finish(engine.claim()[0])
    for n in range(8):
        say(connection, user, conversation, f"question {n}")
    (run,) = engine.claim()
    for _ in range(7):
        (run,) = engine.finish(run)["claimed"]
    assert run["user_query"] == "question 7"
    found = read("recent_messages", user, run["seq"], conversation, 10)
    said = [row["content"] for row in reversed(found)]
    assert said == [word for n in range(2, 7) for word in (f"question {n}", "an answer")]
    assert all(row["id"] is not None for row in found)
    assert read("recent_messages", uuid4(), run["seq"], conversation, 10) == []


def test_clearing_keeps_what_is_remembered(connection: Connection, engine: Engine, read: Read) -> None:
    user, conversation, other = uuid4(), uuid4(), uuid4()
    for place in (other, conversation):
        say(connection, user, place)
        engine.finish(engine.claim()[0])
    assert one(connection, "select maas_clear_conversation(%s) as n", conversation) == {"n": 2}
    assert one(connection, "select maas_clear_conversation(%s) as n", uuid4()) == {"n": None}
    assert (len(messages(connection, conversation)), len(messages(connection, other))) == (0, 2)
    assert one(connection, "select count(*) as n from raw_logs") == {"n": 4}
    assert read("recent_messages", user, 2**63 - 1, conversation, 10) == []


def test_a_forgotten_turn_leaves_the_dialogue(connection: Connection, engine: Engine) -> None:
    conversation = uuid4()
    run_id = say(connection, uuid4(), conversation, "a secret")
    engine.finish(engine.claim()[0])
    log = one(connection, "select id from raw_logs where run_id = %s and message_type = 'user_query'", run_id)
    assert one(connection, "select maas_forget(%s)->>'verdict' as verdict", log["id"]) == {"verdict": "forgotten"}
    assert ("user", "a secret") not in messages(connection, conversation)


def talk(connection: Connection, engine: Engine, user: UUID, conversation: UUID, count: int, words: str = "") -> None:
    """So many exchanges one after another; the record of the third one says `About 2.` and the words."""
    for n in range(count):
        say(connection, user, conversation, f"question {n}")
        engine.finish(engine.claim()[0], summary=f"About {n}.{words}")


def summary(connection: Connection, conversation: UUID) -> str:
    row = one(connection, "select rolling_summary from chat_conversations where id = %s", conversation)
    return str(row["rolling_summary"])


def fold(connection: Connection, conversation: UUID, keep: int = 10) -> bool:
    return bool(one(connection, "select maas_fold_conversation(%s, %s) as f", conversation, keep)["f"])


def test_what_is_old_becomes_a_summary_once(connection: Connection, engine: Engine) -> None:
    user, conversation, other = uuid4(), uuid4(), uuid4()
    talk(connection, engine, user, conversation, 5)
    talk(connection, engine, user, other, 1)
    assert not fold(connection, conversation)
    talk(connection, engine, user, conversation, 2)
    assert fold(connection, conversation)
    assert not fold(connection, conversation)
    assert (summary(connection, conversation), summary(connection, other)) == ("About 0. About 1.", "")
    assert fold(connection, conversation, 4)
    assert summary(connection, conversation) == "About 0. About 1. About 2. About 3. About 4."
    connection.execute("select maas_clear_conversation(%s)", (conversation,))
    assert summary(connection, conversation) == ""
    assert not fold(connection, uuid4())


def test_the_summary_is_bounded_and_keeps_what_is_newer(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    talk(connection, engine, user, conversation, 6, " слово" * 100)
    fold(connection, conversation, 2)
    text = summary(connection, conversation)
    assert 1900 < len(text) <= 2000
    assert text.startswith("… слово") and "About 4." in text and "About 0." not in text


def test_an_exchange_without_its_record_waits(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    say(connection, user, conversation)
    (run,) = engine.claim()
    engine.complete(run)
    assert not fold(connection, conversation, 0)
    engine.step(done=[engine.archived(run, summary="At last.")])
    assert fold(connection, conversation, 0)
    assert summary(connection, conversation) == "At last."


def test_what_a_draft_shows_cut_is_folded_before_it_is_old(connection: Connection, engine: Engine) -> None:
    """Only runs of this conversation, whose record is written, each once."""
    user, conversation, other = uuid4(), uuid4(), uuid4()
    talk(connection, engine, user, other, 1, " Elsewhere.")
    talk(connection, engine, user, conversation, 3)
    runs = {
        row["user_query"] + str(row["conversation_id"] == other): row["id"]
        for row in connection.execute("select id, user_query, conversation_id from pipeline_runs").fetchall()
    }
    cut = [runs["question 1False"], runs["question 0True"], say(connection, user, conversation, "now")]
    for is_first in (True, False):
        found = one(connection, "select maas_fold_conversation(%s, 10, %s) as f", conversation, cut)["f"]
        assert (bool(found), summary(connection, conversation)) == (is_first, "About 1.")
    assert fold(connection, conversation, 0)
    assert summary(connection, conversation) == "About 1. About 0. About 2."


def test_a_conversation_that_is_held_is_not_waited_for(connection: Connection, database: str, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    talk(connection, engine, user, conversation, 2)
    connection.execute("set lock_timeout = '2s'")
    with psycopg.connect(database) as client:
        client.execute("update chat_conversations set mode = 'ask'")
        assert not fold(connection, conversation, 2)
    assert fold(connection, conversation, 2)


def test_the_summary_forgets_too(connection: Connection, engine: Engine) -> None:
    """What is left of the records makes a new one."""
    user, conversation = uuid4(), uuid4()
    talk(connection, engine, user, conversation, 3)
    fold(connection, conversation, 2)
    assert summary(connection, conversation) == "About 0. About 1."
    log = one(connection, "select id from raw_logs where content = 'question 0'")
    connection.execute("select maas_forget(%s)", (log["id"],))
    assert "About 0." not in summary(connection, conversation)
    fold(connection, conversation, 2)
    assert summary(connection, conversation) == "About 1."


def test_erasing_counts_every_row(connection: Connection, engine: Engine) -> None:
    user, other = uuid4(), uuid4()
    places = {whose: uuid4() for whose in (user, other)}
    for whose, place in places.items():
        run_id = say(connection, whose, place, f"about {MARK if whose == user else 'nothing'}")
        connection.execute("select maas_propose_action(%s, 'c', 't', '{}', 'write')", (run_id,))
    receipt = one(connection, "select maas_erase(%s) as r", user)["r"]
    counted = {name: receipt[name] for name in ("chat_conversations", "chat_messages", "chat_pending_actions")}
    assert counted == {"chat_conversations": 1, "chat_messages": 1, "chat_pending_actions": 1}
    assert tables_with(connection, MARK) == []
    assert len(messages(connection, places[other])) == 1
    assert one(connection, "select count(*) as n from chat_pending_actions") == {"n": 1}
    for run in engine.claim():
        engine.complete(run)
    assert messages(connection, places[user]) == []


def test_the_engine_waits_for_no_client(connection: Connection, database: str, engine: Engine) -> None:
    """A client that holds its conversation in an open transaction holds no answer back."""
    user, conversation = uuid4(), uuid4()
    say(connection, user, conversation)
    with psycopg.connect(database) as client:
        client.execute("update chat_conversations set mode = 'ask', title = 'held'")
        connection.execute("set lock_timeout = '2s'")
        engine.finish(engine.claim()[0])
        assert len(messages(connection, conversation)) == 2


def tool_message(run: dict[str, Any], **columns: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": "look", "arguments": {"at": 1}}
    result = {"success": True, "data": 7}
    message = {"content": "", "tool_calls": [call], "tool_call_id": "c1", "tool_name": "look", "tool_result": result}
    return {"run_id": str(run["id"])} | message | columns


def answer_with(engine: Engine, run: dict[str, Any], owner: int, attempt: int, *rows: dict[str, Any]) -> int:
    """The number of runs that were answered."""
    query = "select id from maas_advance(%s, %s::uuid[], %s, '{COMPLETED}', '{\"An answer\"}', null, null, '[]', %s)"
    return engine.connection.execute(query, (owner, [run["id"]], [attempt], Jsonb(list(rows)))).rowcount


def responding(connection: Connection, engine: Engine, conversation: UUID, user: UUID | None = None) -> dict[str, Any]:
    say(connection, user or uuid4(), conversation, "a question")
    (run,) = engine.claim()
    while run["status"] != "RESPONDING":
        assert engine.advance(run)
    return run


def test_tool_calls_are_written_with_the_answer_and_by_its_owner_only(connection: Connection, engine: Engine) -> None:
    conversation = uuid4()
    run = responding(connection, engine, conversation)
    rows = [tool_message(run, tokens_used=5, agent="ads"), tool_message(run, tool_call_id="c2")]
    assert answer_with(engine, run, engine.owner + 1, run["attempt"], *rows) == 0
    assert answer_with(engine, run, engine.owner, run["attempt"] + 1, *rows) == 0
    assert [role for role, _ in messages(connection, conversation)] == ["user"]
    assert answer_with(engine, run, engine.owner, run["attempt"], *rows) == 1
    assert answer_with(engine, run, engine.owner, run["attempt"], *rows) == 0
    assert [role for role, _ in messages(connection, conversation)] == ["user", "tool", "tool", "assistant"]
    stored = connection.execute(
        "select tool_call_id, tokens_used, agent, tool_result from chat_messages "
        "where role = 'tool' order by created_at"
    ).fetchall()
    assert [tuple(row.values()) for row in stored] == [
        ("c1", 5, "ads", {"success": True, "data": 7}),
        ("c2", None, None, {"success": True, "data": 7}),
    ]


def test_tool_calls_of_another_run_or_without_a_conversation_are_dropped(
    connection: Connection, engine: Engine
) -> None:
    other = responding(connection, engine, uuid4())
    conversation = uuid4()
    run = responding(connection, engine, conversation)
    assert answer_with(engine, run, engine.owner, run["attempt"], tool_message(other)) == 1
    assert [role for role, _ in messages(connection, conversation)] == ["user", "assistant"]
    connection.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'plain')", (uuid4(),))
    (plain,) = engine.claim()
    while plain["status"] != "RESPONDING":
        assert engine.advance(plain)
    assert answer_with(engine, plain, engine.owner, plain["attempt"], tool_message(plain)) == 1
    assert one(connection, "select count(*) as n from chat_messages where role = 'tool'") == {"n": 0}


def test_tool_calls_go_with_the_words_that_they_belong_to(connection: Connection, engine: Engine, read: Read) -> None:
    """They are in no draft, and deleting a log or the conversation deletes them."""
    user, conversation = uuid4(), uuid4()
    run = responding(connection, engine, conversation, user)
    assert answer_with(engine, run, engine.owner, run["attempt"], tool_message(run)) == 1
    found = read("recent_messages", user, 10**9, conversation, 10)
    assert [row["content"] for row in found] == ["An answer", "a question"]
    assert [row["role"] for row in read("list_messages", conversation, None, None, 10, ["tool"], 0, False)] == ["tool"]
    with connection.transaction(force_rollback=True):
        assert one(connection, "select maas_clear_conversation(%s) as n", conversation) == {"n": 2}
        assert messages(connection, conversation) == []
    for kind in ("user_query", "assistant_response"):
        with connection.transaction(force_rollback=True):
            connection.execute("delete from raw_logs where run_id = %s and message_type = %s", (run["id"], kind))
            assert "tool" not in [role for role, _ in messages(connection, conversation)]
    connection.execute("select maas_erase(%s)", (user,))
    assert messages(connection, conversation) == []
