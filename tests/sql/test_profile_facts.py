"""The profile and the answers of an interview are facts: read, corrected, decided about and forgotten as such."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.test_facts import Life
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
MARK = "qzx77wv"


@pytest.fixture
def life(connection: Connection) -> Life:
    return Life(connection)


def set_profile(life: Life, name: str | None = None, position: str | None = None) -> None:
    life.row("select maas_set_profile(%s, %s, %s, null, 'en')", life.user, name, position)


def prefer(life: Life, **values: str) -> None:
    life.row("select maas_set_preferences(%s, %s)", life.user, Jsonb(values))


def profile(life: Life) -> tuple[str | None, str | None]:
    row = life.row("select name, position from user_profiles where user_id = %s", life.user)
    return row["name"], row["position"]


def preferences(life: Life) -> dict[str, str]:
    query = "select slot, value from user_preferences where user_id = %s"
    return {row["slot"]: row["value"] for row in life.connection.execute(query, (life.user,)).fetchall()}


def test_what_is_set_again_replaces_what_was(life: Life) -> None:
    set_profile(life, "Ann Smith", "buyer")
    then = life.row("select clock_timestamp() as now")["now"]
    set_profile(life, "Ann Smith", "head of sales")
    prefer(life, focus_time="9 to 11")
    assert profile(life) == ("Ann Smith", "head of sales") and preferences(life) == {"focus_time": "9 to 11"}
    facts = life.facts()
    assert {statement: row["state"] for statement, row in facts.items()} == {
        "Name: Ann Smith": "true",
        "Position: buyer": "replaced",
        "Position: head of sales": "true",
        "Focus time: 9 to 11": "true",
    }
    assert {(row["kind"], row["origin"], row["subject"]) for row in facts.values()} == {("profile", "person", "user")}
    assert life.states(then) == {"Name: Ann Smith": "true", "Position: buyer": "true"}


def test_what_is_left_out_is_deleted_with_what_it_was(life: Life) -> None:
    set_profile(life, "Ann", f"buyer of {MARK}")
    set_profile(life, "Ann", "seller")
    prefer(life, focus_time=MARK, working_style="by plan")
    set_profile(life, "Ann")
    prefer(life, working_style="by plan")
    assert profile(life) == ("Ann", None) and preferences(life) == {"working_style": "by plan"}
    assert tables_with(life.connection, MARK) == []


@pytest.mark.parametrize("verdict", ["wrong", "ended"])
def test_a_decision_takes_a_value_away_until_it_is_set_again(life: Life, verdict: str) -> None:
    set_profile(life, "Ann", "buyer")
    life.decide("Position: buyer", verdict)
    assert profile(life) == ("Ann", None)
    set_profile(life, "Ann", "buyer")
    assert profile(life) == ("Ann", "buyer")


def test_what_is_wrong_gives_way_to_what_was_before(life: Life) -> None:
    set_profile(life, position="buyer")
    set_profile(life, position="pirate")
    life.decide("Position: pirate", "wrong")
    assert profile(life) == (None, "buyer")


def test_what_is_never_to_be_used_is_shown_to_the_person_alone(life: Life) -> None:
    prefer(life, focus_time="9 to 11")
    life.decide("Focus time: 9 to 11", "unused")
    row = life.row("select value, is_used from user_preferences where user_id = %s", life.user)
    assert (row["value"], row["is_used"]) == ("9 to 11", False)


def test_a_correction_is_the_new_value(life: Life) -> None:
    set_profile(life, "Ann", "buyer")
    fact = life.facts()["Position: buyer"]["id"]
    life.row("select * from maas_correct_fact(%s, %s, 'head of sales')", life.user, fact)
    assert profile(life) == ("Ann", "head of sales")
    assert life.states()["Position: buyer"] == "corrected"


def test_a_correction_in_the_words_of_what_was_entered_is_a_message(life: Life) -> None:
    set_profile(life, "Ann", "buyer")
    fact = life.facts()["Position: buyer"]["id"]
    correct = "select * from maas_correct_fact(%s, %s, 'Position: buyer')"
    first = life.row(correct, life.user, fact)
    assert None not in first.values() and first["fact_id"] != fact
    assert life.row(correct, life.user, fact) == first


def test_an_entered_fact_is_forgotten_by_its_id(life: Life) -> None:
    set_profile(life, "Ann", f"buyer of {MARK}")
    fact = life.facts()[f"Position: buyer of {MARK}"]["id"]
    assert life.row("select maas_forget(%s, %s) as v", fact, uuid4())["v"] == {"verdict": "not_found"}
    result = life.row("select maas_forget(%s, %s) as v", fact, life.user)["v"]
    assert (result["verdict"], result["facts"], result["logs"]) == ("forgotten", 1, 0)
    assert profile(life) == ("Ann", None) and tables_with(life.connection, MARK) == []


def test_another_users_profile_is_not_touched(life: Life, connection: Connection) -> None:
    other = Life(connection)
    for one in (life, other):
        set_profile(one, "Ann", "buyer")
    life.decide("Position: buyer", "wrong")
    assert (profile(life), profile(other)) == (("Ann", None), ("Ann", "buyer"))


def answered(life: Life, text: str, **answers: str) -> UUID:
    """The message that gave answers in an interview."""
    run = life.row("insert into pipeline_runs (user_id, user_query) values (%s, %s) returning id", life.user, text)
    life.connection.execute(
        "insert into tool_executions (run_id, try, attempt, call_id, tool, args_hash, effect, status, arguments) "
        "values (%s, 1, 1, 'c', 'conductInitialInterview', 'h', 'write', 'done', %s)",
        (run["id"], Jsonb(answers)),
    )
    return UUID(str(life.row("select id from raw_logs where run_id = %s", run["id"])["id"]))


def test_answers_rest_on_the_messages_that_gave_them(life: Life) -> None:
    first = answered(life, "Best from nine to eleven.", focus_time="9 to 11")
    second = answered(life, "By plan, in pairs.", working_style="by plan")
    values = {"focus_time": "9 to 11", "working_style": "by plan", "career_goals": "unsaid"}
    last = life.row("insert into pipeline_runs (user_id, user_query) values (%s, 'No.') returning id", life.user)["id"]
    life.row("select maas_keep_interview(%s, %s)", last, Jsonb(values))
    assert preferences(life) == {}, "nobody works on the run"
    life.connection.execute("update pipeline_runs set owner = 1, queue_state = 1 where id = %s", (last,))
    assert life.row("select maas_keep_interview(%s, %s) as kept", last, Jsonb(values))["kept"]
    rows = life.connection.execute("select attribute, origin, raw_log_ids from maas_facts(%s)", (life.user,)).fetchall()
    assert {row["attribute"]: row["raw_log_ids"] for row in rows} == {
        "working:focus_time": [first],
        "working:working_style": [second],
        "working:career_goals": [],
    }
    assert {row["origin"] for row in rows} == {"asked"}
    life.row("select maas_delete_facts(%s, %s)", life.user, [first])
    assert preferences(life) == {"working_style": "by plan", "career_goals": "unsaid"}
