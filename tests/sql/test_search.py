"""Search on a real Postgres: small memories read whole, large ones by their rare terms, and never anybody else's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from bench.sentences import sentence
from maas import queries
from maas.memory.context import build_context
from maas.memory.memory_reader import FULL_READ_MESSAGES
from maas.memory.query import MAX_SEQ, MAX_TIME, SearchFilter
from maas.memory.ranking import rank
from maas.memory.search import gather_evidence, narrow_evidence, search
from maas.memory.term_counts import count_due_terms
from shared.db import Database
from tests.plans import explain
from tests.remembering import remember

Connection = psycopg.Connection[DictRow]
NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
LARGE = FULL_READ_MESSAGES + 400


def say(connection: Connection, user: UUID, said: Sequence[tuple[datetime, str]], **fields: str) -> None:
    turns = [{"role": "user", "content": text, "at": at.isoformat()} | fields for at, text in said]
    connection.execute("select maas_import(%s, 'said', %s)", (user, Jsonb(turns)))


def small_talk(count: int, first: datetime) -> list[tuple[datetime, str]]:
    return [(first + timedelta(minutes=7 * n), sentence(n)) for n in range(count)]


@pytest.fixture
def large(connection: Connection) -> UUID:
    """A user with more turns than a search reads, and three facts among them; their words are counted."""
    user = uuid4()
    said = small_talk(LARGE, NOW - timedelta(days=400))
    said[300] = (said[300][0], "My walrus is called Basil.")
    said[900] = (said[900][0], "Аквариум я поставил на кухне.")
    said[1500] = (said[1500][0], "The zeppelin lands on Tuesday.")
    say(connection, user, said)
    connection.execute("select maas_count_terms(%s, %s)", (user, FULL_READ_MESSAGES))
    return user


async def texts(
    db: Database, user: UUID, question: str, limit: int = 3, filters: SearchFilter | None = None
) -> list[str]:
    return [
        hit.text for hit in await search(db, user, question, limit=limit, filters=filters or SearchFilter(as_of=NOW))
    ]


async def test_a_long_message_that_ends_with_a_question_is_evidence(connection: Connection, db: Database) -> None:
    """Only a short one can be the question itself, asked before."""
    user = uuid4()
    question = "Which walrus camera did Basil choose for the harbour expedition?"
    story = (
        "Basil and I compared offers all week: for the harbour expedition he finally did choose the walrus camera "
        "with the yellow housing, because its battery outlives two days of frost; which lens fits?"
    )
    say(connection, user, [(NOW - timedelta(days=2), story)], conversation="long")
    other = "For the harbour expedition Basil did choose a warm walrus coat."
    say(connection, user, [(NOW - timedelta(days=1), other)], conversation="other")
    assert (await texts(db, user, question))[0] == story


async def test_a_large_memory_finds_what_a_whole_read_finds(db: Database, connection: Connection, large: UUID) -> None:
    questions = ("What is the walrus called?", "Где стоит аквариум?", "When does the zeppelin land?", "walrus aquarium")
    by_rare_terms = [await texts(db, large, question, 1) for question in questions]
    connection.execute("delete from counted_users")
    assert by_rare_terms == [await texts(db, large, question, 1) for question in questions]
    assert by_rare_terms[0] == ["My walrus is called Basil."]
    assert by_rare_terms[1] == ["Аквариум я поставил на кухне."]


async def test_what_was_said_since_the_count_is_found(db: Database, connection: Connection, large: UUID) -> None:
    say(
        connection, large, [(NOW - timedelta(minutes=1), "The gyroscope hums at night."), (NOW, "Basil likes herring.")]
    )
    assert (await texts(db, large, "What hums at night, the gyroscope?", 1)) == ["The gyroscope hums at night."]
    assert "Basil likes herring." in await texts(db, large, "What does Basil like?")


async def test_a_large_memory_is_not_read_whole(connection: Connection, db: Database, large: UUID) -> None:
    """Of its thousands of turns a search ranks some hundred at most, and touches few pages of the table."""
    evidence = await gather_evidence(db, large, "What is the walrus called?")
    assert 0 < len(evidence.candidates) < 100
    connection.execute("analyze raw_logs")
    arguments = [large, ["walrus", "call"], MAX_SEQ, MAX_TIME, None, None, None, ["walrus"], [5.0, 1.0], [], None]
    plan = explain(connection, "rare_turns", *arguments)
    assert plan["Plan"]["Actual Rows"] <= 5
    assert "idx_raw_logs_search" in str(plan)


@pytest.mark.parametrize("is_large", [False, True])
async def test_a_typo_is_mended(db: Database, connection: Connection, is_large: bool) -> None:
    user = uuid4()
    facts = [
        (NOW - timedelta(days=3), "My walrus is called Basil."),
        (NOW - timedelta(days=2), "Палатка лежит в гараже."),
    ]
    say(connection, user, [*small_talk(LARGE if is_large else 40, NOW - timedelta(days=400)), *facts])
    connection.execute("select maas_count_terms(%s, %s)", (user, FULL_READ_MESSAGES))
    assert (await texts(db, user, "the wlarus", 1)) == ["My walrus is called Basil."]
    assert (await texts(db, user, "где плаатка?", 1)) == ["Палатка лежит в гараже."]
    assert await texts(db, user, "xylophone") == []


@pytest.mark.parametrize("is_large", [False, True])
async def test_words_of_a_query_are_ranked_on_what_was_read_for_it(
    db: Database, connection: Connection, is_large: bool
) -> None:
    """The same messages as a search for these words alone; words of no term of the query are not known."""
    user = uuid4()
    facts = ["My walrus is called Basil, №7.", "Basil the cat sleeps.", "A walrus eats fish on Tuesday."]
    said = [*small_talk(LARGE if is_large else 40, NOW - timedelta(days=400))]
    say(connection, user, [*said, *((NOW - timedelta(days=9 - n), text) for n, text in enumerate(facts))])
    connection.execute("select maas_count_terms(%s, %s)", (user, FULL_READ_MESSAGES))
    read = await gather_evidence(db, user, "What does the walrus №7 Basil eat, fish?", SearchFilter(as_of=NOW))
    for words in (["walrus"], ["walruses", "fish"], ["Basil", "7"]):
        narrow = await narrow_evidence(db, read, words)
        assert narrow is not None
        whole = await gather_evidence(db, user, " ".join(words).replace("7", "№7"), SearchFilter(as_of=NOW))
        # of a large memory, what the other terms found is there, too
        limit = 1 if is_large else 10
        assert [one.id for one in rank(narrow, limit=limit)] == [one.id for one in rank(whole, limit=limit)]
        if not is_large:
            assert [one.score for one in rank(narrow)] == pytest.approx([one.score for one in rank(whole)])
            assert [one.coverage for one in rank(narrow)] == pytest.approx([one.coverage for one in rank(whole)])
    for words in (["submarine"], ["walrus", "submarine"], ["the"], ["walrus", "yesterday"], []):
        assert await narrow_evidence(db, read, words) is None


async def test_an_empty_memory_is_known_to_be_empty(db: Database, connection: Connection) -> None:
    """Nothing is looked up that could not be there, however the words are spelt."""
    user = uuid4()
    say(connection, user, [(NOW + timedelta(days=1), "My walrus is called Basil.")])
    evidence = await gather_evidence(db, user, "the wlarus?", SearchFilter(as_of=NOW))
    assert evidence.is_memory_empty and rank(evidence) == [] and not evidence.words_gone
    later = await gather_evidence(db, user, "the wlarus?")
    assert not later.is_memory_empty and len(rank(later)) == 1
    assert not (await gather_evidence(db, user, "?", SearchFilter(as_of=NOW))).is_memory_empty, "it was not read"


@pytest.mark.parametrize("is_large", [False, True])
async def test_a_date_finds_its_day(db: Database, connection: Connection, is_large: bool) -> None:
    """Relative dates count from `as_of`; a question that holds nothing but a date finds what was said then."""
    user = uuid4()
    padding = small_talk(LARGE if is_large else 40, NOW - timedelta(days=400))
    say(
        connection,
        user,
        [*padding, (NOW - timedelta(days=1), "Borscht for lunch."), (NOW - timedelta(days=41), "Ramen.")],
    )
    connection.execute("select maas_count_terms(%s, %s)", (user, FULL_READ_MESSAGES))
    assert (await texts(db, user, "What was it yesterday?", 1)) == ["Borscht for lunch."]
    assert (await texts(db, user, "что было вчера", 1)) == ["Borscht for lunch."]
    earlier = SearchFilter(as_of=NOW - timedelta(days=40))
    assert (await texts(db, user, "вчера", 1, earlier)) == ["Ramen."]


@pytest.mark.parametrize("is_large", [False, True])
async def test_bounds_hold(db: Database, connection: Connection, is_large: bool) -> None:
    """as_of, from, to and tags leave out; a scope only prefers."""
    user = uuid4()
    say(connection, user, small_talk(LARGE if is_large else 40, NOW - timedelta(days=400)))
    days = (60, 10, 1)
    for day in days:
        remember(connection, user, [(NOW - timedelta(days=day), f"A kayak trip, day {day}.")], [f"tag{day}"])
    connection.execute("select maas_count_terms(%s, %s)", (user, FULL_READ_MESSAGES))

    async def found(filters: SearchFilter) -> set[int]:
        hits = await search(db, user, "kayak", limit=10, filters=filters)
        return {int(hit.text.split()[-1].rstrip(".")) for hit in hits if "kayak" in hit.text}

    assert await found(SearchFilter(as_of=NOW)) == set(days)
    assert await found(SearchFilter(as_of=NOW - timedelta(days=5))) == {60, 10}
    assert await found(SearchFilter(since=NOW - timedelta(days=30))) == {10, 1}
    assert await found(SearchFilter(until=NOW - timedelta(days=10))) == {60}
    assert await found(SearchFilter(tags=["tag10", "other"])) == {10}
    assert await found(SearchFilter(tags=["none"])) == set()
    for scope, day in (("cold", 60), ("warm", 10), ("hot", 1)):
        hits = await search(db, user, "kayak", filters=SearchFilter(as_of=NOW, scope=scope))  # type: ignore[arg-type]
        assert hits[0].text == f"A kayak trip, day {day}."
        assert len([hit for hit in hits if "kayak" in hit.text]) == 3


async def test_no_id_and_no_text_shows_anothers_turn(connection: Connection, large: UUID, db: Database) -> None:
    """Ids of other people's turns, given where queries take ids, are asked whose they are."""
    mine = uuid4()
    say(connection, mine, [(NOW, "my own walrus")])
    theirs = [
        row["id"] for row in connection.execute("select id from raw_logs where user_id = %s", (large,)).fetchall()
    ]
    bounds = (MAX_SEQ, MAX_TIME, None, None, None)
    found = await db.rows(queries.rare_turns, mine, ["walrus"], *bounds, ["walrus"], [1.0], theirs, None)
    chosen = await db.row(queries.candidates, mine, "walrus", *bounds, [], None, FULL_READ_MESSAGES, theirs, True)
    whole = await db.row(queries.candidates, mine, "walrus", *bounds, [], None, FULL_READ_MESSAGES, None, True)
    assert len(found) == 1 and chosen is not None and chosen["ids"] is None
    assert whole is not None and len(whole["ids"]) == 16
    assert await db.rows(queries.turns, mine, theirs) == []
    assert await db.rows(queries.counted_lexemes, mine, ["wa", "ze"], 50) == []
    assert {row["lexemes"] for row in await db.rows(queries.said_lexemes, mine)} == {"'walrus'"}
    assert {hit.text for hit in await search(db, mine, "walrus zeppelin Basil' or true --", limit=50)} == {
        "my own walrus"
    }


