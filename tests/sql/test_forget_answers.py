"""Answers that were given a memory and repeat it are forgotten with it; those that may repeat it are named."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine, insert
from tests.sql.test_forget import merge, valid
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
GIVEN = "update pipeline_runs set sources = %s where id = %s"
OTHERS = (
    "Вчера я смотрел старое кино.",
    "I read a book about rivers.",
    "Купил молоко и хлеб.",
    "The train was late again.",
    "Погода портится к вечеру.",
    "My knee hurts after running.",
)


def exchange(
    connection: Connection, engine: Engine, user: UUID, query: str, answer: str, given: Sequence[UUID] = ()
) -> tuple[UUID, UUID, UUID]:
    """An exchange that was given these memories: its run, and the turns of question and answer."""
    run_id = insert(connection, user, query)
    (run,) = engine.claim()
    connection.execute(GIVEN, (Jsonb([{"id": str(one), "kind": "turn", "score": 1.0} for one in given]), run_id))
    engine.complete(run, answer)
    engine.step(done=[engine.archived(run, summary=f"{query} {answer}")])
    logs = connection.execute("select id from raw_logs where run_id = %s order by seq", (run_id,)).fetchall()
    return run_id, logs[0]["id"], logs[1]["id"]


def forget(connection: Connection, memory: UUID, doubtful: bool = False, user: UUID | None = None) -> dict[str, Any]:
    row = connection.execute("select maas_forget(%s, %s, 'test', %s) as v", (memory, user, doubtful)).fetchone()
    assert row is not None
    return dict(row["v"])


def turns(connection: Connection, user: UUID) -> set[UUID]:
    return {row["id"] for row in connection.execute("select id from raw_logs where user_id = %s", (user,))}


REPEATED = [
    ("Моего сокола зовут Герда.", "Как зовут моего сокола?", "Вашего сокола зовут Герда."),
    ("My falcon is called Gerda.", "What is my falcon called?", "It is Gerda, as you said."),
    ("Код от сейфа 4815, сейф стоит в кабинете отца.", "Как открыть сейф?", "Наберите 4815 и поверните ручку."),
    ("Я переезжаю в Казань в марте, снял там квартиру.", "Что у меня весной?", "Весной вы будете жить в Казани."),
    (
        "The doctor said my cholesterol is too high and I should avoid butter.",
        "What should I eat?",
        "Keep off butter and mind your cholesterol.",
    ),
    (
        "I am afraid of flying since the storm over Lisbon in 2019.",
        "Should I take a plane?",
        "Perhaps not: you are afraid since that storm.",
    ),
    ("Мама готовит пирог с вишней по воскресеньям.", "Что подарить?", "Раз по воскресеньям пирог, то блюдо."),
]
DOUBTFUL = [
    ("Моего сокола зовут Герда.", "Что приготовить?", "Сварите суп."),
    ("The doctor said my cholesterol is too high and I should avoid butter.", "Who wrote Hamlet?", "Shakespeare did."),
    ("Мама готовит пирог с вишней по воскресеньям.", "Что такое монада?", "Конструкция из теории категорий."),
    ("My falcon is called Gerda.", "What is my falcon called?", "I would rather not say."),
    (
        "I like to sail with friends on calm summer evenings near the harbour.",
        "Plan my day?",
        "1. Breakfast. 2. Work until evening. 3. A walk.",
    ),
]


@pytest.mark.parametrize(("statement", "query", "answer"), REPEATED)
def test_an_answer_that_repeats_it_goes_with_it(
    connection: Connection, engine: Engine, statement: str, query: str, answer: str
) -> None:
    user = uuid4()
    for text in OTHERS:
        exchange(connection, engine, user, text, "Noted.")
    _, memory, noted = exchange(connection, engine, user, statement, "Noted.")
    _, question, said = exchange(connection, engine, user, query, answer, [memory])
    counts = forget(connection, memory)
    assert (counts["verdict"], counts["logs"], counts["records"], counts["answers"]) == ("forgotten", 2, 2, 1)
    assert {memory, noted, question, said} & turns(connection, user) == {noted, question}


@pytest.mark.parametrize(("statement", "query", "answer"), DOUBTFUL)
def test_an_answer_that_may_not_repeat_it_is_named(
    connection: Connection, engine: Engine, statement: str, query: str, answer: str
) -> None:
    """One call more forgets it, too: at once or afterwards, and of its user alone."""
    user = uuid4()
    for text in OTHERS:
        exchange(connection, engine, user, text, "Noted.")
    _, memory, noted = exchange(connection, engine, user, statement, "Noted.")
    run_id, question, said = exchange(connection, engine, user, query, answer, [memory])
    counts = forget(connection, memory)
    own, other = sorted(counts["doubtful"], key=lambda one: one["seq"])
    assert (counts["logs"], counts["answers"], counts["doubtful_runs"]) == (1, 0, 2)
    assert (other["request_id"], other["id"], other["answer"], other["status"]) == (
        str(run_id),
        str(said),
        answer,
        "COMPLETED",
    )
    assert own["id"] == str(noted)
    assert forget(connection, memory) == {"verdict": "not_found"}
    assert forget(connection, memory, True, uuid4()) == {"verdict": "not_found"}
    counts = forget(connection, memory, doubtful=True)
    assert (counts["verdict"], counts["logs"], counts["answers"], counts["doubtful"]) == ("forgotten", 2, 2, [])
    assert {noted, question, said} & turns(connection, user) == {question}
    assert forget(connection, memory, doubtful=True) == {"verdict": "not_found"}


def test_doubtful_answers_may_go_at_once(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    _, memory, _ = exchange(connection, engine, user, "My falcon is called Gerda.", "Noted.")
    exchange(connection, engine, user, "Who wrote Hamlet?", "Shakespeare did.", [memory])
    counts = forget(connection, memory, doubtful=True)
    assert (counts["answers"], counts["doubtful"]) == (2, [])


def test_what_repeats_a_repetition_goes_too(connection: Connection, engine: Engine) -> None:
    """With the records of every level and the messages and summaries of dialogues that were made of it."""
    user, conversation = uuid4(), uuid4()
    kept, _, _ = exchange(connection, engine, user, "I like figs.", "Noted.")
    _, memory, _ = exchange(connection, engine, user, "My pet is called qzx77wv.", "Fine.")
    _, _, first = exchange(connection, engine, user, "The name of my pet?", "Qzx77wv is the name.", [memory])
    run_id, _, second = exchange(connection, engine, user, "Say that again?", "I said qzx77wv.", [first])
    records = [
        row["id"]
        for row in connection.execute("select id from lsm_storage where user_id = %s order by created_at", (user,))
    ]
    merge(connection, user, 1, records, "A day with qzx77wv.")
    connection.execute(
        "insert into chat_conversations (id, user_id, rolling_summary) values (%s, %s, 'About qzx77wv.')",
        (conversation, user),
    )
    connection.execute(
        "insert into chat_messages (conversation_id, user_id, run_id, role, content, is_folded)"
        " values (%s, %s, %s, 'assistant', 'I said qzx77wv.', true)",
        (conversation, user, run_id),
    )
    counts = forget(connection, memory)
    assert counts["answers"] == 2 and not {first, second} & turns(connection, user)
    assert tables_with(connection, "qzx77wv") == []
    (record,) = connection.execute("select id from lsm_storage where run_id = %s", (kept,)).fetchall()
    assert valid(connection, user) == {record["id"]}


def test_what_the_user_says_in_other_turns_is_not_telling(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    for n in range(3):
        exchange(connection, engine, user, f"Gerda flew {n} miles.", "Noted.")
    _, memory, _ = exchange(connection, engine, user, "My falcon is called Gerda.", "Noted.")
    _, _, said = exchange(connection, engine, user, "Which falcon do I have?", "You have Gerda.", [memory])
    counts = forget(connection, memory)
    assert counts["answers"] == 0 and str(said) in {one["id"] for one in counts["doubtful"]}


def test_nobody_elses_answer_goes(connection: Connection, engine: Engine) -> None:
    """Not even one whose row says that it was given the memory."""
    user, other = uuid4(), uuid4()
    _, memory, _ = exchange(connection, engine, user, "My falcon is called Gerda.", "Noted.")
    _, _, said = exchange(connection, engine, other, "Its name?", "It is called Gerda.", [memory])
    counts = forget(connection, memory)
    assert counts["answers"] == 0 and said in turns(connection, other)
    assert str(said) not in str(counts["doubtful"])


def test_an_answer_on_its_way_is_doubtful(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    _, memory, noted = exchange(connection, engine, user, "My falcon is called Gerda.", "Noted.")
    run_id = insert(connection, user, "Its name?")
    (run,) = engine.claim()
    connection.execute(GIVEN, (Jsonb([{"id": str(memory), "kind": "turn", "score": 1.0}]), run_id))
    counts = forget(connection, memory)
    assert (counts["doubtful"][0]["request_id"], counts["doubtful"][0]["id"]) == (str(run_id), None)
    engine.complete(run, "It is Gerda.")
    assert [one["answer"] for one in forget(connection, memory, doubtful=True)["doubtful"]] == ["It is Gerda."]
    assert noted not in turns(connection, user)
    engine.step(done=[engine.archived(run, summary="Gerda.")])
    assert forget(connection, memory, doubtful=True)["doubtful"] == []
    assert "Gerda" not in str(connection.execute("select content from raw_logs").fetchall())


LARGE = (
    """with r as (
         insert into pipeline_runs (user_id, user_query, queue_key, seq, queue_state, status, archive_status)
         select %(user)s, 'Ask ' || n || ' of ' || md5(n::text), gen_random_uuid(), n, 2, 'COMPLETED', 'ARCHIVED'
         from generate_series(1, %(exchanges)s) n returning id, user_query),
       l as (
         insert into raw_logs (user_id, run_id, message_type, content, conversation, archived_at)
         select %(user)s, r.id, t, t || ' ' || r.user_query || repeat(' more of ' || md5(r.id::text), 5), 'c', now()
         from r cross join unnest(array['user_query', 'assistant_response']) t returning id, run_id)
       insert into lsm_storage (user_id, run_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
       select %(user)s, run_id, 0, current_date, current_date, '{A}', 'It', array_agg(id) from l group by run_id""",
    "update raw_logs g set record_id = l.id from lsm_storage l where l.run_id = g.run_id",
    """insert into lsm_storage (user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
       select %(user)s, 2, current_date, current_date, '{A}', 'All', array_agg(id) from raw_logs""",
    """update lsm_storage l set superseded_by = p.id, superseded_at = now()
       from lsm_storage p where p.level = 2 and l.level = 0""",
    "select maas_count_terms(%(user)s, 1)",
)


def large_memory(connection: Connection, user: UUID, exchanges: int) -> UUID:
    """A record over so many exchanges, as they are after a year: finished, merged, counted."""
    connection.execute("alter table pipeline_runs disable trigger user")
    for statement in LARGE:
        connection.execute(statement.encode(), {"user": user, "exchanges": exchanges})
    connection.execute("alter table pipeline_runs enable trigger user")
    (row,) = connection.execute("select id from lsm_storage where level = 2").fetchall()
    return UUID(str(row["id"]))


def test_a_large_memory_is_forgotten_while_the_engine_works(connection: Connection, database: str) -> None:
    """Steps of the engine go on all the while; readers see all of it, then nothing."""
    user, other = uuid4(), uuid4()
    memory = large_memory(connection, user, 2_000)
    done = threading.Event()
    counts: list[Any] = []

    def work() -> None:
        with psycopg.connect(database, autocommit=True, row_factory=dict_row) as own:
            counts.append(own.execute("select maas_forget(%s, %s) as v", (memory, user)).fetchone())
        done.set()

    worker = threading.Thread(target=work)
    engine = Engine(connection)
    began = time.monotonic()
    worker.start()
    steps: list[float] = []
    seen: set[int] = set()
    while not done.is_set():
        at = time.monotonic()
        insert(connection, other)
        for run in engine.claim():
            engine.finish(run)
        steps.append(time.monotonic() - at)
        seen.add(
            connection.execute("select count(*) as n from raw_logs where user_id = %s", (user,)).fetchall()[0]["n"]
        )
    worker.join()
    took = time.monotonic() - began
    assert (counts[0]["v"]["logs"], counts[0]["v"]["records"]) == (4_000, 2_001)
    assert seen <= {4_000, 0} and turns(connection, user) == set()
    assert len(steps) >= 5 and max(steps) < took / 2, (max(steps), len(steps), took)
