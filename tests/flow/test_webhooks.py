"""Webhooks from a request to a receiver that verifies them with the package of the standard."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from standardwebhooks import Webhook
from werkzeug import Request, Response

from tests.http_server import HTTPServer
from tests.polling import poll
from tests.stack import Stack


class Receiver:
    """Answers by path with the next of `statuses`, 200 after the last; keeps what it got."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.port}"
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.statuses: dict[str, list[int]] = {}
        self.location = ""
        server.expect_request("/internal").respond_with_handler(self._answer)
        for path in ("/hook", "/other", "/hang", "/gone", "/moved"):
            server.expect_request(path).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        self.got.append((request.path, dict(request.headers), request.get_data()))
        if request.path == "/hang":
            time.sleep(5)
        statuses = self.statuses.get(request.path, [])
        status = statuses.pop(0) if statuses else 200
        return Response("", status, headers={"location": f"{self.url}/internal", "retry-after": "0"})

    def of(self, path: str) -> list[tuple[dict[str, str], bytes]]:
        return [(headers, body) for where, headers, body in self.got if where == path]


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {"MAAS_WEBHOOK_NETWORKS": "127.0.0.0/8"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with HTTPServer(threaded=True) as server:
        yield Receiver(server)


def create(stack: Stack, user: UUID, url: str, **fields: Any) -> dict[str, Any]:
    reply = stack.client.post("/v1/webhooks", json={"user_id": str(user), "url": url, **fields})
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def deliveries(stack: Stack, webhook: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    reply = stack.client.get(f"/v1/webhooks/{webhook['id']}/deliveries", params=params)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["results"])


def hurry(stack: Stack) -> None:
    stack.rows("update webhook_deliveries set next_at = now() where state = 'waiting' and claimed_until is null")
    stack.rows("update webhook_endpoints set paused_until = null")


def has_failed(stack: Stack, webhook: dict[str, Any], status: int) -> bool:
    return any(one["status"] == status for one in deliveries(stack, webhook, state="waiting"))


def test_a_run_reaches_a_receiver_signed_and_in_order(stack: Stack, user: UUID, receiver: Receiver) -> None:
    """It fails at first, is sent again with its id, and the memory comes after the answer."""
    receiver.statuses["/hook"] = [500, 302]
    webhook = create(stack, user, f"{receiver.url}/hook", texts=True, events=["run.completed", "memory.added"])
    assert webhook["state"] == "enabled" and "secret" not in stack.client.get(f"/v1/webhooks/{webhook['id']}").json()
    run = stack.ask(user, "My sister Alma plays the cello.")
    for status in (500, 302):
        poll(partial(has_failed, stack, webhook, status), what=f"an attempt ended with {status}")
        hurry(stack)
    poll(lambda: len(receiver.of("/hook")) >= 4, what="all is delivered")
    verified = [Webhook(webhook["secret"]).verify(body, headers) for headers, body in receiver.of("/hook")]
    assert [one["type"] for one in verified[:4]] == ["run.completed"] * 3 + ["memory.added"]
    assert len({headers["Webhook-Id"] for headers, _ in receiver.of("/hook")[:3]}) == 1
    data = verified[2]["data"]
    assert (data["run_id"], data["user_id"], data["question"]) == (
        str(run),
        str(user),
        "My sister Alma plays the cello.",
    )
    assert data["answer"] == stack.answer(run)["final_answer"] and not receiver.of("/internal")
    poll(lambda: {one["state"] for one in deliveries(stack, webhook)} == {"delivered"}, what="it is stored")
    shown = deliveries(stack, webhook, limit=100)
    assert (len(shown), shown[-1]["attempts"]) == (2, 3) and "Alma" not in str(shown)


def test_a_secret_is_rotated_and_a_delivery_replayed(stack: Stack, user: UUID, receiver: Receiver) -> None:
    webhook = create(stack, user, f"{receiver.url}/hook", events=["run.completed"])
    stack.answer(stack.ask(user, "hello"))
    poll(lambda: [one for one in deliveries(stack, webhook) if one["state"] == "delivered"], what="it is delivered")
    path = f"/v1/webhooks/{webhook['id']}"
    new = stack.client.post(f"{path}/rotate", json={"hours": 1}).json()["secret"]
    (delivery,) = deliveries(stack, webhook)
    reply = stack.client.post(f"{path}/replay", json={"delivery_id": delivery["id"]})
    assert reply.json() == {"deliveries": 1}
    poll(lambda: len(receiver.of("/hook")) == 2, what="it is sent again")
    headers, body = receiver.of("/hook")[1]
    assert headers["Webhook-Id"] == delivery["id"] == receiver.of("/hook")[0][0]["Webhook-Id"]
    for secret in (webhook["secret"], new):
        assert Webhook(secret).verify(body, headers)["data"]["user_id"] == str(user)
    assert stack.client.post(f"{path}/replay", json={"delivery_id": str(uuid4())}).json() == {"deliveries": 0}


def test_what_hangs_delays_no_other_and_410_ends_it(stack: Stack, user: UUID, receiver: Receiver) -> None:
    hanging = create(stack, user, f"{receiver.url}/hang", events=["run.completed"])
    gone = create(stack, user, f"{receiver.url}/gone", events=["run.completed"])
    other = create(stack, user, f"{receiver.url}/other", events=["run.completed"])
    receiver.statuses["/gone"] = [410]
    began = time.monotonic()
    stack.answer(stack.ask(user, "hello"))
    poll(lambda: receiver.of("/other") and receiver.of("/hang"), what="the others have it")
    poll(lambda: deliveries(stack, other)[0]["state"] == "delivered", what="before the one that hangs has answered")
    assert time.monotonic() - began < 5 or deliveries(stack, hanging)[0]["state"] == "waiting"
    poll(lambda: stack.client.get(f"/v1/webhooks/{gone['id']}").json()["state"] == "gone", what="it is disabled")
    reply = stack.client.patch(f"/v1/webhooks/{gone['id']}", json={"enabled": True, "events": ["run.failed"]})
    assert (reply.json()["state"], reply.json()["events"]) == ("enabled", ["run.failed"])
    reply = stack.client.patch(f"/v1/webhooks/{gone['id']}", json={"events": ["user.erased"]})
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "conflict")
    assert stack.client.delete(f"/v1/webhooks/{gone['id']}").status_code == 204
    assert stack.client.get(f"/v1/webhooks/{gone['id']}").status_code == 404
    whose = {"user_id": str(user)}
    listed = stack.client.get("/v1/webhooks", params=whose).json()["results"]
    assert [one["id"] for one in listed] == [hanging["id"], other["id"]]


