"""/api/brain: an assistant with meta tools, asked and answered in the shapes of its web interface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.agency import ADVISER, SELLER, Agency
from tests.model_server import ModelServer
from tests.stack import Stack

AGENTS = [{name: one[name] for name in ("name", "role_prompt", "about")} for one in (ADVISER, SELLER)]
KEYS = {"conversationId", "response", "executedActions", "mode", "agent", "metadata"}
OWN_ROUNDS = "select count(*) as n from llm_calls where run_id = %s and role_name = 'FinalResponder'"
TOKENS = "select sum(tokens_in + tokens_out) as n from llm_calls where run_id = %s and stage <> 'archivist'"


def execute(*calls: tuple[str, dict[str, Any]]) -> list[tuple[str, str]]:
    tools = [{"name": name, "args": args} for name, args in calls]
    return [("executeTools", json.dumps({"tools": tools, "user_question": "How are we?"}))]


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory, models: ModelServer) -> Iterator[Stack]:
    """Server and orchestrator with the assistant `desk`: two domains with an agent each."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        Agency(running, models, uuid4()).open("meta_tools", AGENTS, toolset=["adverts", "clients", "box"])
        yield running


@pytest.fixture(autouse=True)
def silent(models: ModelServer) -> None:
    models.rounds.clear()


def chat(stack: Stack, user: UUID, message: str = "How are we?", **fields: Any) -> Any:
    body = {"user": str(user), "message": message, "assistant": "desk"} | fields
    return stack.client.post("/api/brain/chat", json=body)


