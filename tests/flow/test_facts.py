"""Facts through the whole product: said, found by rules, shown to the next answer, decided about, forgotten."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from maas.builtin_model.language import PHRASES
from maas.engine.drafts import Draft
from maas.prompting.trimming import NEAREST
from tests.sql.traces import tables_with
from tests.stack import Stack


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {"MAAS_LINK_DAYS": "1"}


def ask(stack: Stack, user: UUID, *queries: str) -> UUID:
    """The run of the last query, when all are in memory."""
    runs = [stack.ask(user, query) for query in queries]
    stack.wait_archived(*runs)
    return runs[-1]


def focus(stack: Stack, run_id: UUID) -> list[str]:
    (row,) = stack.rows("select draft_context from pipeline_runs where id = %s", run_id)
    return list(Draft.parse(row["draft_context"]).focus)


def facts(stack: Stack, user: UUID, **params: str) -> dict[str, dict[str, Any]]:
    reply = stack.client.get(f"/v1/users/{user}/facts", params=params)
    assert reply.status_code == 200, reply.text
    return {one["fact"]: one for one in reply.json()["results"]}


def post(stack: Stack, path: str, status: int = 200, **body: Any) -> Any:
    reply = stack.client.post(path, json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def test_what_changed_is_shown_with_what_it_was(stack: Stack, user: UUID) -> None:
    run_id = ask(
        stack,
        user,
        "I live in Oslo.",
        "By the way, my neighbour is called Tom and I love jazz.",
        "We have just moved to Bergen!",
        "Where do I live, and who is my neighbour?",
    )
    lines = focus(stack, run_id)
    start = lines.index("What is known:")
    (bergen,) = [line for line in lines[start:] if "moved to Bergen" in line and "(before, said" in line]
    assert "I live in Oslo.)" in bergen
    assert any("uncertain since" in line and "Tom" in line for line in lines)
    known = facts(stack, user)
    assert known["My neighbour is called Tom."]["state"] == "uncertain"
    assert set(known) == {"My neighbour is called Tom.", "I love jazz.", "We have just moved to Bergen."}
    assert set(facts(stack, user, state="replaced")) == {"I live in Oslo."}
    assert set(facts(stack, user, state="all")) == {*known, "I live in Oslo."}
    assert facts(stack, uuid4()) == {}


def test_memory_is_counted(stack: Stack, user: UUID) -> None:
    nothing = {"messages": 0, "summaries": 0, "since": None, "last_saved_at": None}
    assert stack.client.get(f"/v1/users/{user}/memory").json() == nothing
    ask(stack, user, "I love jazz.", "I hate olives.")
    rows = stack.rows("select occurred_at, created_at from raw_logs where user_id = %s", user)
    saved = stack.rows("select created_at from lsm_storage where user_id = %s", user)
    totals = stack.client.get(f"/v1/users/{user}/memory").json()
    assert (totals["messages"], totals["summaries"]) == (4, 2)
    assert datetime.fromisoformat(totals["since"]) == min(row["occurred_at"] for row in rows)
    last = max(row["created_at"] for row in [*rows, *saved])
    assert datetime.fromisoformat(totals["last_saved_at"]) == last
    assert stack.client.get(f"/v1/users/{uuid4()}/memory").json() == nothing


def test_memory_is_counted_by_days(stack: Stack, user: UUID) -> None:
    """What was said before and after midnight belongs to different days, and to different years."""

    def days(**params: str | int) -> Any:
        return stack.client.get(f"/v1/users/{user}/memory/days", params=params)

    this_year = datetime.now(UTC).year
    assert days().json() == {"year": this_year, "results": []}
    said = ("2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z", "2025-01-01T18:00:00Z", "2025-12-31T23:59:59Z")
    turns = [{"role": "user", "content": f"I walked {number} miles.", "at": at} for number, at in enumerate(said)]
    reply = stack.client.post("/v1/memories", json={"user_id": str(user), "turns": turns})
    assert reply.status_code == 202
    assert days(year=2024).json()["results"] == [{"day": "2024-12-31", "messages": 1}]
    assert days(year=2025).json()["results"] == [
        {"day": "2025-01-01", "messages": 2},
        {"day": "2025-12-31", "messages": 1},
    ]
    assert days(year=9999).json()["results"] == days(year=1).json()["results"] == []
    for year in ("0", "10000", "-1", "²", "2025.0", ""):
        assert days(year=year).status_code == 400, year


def test_facts_in_russian(stack: Stack, user: UUID) -> None:
    run_id = ask(stack, user, "Я живу в Твери, мою сестру зовут Анна.", "Я переехала в Псков", "Где я живу?")
    assert any("Псков" in line and "Я живу в Твери.)" in line for line in focus(stack, run_id))
    assert "Мою сестру зовут Анна." in facts(stack, user)


def test_a_person_decides(stack: Stack, user: UUID) -> None:
    ask(stack, user, "I love jazz. I hate olives. My dog is called Rex.")
    known = facts(stack, user)
    jazz, olives, rex = (known[one]["id"] for one in ("I love jazz.", "I hate olives.", "My dog is called Rex."))
    post(stack, f"/v1/facts/{jazz}/decide", user_id=str(user), verdict="unused")
    post(stack, f"/v1/facts/{olives}/decide", user_id=str(user), verdict="wrong")
    post(stack, f"/v1/facts/{rex}/decide", user_id=str(user), verdict="pinned")
    post(stack, f"/v1/facts/{rex}/decide", 404, user_id=str(uuid4()), verdict="wrong")
    post(stack, f"/v1/facts/{rex}/decide", 422, user_id=str(user), verdict="gone")
    run_id = ask(stack, user, "I love jazz.", "Say something about mountains.")
    lines = focus(stack, run_id)
    card = lines[lines.index("What is known:") :]
    assert card[1].endswith("My dog is called Rex.") and "I hate olives." not in "".join(card)
    assert "I love jazz." not in "".join(card), "unused"
    assert facts(stack, user, state="unused")["I love jazz."]["since"] is None
    other = uuid4()
    ask(stack, other, "I love oysters.")
    oysters = facts(stack, other)["I love oysters."]["id"]
    post(stack, f"/v1/facts/{oysters}/decide", user_id=str(other), verdict="unused")
    context = post(stack, "/v1/context", user_id=str(other), query="Do I love oysters?")["context"]
    assert "user: I love oysters." not in context
    moved = post(stack, f"/v1/facts/{rex}/correct", 202, user_id=str(user), fact="My dog is called Max.")
    assert post(stack, f"/v1/facts/{rex}/correct", 202, user_id=str(user), fact="My dog is called Max.") == moved
    assert facts(stack, user, state="all")["My dog is called Rex."]["state"] == "corrected"


def test_a_context_shows_what_is_known(stack: Stack, user: UUID) -> None:
    """Besides the words, which it does not repeat."""
    ask(stack, user, "My sister Anna lives in Oslo.", "Anna moved to Bergen.", "My sister lives in Moss.")
    body = post(stack, "/v1/context", user_id=str(user), query="Where does my sister live?")
    card = body["context"].partition("\nWhat is known:\n")[2]
    assert (
        "Anna moved to Bergen. (before, said" in card
        and "Moss" not in card
        and body["found"]
        and body["confidence"] >= 0.5
    )
    nothing = post(stack, "/v1/context", user_id=str(user), query="What is my blood type?")
    assert not nothing["found"] and nothing["confidence"] < 0.5
    assert {one["kind"] for one in body["sources"]} == {"fact", "turn"}
    assert post(stack, f"/v1/users/{user}/facts/names", name="sister", same_as="anna") == {"facts": 1}
    assert set(facts(stack, user)) == {"My sister lives in Moss."}
    small = post(stack, "/v1/context", user_id=str(user), query="Where?", max_tokens=50)
    assert small["tokens"] <= 50


def test_forgetting_by_a_fact(stack: Stack, user: UUID) -> None:
    run_id = ask(stack, user, "My landlord is called Qzvorak.")
    (fact,) = facts(stack, user).values()
    reply = stack.client.delete(f"/v1/memories/{fact['id']}", params={"user_id": str(user)})
    assert reply.status_code == 200, reply.text
    assert facts(stack, user, state="all") == {}
    assert stack.rows("select from raw_logs where run_id = %s and message_type = 'user_query'", run_id) == []


def test_a_fact_is_read_as_a_memory(stack: Stack, user: UUID) -> None:
    run_id = ask(stack, user, "My landlord is called Qzvorak.")
    (fact,) = facts(stack, user).values()
    path = f"/v1/memories/{fact['id']}"
    found = stack.client.get(path, params={"user_id": str(user)})
    assert found.status_code == 200, found.text
    assert (found.json()["kind"], found.json()["memory"]) == ("fact", "My landlord is called Qzvorak.")
    (message,) = stack.rows("select id from raw_logs where run_id = %s and message_type = 'user_query'", run_id)
    sources = stack.client.get(f"{path}/sources", params={"user_id": str(user)}).json()["results"]
    assert [one["id"] for one in sources] == [str(message["id"])]
    assert stack.client.get(path, params={"user_id": str(uuid4())}).status_code == 404


def test_what_is_not_remembered_is_no_fact(stack: Stack, user: UUID) -> None:
    insert = "insert into pipeline_runs (user_id, user_query, is_remembered) values (%s, %s, false) returning id"
    stack.wait_archived(stack.rows(insert, user, "I live in Oslo.")[0]["id"])
    assert facts(stack, user, state="all") == {}


def test_an_export_takes_facts_and_decisions_along(stack: Stack, user: UUID) -> None:
    ask(stack, user, "I love jazz. I live in Oslo.")
    known = facts(stack, user)
    post(stack, f"/v1/facts/{known['I love jazz.']['id']}/decide", user_id=str(user), verdict="wrong")
    export = stack.client.get(f"/v1/users/{user}/export").content
    other = uuid4()
    reply = stack.client.post(
        f"/v1/users/{other}/import", content=export, headers={"content-type": "application/x-ndjson"}
    )
    assert reply.status_code == 202, reply.text
    states = {one: row["state"] for one, row in facts(stack, other, state="all").items()}
    assert states == {"I love jazz.": "wrong", "I live in Oslo.": "true"}
    (oslo,) = [row for row in facts(stack, other, state="true").values()]
    assert oslo["id"] != known["I live in Oslo."]["id"] and oslo["origins"] == [
        {"kind": "import", "name": "export", "domain": None, "id": None}
    ]


def test_an_answer_says_that_memory_holds_none(stack: Stack, user: UUID) -> None:
    """The nearest messages are shown as such, to a model and by the built-in one; a fact that is asked for answers."""
    texts = ("We have just moved to Bergen!", "My neighbour is called Tom.", "The museum was closed on Monday.")
    asked = "Which blood type does my neighbour have, and which shoe size?"
    run_id = ask(stack, user, *texts, *(f"It rained on day {number}." for number in range(8)), asked)
    lines = focus(stack, run_id)
    assert NEAREST in lines and any("Tom" in line for line in lines[lines.index(NEAREST) :])
    answer = stack.rows("select final_answer from pipeline_runs where id = %s", run_id)[0]["final_answer"]
    assert PHRASES["en"].no_result in answer and PHRASES["en"].nearest_heading in answer and "Tom" in answer
    searched = stack.answer(run_id)["searched"]
    assert (searched["messages"], searched["found"]) == (22, "no") and searched["confidence"] < 0.25
    home = ask(stack, user, "Where do I live?")
    assert NEAREST not in focus(stack, home)
    assert stack.answer(home)["searched"]["found"] == "yes" and stack.answer(home)["searched"]["confidence"] >= 0.9
    statement = stack.answer(ask(stack, user, "I also like rain."))["searched"]
    assert statement["messages"] > searched["messages"] and statement["found"] is statement["confidence"] is None
    called = ask(stack, user, *(f"It snowed on day {number}." for number in range(8)), "What is my grandmother called?")
    assert NEAREST in focus(stack, called), "what the neighbour is called is no answer"
    known = post(stack, "/v1/context", user_id=str(user), query="In which town is my home?")
    assert known["found"] and known["confidence"] >= 0.9 and "Bergen" in known["context"]


def test_no_way_out_shows_a_forgotten_word(stack: Stack, user: UUID) -> None:
    mark, whose, conversation = "zqx61wv", str(user), str(uuid4())
    ids = [
        stack.ask(
            user,
            f"My landlord is called {mark.title()}.",
            conversation_id=conversation,
            metadata={"note": mark},
            attributes={"about": mark},
        ),
        stack.ask(user, f"remember: {mark} gets the rent on Fridays"),
        stack.ask(user, "Who is my landlord?", conversation_id=conversation),
        stack.ask(user, "How is the weather?", conversation_id=conversation),
        stack.ask(user, "What can you do?"),
    ]
    stored = post(stack, "/v1/responses", model="mentor", input=f"{mark.title()} is ill.", user=whose)["id"]
    stack.wait_archived(*(row["id"] for row in stack.rows("select id from pipeline_runs where user_id = %s", user)))
    token = post(stack, f"/v1/conversations/{conversation}/links", 201)["token"]
    ways = [
        *(f"/v1/runs/{one}{end}" for one in ids for end in ("", "/trace", "/events", "/debug")),
        *(f"/v1/{what}?user_id={user}" for what in ("runs", "conversations", "memories", "actions", "links")),
        *(f"/v1/users/{user}/{what}" for what in ("export", "facts?state=all", "memory", "export?format=aimem")),
        *(f"/v1/{what}" for what in (f"conversations/{conversation}/messages", f"responses/{stored}", "admin/audit")),
    ]
    searches = [
        ("/v1/memories/search", {"user_id": whose, "query": "landlord rent ill", "facts": True}),
        ("/v1/context", {"user_id": whose, "query": "Who is my landlord?"}),
        ("/v1/shared", {"token": token}),
    ]

    def shown() -> set[str]:
        replies = {path: stack.client.get(path).text for path in ways}
        replies |= {path: stack.client.post(path, json=body).text for path, body in searches}
        return {path for path, text in replies.items() if mark in text.casefold()}

    assert {f"/v1/runs/{ids[0]}/trace", f"/v1/users/{user}/export", *(path for path, _ in searches)} <= shown()
    query = "select id from raw_logs where user_id = %s and content ilike %s and message_type = 'user_query'"
    for row in stack.rows(query, user, f"%{mark}%"):
        path = f"/v1/memories/{row['id']}"
        assert stack.client.delete(path, params={"user_id": whose, "doubtful": "true"}).status_code in (200, 404)
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        assert tables_with(connection, mark) == []
    assert shown() == set()
    assert stack.client.get(f"/v1/runs/{ids[0]}").json()["status"] == "COMPLETED"
    assert (
        mark not in stack.answer(stack.ask(user, "Who is my landlord?", conversation_id=conversation))["final_answer"]
    )