def test_private_addresses_are_not_reached(stack: Stack, user: UUID) -> None:
    """Loopback is allowed here, other private networks are not; the receiver learns no more than that."""
    webhook = create(stack, user, "https://10.11.12.13/", events=["run.completed"])
    stack.answer(stack.ask(user, "hello"))
    poll(lambda: deliveries(stack, webhook) and deliveries(stack, webhook)[0]["error"], what="it was tried")
    assert deliveries(stack, webhook)[0]["error"] == "not_public"


def test_an_operator_learns_that_a_user_was_erased(stack: Stack, user: UUID, receiver: Receiver) -> None:
    body = {"url": f"{receiver.url}/other", "events": ["user.erased"]}
    reply = stack.client.post("/v1/admin/webhooks", json=body)
    assert reply.status_code == 201 and reply.json()["user_id"] is None
    own = create(stack, user, f"{receiver.url}/hook")
    stack.answer(stack.ask(user, "hello"))
    assert stack.client.delete(f"/v1/users/{user}").status_code == 200
    poll(lambda: receiver.of("/other"), what="the operator has it")
    headers, sent = receiver.of("/other")[0]
    assert Webhook(reply.json()["secret"]).verify(sent, headers)["data"] == {"user_id": str(user)}
    assert stack.client.get(f"/v1/webhooks/{own['id']}").status_code == 404
    listed = stack.client.get("/v1/admin/webhooks").json()["results"]
    assert reply.json()["id"] in {one["id"] for one in listed}
    assert stack.client.delete(f"/v1/webhooks/{reply.json()['id']}").status_code == 204


def test_every_event_arrives(stack: Stack, user: UUID, receiver: Receiver) -> None:
    """Each type that can be asked for, caused by what causes it, signed, and of this user."""
    reply = stack.client.post("/v1/admin/webhooks", json={"url": f"{receiver.url}/hook"})
    webhook = reply.json()
    run = stack.ask(user, "My sister Alma plays the cello. I like tea.")
    stack.answer(run)
    proposed = "select maas_propose_action(%s, 'c', 'pay', '{}', 'write')"
    stack.rows(proposed, str(run))
    memory = poll(lambda: stack.rows("select id from lsm_storage where run_id = %s", str(run)), what="it is remembered")
    poll(lambda: stack.rows("select from facts where user_id = %s", str(user)), what="a fact is found")
    steps = json.dumps([{"title": "One", "prompt": "Think."}])
    stack.rows("select maas_insert_task(%s, 'Report', %s)", str(user), steps)
    failing = stack.ask(user, "hello")
    stack.rows("select maas_cancel_run(%s)", str(failing))
    assert stack.client.delete(f"/v1/memories/{memory[0]['id']}", params={"user_id": str(user)}).status_code == 200
    expected = set(webhook["events"]) - {"user.erased"}
    poll(lambda: expected <= types(receiver, webhook, user), 30, "all are there")
    assert stack.client.delete(f"/v1/users/{user}").status_code == 200
    poll(lambda: types(receiver, webhook, user) == {*expected, "user.erased"}, what="the last one, too")
    stack.client.delete(f"/v1/webhooks/{webhook['id']}")
    assert len(webhook["events"]) == 8


def types(receiver: Receiver, webhook: dict[str, Any], user: UUID) -> set[str]:
    """The types of the events of a user that have arrived, verified."""
    events = [Webhook(webhook["secret"]).verify(body, headers) for headers, body in receiver.of("/hook")]
    return {one["type"] for one in events if one["data"]["user_id"] == str(user)}
