"""Facts as callers reach them: searched over HTTP, by the Python client, by commands and by tools of MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, assert_type, get_args
from uuid import UUID, uuid4

import pytest

from maas import AsyncMaaS, MaaS
from maas.client import CorrectedFact, Fact, InvalidRequest, NotFound
from maas.client import results as of_client
from maas.memory import facts as of_memory
from maas.terminal.invocation import LOCAL_USER
from tests.flow.test_mcp_server import call, connected, refused, url_of
from tests.stack import Stack, maas


@pytest.fixture
def client(stack: Stack) -> Iterator[MaaS]:
    with MaaS(url_of(stack)) as client:
        yield client


@pytest.fixture
def name() -> str:
    """A user whom nobody knows."""
    return f"ann-{uuid4().hex}@example.org"


def say(client: MaaS, user: str | UUID, *texts: str) -> None:
    """Each text a message of its own exchange; the facts of all are there on return."""
    for text in texts:
        client.add(text, user_id=user, wait=True)


def search(stack: Stack, user: UUID, query: str, **options: Any) -> list[dict[str, Any]]:
    body = {"user_id": str(user), "query": query, "facts": True, **options}
    reply = stack.client.post("/v1/memories/search", json=body)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["results"])


def test_states_and_verdicts_are_the_same_everywhere() -> None:
    assert get_args(of_client.FactState) == get_args(of_memory.State)
    assert get_args(of_client.Verdict) == get_args(of_memory.Verdict)


def test_a_search_begins_with_the_facts_that_answer_it(stack: Stack, client: MaaS, user: UUID) -> None:
    say(client, user, "I live in Oslo.", "I moved to Bergen.", "I love jazz.", "My dog is called Rex.")
    say(client, user, "My sister is called Anna.")
    (fact, half, first, *_) = search(stack, user, "What is my dog called?")
    assert half["memory"] == "My sister is called Anna.", "half of the words"
    assert (fact["kind"], fact["memory"], fact["score"]) == ("fact", "My dog is called Rex.", 1.0)
    assert fact["raw_log_ids"] == [first["id"]] and first["kind"] == "turn"
    assert (fact["speaker"], fact["tags"], fact["period"]) == ("user", [], first["period"])
    sources = stack.client.get(f"/v1/memories/{fact['raw_log_ids'][0]}/sources").json()["results"]
    assert [one["content"] for one in sources] == ["My dog is called Rex."]
    kinds = [one["kind"] for one in search(stack, user, "Who loves jazz music in the northern mountain valleys?")]
    assert "fact" not in kinds, "one word of many"
    assert [one["memory"] for one in search(stack, user, "Oslo") if one["kind"] == "fact"] == [], "it is replaced"
    assert [one["kind"] for one in search(stack, user, "What is my dog called?", limit=1)] == ["fact"]
    for bound in (
        {"to": "2001-01-01T00:00:00Z"},
        {"tags": ["dog"]},
        {"as_of": "2001-01-01T00:00:00Z"},
        {"facts": False},
    ):
        assert "fact" not in [one["kind"] for one in search(stack, user, "What is my dog called?", **bound)]
    assert "fact" in [one["kind"] for one in search(stack, user, "my dog", **{"from": "2001-01-01T00:00:00Z"})]
    say(client, user, "My cat is called Tom.", "My parrot is called Hook.", "My hamster is called Joy.")
    assert [one["kind"] for one in search(stack, user, "Who is called what?")].count("fact") == 3
    reply = stack.client.post("/v1/memories/search", json={"user_id": str(user), "query": "dog", "facts": 1})
    assert reply.status_code == 422


def test_the_client_knows_facts(client: MaaS, name: str) -> None:
    say(client, name, "I live in Oslo.", "I moved to Bergen. I love jazz.", "My sister Anna lives in Moss.")
    before = datetime.now(UTC)
    known = client.facts(user_id=name)
    assert_type(known, list[Fact])
    statements = {one["fact"]: one for one in known}
    assert set(statements) >= {"I moved to Bergen.", "I love jazz.", "My sister Anna lives in Moss."}
    assert [one["fact"] for one in client.facts(user_id=name, state="replaced")] == ["I live in Oslo."]
    assert len(client.facts(user_id=name, state="all")) == len(known) + 1
    assert [one["fact"] for one in client.facts(user_id=name, limit=1)] == [known[0]["fact"]]
    assert {one["about"] for one in client.facts(user_id=name, about="anna")} == {"Anna"}
    jazz = statements["I love jazz."]["id"]
    client.decide_fact(jazz, "wrong", user_id=name)
    assert [one["id"] for one in client.facts(user_id=name, state="wrong")] == [jazz]
    assert jazz in [one["id"] for one in client.facts(user_id=name, as_of=before)]
    corrected = client.correct_fact(statements["I moved to Bergen."]["id"], "I live in Voss.", user_id=name)
    assert_type(corrected, CorrectedFact)
    assert "I live in Voss." in [one["fact"] for one in client.facts(user_id=name, about="user")]
    found = client.search("Where is Voss?", user_id=name, facts=True)["results"][0]
    assert (found["id"], found["metadata"]["kind"]) == (corrected["id"], "fact")
    client.delete(corrected["id"], user_id=name)
    assert "I live in Voss." not in [one["fact"] for one in client.facts(user_id=name, state="all")]


def test_facts_of_one_under_two_names(client: MaaS, name: str) -> None:
    say(client, name, "My sister Anna lives in Oslo.", "My sister works as a teacher.")
    sisters = {one["fact"] for one in client.facts(user_id=name, about="sister")}
    annas = {one["fact"] for one in client.facts(user_id=name, about="Anna")}
    assert sisters == {"My sister works as a teacher."} and annas and not sisters & annas
    assert client.merge_names("sister", "Anna", user_id=name) == 1
    for about in ("sister", "Anna", "SISTER"):
        assert {one["fact"] for one in client.facts(user_id=name, about=about)} == sisters | annas


def test_all_pages_are_read(stack: Stack, client: MaaS, user: UUID) -> None:
    say(client, user, "I love jazz.")
    stack.rows(
        "insert into facts (user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids,"
        " origin) select user_id, 'Number ' || n || '.', subject, 'n:' || n, kind, said_by, said_at, known_at,"
        " raw_log_ids, origin from facts cross join generate_series(1, 120) n where user_id = %s returning id",
        user,
    )
    assert len(client.facts(user_id=user, limit=1000)) == 121
    assert len({one["id"] for one in client.facts(user_id=user, limit=110)}) == 110


def test_facts_of_others_are_out_of_reach(client: MaaS, name: str, user: UUID) -> None:
    say(client, user, "I love jazz.")
    (fact,) = client.facts(user_id=user)
    for stranger in (name, uuid4()):
        assert client.facts(user_id=stranger) == []
        with pytest.raises(NotFound, match="there is no fact"):
            client.decide_fact(fact["id"], "wrong", user_id=stranger)
        with pytest.raises(NotFound, match="there is no fact"):
            client.correct_fact(fact["id"], "I hate jazz.", user_id=stranger)
        with pytest.raises(NotFound):
            client.delete(fact["id"], user_id=stranger)
    with pytest.raises(InvalidRequest, match="not an id"):
        client.decide_fact("jazz", "wrong", user_id=user)
    assert client.facts(user_id=user) == [fact]


async def test_the_other_client_awaits_the_same(stack: Stack, name: str) -> None:
    async with AsyncMaaS(url_of(stack)) as client:
        await client.add("I love jazz.", user_id=name, wait=True)
        (fact,) = await client.facts(user_id=name)
        await client.decide_fact(fact["id"], "pinned", user_id=name)
        assert (await client.facts(user_id=name))[0]["is_pinned"]
        assert await client.merge_names("user", "Ann", user_id=name) == 1
        new = await client.correct_fact(fact["id"], "I love blues.", user_id=name)
        assert new["id"] in [one["id"] for one in await client.facts(user_id=name)]


async def test_a_model_lists_facts_and_notes_decisions(stack: Stack, client: MaaS, name: str) -> None:
    await asyncio.to_thread(say, client, name, "I live in Oslo.", "I moved to Bergen. I love jazz.")
    async with connected(url_of(stack), **{"x-maas-user": name}) as mcp:
        page = await call(mcp, "list_facts", limit=1)
        rest = await call(mcp, "list_facts", limit=5, before=page["next"])
        facts = {one["fact"]: one for one in page["results"] + rest["results"]}
        assert set(facts) == {"I moved to Bergen.", "I love jazz."} and rest["next"] is None
        (oslo,) = (await call(mcp, "list_facts", state="replaced"))["results"]
        assert oslo["replaced_by"] == facts["I moved to Bergen."]["id"]
        shown = (await mcp.call_tool("list_facts", {"state": "all", "about": "user"})).content[0]
        assert f"replaced since {oslo['since']} user: I live in Oslo. (fact {oslo['id']})" in str(shown)
        jazz = facts["I love jazz."]["id"]
        assert await call(mcp, "decide_fact", fact_id=jazz, verdict="wrong") == {"fact_id": jazz, "verdict": "wrong"}
        assert [one["id"] for one in (await call(mcp, "list_facts", state="wrong"))["results"]] == [jazz]
        assert (await call(mcp, "list_facts", as_of="2001-01-01T00:00:00Z"))["results"] == []
        bergen = facts["I moved to Bergen."]["id"]
        new = await call(mcp, "correct_fact", fact_id=bergen, fact="I live in Voss.")
        assert "I live in Voss." in {one["fact"] for one in (await call(mcp, "list_facts"))["results"]}
        (left,) = (await call(mcp, "list_facts", state="corrected"))["results"]
        assert left["id"] == bergen and left["replaced_by"] == new["fact_id"]
        merged = (await mcp.call_tool("merge_names", {"name": "user", "same_as": "Ann"})).content[0]
        assert "4 facts are about the first" in str(merged)
        assert len((await call(mcp, "list_facts", about="Ann", state="all"))["results"]) == 4
    async with connected(url_of(stack), **{"x-maas-user": f"other-{name}"}) as mcp:
        assert "there is no fact" in await refused(mcp, "correct_fact", fact_id=bergen, fact="I live in Rome.")
        assert (await call(mcp, "list_facts"))["results"] == []
        assert "there is no fact" in await refused(mcp, "decide_fact", fact_id=jazz, verdict="free")


def test_commands_list_and_decide(stack: Stack, client: MaaS, user: UUID) -> None:
    say(client, user, "I live in Oslo.", "I moved to Bergen. I love jazz.", "My sister Anna lives in Moss.")
    listed = maas(stack, "facts", str(user))
    assert listed.returncode == 0, listed.stderr
    head, *lines = listed.stdout.splitlines()
    assert head.split() == ["fact", "statement", "about", "state", "since", "said"]
    assert len(lines) == len(client.facts(user_id=user))
    assert maas(stack, "facts", "list", str(user)).stdout == listed.stdout
    assert "I live in Oslo." in maas(stack, "facts", "--state", "replaced", str(user)).stdout
    about = json.loads(maas(stack, "facts", str(user), "--about", "anna", "--json").stdout)
    assert {one["about"] for one in about} == {"Anna"}
    everything = json.loads(maas(stack, "facts", str(user), "--state", "all", "--json").stdout)
    keys = set(client.facts(user_id=user)[0])
    assert {one["id"] for one in everything} == {one["id"] for one in client.facts(user_id=user, state="all")}
    assert all(set(one) == keys for one in everything)
    assert len(json.loads(maas(stack, "facts", str(user), "--json", "--limit", "1").stdout)) == 1
    assert maas(stack, "facts", str(user), "--as-of", "2001-01-01").stdout == "no facts\n"
    jazz = next(one["id"] for one in everything if one["fact"] == "I love jazz.")
    assert maas(stack, "facts", "decide", jazz, "pinned", "--user", str(user)).stdout == "pinned\n"
    assert "true, pinned" in maas(stack, "facts", str(user)).stdout
    done = maas(stack, "facts", "correct", jazz, "I love blues.", "--user", str(user))
    assert [one["id"] for one in client.facts(user_id=user) if one["fact"] == "I love blues."] == [done.stdout.strip()]
    merged = maas(stack, "facts", "merge", "anna", "sister", "--user", str(user))
    assert merged.stdout == f"{len(about)} facts are about anna\n", merged.stderr
    (noted, *_) = stack.rows("select count(*) as n from audit where user_id = %s and action = 'user_access'", user)
    assert noted["n"] > 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("me",), "USER: 'me' is not a UUID"),
        ((LOCAL_USER, "--state", "gone"), "--state: must be all, or one of true"),
        ((LOCAL_USER, "--about", " "), "--about"),
        (("decide", "1", "wrong"), "FACT: '1' is not a UUID"),
        (("decide", str(uuid4()), "wrong"), "there is no fact"),
        (("correct", str(uuid4()), "x" * 501), "STATEMENT: must be 1 to 500"),
        (("correct", str(uuid4()), "I love jazz."), "there is no fact"),
        (("merge", "sister", "x" * 101), "SAME_AS: must be 1 to 100"),
    ],
)
def test_bad_words_get_one_line(stack: Stack, words: tuple[str, ...], part: str) -> None:
    done = maas(stack, "facts", *words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and part in done.stderr
