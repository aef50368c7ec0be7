"""Dialogues over HTTP, and what of them stands in a draft."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.client import MaaS
from maas.engine.drafts import Draft
from tests.stack import NOBODY, Stack


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {"MAAS_LINK_DAYS": "30"}


def open_one(stack: Stack, user: UUID, **fields: Any) -> dict[str, Any]:
    reply = stack.client.post("/v1/conversations", json={"user_id": str(user), **fields})
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def draft_of(stack: Stack, run_id: UUID) -> Draft:
    return Draft.parse(stack.rows("select draft_context as d from pipeline_runs where id = %s", run_id)[0]["d"])


def messages(stack: Stack, conversation: str, **page: Any) -> dict[str, Any]:
    reply = stack.client.get(f"/v1/conversations/{conversation}/messages", params=page)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def test_a_dialogue(stack: Stack, user: UUID) -> None:
    opened = open_one(stack, user)
    assert (opened["assistant"], opened["mode"], opened["title"]) == ("mentor", "auto", None)
    assert not opened["is_processing"]
    elsewhere = stack.ask(user, "Elsewhere I said that tulips are red.")
    asked = [stack.ask(user, f"Fact number {n} concerns topic{n}.", conversation_id=opened["id"]) for n in range(7)]
    last = stack.ask(user, "What is the capital of Peru?", conversation_id=opened["id"])
    stack.wait_archived(elsewhere, *asked, last)
    earlier, *recent = draft_of(stack, last).recent
    assert earlier.startswith("Earlier in this conversation: ") and "topic0" in earlier
    assert len(recent) == 10
    assert "topic2" in recent[0] and "topic6" in recent[8] and "assistant: " in recent[9]
    assert not any("tulips" in line for line in recent)
    now = stack.client.get(f"/v1/conversations/{opened['id']}").json()
    assert (now["title"], now["is_processing"]) == ("Fact number 0 concerns topic0.", False)
    page = messages(stack, opened["id"], limit=10)
    rest = messages(stack, opened["id"], limit=10, before=page["next"])
    assert rest["next"] is None
    roles = [message["role"] for message in page["results"] + rest["results"]]
    assert (len(roles), roles.count("user"), roles[0], roles[-1]) == (16, 8, "assistant", "user")
    assert page["results"][0]["run_id"] == str(last)


def test_messages_around_one_and_on_from_there(stack: Stack, user: UUID) -> None:
    """Pages lead in both directions from any message, each message once; those of strangers are not found."""
    opened, other = open_one(stack, user)["id"], open_one(stack, user)["id"]
    stack.rows(
        "insert into chat_messages (conversation_id, user_id, run_id, role, content, created_at)"
        " select %s, %s, gen_random_uuid(), case when n %% 2 = 0 then 'user' else 'assistant' end, n::text,"
        " now() + make_interval(secs => n / 3) from generate_series(0, 60) n",
        opened,
        user,
    )
    everything = messages(stack, opened, limit=100)
    assert len(everything["results"]) == 61 and everything["next"] is everything["previous"] is None
    ids = [one["id"] for one in everything["results"]]
    for at in (0, 1, 5, 30, 59, 60):
        target = everything["results"][at]
        page = messages(stack, opened, around=target["id"], limit=8)
        assert page == messages(stack, opened, around=target["run_id"], limit=8)
        read = [one["id"] for one in page["results"]]
        assert target["id"] in read and len(read) <= 8
        later, earlier = page["previous"], page["next"]
        while later:
            step = messages(stack, opened, after=later, limit=7)
            read, later = [one["id"] for one in step["results"]] + read, step["previous"]
        while earlier:
            step = messages(stack, opened, before=earlier, limit=9)
            read, earlier = read + [one["id"] for one in step["results"]], step["next"]
        assert read == ids
    assert messages(stack, opened, around=ids[1], limit=3)["previous"] is None  # exactly the last three
    last = messages(stack, opened, around=ids[30], limit=1)
    assert [one["id"] for one in last["results"]] == [ids[30]] and last["next"] and last["previous"]
    for stranger in (NOBODY, ids[30]):
        reply = stack.client.get(f"/v1/conversations/{other}/messages", params={"around": str(stranger)})
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")


def test_conversations_are_found_by_title_and_by_words(stack: Stack, user: UUID) -> None:
    """Every word counts, its beginning too; what was cleared and what others said is not found."""

    def find(of: UUID, text: str | None, **page: Any) -> list[str]:
        params = {"user_id": str(of), **({} if text is None else {"q": text}), **page}
        reply = stack.client.get("/v1/conversations", params=params)
        assert reply.status_code == 200, reply.text
        if reply.json()["next"]:
            return [reply.json()["results"][0]["id"], *find(of, text, **page | {"before": reply.json()["next"]})]
        return [one["id"] for one in reply.json()["results"]]

    garden, boat, stranger = open_one(stack, user)["id"], open_one(stack, user)["id"], uuid4()
    theirs = open_one(stack, stranger)["id"]
    stack.wait_archived(
        stack.ask(user, "Tulips bloom early.", conversation_id=garden),
        stack.ask(user, "Sailing needs wind.", conversation_id=boat),
        stack.ask(stranger, "Tulips fade.", conversation_id=theirs),
    )
    for one, title in ((garden, "Plans for spring"), (boat, "Plans")):
        stack.client.patch(f"/v1/conversations/{one}", json={"title": title})
    assert find(user, "tulip") == find(user, "SPRING") == find(user, "spring tulips") == [garden]
    assert find(user, "tulips sailing") == find(user, "nowhere") == find(user, "%") == find(user, "!!") == []
    assert find(user, "plan") == find(user, "plan", limit=1) == find(user, None) == [boat, garden]
    assert find(stranger, "tulips") == [theirs]
    assert stack.client.post(f"/v1/conversations/{boat}/clear").status_code == 200
    assert find(user, "sailing") == [] and set(find(user, "plans")) == {boat, garden}
    for bad in (" ", "x" * 201):
        reply = stack.client.get("/v1/conversations", params={"user_id": str(user), "q": bad})
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_parameter")


def test_pinned_ones_come_first_on_all_pages_and_archived_ones_apart(stack: Stack, user: UUID) -> None:
    ids = [open_one(stack, user)["id"] for _ in range(6)]

    def change(one: str, **changes: bool) -> None:
        reply = stack.client.patch(f"/v1/conversations/{one}", json=changes)
        assert reply.status_code == 200 and changes.items() <= reply.json().items()

    def read(**page: Any) -> list[str]:
        params = {"user_id": str(user), "limit": 1, **page}
        reply = stack.client.get("/v1/conversations", params=params).json()
        found = [one["id"] for one in reply["results"]]
        return found + (read(**page | {"before": reply["next"]}) if reply["next"] else [])

    for one in (ids[0], ids[2]):
        change(one, is_pinned=True)
    for one in (ids[1], ids[5]):
        change(one, is_archived=True)
    assert read() == [ids[2], ids[0], ids[4], ids[3]]
    assert read(archived=True) == [ids[5], ids[1]]
    change(ids[2], is_pinned=False)
    change(ids[5], is_archived=False)
    assert read() == [ids[0], ids[5], ids[4], ids[3], ids[2]]
    for bad in ({"is_pinned": 1}, {"is_pinned": None}, {}):
        assert stack.client.patch(f"/v1/conversations/{ids[0]}", json=bad).status_code == 422
    assert stack.client.get("/v1/conversations", params={"user_id": str(user), "archived": "yes"}).status_code == 400


def test_a_request_that_is_not_to_be_remembered_opens_a_temporary_conversation(stack: Stack, user: UUID) -> None:
    conversation = str(uuid4())
    body = {"user_id": str(user), "conversation_id": conversation}
    first = stack.client.post("/v1/runs", json=body | {"query": "My parrot is called Kiwi.", "is_remembered": False})
    second = stack.client.post("/v1/runs", json=body | {"query": "What is my parrot called?"})
    stack.wait_archived(*(UUID(reply.json()["request_id"]) for reply in (first, second)))
    assert stack.client.get(f"/v1/conversations/{conversation}").json()["is_remembered"] is False
    assert any("Kiwi" in line for line in draft_of(stack, UUID(second.json()["request_id"])).recent)
    elsewhere = stack.ask(user, "What is my parrot called?")
    assert "Kiwi" not in stack.answer(elsewhere)["final_answer"]


def test_a_new_id_opens_a_conversation(stack: Stack, user: UUID) -> None:
    conversation = str(uuid4())
    assert stack.client.get(f"/v1/conversations/{conversation}").status_code == 404
    stack.wait_archived(stack.ask(user, "Let us plan a journey.", conversation_id=conversation))
    assert stack.client.get(f"/v1/conversations/{conversation}").json()["title"] == "Let us plan a journey."


def test_a_conversation_of_somebody_else_is_refused(stack: Stack, user: UUID) -> None:
    """One clear error, and those who post at the same moment are not touched by it."""
    conversation = open_one(stack, user)["id"]
    stranger = str(uuid4())
    body = {"user_id": stranger, "query": "let me in", "conversation_id": conversation}
    reply = stack.client.post("/v1/runs", json=body)
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "not_found"
    assert reply.json()["error"]["message"].startswith("conversation_id: ")
    assert stack.rows("select from pipeline_runs where user_id = %s", stranger) == []
    assert messages(stack, conversation)["results"] == []


def test_cleared_is_gone_from_the_next_draft_but_remembered(stack: Stack, user: UUID) -> None:
    conversation = open_one(stack, user)["id"]
    first = stack.ask(user, "My parrot is called Kiwi.", conversation_id=conversation)
    stack.wait_archived(first)
    page = stack.client.get(f"/v1/conversations/{conversation}/messages?runs=true").json()
    assert page["runs"] == [stack.answer(first)], "each once, as it is read alone"
    assert stack.client.post(f"/v1/conversations/{conversation}/clear").json() == {"messages": 2}
    assert messages(stack, conversation) == {"results": [], "next": None, "previous": None, "runs": None}
    question = stack.ask(user, "What is my parrot called?", conversation_id=conversation)
    assert "Kiwi" in stack.answer(question)["final_answer"]
    assert draft_of(stack, question).recent == ()
    assert len(stack.rows("select from raw_logs where run_id = %s", first)) == 2


def test_mode_and_title(stack: Stack, user: UUID) -> None:
    opened = open_one(stack, user, mode="plan")
    path = f"/v1/conversations/{opened['id']}"
    read = stack.client.get(path).json()
    assert opened == read | {"request_id": None, "poll_url": None}
    assert stack.client.patch(path, json={"mode": "ask"}).json() == read | {"mode": "ask"}
    assert stack.client.patch(path, json={"title": "Сад"}).json() == read | {"mode": "ask", "title": "Сад"}
    stack.wait_archived(stack.ask(user, "hello", conversation_id=opened["id"]))
    assert stack.client.get(path).json()["title"] == "Сад"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "", {"user_id": "x"}, 422),
        ("POST", "", {"user_id": str(uuid4()), "assistant": "nobody"}, 422),
        ("POST", "", {"user_id": str(uuid4()), "mode": "fast"}, 422),
        ("GET", f"/{NOBODY}", None, 404),
        ("GET", "/no-uuid", None, 404),
        ("PATCH", f"/{NOBODY}", {"mode": "ask"}, 404),
        ("PATCH", f"/{NOBODY}", {"mode": "fast"}, 422),
        ("PATCH", f"/{NOBODY}", {"title": " "}, 422),
        ("PATCH", f"/{NOBODY}", {"title": "x" * 201}, 422),
        ("PATCH", f"/{NOBODY}", {}, 422),
        ("POST", f"/{NOBODY}/clear", None, 404),
        ("GET", f"/{NOBODY}/messages", None, 404),
        ("GET", f"/{NOBODY}/messages?limit=0", None, 400),
        ("GET", f"/{NOBODY}/messages?before=x", None, 400),
        ("GET", f"/{NOBODY}/messages?after=x", None, 400),
        ("GET", f"/{NOBODY}/messages?around=x", None, 400),
        ("GET", f"/{NOBODY}/messages?around={NOBODY}", None, 404),
    ],
)
def test_bad_requests_are_refused(stack: Stack, method: str, path: str, body: Any, status: int) -> None:
    reply = stack.client.request(method, f"/v1/conversations{path}", json=body)
    assert reply.status_code == status, reply.text
    assert reply.json()["error"]["message"]


def link(stack: Stack, conversation: str, **fields: Any) -> dict[str, Any]:
    reply = stack.client.post(f"/v1/conversations/{conversation}/links", json=fields)
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def shared(stack: Stack, token: str, **fields: Any) -> dict[str, Any] | None:
    reply = stack.client.post("/v1/shared", json={"token": token, **fields})
    assert reply.status_code in (200, 404), reply.text
    if reply.status_code == 404:
        return None
    assert reply.headers["x-robots-tag"] == "noindex" and reply.headers["cache-control"] == "no-store"
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", reply.text), "no id of anything"
    return dict(reply.json())


def test_a_link_shows_a_conversation_as_it_was_with_what_its_answers_cite(stack: Stack, user: UUID) -> None:
    conversation = open_one(stack, user)["id"]
    stack.wait_archived(stack.ask(user, "My sister Alma moved to Lisbon."), stack.ask(user, "My code is 4815."))
    asked = stack.client.post(
        "/v1/runs",
        json={
            "user_id": str(user),
            "query": "Where does Alma live?",
            "conversation_id": conversation,
            "marks": True,
        },
    )
    stack.wait_archived(UUID(asked.json()["request_id"]))
    with_evidence, without = link(stack, conversation), link(stack, conversation, days=1, evidence=False)
    stack.wait_archived(stack.ask(user, "Later I said more.", conversation_id=conversation))
    assert re.fullmatch("[A-Za-z0-9_-]{22}", with_evidence["token"])
    (stored,) = stack.rows("select * from conversation_links where id = %s", with_evidence["id"])
    assert bytes(stored["hash"]) == sha256(with_evidence["token"].encode()).digest()
    seen = shared(stack, with_evidence["token"])
    assert seen is not None and (seen["title"], seen["assistant"], seen["next"]) == (
        "Where does Alma live?",
        "mentor",
        None,
    )
    question, answer = seen["messages"]
    assert (question["role"], question["content"], question["evidence"]) == ("user", "Where does Alma live?", [])
    (cited,) = answer["evidence"]
    assert (cited["speaker"], cited["text"]) == ("user", "My sister Alma moved to Lisbon.")
    assert f"[{cited['number']}]" in answer["content"]
    plain = shared(stack, without["token"])
    assert plain is not None and [one["evidence"] for one in plain["messages"]] == [[], []]
    assert shared(stack, with_evidence["token"], after=1) == seen | {"messages": [answer]}


def test_the_python_client_shares_and_revokes(stack: Stack, user: UUID) -> None:
    conversation = open_one(stack, user)["id"]
    with MaaS(str(stack.client.base_url)) as maas:
        made = maas.share_conversation(conversation, days=3, evidence=False)
        assert shared(stack, made["token"]) is not None
        assert [one["id"] for one in maas.links(user_id=user, conversation_id=conversation)] == [made["id"]]
        maas.revoke_link(made["id"])
        assert maas.links(user_id=user) == [] and shared(stack, made["token"]) is None


def test_a_link_is_listed_and_ends(stack: Stack, user: UUID) -> None:
    conversation, other = open_one(stack, user)["id"], open_one(stack, user)["id"]
    first, second, third = (link(stack, one) for one in (conversation, conversation, other))

    def listed(**only: str) -> list[str]:
        reply = stack.client.get("/v1/links", params={"user_id": str(user), **only})
        assert "token" not in reply.text
        return [one["id"] for one in reply.json()["results"]]

    assert listed() == [third["id"], second["id"], first["id"]] and listed(conversation_id=other) == [third["id"]]
    assert listed(user_id=str(uuid4())) == []
    assert stack.client.delete(f"/v1/links/{first['id']}").status_code == 204
    assert stack.client.delete(f"/v1/links/{first['id']}").status_code == 404
    stack.rows("update conversation_links set expires_at = now() where id = %s", second["id"])
    assert shared(stack, first["token"]) is shared(stack, second["token"]) is shared(stack, "A" * 22) is None
    assert listed() == [third["id"]] and shared(stack, third["token"]) is not None
    for days in (30, 0):  # an operator shortens their life
        query = "select from maas_open_link((select hash from conversation_links where id = %s), %s)"
        assert len(stack.rows(query, third["id"], days)) == (1 if days else 0)
    assert stack.client.delete(f"/v1/conversations/{other}").status_code == 200
    assert shared(stack, third["token"]) is None
    audit = "select action from audit where user_id = %s and action in ('share', 'unshare') order by id"
    assert [row["action"] for row in stack.rows(audit, user)] == ["share", "share", "share", "unshare"]
    assert link(stack, conversation, days=7.0)["id"]  # JSON has one kind of numbers
    for bad in ({"days": 0}, {"days": 31}, {"days": 366}, {"days": "7"}, {"days": True}, {"evidence": "yes"}):
        assert stack.client.post(f"/v1/conversations/{conversation}/links", json=bad).status_code == 422
    stack.rows(
        "insert into conversation_links (user_id, conversation_id, hash, has_evidence, expires_at)"
        " select %s, %s, sha256(uuid_send(gen_random_uuid())), true, now() + interval '1 day'"
        " from generate_series(1, 100)",
        user,
        conversation,
    )
    assert stack.client.post(f"/v1/conversations/{conversation}/links", json={}).json()["error"]["code"] == (
        "quota_exceeded"
    )