@pytest.mark.parametrize("turns", [20, LARGE])
async def test_who_is_named_is_no_word_that_was_said(db: Database, connection: Connection, turns: int) -> None:
    """A name that a question asks for finds what its bearer said; alone it finds all of it."""
    user = uuid4()
    say(connection, user, small_talk(turns, NOW - timedelta(days=400)))
    facts = [(NOW, "Well, the kayak leaks, Marta."), (NOW, "Marta, sure?")]
    say(connection, user, facts, conversation="a", speaker="Jonas")
    say(connection, user, [(NOW, "My tent leaks too, Jonas.")], conversation="b", speaker="Marta")
    connection.execute("select maas_count_terms(%s, %s)", (user, FULL_READ_MESSAGES))
    assert [hit.speaker for hit in await search(db, user, "Where does it leak, Marta?", limit=1)] == ["Marta"]
    assert {hit.text for hit in await search(db, user, "Who is Marta?")} >= {text for _, text in facts}


async def test_a_question_for_a_time_or_a_number_prefers_turns_that_hold_one(
    db: Database, connection: Connection
) -> None:
    user = uuid4()
    say(connection, user, small_talk(20, NOW - timedelta(days=9)))
    for day, text in enumerate(
        ("We painted the shed.", "We painted the shed on Sunday.", "We painted the shed, two coats.")
    ):
        say(connection, user, [(NOW - timedelta(days=3 - day), text)], conversation=text, speaker=f"painter {day}")
    assert (await texts(db, user, "When did we paint the shed?", 1)) == ["We painted the shed on Sunday."]
    assert (await texts(db, user, "How many times did we paint the shed?", 1)) == ["We painted the shed, two coats."]
    assert (await texts(db, user, "Who painted the shed?", 1)) == ["We painted the shed, two coats."]  # the newest


