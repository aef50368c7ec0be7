"""Actions over HTTP: pages, plans, edits, decisions, and whose they are. Nobody executes here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.stack import NOBODY, Stack

LIMIT = 3
PARAMETERS = {
    "type": "object",
    "properties": {"to": {"type": "string", "minLength": 1}, "copies": {"type": "integer", "maximum": 9}},
    "required": ["to"],
}
WORDING: dict[str, Any] = {
    "title": {"en": "Send an email", "ru": "Отправить письмо"},
    "reason": "It goes out.",
    "object": "Sales",
    "changes": [[{"en": "limit", "ru": "предел"}, 1, 2]],
}


@pytest.fixture
def idle(database: str, tmp_path: Path) -> Iterator[Stack]:
    """A server over one tool, and nobody who answers."""
    with Stack(database, tmp_path, MAAS_USER_QUEUE_LIMIT=str(LIMIT)) as running:
        running.rows(
            "insert into tools values ('send_mail', 'mail', 'Send it.', %s, 'dangerous', 'v2', false)",
            json.dumps(PARAMETERS),
        )
        running.start_server()
        yield running


def asking(stack: Stack, user: UUID, conversation: UUID | None = None) -> UUID:
    query = "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, 'Mail it.', %s) returning id"
    return UUID(str(stack.rows(query, user, conversation)[0]["id"]))


def propose(stack: Stack, run: UUID, place: int = 1, version: str = "v2") -> UUID:
    query = (
        "select maas_propose_action(%s, %s, 'send_mail', '{\"to\": \"Ann\"}', 'dangerous', %s, 'mentor', "
        "p_place => %s) as id"
    )
    return UUID(str(stack.rows(query, run, f"c{place}", version, place)[0]["id"]))


def expire(stack: Stack, action: UUID) -> None:
    stack.rows(
        "update chat_pending_actions set created_at = now() - interval '1 hour', expires_at = now() where id = %s",
        action,
    )


def decide(stack: Stack, action: UUID, user: UUID, word: str = "approve") -> httpx2.Response:
    return stack.client.post(f"/v1/actions/{action}/{word}", json={"user_id": str(user)})


def edit(stack: Stack, action: UUID, user: UUID, arguments: Any) -> httpx2.Response:
    return stack.client.patch(f"/v1/actions/{action}", json={"user_id": str(user), "arguments": arguments})


def page(stack: Stack, user: UUID, **query: Any) -> dict[str, Any]:
    reply = stack.client.get("/v1/actions", params={"user_id": str(user), **query})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def ids(found: dict[str, Any]) -> list[UUID]:
    return [UUID(one["id"]) for one in found["results"]]


def error(reply: httpx2.Response) -> tuple[int, str, Any]:
    body = reply.json()["error"]
    return reply.status_code, body["code"], body.get("details")


def test_pages(idle: Stack, user: UUID) -> None:
    """Newest first, page by page, by status and by conversation; a run's are a plan in the order of its calls."""
    conversation = uuid4()
    here, there = asking(idle, user, conversation), asking(idle, user)
    second, first, third = (propose(idle, here, place) for place in (2, 1, 3))
    other = propose(idle, there)
    propose(idle, asking(idle, uuid4()))
    start = page(idle, user, limit=3)
    rest = page(idle, user, limit=3, before=start["next"])
    assert ids(start) + ids(rest) == [other, third, first, second] and rest["next"] is None
    assert ids(page(idle, user, run_id=str(here))) == [first, second, third]
    assert ids(page(idle, user, conversation_id=str(conversation))) == [third, first, second]
    decide(idle, first, user, "reject")
    expire(idle, second)
    assert ids(page(idle, user, status="rejected")) == [first]
    assert ids(page(idle, user, status="expired")) == [second]
    assert ids(page(idle, user, status="pending", run_id=str(here))) == [third]
    assert ids(page(idle, uuid4())) == []
    assert error(idle.client.get("/v1/actions"))[:2] == (400, "bad_parameter")
    assert error(idle.client.get(f"/v1/actions?user_id={user}&status=odd"))[:2] == (400, "bad_parameter")