def stream(stack: Stack, user: UUID, message: str = "How are we?", **fields: Any) -> list[dict[str, Any]]:
    body = {"user": str(user), "message": message, "assistant": "desk"} | fields
    with stack.client.stream("POST", "/api/brain/chat/stream", json=body) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream"), reply.read()
        return [json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: ")]


def test_an_answer_has_exactly_these_keys(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Iterations are the orchestrator's own calls, tokens those of all: both as in the table of model calls."""
    models.rounds["responder"] = [execute(("get_spend", {}), ("get_leads", {}))]
    reply = chat(stack, user)
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    assert answer.keys() == KEYS and answer["metadata"].keys() == {"iterations", "tokens", "runId"}
    assert (answer["response"], answer["mode"], answer["agent"]) == ("A model answered.", "auto", "MetaOrchestrator")
    assert answer["executedActions"] == []
    run = answer["metadata"]["runId"]
    (own,), (tokens,) = stack.rows(OWN_ROUNDS, run), stack.rows(TOKENS, run)
    assert answer["metadata"] == {"iterations": own["n"], "tokens": tokens["n"], "runId": run} and own["n"] == 2
    assert stack.client.get(f"/v1/runs/{run}").json()["conversation_id"] == answer["conversationId"]
    stack.wait_archived(UUID(run))
    following = chat(stack, user, conversationId=answer["conversationId"], mode="plan").json()
    assert (following["conversationId"], following["mode"]) == (answer["conversationId"], "plan")


def test_the_last_event_is_the_answer(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.rounds["responder"] = [execute(("write_line", {"text": "a"}), ("pause_campaign", {"text": "Summer"}))]
    events = stream(stack, user)
    assert {one["type"] for one in events} == {"text", "tool_start", "tool_result", "approval_required", "done"}
    done = events[-1]
    assert done["type"] == "done" and done.keys() - {"type"} == KEYS
    proposed, written = done["executedActions"]
    assert (proposed["tool"], proposed["arguments"]) == ("pause_campaign", {"text": "Summer"})
    assert (written["tool"], written["status"]) == ("write_line", "done")
    (asked,) = [one for one in events if one["type"] == "approval_required"]
    assert asked["action_id"] == proposed["id"]


def test_layers_are_sent_if_they_are_wanted(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.rounds["responder"] = [execute(("get_spend", {}), ("get_leads", {}))]
    layers = [one for one in stream(stack, user, debugLayers=True) if one["type"] == "layer"]
    assert {one["layer"] for one in layers} == set(range(1, 12))


def test_an_idempotency_key_gives_the_same_answer(stack: Stack, user: UUID) -> None:
    """Also without a conversation, which the first request opens."""
    body = {"user": str(user), "message": "Hello", "assistant": "desk"}
    headers = {"idempotency-key": f"key {user}"}
    first, second = (stack.client.post("/api/brain/chat", json=body, headers=headers) for _ in range(2))
    assert first.json() == second.json() and first.status_code == 200
    other = stack.client.post("/api/brain/chat", json=body | {"message": "Bye"}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")


def test_a_run_that_fails_is_an_error(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.statuses["responder"] = 400
    try:
        reply, events = chat(stack, user), stream(stack, user)
    finally:
        models.statuses.clear()
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "run_failed")
    assert (events[-1]["type"], events[-1]["code"]) == ("error", "run_failed")


WRONG = [
    ({"message": " "}, 422, "invalid_request"),
    ({"message": 5}, 422, "invalid_request"),
    ({"message": "a\0b"}, 422, "invalid_request"),
    ({"mode": "always"}, 422, "invalid_request"),
    ({"debugLayers": "yes"}, 422, "invalid_request"),
    ({"conversationId": "x"}, 422, "invalid_request"),
    ({"conversation_id": str(UUID(int=1))}, 422, "invalid_request"),
    ({"assistant": "nobody"}, 422, "unknown_assistant"),
    ({"adAccountId": "act_404"}, 404, "not_found"),
    ({"userAccountId": str(UUID(int=404))}, 404, "not_found"),
]


@pytest.mark.parametrize(("fields", "status", "code"), WRONG)
def test_bad_input_changes_nothing(stack: Stack, user: UUID, fields: dict[str, Any], status: int, code: str) -> None:
    reply = chat(stack, user, **fields)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert stack.rows("select from pipeline_runs where user_id = %s", user) == []


def account(stack: Stack, user: UUID, number: int) -> tuple[str, str]:
    """A user account and its ad account."""
    (one,) = stack.rows("insert into user_accounts (user_id, name) values (%s, 'Bakery') returning id", user)
    (ads,) = stack.rows(
        "insert into ad_accounts (user_id, user_account_id, fb_id, name, currency, timezone) "
        "values (%s, %s, %s, 'Ads', 'USD', 'UTC') returning id",
        user,
        one["id"],
        f"act_{number}",
    )
    return str(one["id"]), str(ads["id"])


def test_accounts_are_those_of_the_user(stack: Stack, user: UUID) -> None:
    """By our id or that of Facebook; one of somebody else is told in the words for an unknown one."""
    mine, my_ads = account(stack, user, 1)
    other, other_ads = account(stack, user, 2)
    theirs, their_ads = account(stack, uuid4(), 3)

    def used(**fields: str) -> object:
        reply = chat(stack, user, **fields)
        if reply.status_code != 200:
            return reply.status_code
        run = reply.json()["metadata"]["runId"]
        return stack.rows("select metadata->>'account' as account from pipeline_runs where id = %s", run)[0]["account"]

    assert used(adAccountId="act_1") == used(adAccountId=my_ads.upper()) == my_ads
    assert used(userAccountId=mine) == mine
    assert used(userAccountId=other, adAccountId="act_2") == other_ads
    assert used(userAccountId=mine, adAccountId="act_2") == 404
    for name in ("act_3", their_ads, theirs, "act_404"):
        error = chat(stack, user, adAccountId=name).json()["error"]
        assert (error["code"], error["message"]) == ("not_found", f"there is no account {name} of this user")
    assert used(userAccountId=theirs) == 404
    assert used() is None


def test_actions_are_decided_here_too(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.rounds["responder"] = [execute(("drop_lead", {"text": "Ann"}))]
    (proposed,) = chat(stack, user).json()["executedActions"]
    path, whose = f"/api/brain/actions/{proposed['id']}", {"user_id": str(user)}
    assert stack.client.get(path, params=whose).json() == stack.client.get(f"/v1{path[10:]}", params=whose).json()
    assert stack.client.post(f"{path}/approve", json={"user_id": str(uuid4())}).status_code == 404
    approved = stack.client.post(f"{path}/approve", json=whose).json()
    assert stack.answer(UUID(approved["action_run_id"]))["status"] == "COMPLETED"
    assert stack.client.get(path).json()["status"] == "done"
    assert stack.client.post(f"{path}/reject", json=whose).status_code == 409


def test_a_conversation_of_another_is_unknown(stack: Stack, user: UUID) -> None:
    theirs = chat(stack, uuid4()).json()["conversationId"]
    reply = chat(stack, user, conversationId=theirs)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