async def test_the_newest_of_two_facts_comes_first(db: Database, connection: Connection) -> None:
    """Both stay; the newer one ranks and is shown before the older one."""
    user = uuid4()
    say(connection, user, small_talk(30, NOW - timedelta(days=90)))
    say(connection, user, [(NOW - timedelta(days=80), "I live in Berlin, in a flat by the river.")], conversation="a")
    say(connection, user, [(NOW - timedelta(days=2), "I live in Lisbon, in a flat by the river.")], conversation="b")
    question = "Where do I live, in which flat?"
    assert [text[10:16] for text in await texts(db, user, question, 2)] == ["Lisbon", "Berlin"]
    context = await build_context(db, user, question, 200, filters=SearchFilter(as_of=NOW))
    assert "2025-11-18" in context.lines[0] and "2025-09-01" in context.lines[1]


async def test_words_of_large_memories_are_counted_and_counted_again(
    db: Database, connection: Connection, large: UUID
) -> None:
    connection.execute("delete from counted_users")
    small = uuid4()
    say(connection, small, small_talk(20, NOW))

    def counted() -> dict[UUID, int]:
        rows = connection.execute("select user_id, turns from counted_users").fetchall()
        return {row["user_id"]: row["turns"] for row in rows}

    assert await count_due_terms(db) == 1
    assert counted() == {large: LARGE}
    assert await count_due_terms(db) == 0
    say(connection, large, small_talk(LARGE // 20, NOW))
    assert await count_due_terms(db) == 0, "a twentieth more is no reason"
    say(connection, large, small_talk(LARGE // 9, NOW - timedelta(days=2)))
    assert await count_due_terms(db) == 1
    assert counted()[large] == LARGE + LARGE // 20 + LARGE // 9
    row = connection.execute("select turns from term_df where user_id = %s and term = 'walrus'", (large,)).fetchone()
    assert row == {"turns": 1}


async def test_two_count_at_once(database: str, connection: Connection, large: UUID) -> None:
    """Who comes second leaves it to the first."""
    with psycopg.connect(database) as first:
        first.execute("select maas_count_terms(%s, %s)", (large, FULL_READ_MESSAGES))
        assert connection.execute("select maas_count_terms(%s, %s) as n", (large, FULL_READ_MESSAGES)).fetchone() == {
            "n": LARGE
        }
    assert connection.execute("select count(*) as n from counted_users").fetchone() == {"n": 1}


async def test_a_question_without_terms_finds_nothing(db: Database, large: UUID) -> None:
    for question in ("?", "...", "the", "и", "🙂", "' ; --", "\\"):
        assert await search(db, large, question) == []
        evidence = await gather_evidence(db, large, question)
        assert len(evidence.candidates) == 0 and rank(evidence) == []


async def test_a_context_is_filled_only_when_memory_knows_something(db: Database, connection: Connection) -> None:
    user = uuid4()
    say(connection, user, [*small_talk(20, NOW - timedelta(days=9)), (NOW, "My walrus is called Basil.")])
    nothing = await build_context(db, user, "xylophone?", 2000, is_full=True)
    assert nothing.lines == ()
    whole = await build_context(db, user, "walrus?", 2000, is_full=True)
    assert len(whole.lines) == 21 and "Basil" in whole.lines[0]
    near = await build_context(db, user, "walrus?", 2000)
    assert "Basil" in near.lines[0] and len(near.lines) < 5


async def test_that_the_same_was_asked_before_is_no_answer(db: Database, connection: Connection) -> None:
    """However often; a question that says more than was asked is one."""
    user = uuid4()
    asked = [(NOW - timedelta(hours=n), "Where does Alma live?") for n in range(1, 8)]
    say(
        connection,
        user,
        [*asked, (NOW, "Does Alma live in Porto?"), (NOW - timedelta(days=9), "Alma moved to Lisbon.")],
    )
    found = await texts(db, user, "Where does Alma live?")
    assert sorted(found) == ["Alma moved to Lisbon.", "Does Alma live in Porto?"]