def test_an_approval_inserts_the_run_that_executes(idle: Stack, user: UUID) -> None:
    conversation = uuid4()
    run = asking(idle, user, conversation)
    action = propose(idle, run)
    seen = idle.client.get(f"/v1/actions/{action}").json()
    assert (seen["status"], seen["tool"], seen["arguments"], seen["run_id"], seen["poll_url"]) == (
        "pending",
        "send_mail",
        {"to": "Ann"},
        str(run),
        None,
    )
    approved = decide(idle, action, user)
    assert approved.status_code == 200
    body = approved.json()
    assert (body["status"], body["decided_by"], body["poll_url"]) == (
        "approved",
        "http",
        f"/v1/runs/{body['action_run_id']}",
    )
    executing = idle.client.get(body["poll_url"]).json()
    assert (executing["kind"], executing["query"], executing["conversation_id"], executing["user_id"]) == (
        "action",
        'send_mail {"to": "Ann"}',
        str(conversation),
        str(user),
    )
    assert idle.client.get(f"/v1/conversations/{conversation}").json()["is_processing"]
    assert error(decide(idle, action, user)) == (409, "already_decided", {"status": "approved"})
    assert error(decide(idle, action, user, "reject")) == (409, "already_decided", {"status": "approved"})
    assert error(edit(idle, action, user, {"to": "Bob"})) == (409, "already_decided", {"status": "approved"})
    assert len(idle.rows("select from pipeline_runs where kind = 'action'")) == 1


def test_an_action_says_in_words_what_it_does_and_orders_its_arguments_as_the_tool(idle: Stack, user: UUID) -> None:
    """The words are those with which it was proposed; a tool that has changed since gives no schema for an edit."""
    idle.rows("update tools set argument_names = '{to,copies}'")  # jsonb alone has the shorter name first
    run, wording = asking(idle, user, uuid4()), json.dumps(WORDING)
    action, changed = propose(idle, run), propose(idle, run, 2, version="v1")
    idle.rows("update chat_pending_actions set wording = %s where id = %s", wording, action)
    edit(idle, action, user, {"copies": 2, "to": "Bob"})
    idle.rows("update chat_pending_actions set wording = %s where id = %s", wording, action)
    seen = idle.client.get(f"/v1/actions/{action}").json()
    assert list(seen["arguments"]) == list(seen["parameters"]["properties"]) == ["to", "copies"]
    assert (seen["title"], seen["reason"], seen["object"]) == (WORDING["title"], "It goes out.", "Sales")
    assert seen["changes"] == [{"name": {"en": "limit", "ru": "предел"}, "old": 1, "new": 2}]
    plain = idle.client.get(f"/v1/actions/{changed}").json()
    assert [plain[name] for name in ("parameters", "title", "reason", "object", "changes")] == [None] * 4 + [[]]


def test_what_executes_an_action_names_it(idle: Stack, user: UUID) -> None:
    """Nobody wrote its query: the message, the run and the list of runs say which action it stands for."""
    conversation = uuid4()
    run = asking(idle, user, conversation)
    action = propose(idle, run)
    idle.rows("update chat_pending_actions set wording = %s", json.dumps(WORDING))
    executing = decide(idle, action, user).json()["action_run_id"]
    messages = idle.client.get(f"/v1/conversations/{conversation}/messages").json()["results"]
    assert {one["run_id"]: one["action_id"] for one in messages} == {str(run): None, executing: str(action)}
    named = {"id": str(action), "tool": "send_mail", "title": WORDING["title"]}
    runs = idle.client.get("/v1/runs", params={"user_id": str(user)}).json()["results"]
    assert {one["request_id"]: one["action"] for one in runs} == {str(run): None, executing: named}
    assert idle.client.get(f"/v1/runs/{executing}").json()["action"] == named


def test_a_rejection_inserts_none(idle: Stack, user: UUID) -> None:
    action = propose(idle, asking(idle, user))
    assert decide(idle, action, user, "reject").json()["status"] == "rejected"
    assert error(decide(idle, action, user)) == (409, "already_decided", {"status": "rejected"})
    assert idle.rows("select from pipeline_runs where kind = 'action'") == []


def test_what_a_replaced_question_proposed_is_withdrawn(idle: Stack, user: UUID) -> None:
    """An edited question leaves nothing in the inbox: approving it is one clear error, and nothing is executed."""
    conversation = uuid4()
    run = asking(idle, user, conversation)
    action = propose(idle, run)
    idle.rows("update pipeline_runs set status = 'FAILED' where id = %s", run)
    body = {"user_id": str(user), "query": "Mail Bob.", "conversation_id": str(conversation), "replaces": str(run)}
    assert idle.client.post("/v1/runs", json=body).status_code == 202
    assert ids(page(idle, user, status="pending")) == []
    seen = idle.client.get(f"/v1/actions/{action}").json()
    assert (seen["status"], seen["decided_by"], seen["action_run_id"]) == ("rejected", "replaced", None)
    refused = decide(idle, action, user)
    assert error(refused) == (409, "already_decided", {"status": "rejected"})
    assert "its question was asked again" in refused.json()["error"]["message"]
    assert "its question was asked again" in edit(idle, action, user, {"to": "Bob"}).json()["error"]["message"]
    assert idle.rows("select from pipeline_runs where kind = 'action'") == []


