"""Pending actions: decided once, executed once, by their owner and in time, whoever races."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from tests.polling import poll
from tests.sql.engine import Engine, failed, insert, one

Connection = psycopg.Connection[DictRow]


def propose(connection: Connection, run: UUID, call: str = "c1", args: dict[str, Any] | None = None) -> UUID:
    query = "select maas_propose_action(%s, %s, 'send_mail', %s, 'dangerous', 'v2', 'ads') as id"
    return UUID(str(one(connection, query, run, call, Jsonb(args or {"to": "Ann"}))["id"]))


def decide(
    connection: Connection, action: UUID, user: UUID, word: str | None = "approve", args: Any = None
) -> tuple[Any, ...]:
    query = "select * from maas_decide_action(%s, %s, %s, 'web', %s)"
    row = one(connection, query, action, user, word, None if args is None else Jsonb(args))
    return row["verdict"], row["status"]


def claim(connection: Connection, action: UUID) -> list[DictRow]:
    return connection.execute("select * from maas_claim_action(%s)", (action,)).fetchall()


def finish(connection: Connection, action: UUID, status: str | None) -> bool:
    query = "select maas_finish_action(%s, %s, %s) as finished"
    return bool(one(connection, query, action, status, Jsonb({"sent": True}))["finished"])


def row_of(connection: Connection, action: UUID) -> DictRow:
    return one(connection, "select * from chat_pending_actions where id = %s", action)


def test_an_action_is_what_was_asked_for(connection: Connection) -> None:
    """The same call again is the same action; other arguments are another."""
    user = uuid4()
    run = insert(connection, user)
    action = propose(connection, run, args={"a": 1, "b": [2]})
    assert propose(connection, run, args={"b": [2], "a": 1}) == action
    assert propose(connection, run, args={"a": 2}) != action
    row = row_of(connection, action)
    assert (row["user_id"], row["run_id"], row["status"], row["effect"]) == (user, run, "pending", "dangerous")
    assert (row["expires_at"] - row["created_at"]).total_seconds() == 30 * 60
    assert one(connection, "select maas_propose_action(%s, 'c', 't', '{}', 'write') as id", uuid4()) == {"id": None}


@pytest.mark.parametrize("ending", ["done", "failed", "in_doubt"])
def test_approved_executed_finished(connection: Connection, ending: str) -> None:
    user = uuid4()
    action = propose(connection, insert(connection, user))
    assert claim(connection, action) == []
    assert decide(connection, action, user) == ("decided", "approved")
    assert not finish(connection, action, ending)
    (claimed,) = claim(connection, action)
    assert (claimed["tool_name"], claimed["tool_args"], claimed["tool_version"]) == ("send_mail", {"to": "Ann"}, "v2")
    assert claim(connection, action) == []
    assert finish(connection, action, ending)
    assert not finish(connection, action, "done")
    row = row_of(connection, action)
    assert (row["status"], row["decided_by"], row["result"]) == (ending, "web", {"sent": True})
    assert row["decided_at"] is not None
    assert decide(connection, action, user, "reject") == ("already_decided", ending)


def test_rejected_is_never_executed(connection: Connection) -> None:
    user = uuid4()
    action = propose(connection, insert(connection, user))
    assert decide(connection, action, user, "reject", {"to": "Bob"}) == ("decided", "rejected")
    assert decide(connection, action, user) == ("already_decided", "rejected")
    assert claim(connection, action) == []
    assert row_of(connection, action)["tool_args"] == {"to": "Ann"}


def ask_again(connection: Connection, user: UUID, replaced: UUID) -> UUID:
    query = "insert into pipeline_runs (user_id, user_query, replaces) values (%s, 'Again.', %s) returning id"
    return UUID(str(one(connection, query, user, replaced)["id"]))


def test_a_replaced_run_withdraws_what_waits(connection: Connection) -> None:
    """What was decided before stays, and so does what waits of other runs and other users."""
    user = uuid4()
    run = insert(connection, user)
    waiting, approved = propose(connection, run), propose(connection, run, "c2")
    other = propose(connection, insert(connection, user))
    assert decide(connection, approved, user) == ("decided", "approved")
    ask_again(connection, uuid4(), run)
    assert row_of(connection, waiting)["status"] == "pending"
    again = ask_again(connection, user, run)
    row = row_of(connection, waiting)
    assert (row["status"], row["decided_by"], row["action_run_id"]) == ("rejected", "replaced", None)
    assert row["decided_at"] is not None
    assert decide(connection, waiting, user) == ("withdrawn", "rejected")
    edit = one(connection, "select * from maas_edit_action(%s, %s, '{}')", waiting, user)
    assert (edit["verdict"], edit["status"]) == ("withdrawn", "rejected")
    assert claim(connection, waiting) == []
    assert decide(connection, propose(connection, again), user) == ("decided", "approved")
    assert [row_of(connection, action)["status"] for action in (approved, other)] == ["approved", "pending"]


def test_what_a_task_of_a_replaced_run_proposed_is_withdrawn(connection: Connection) -> None:
    """Also by a task that goes on with it, and by the questions that followed in the conversation."""
    user, conversation = uuid4(), uuid4()

    def ask(**more: Any) -> UUID:
        columns = {"user_id": user, "user_query": "Mail Ann.", "conversation_id": conversation} | more
        names, marks = ", ".join(columns), ", ".join(["%s"] * len(columns))
        query = f"insert into pipeline_runs ({names}) values ({marks}) returning id"
        return UUID(str(one(connection, query, *columns.values())["id"]))

    def task_of(parent: UUID) -> UUID:
        run = ask(kind="task")
        connection.execute(
            "insert into tasks (run_id, parent_run_id, is_approved, max_calls, max_seconds)"
            " values (%s, %s, true, 9, 9)",
            (run, parent),
        )
        return run

    before, run, follower = ask(), ask(), ask()
    task = task_of(run)
    left = [propose(connection, one, args={"to": str(one)}) for one in (run, follower, task, task_of(task))]
    kept = [
        propose(connection, one, args={"to": str(one)})
        for one in (before, task_of(before), ask(conversation_id=uuid4()))
    ]
    ask(replaces=run)
    assert {row_of(connection, action)["decided_by"] for action in left} == {"replaced"}
    assert {row_of(connection, action)["status"] for action in kept} == {"pending"}


def test_nobody_decides_for_another(connection: Connection) -> None:
    action = propose(connection, insert(connection, uuid4()))
    assert decide(connection, action, uuid4()) == ("not_found", None)
    assert decide(connection, uuid4(), uuid4()) == ("not_found", None)
    assert row_of(connection, action)["status"] == "pending"


def test_what_has_expired_cannot_be_approved(connection: Connection) -> None:
    user = uuid4()
    late, in_time = (propose(connection, insert(connection, user), call) for call in ("c1", "c2"))
    connection.execute("select set_config('maas.now', (now() + interval '29 minutes')::text, false)")
    assert decide(connection, in_time, user) == ("decided", "approved")
    connection.execute("select set_config('maas.now', (now() + interval '31 minutes')::text, false)")
    assert decide(connection, late, user) == ("expired", "expired")
    assert decide(connection, late, user) == ("expired", "expired")
    assert claim(connection, late) == []
    assert row_of(connection, late)["decided_by"] is None


def test_edited_arguments_are_those_that_are_executed(connection: Connection) -> None:
    user = uuid4()
    action = propose(connection, insert(connection, user))
    before = row_of(connection, action)["args_hash"]
    assert decide(connection, action, user, args={"to": "Bob"}) == ("decided", "approved")
    (claimed,) = claim(connection, action)
    assert claimed["tool_args"] == {"to": "Bob"}
    assert claimed["args_hash"] != before
    expected = one(connection, "select maas_hash_arguments(%s) as hash", Jsonb({"to": "Bob"}))["hash"]
    assert claimed["args_hash"] == expected


@pytest.mark.parametrize("word", ["", "maybe", None])
def test_other_words_decide_nothing(connection: Connection, word: str | None) -> None:
    user = uuid4()
    action = propose(connection, insert(connection, user))
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        decide(connection, action, user, word)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        finish(connection, action, word)
    assert row_of(connection, action)["status"] == "pending"


@pytest.mark.parametrize(("first", "second"), [("approve", "reject"), ("reject", "approve"), ("approve", "approve")])
def test_of_two_deciders_one_wins(connection: Connection, database: str, first: str, second: str) -> None:
    """The second one waits for the first, is seen waiting, and returns what was decided."""
    user = uuid4()
    action = propose(connection, insert(connection, user))
    with (
        psycopg.connect(database, row_factory=dict_row) as winner,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as loser,
        ThreadPoolExecutor(1) as pool,
    ):
        assert decide(winner, action, user, first)[0] == "decided"
        late = pool.submit(decide, loser, action, user, second)
        waiting = "select from pg_stat_activity where pid = %s and wait_event_type = 'Lock'"
        poll(lambda: connection.execute(waiting.encode(), (loser.info.backend_pid,)).fetchall(), what="second waits")
        winner.commit()
        decided = "approved" if first == "approve" else "rejected"
        assert late.result(10) == ("already_decided", decided)
    assert row_of(connection, action)["status"] == decided


def test_of_many_claimers_one_executes(connection: Connection, database: str) -> None:
    user = uuid4()
    actions = [propose(connection, insert(connection, user), f"c{n}") for n in range(20)]
    for action in actions:
        decide(connection, action, user)
    ready = Barrier(6)

    def take(_: int) -> list[UUID]:
        with psycopg.connect(database, autocommit=True, row_factory=dict_row) as mine:
            ready.wait(20)
            return [action for action in actions if claim(mine, action)]

    with ThreadPoolExecutor(6) as pool:
        taken = [action for found in pool.map(take, range(6)) for action in found]
    assert sorted(taken) == sorted(actions)


def test_an_approval_inserts_its_run(connection: Connection) -> None:
    """One function decides and inserts; what is refused decides nothing."""
    user = uuid4()
    action = propose(connection, insert(connection, user), args={"text": "я" * 3000})
    decided = one(connection, "select * from maas_decide_action(%s, %s, 'approve', 'sql')", action, user)
    run = one(connection, "select * from pipeline_runs where id = %s", decided["run_id"])
    assert (run["kind"], run["user_id"], run["queue_key"], run["metadata"]) == (
        "action",
        user,
        user,
        {"action_id": str(action)},
    )
    assert run["user_query"].startswith('send_mail {"text": "яя') and run["user_query"].endswith("я…")
    assert one(connection, "select content from raw_logs where run_id = %s", run["id"])["content"] == run["user_query"]
    again = one(connection, "select * from maas_decide_action(%s, %s, 'reject', 'sql')", action, user)
    assert again == {"verdict": "already_decided", "status": "approved", "run_id": run["id"]}


def test_no_run_no_approval(connection: Connection) -> None:
    user = uuid4()
    action = propose(connection, insert(connection, user))
    with pytest.raises(psycopg.errors.ForeignKeyViolation), connection.transaction():
        connection.execute("update assistants set is_active = false")
        decide(connection, action, user)
    limited = "select verdict, status from maas_decide_action(%s, %s, 'approve', 'sql', null, 1)"
    assert one(connection, limited, action, user) == {"verdict": "queue_full", "status": "pending"}
    assert row_of(connection, action)["action_run_id"] is None
    assert connection.execute("select from pipeline_runs where kind = 'action'").fetchall() == []


def test_only_its_owner_executes(connection: Connection) -> None:
    """Every word about an action is fenced by owner and attempt of its run."""
    user = uuid4()
    engine = Engine(connection)
    action = propose(connection, insert(connection, user))
    (asking,) = engine.claim()
    decide(connection, action, user)
    (run,) = engine.finish(asking)["claimed"]
    opened = "select verdict, status, asked from maas_open_action(%s, %s)"
    ended = "select maas_end_action(%s, %s, 'failed', '{}') as status"
    assert one(connection, opened, run["id"], run["attempt"] + 1)["verdict"] == "lost"
    assert one(connection, ended, run["id"], run["attempt"] + 1)["status"] is None
    assert row_of(connection, action)["status"] == "approved"
    for _ in range(2):
        found = one(connection, opened, run["id"], run["attempt"])
        assert found == {"verdict": "open", "status": "executing", "asked": "hello there"}
    begin = "select verdict from maas_begin_tool(%s, %s, 'c1', 'send_mail', 'hash', 'dangerous', false)"
    assert one(connection, begin, run["id"], run["attempt"])["verdict"] == "run"
    finishing = "select maas_finish_tool(%s, %s, 'send_mail', 'hash', 'done', '{\"success\": true}', 1)"
    connection.execute(finishing, (run["id"], run["attempt"]))
    assert row_of(connection, action)["status"] == "done"  # in the statement of the ledger
    assert one(connection, ended, run["id"], run["attempt"])["status"] == "done"
    assert one(connection, opened, run["id"], run["attempt"])["verdict"] == "ended"
    assert row_of(connection, action)["result"] == {"success": True}
    assert one(connection, opened, asking["id"], asking["attempt"])["verdict"] == "lost"


def test_a_run_that_fails_leaves_its_action_so(connection: Connection) -> None:
    user = uuid4()
    engine = Engine(connection)
    words = "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, 'q', %s) returning id"
    asking = one(connection, words, user, user)["id"]
    never, begun = propose(connection, asking, "c1"), propose(connection, asking, "c2")
    (run,) = engine.claim()
    for action in (never, begun):
        decide(connection, action, user)
    (first,) = engine.finish(run)["claimed"]
    (second,) = engine.step(done=[failed(first)])["claimed"]
    connection.execute("select maas_open_action(%s, %s)", (second["id"], second["attempt"]))
    busy = "select is_processing from ai_conversations where id = %s"
    assert one(connection, busy, user)["is_processing"]
    engine.step(done=[failed(second)])
    assert not one(connection, busy, user)["is_processing"]
    shown = "select status from v_actions where id = %s"
    assert [one(connection, shown, action)["status"] for action in (never, begun)] == ["failed", "in_doubt"]
    records = "select summary, tags from lsm_storage where run_id = %s"
    assert one(connection, records, first["id"]) == {"summary": 'send_mail {"to": "Ann"}', "tags": ["Unanswered"]}


def test_a_user_is_erased_whatever_became_of_the_actions(connection: Connection) -> None:
    user, other = uuid4(), uuid4()
    engine = Engine(connection)
    asking = insert(connection, user)
    actions = [propose(connection, asking, f"c{n}") for n in range(8)]
    (run,) = engine.claim()
    kept = propose(connection, insert(connection, other))
    decide(connection, actions[1], user, "reject")
    for action in actions[2:]:
        decide(connection, action, user)
    for action in actions[3:]:
        claim(connection, action)
    for action, ending in zip(actions[4:7], ("done", "failed", "in_doubt"), strict=True):
        finish(connection, action, ending)
    connection.execute("update chat_pending_actions set status = 'expired' where id = %s", (actions[7],))
    engine.finish(run)
    found = connection.execute(
        "select distinct status from chat_pending_actions where user_id = %s", (user,)
    ).fetchall()
    assert len(found) == 8
    receipt = one(connection, "select maas_erase(%s) as receipt", user)["receipt"]
    assert (receipt["chat_pending_actions"], receipt["pipeline_runs"]) == (8, 7)
    assert connection.execute("select id from chat_pending_actions").fetchall() == [{"id": kept}]
    assert connection.execute("select from pipeline_runs where user_id = %s", (user,)).fetchall() == []


def test_what_waits_is_in_no_answer(connection: Connection) -> None:
    """An approval behind a request is later than it, as every request is."""
    user = uuid4()
    action = propose(connection, insert(connection, user))
    run_id = one(connection, "select run_id from maas_decide_action(%s, %s, 'approve', 'sql')", action, user)["run_id"]
    hidden = one(connection, "select maas_hidden_runs(%s, %s) as runs", user, 10**9)["runs"]
    assert UUID(str(run_id)) in hidden
