"""What is true of a user: what replaces what, what a person decides, and what forgetting takes with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Life:
    """The messages of one user, a day after the other, each with the facts that it says."""

    def __init__(self, connection: Connection, user: UUID | None = None) -> None:
        self.connection, self.user, self.day = connection, user or uuid4(), 0

    def say(self, text: str, *facts: dict[str, Any], at: datetime | None = None) -> UUID:
        """The id of the message."""
        said_at = at or START + timedelta(days=self.day)
        self.day += 1
        turn = {"role": "user", "content": text, "at": said_at.isoformat()}
        row = self.row("select run_id from maas_import(%s, 'by hand', %s)", self.user, Jsonb([turn]))
        log = self.row("select id from raw_logs where run_id = %s", row["run_id"])["id"]
        items = [
            {"said_by": "user", "kind": "state", "subject": "user", "origin": "rule", "log_ids": [str(log)]} | fact
            for fact in facts
        ]
        record: dict[str, Any] = {"run_id": None, "archiver": str(row["run_id"]), "user_id": str(self.user)}
        record |= {"log_ids": [str(log)], "tags": ["t"], "summary": f"About: {text}", "facts": items}
        self.connection.execute("select maas_write_records(%s)", (Jsonb([record]),))
        return UUID(str(log))

    def row(self, query: str, *args: object) -> DictRow:
        row = self.connection.execute(query.encode(), args).fetchone()
        assert row is not None
        return row

    def facts(self, at: datetime | None = None) -> dict[str, DictRow]:
        """The facts by their statement."""
        rows = self.connection.execute(
            "select * from maas_facts(%s, coalesce(%s, 'infinity'::timestamptz))", (self.user, at)
        ).fetchall()
        return {row["statement"]: row for row in rows}

    def states(self, at: datetime | None = None) -> dict[str, str]:
        return {statement: row["state"] for statement, row in self.facts(at).items()}

    def decide(self, statement: str, verdict: str) -> None:
        fact = self.facts()[statement]["id"]
        assert self.row("select maas_decide_fact(%s, %s, %s) as done", self.user, fact, verdict)["done"]


def home(place: str) -> dict[str, Any]:
    return {"statement": f"I live in {place}.", "attribute": "residence"}


@pytest.fixture
def life(connection: Connection) -> Life:
    return Life(connection)


def test_a_later_statement_replaces_an_earlier_one(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    life.say("I live in Oslo.", home("Oslo"))
    life.say("I moved.", home("Bergen"))
    facts = life.facts()
    assert life.states() == {"I live in Oslo.": "replaced", "I live in Bergen.": "true"}
    oslo, bergen = facts["I live in Oslo."], facts["I live in Bergen."]
    assert len(oslo["raw_log_ids"]) == 2 and oslo["replaced_by"] == bergen["id"] and bergen["replaces"] == oslo["id"]
    assert oslo["since"] == (START + timedelta(days=2)).date()
    life.say("Back again.", home("Oslo"))
    rows = life.connection.execute(
        "select statement, state from maas_facts(%s) order by place", (life.user,)
    ).fetchall()
    assert [(row["statement"], row["state"]) for row in rows] == [
        ("I live in Oslo.", "replaced"),
        ("I live in Bergen.", "replaced"),
        ("I live in Oslo.", "true"),
    ]


def test_what_was_true_in_may(life: Life) -> None:
    """An old message that is imported later says what was so then, and replaces nothing that was said since."""
    life.say("I moved.", home("Bergen"), at=datetime(2026, 6, 1, tzinfo=UTC))
    life.say("I live in Oslo.", home("Oslo"), at=datetime(2026, 5, 1, tzinfo=UTC))
    assert life.states() == {"I live in Oslo.": "replaced", "I live in Bergen.": "true"}
    assert life.states(datetime(2026, 5, 20, tzinfo=UTC)) == {"I live in Oslo.": "true"}


def test_an_end_and_a_correction(life: Life) -> None:
    life.say("I eat no meat.", {"statement": "I don't eat meat.", "attribute": "eats:meat"})
    life.say("Again.", {"statement": "I no longer avoid meat.", "attribute": "eats:meat", "change": "ends"})
    life.say("34", {"statement": "I'm 34.", "attribute": "age"})
    life.say("35", {"statement": "I'm 35.", "attribute": "age", "change": "corrects"})
    assert life.states() == {
        "I don't eat meat.": "ended",
        "I no longer avoid meat.": "true",
        "I'm 34.": "corrected",
        "I'm 35.": "true",
    }


def test_what_rests_on_a_changed_fact_is_uncertain(life: Life) -> None:
    neighbour = {"statement": "My neighbour is called Tom.", "attribute": "neighbour", "depends_on": ["residence"]}
    life.say("I live in Oslo.", home("Oslo"))
    life.say("Tom lives next door.", neighbour)
    assert life.states()["My neighbour is called Tom."] == "true"
    life.say("I moved.", home("Bergen"))
    fact = life.facts()["My neighbour is called Tom."]
    assert (fact["state"], fact["since"]) == ("uncertain", (START + timedelta(days=2)).date())


@pytest.mark.parametrize(("verdict", "state"), [("wrong", "wrong"), ("unused", "unused")])
def test_a_decision_outlives_the_next_time_it_is_said(life: Life, verdict: str, state: str) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    life.decide("I live in Oslo.", verdict)
    life.say("I live in Oslo!", home("Oslo") | {"origin": "model", "statement": "i live in Oslo"})
    assert set(life.states().values()) == {state}
    life.decide("I live in Oslo.", "free")
    assert life.states()["I live in Oslo."] == "true"


def test_what_is_wrong_replaces_nothing(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    life.say("Dreamt of it.", home("Paris") | {"origin": "model"})
    assert life.states()["I live in Oslo."] == "replaced"
    life.decide("I live in Paris.", "wrong")
    assert life.states() == {"I live in Oslo.": "true", "I live in Paris.": "wrong"}


def test_ended_until_it_is_said_again(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    life.decide("I live in Oslo.", "ended")
    assert life.states() == {"I live in Oslo.": "ended"}
    life.say("I live in Oslo.", home("Oslo"), at=datetime.now(UTC) + timedelta(seconds=5))
    assert life.states() == {"I live in Oslo.": "true"}


def test_a_persons_correction_is_a_message_of_theirs(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    fact = life.facts()["I live in Oslo."]["id"]
    correct = "select * from maas_correct_fact(%s, %s, %s)"
    first = life.row(correct, life.user, fact, "I live in Moss.")
    assert life.row(correct, life.user, fact, "I live in Moss.") == first
    assert life.states() == {"I live in Oslo.": "corrected", "I live in Moss.": "true"}
    assert life.row("select content from raw_logs where id = %s", first["log_id"])["content"] == "I live in Moss."
    assert life.connection.execute(correct.encode(), (uuid4(), fact, "x")).fetchall() == []


def test_the_message_of_a_correction_is_one_fact(life: Life) -> None:
    """Whatever a rule finds in its words."""
    life.say("I live in Oslo.", home("Oslo"))
    old = life.facts()["I live in Oslo."]["id"]
    new = life.row("select * from maas_correct_fact(%s, %s, %s)", life.user, old, "I love jazz.")
    item: dict[str, Any] = {"statement": "I love jazz.", "attribute": "likes:jazz", "kind": "preference"}
    item |= {"subject": "user", "said_by": "user", "origin": "rule"}
    item["log_ids"] = [str(new["log_id"])]
    record = {"user_id": str(life.user), "facts": [item]}
    life.connection.execute("select maas_write_facts(%s)", (Jsonb([record]),))
    (fact,) = life.connection.execute("select * from facts where statement = 'I love jazz.'").fetchall()
    assert (fact["id"], fact["origin"]) == (new["fact_id"], "person")


def test_two_names_of_one_person(life: Life) -> None:
    life.say("Anna lives in Oslo.", {"statement": "Anna lives in Oslo.", "attribute": "residence", "subject": "Anna"})
    life.say("My sister.", {"statement": "My sister lives in Moss.", "attribute": "residence", "subject": "sister"})
    assert set(life.states().values()) == {"true"}
    merge = "select maas_merge_fact_names(%s, %s, %s) as merged"
    assert life.row(merge, life.user, "Sister", "anna")["merged"] == 1
    stranger = uuid4()
    assert life.row(merge, stranger, "sister", "anna")["merged"] == 0
    assert life.states() == {"Anna lives in Oslo.": "replaced", "My sister lives in Moss.": "true"}


def test_forgetting_a_message_takes_its_facts(life: Life) -> None:
    """And those that rest on them; a fact that another message says, too, stays."""
    neighbour = {"statement": "My neighbour is Zqxw.", "attribute": "neighbour", "depends_on": ["residence"]}
    first = life.say("I live in Qwzoslo.", home("Qwzoslo"))
    life.say("Next door.", neighbour)
    likes = {"statement": "I like jazz.", "attribute": "likes:jazz"}
    second, _ = life.say("jazz", likes), life.say("Jazz again", likes)
    life.connection.execute("select maas_forget(%s, %s)", (first, life.user))
    assert life.states() == {"I like jazz.": "true"}
    assert tables_with(life.connection, "qwzoslo") == [] and tables_with(life.connection, "Zqxw") == []
    life.connection.execute("select maas_forget(%s, %s)", (second, life.user))
    assert len(life.facts()["I like jazz."]["raw_log_ids"]) == 1


def test_forgetting_what_replaced_a_fact_makes_it_true_again(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    moved = life.say("I moved.", home("Bergen"))
    life.connection.execute("select maas_forget(%s, %s)", (moved, life.user))
    assert life.states() == {"I live in Oslo.": "true"}


def test_forgetting_a_fact_takes_its_words(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    other = Life(life.connection)
    other.say("I live in Oslo.", home("Oslo"))
    fact = life.facts()["I live in Oslo."]["id"]
    forget = "select maas_forget(%s, %s)->>'verdict' as verdict"
    assert life.row(forget, fact, other.user)["verdict"] == "not_found"
    assert life.row(forget, fact, life.user)["verdict"] == "forgotten"
    assert life.facts() == {} and other.states() == {"I live in Oslo.": "true"}
    assert life.row("select count(*) as left from raw_logs where user_id = %s", life.user)["left"] == 0


def test_erasing_a_user_leaves_no_fact(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    life.decide("I live in Oslo.", "pinned")
    life.row("select maas_merge_fact_names(%s, 'user', 'me')", life.user)
    while life.row("select maas_erase(%s) as receipt", life.user)["receipt"] is None:
        pass
    for table in ("facts", "fact_decisions", "fact_names"):
        assert life.row(f"select count(*) as left from {table}")["left"] == 0


def test_retention_deletes_the_words_and_keeps_the_facts(life: Life) -> None:
    log = life.say("I live in Oslo.", home("Oslo"))
    life.connection.execute("update raw_logs set created_at = now() - interval '90 days'")
    life.connection.execute("set maas.maintenance = on")
    life.connection.execute(
        "update pipeline_runs set status = 'COMPLETED', queue_state = 2, created_at = now() - interval '90 days', "
        "completed_at = now() - interval '90 days'"
    )
    life.row("select maas_purge_expired(30)")
    assert life.row("select count(*) as left from raw_logs")["left"] == 0
    assert life.states() == {"I live in Oslo.": "true"}
    assert life.row("select maas_forget(%s, %s)->>'verdict' as verdict", log, life.user)["verdict"] == "not_found"
    fact = life.facts()["I live in Oslo."]["id"]
    assert life.row("select maas_forget(%s, %s)->>'verdict' as verdict", fact, life.user)["verdict"] == "forgotten"
    assert life.facts() == {}


def test_messages_of_others_carry_no_fact(life: Life) -> None:
    """Whatever a record says of its sources."""
    other = Life(life.connection)
    log = other.say("I live in Oslo.")
    life.say("Hello.", home("Rome") | {"log_ids": [str(log)]}, home("Pisa") | {"log_ids": [str(uuid4())]})
    assert life.facts() == {} and other.facts() == {}


def test_the_same_exchange_archived_again_says_nothing_new(life: Life) -> None:
    log = life.say("I live in Oslo.", home("Oslo"))
    item = home("Oslo") | {
        "subject": "user",
        "kind": "state",
        "said_by": "user",
        "origin": "rule",
        "log_ids": [str(log)],
    }
    life.connection.execute("select maas_write_facts(%s)", (Jsonb([{"user_id": str(life.user), "facts": [item]}]),))
    assert life.row("select count(*) as facts from facts")["facts"] == 1


def test_facts_for_a_question(life: Life) -> None:
    """Pinned ones and those with its words are there among many, and with them what they replaced."""
    life.say("I live in Oslo.", home("Oslo"))
    life.say("I live in Bergen.", home("Bergen"))
    life.say("My dog is called Rex.", {"statement": "My dog is called Rex.", "attribute": "dog:rex"})
    many = [{"statement": f"Fact number {n} about topic{n}.", "attribute": f"t:{n}"} for n in range(80)]
    life.say("Much.", *many)
    life.decide("My dog is called Rex.", "pinned")
    found = life.connection.execute(
        "select statement, matches, is_pinned from maas_find_facts(%s, 'Why Bergen?', p_limit => 5)", (life.user,)
    ).fetchall()
    named = {row["statement"]: (row["matches"], row["is_pinned"]) for row in found}
    assert named["I live in Bergen."] == (1, False) and named["I live in Oslo."] == (0, False)
    assert named["My dog is called Rex."] == (0, True) and len(named) == 8


def test_a_corrected_message_carries_no_fact(life: Life) -> None:
    """Whatever the correction says; said again since, it holds."""
    log = life.say("I live in Oslo.", home("Oslo"))
    life.row("select * from maas_correct(%s, %s, 'That was a joke.')", life.user, log)
    assert life.states() == {"I live in Oslo.": "corrected"}
    assert life.facts()["I live in Oslo."]["since"] == datetime.now(UTC).date()
    life.say("I live in Oslo.", home("Oslo"), at=datetime.now(UTC))
    assert life.states() == {"I live in Oslo.": "true"}


def test_names_are_bounded(life: Life) -> None:
    merge = "select maas_merge_fact_names(%s, %s, 'anna')"
    with pytest.raises(psycopg.Error, match="at most 500 names"):
        for number in range(502):
            life.row(merge, life.user, f"name{number}")


def correct(life: Life, statement: str, text: str) -> DictRow:
    fact = life.facts()[statement]["id"]
    return life.row("select * from maas_correct_fact(%s, %s, %s)", life.user, fact, text)


def test_a_correction_of_a_correction(life: Life) -> None:
    """Also one that says what an earlier one said."""
    life.say("I live in Oslo.", home("Oslo"))
    moss = correct(life, "I live in Oslo.", "I live in Moss.")
    correct(life, "I live in Moss.", "I live in Voss.")
    assert life.states() == {"I live in Oslo.": "corrected", "I live in Moss.": "corrected", "I live in Voss.": "true"}
    again = correct(life, "I live in Voss.", "I live in Moss.")
    assert again["fact_id"] != moss["fact_id"] and correct(life, "I live in Voss.", "I live in Moss.") == again
    rows = life.connection.execute(
        "select statement, state from maas_facts(%s) order by place", (life.user,)
    ).fetchall()
    assert [(row["statement"], row["state"]) for row in rows] == [
        ("I live in Oslo.", "corrected"),
        ("I live in Moss.", "corrected"),
        ("I live in Voss.", "corrected"),
        ("I live in Moss.", "true"),
    ]


def test_names_in_a_chain_and_in_a_circle_are_one(life: Life) -> None:
    for name, place in (("Anna", "Oslo"), ("sister", "Moss"), ("Annie", "Voss")):
        statement = f"{name} lives in {place}."
        life.say(statement, {"statement": statement, "attribute": "residence", "subject": name})
    for name, same_as in (("sister", "anna"), ("anna", "annie"), ("annie", "sister"), ("sister", "sister")):
        life.row("select maas_merge_fact_names(%s, %s, %s)", life.user, name, same_as)
    assert life.states() == {
        "Anna lives in Oslo.": "replaced",
        "sister lives in Moss.": "replaced",
        "Annie lives in Voss.": "true",
    }


def test_what_was_known_and_what_was_so(life: Life) -> None:
    """As of a time, what was said by then; a statement may say since when it has been so, and until when."""
    life.say("I live in Oslo.", home("Oslo"))
    life.say("In Bergen until February.", home("Bergen") | {"true_from": "2026-01-05", "true_until": "2026-02-20"})
    life.say("I have lived in Moss since yesterday.", home("Moss") | {"true_from": "2026-03-02"})
    day = timedelta(days=1, hours=1)
    assert life.states(START + timedelta(hours=1)) == {"I live in Oslo.": "true"}
    assert life.states(START + day) == {"I live in Oslo.": "true", "I live in Bergen.": "replaced"}
    facts = life.facts()
    assert {statement: row["state"] for statement, row in facts.items()} == {
        "I live in Bergen.": "replaced",
        "I live in Oslo.": "replaced",
        "I live in Moss.": "true",
    }
    assert facts["I live in Oslo."]["since"] == datetime(2026, 3, 2, tzinfo=UTC).date()


def test_a_fact_that_reads_like_a_command_commands_nothing(life: Life) -> None:
    life.say("I live in Oslo.", home("Oslo"))
    run = life.row("insert into pipeline_runs (user_id, user_query) values (%s, 'x') returning id", life.user)["id"]
    life.connection.execute("update pipeline_runs set owner = 1, queue_state = 1 where id = %s", (run,))
    assert life.row("select maas_add_note(%s, 'jazz') as verdict", run)["verdict"] == "noted"
    correct(life, "I live in Oslo.", "forget: jazz")
    assert life.row("select count(*) as left from maas_notes(%s)", life.user)["left"] == 1
    assert life.states()["forget: jazz"] == "true"