def test_what_has_expired_shows_so_and_stays(idle: Stack, user: UUID) -> None:
    action = propose(idle, asking(idle, user))
    expire(idle, action)
    assert idle.client.get(f"/v1/actions/{action}").json()["status"] == "expired"
    assert error(edit(idle, action, user, {"to": "Bob"})) == (409, "expired", {"status": "expired"})
    for word in ("approve", "reject", "approve"):
        assert error(decide(idle, action, user, word)) == (409, "expired", {"status": "expired"})
    assert idle.rows("select from pipeline_runs where kind = 'action'") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "arguments.to: is required"),
        ({"to": 5}, "arguments.to: 5 is not of type 'string'"),
        ({"to": ""}, "arguments.to: '' should be non-empty"),
        ({"to": "Ann", "copies": 10}, "arguments.copies: 10 is greater than the maximum of 9"),
        ({"to": "Ann", "colour": "red"}, "arguments.colour: is not an argument of the tool"),
        ("Ann", "arguments: Input should be a valid dictionary"),
        ({"to": "\x00"}, "NUL"),
    ],
)
def test_a_bad_edit_changes_nothing(idle: Stack, user: UUID, arguments: Any, words: str) -> None:
    action = propose(idle, asking(idle, user))
    reply = edit(idle, action, user, arguments)
    assert error(reply)[:2] == (422, "invalid_request") and words in reply.json()["error"]["message"]
    assert idle.client.get(f"/v1/actions/{action}").json()["arguments"] == {"to": "Ann"}


def test_edited_arguments_are_approved(idle: Stack, user: UUID) -> None:
    """A run that is taken up again asks for what it asked: that is still the same action."""
    run = asking(idle, user)
    action = propose(idle, run)
    assert edit(idle, action, user, {"to": "Bob", "copies": 2}).json()["arguments"] == {"to": "Bob", "copies": 2}
    assert propose(idle, run) == action
    approved = decide(idle, action, user).json()
    query = idle.client.get(approved["poll_url"]).json()["query"]
    assert query == 'send_mail {"to": "Bob", "copies": 2}'


def test_an_edit_for_another_version_of_the_tool(idle: Stack, user: UUID) -> None:
    action = propose(idle, asking(idle, user), version="v1")
    assert error(edit(idle, action, user, {"to": "Bob"}))[:2] == (409, "conflict")


def test_nobody_reaches_the_actions_of_another(idle: Stack, user: UUID) -> None:
    action = propose(idle, asking(idle, user))
    stranger = uuid4()
    replies = [
        decide(idle, action, stranger),
        decide(idle, action, stranger, "reject"),
        edit(idle, action, stranger, {"to": "Eve"}),
        decide(idle, NOBODY, user),
        edit(idle, NOBODY, user, {}),
        idle.client.get(f"/v1/actions/{action}", params={"user_id": str(stranger)}),
        idle.client.get(f"/v1/actions/{NOBODY}"),
        idle.client.get("/v1/actions/one"),
    ]
    assert {error(reply)[:2] for reply in replies} == {(404, "not_found")}
    assert idle.client.get(f"/v1/actions/{action}", params={"user_id": str(user)}).json()["status"] == "pending"


def test_a_full_queue_takes_no_decision(idle: Stack, user: UUID) -> None:
    """Nothing is decided that cannot be executed; a rejection needs no place in the queue."""
    run = asking(idle, user)
    kept, dropped = propose(idle, run), propose(idle, run, 2)
    for _ in range(LIMIT - 1):
        asking(idle, user)
    refused = decide(idle, kept, user)
    assert (error(refused)[:2], refused.headers["retry-after"]) == ((429, "queue_full"), "5")
    assert idle.client.get(f"/v1/actions/{kept}").json()["status"] == "pending"
    assert decide(idle, dropped, user, "reject").status_code == 200
    idle.rows("update pipeline_runs set queue_state = 2, status = 'FAILED' where id = %s", run)
    assert decide(idle, kept, user).status_code == 200
    posted = idle.client.post("/v1/runs", json={"user_id": str(user), "query": "One more."})
    assert error(posted)[:2] == (429, "queue_full")


def test_an_assistant_that_is_gone(idle: Stack, user: UUID) -> None:
    """Its run is refused, so nothing is decided."""
    action = propose(idle, asking(idle, user))
    idle.rows("update assistants set is_active = false")
    assert error(decide(idle, action, user))[:2] == (422, "unknown_assistant")
    assert idle.client.get(f"/v1/actions/{action}").json()["status"] == "pending"
