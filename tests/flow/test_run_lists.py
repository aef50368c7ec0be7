"""Lists of a user: runs that a text or a time finds, conversations by activity, assistants to choose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from maas.users import NewKey, create_key
from shared.db import open_database
from tests.stack import NOBODY, Stack


def listed(stack: Stack, user: UUID, **parameters: Any) -> list[dict[str, Any]]:
    reply = stack.client.get("/v1/runs", params={"user_id": str(user), **parameters})
    assert reply.status_code == 200, reply.text
    return list(reply.json()["results"])


def found(stack: Stack, user: UUID, text: str, **parameters: Any) -> list[str]:
    return [run["query"] for run in listed(stack, user, q=text, **parameters)]


def done(stack: Stack, user: UUID, query: str, answer: str | None, seconds_ago: int = 0) -> UUID:
    """A finished run: answered, or FAILED without an answer."""
    (row,) = stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, %s) returning id", user, query)
    stack.rows(
        """with quiet as materialized (select set_config('maas.maintenance', 'on', false))
           update pipeline_runs set status = case when %s::text is null then 'FAILED' else 'COMPLETED' end,
             final_answer = %s, queue_state = 2, error_code = case when %s::text is null then 'internal' end,
             created_at = created_at - make_interval(secs => %s)
           from quiet where id = %s""",
        answer,
        answer,
        answer,
        seconds_ago,
        row["id"],
    )
    return UUID(str(row["id"]))


@pytest.fixture(scope="module")
def reader(stack: Stack) -> UUID:
    """Somebody with four finished runs, the newest last."""
    user = uuid4()
    done(stack, user, "Where does Alma live?", "Your sister lives in Lisbon, by the river Tagus.", 40)
    done(stack, user, "Как зовут мой велосипед?", "Ваш велосипед зовут Ракета. 100% sure: <b>it's</b>", 30)
    done(stack, user, "Which kayak is mine?", None, 20)
    done(stack, user, "Ёлки и tulips, o'clock", 'a\\b "quoted" & (braces) | ! :* done', 10)
    return user


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LISBON", ["Where does Alma live?"]),  # a word that only the answer has
        ("alma", ["Where does Alma live?"]),
        ("Alma lisb", ["Where does Alma live?"]),  # one word in the query, the beginning of another in the answer
        ("lives living", ["Where does Alma live?"]),
        ("kayaks", ["Which kayak is mine?"]),  # a run that failed
        ("велосипеда", ["Как зовут мой велосипед?"]),
        ("ВЕЛОС", ["Как зовут мой велосипед?"]),
        ("елки", ["Ёлки и tulips, o'clock"]),
        ("alma kayak", []),
        ("nothing of it", []),
        ("?!", []),
        ("where does my sister live?", ["Where does Alma live?"]),
        ("о не и", []),
    ],
)
def test_a_text_finds_runs(stack: Stack, reader: UUID, text: str, expected: list[str]) -> None:
    assert found(stack, reader, text) == expected
    assert found(stack, uuid4(), text) == []


@pytest.mark.parametrize(
    "text",
    [
        "'", '"', "\\", "a & b", "!alma", "alma:*", "(alma | ", "<->", "' or true --", "%", "_", "$1", "\u2028x", "😀",
        "к" * 200, "a-b-c@d.e/f?g=h", "http://a.b/c?d=e", "-5 +3 1e9", "\t", "a\nb", "<script>", "((((((", "{}",
        "alma\\",
        " ".join("abcdefghijklmnopqrstuvwxyz") * 3,
    ],
)  # fmt: skip
def test_no_text_is_dangerous(stack: Stack, reader: UUID, text: str) -> None:
    reply = stack.client.get("/v1/runs", params={"user_id": str(reader), "q": text})
    assert reply.status_code == (400 if not text.strip() else 200), reply.text
    assert all(run["user_id"] == str(reader) for run in reply.json().get("results", []))


@pytest.mark.parametrize(
    "query",
    [
        "q=",
        "q=%00",
        "q=" + "x" * 201,
        "q=a&q=b",
        "q=%20%20",
        "from=yesterday",
        "from=5",
        "to=2026-13-01",
        "to=%00",
        "conversation_id=x",
        "kind=x",
        "from=0001-01-01T00:00:00Z",
        "to=",
    ],
)
def test_what_is_no_filter_is_refused(stack: Stack, reader: UUID, query: str) -> None:
    reply = stack.client.get(f"/v1/runs?user_id={reader}&{query}")
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_parameter")
    assert reply.json()["error"]["message"].startswith(query.partition("=")[0] + ":")


def test_times_bound_a_list(stack: Stack, reader: UUID) -> None:
    all_runs = listed(stack, reader)
    assert [run["query"] for run in all_runs][::-1] == [
        "Where does Alma live?",
        "Как зовут мой велосипед?",
        "Which kayak is mine?",
        "Ёлки и tulips, o'clock",
    ]
    third, second = all_runs[1]["created_at"], all_runs[2]["created_at"]
    assert listed(stack, reader, **{"from": third}) == all_runs[:2]
    assert listed(stack, reader, to=third) == all_runs[2:]
    assert listed(stack, reader, **{"from": second, "to": third}) == all_runs[2:3]
    assert listed(stack, reader, q="kayak", to=second) == []
    unescaped = second.replace("Z", "+00:00")
    reply = stack.client.get(f"/v1/runs?user_id={reader}&from={unescaped}")
    assert len(reply.json()["results"]) == 3, reply.text
    assert len(stack.client.get(f"/v1/runs?user_id={reader}&from={quote(unescaped)}").json()["results"]) == 3


def test_a_summary_shows_how_a_run_ended(stack: Stack, reader: UUID) -> None:
    runs = {run["query"]: run for run in listed(stack, reader)}
    assert runs["Where does Alma live?"]["answer"].startswith("Your sister lives in Lisbon")
    failed = runs["Which kayak is mine?"]
    assert (failed["answer"], failed["status"], failed["error_code"]) == (None, "FAILED", "internal")
    assert failed["conversation_id"] is None and failed["error_message"] is None
    user = uuid4()
    done(stack, user, "long", "x" * 400)
    assert listed(stack, user)[0]["answer"] == "x" * 300


@pytest.mark.parametrize("text", [None, "alpha"])
def test_pages_hold_every_run_once_while_new_ones_arrive(stack: Stack, text: str | None) -> None:
    user = uuid4()
    before = [done(stack, user, f"alpha {number}", "beta", seconds_ago=100 - number // 3) for number in range(10)]
    parameters: dict[str, Any] = {"limit": 3} | ({"q": text} if text else {})
    seen, cursor = list[str](), None
    while True:
        reply = stack.client.get(
            "/v1/runs", params={"user_id": str(user), **parameters} | ({"before": cursor} if cursor else {})
        ).json()
        seen += [run["request_id"] for run in reply["results"]]
        done(stack, user, "alpha, new", "beta")
        if (cursor := reply["next"]) is None:
            break
    assert sorted(seen) == sorted(map(str, before))
    assert len(listed(stack, user, **parameters | {"limit": 100})) == 14


def test_a_conversation_has_its_runs(stack: Stack, user: UUID) -> None:
    conversation = uuid4()
    run_id = stack.ask(user, "Hello, this is the first.", conversation_id=str(conversation))
    stack.ask(user, "And this is elsewhere, the second.")
    (run,) = listed(stack, user, conversation_id=str(conversation))
    assert (run["request_id"], run["conversation_id"]) == (str(run_id), str(conversation))
    assert listed(stack, user, conversation_id=str(uuid4())) == []
    stranger = uuid4()
    assert listed(stack, stranger, conversation_id=str(conversation)) == []


def test_conversations_are_listed_by_their_last_message(stack: Stack, user: UUID) -> None:
    first, second, third = (uuid4() for _ in range(3))

    def page(**parameters: Any) -> dict[str, Any]:
        reply = stack.client.get("/v1/conversations", params={"user_id": str(user), **parameters})
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    for conversation in (first, second, third):
        run_id = stack.ask(user, f"Hello in {conversation}", conversation_id=str(conversation))
        stack.answer(run_id)
    assert [one["id"] for one in page()["results"]] == [str(third), str(second), str(first)]
    stack.answer(stack.ask(user, "Again", conversation_id=str(first)))
    results = page()["results"]
    assert [one["id"] for one in results] == [str(first), str(third), str(second)]
    assert results[0]["title"] == f"Hello in {first}" and results[0]["assistant"] == "mentor"
    assert (results[0]["mode"], results[0]["source"], results[0]["is_processing"]) == ("auto", "web", False)
    assert results[0]["updated_at"] > results[1]["updated_at"] > results[2]["updated_at"]
    one = page(limit=1)
    rest = page(before=one["next"])
    assert one["results"] + rest["results"] == results and rest["next"] is None
    empty = stack.client.get("/v1/conversations", params={"user_id": str(NOBODY)}).json()
    assert empty == {"results": [], "next": None}
    assert stack.client.get("/v1/conversations").status_code == 400


def test_assistants_that_can_be_chosen(stack: Stack) -> None:
    stack.rows("insert into assistants (name, role_name) values ('plain_one', 'Mentor')")
    stack.rows("insert into assistants (name, role_name, is_active) values ('hidden', 'Mentor', false)")
    speaking = '{"voice": "sage"}'
    stack.rows("insert into assistants (name, role_name, definition) values ('speaking', 'Mentor', %s)", speaking)
    phone = '{"channels": ["telegram"]}'
    stack.rows("insert into assistants (name, role_name, definition) values ('phone', 'Mentor', %s)", phone)
    results = {one["name"]: one for one in stack.client.get("/v1/assistants").json()["results"]}
    assert results["plain_one"] == {"name": "plain_one", "title": "Plain One", "description": None, "voice": None}
    assert results["speaking"]["voice"] == "sage"
    assert results["mentor"]["title"] == "Mentor" and results["mentor"]["description"]
    assert not {"hidden", "phone"} & results.keys()
    names = [row["name"] for row in stack.rows("select name from assistants where is_active and name <> 'phone'")]
    assert sorted(results) == sorted(names)


async def test_a_bound_key_lists_its_user_only(fresh_database: str, tmp_path: Any) -> None:
    mine, theirs = uuid4(), uuid4()
    with Stack(fresh_database, tmp_path, MAAS_AUTH="keys") as stack:
        stack.start_server()
        for user in (mine, theirs):
            done(stack, user, "my own kayak", "yes", 5)
        async with open_database(fresh_database, 1, "test") as db:
            key = await create_key(db, NewKey("mine", user_id=mine), "test")
        stack.client.headers["authorization"] = f"Bearer {key}"
        for path in ("/v1/runs?q=kayak", "/v1/conversations"):
            separator = "&" if "?" in path else "?"
            reply = stack.client.get(f"{path}{separator}user_id={theirs}")
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
            assert stack.client.get(path).status_code == 200
        assert [run["user_id"] for run in stack.client.get("/v1/runs?q=kayak").json()["results"]] == [str(mine)]


def asked(stack: Stack, user: UUID, **fields: Any) -> UUID:
    reply = stack.client.post("/v1/runs", json={"user_id": str(user), "query": "hello", **fields})
    assert reply.status_code == 202, reply.text
    return UUID(reply.json()["request_id"])


def test_runs_are_found_by_their_attributes(stack: Stack, user: UUID) -> None:
    """By one user and, of one status, by all; alone and with words."""
    mark = str(uuid4())
    red = asked(stack, user, attributes={"team": "red", "batch": 7, "mark": mark}, priority="low")
    blue = asked(stack, user, attributes={"team": "blue", "mark": mark})
    asked(stack, user)
    for run in (red, blue):
        assert stack.answer(run)["status"] == "COMPLETED"

    def ids(**parameters: Any) -> list[str]:
        reply = stack.client.get("/v1/runs", params=parameters)
        assert reply.status_code == 200, reply.text
        return [run["request_id"] for run in reply.json()["results"]]

    only = {"user_id": str(user)}
    assert ids(**only, attributes='{"batch": 7, "team": "red"}') == [str(red)]
    assert ids(**only, attributes=f'{{"mark": "{mark}"}}') == [str(blue), str(red)]
    assert ids(**only, attributes='{"team": "red"}', q="hello") == [str(red)]
    assert ids(status="COMPLETED", attributes=f'{{"mark": "{mark}", "team": "blue"}}') == [str(blue)]
    assert ids(**only, attributes='{"team": "green"}') == []
    state = stack.client.get(f"/v1/runs/{red}").json()
    assert (state["attributes"], state["priority"]) == ({"team": "red", "batch": 7, "mark": mark}, "low")
    (listed_run,) = listed(stack, user, attributes='{"team": "red"}')
    assert (listed_run["attributes"]["batch"], listed_run["priority"], listed_run["run_at"]) == (7, "low", None)


@pytest.mark.parametrize(
    "attributes",
    ["[]", "{", "7", '{"a": null}', '{"a": [1]}', '{"a": 1e999}', '{"a": {"b": 1}}', '{"": 1}'],
)
def test_a_filter_that_is_no_attributes_is_refused(stack: Stack, user: UUID, attributes: str) -> None:
    reply = stack.client.get("/v1/runs", params={"user_id": str(user), "attributes": attributes})
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (400, "bad_parameter")
    assert error["message"].startswith("attributes: ") and "validation error" not in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": {str(n): n for n in range(17)}},
        {"attributes": {"a": "x" * 513}},
        {"attributes": {"a": {"b": 1}}},
        {"attributes": {"a": 10**600}},
        {"attributes": {"a\u0000": 1}},
        {"priority": "urgent"},
        {"run_at": 7},
    ],
)
def test_bad_priorities_times_and_attributes_are_refused(stack: Stack, user: UUID, fields: dict[str, Any]) -> None:
    reply = stack.client.post("/v1/runs", json={"user_id": str(user), "query": "hello", **fields})
    assert reply.status_code == 422, reply.text
    assert listed(stack, user) == []


def test_a_run_starts_at_its_time(stack: Stack, user: UUID) -> None:
    """A later request is answered before it; the same key with another time is another request."""
    at = datetime.now(UTC) + timedelta(seconds=3)
    headers = {"idempotency-key": str(uuid4())}
    body = {"user_id": str(user), "query": "Good morning!", "run_at": at.isoformat()}
    replies = [stack.client.post("/v1/runs", json=body, headers=headers) for _ in range(2)]
    assert replies[0].json()["request_id"] == replies[1].json()["request_id"]
    other = stack.client.post("/v1/runs", json=body | {"run_at": "2100-01-01"}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")
    assert stack.answer(asked(stack, user))["status"] == "COMPLETED"
    state = stack.answer(UUID(replies[0].json()["request_id"]))
    assert state["status"] == "COMPLETED" and datetime.fromisoformat(state["timings"]["analyzing_at"]) >= at
