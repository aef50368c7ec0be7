"""A cut network: no connection ends, nothing arrives any more."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import httpx2
import pytest

from tests.cable import Cable
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack


@pytest.fixture
def cable(database: str) -> Iterator[Cable]:
    cable = Cable(database)
    yield cable
    cable.close()


def test_cut_network(stack: Stack, models: ModelServer, cable: Cable, user: UUID) -> None:
    """After the lease another goes on; who is cut off drops its runs by itself, and comes back when it can."""
    models.hold("responder")
    settings = models.settings() | {"MAAS_LEASE": "2", "MAAS_HEARTBEAT": "0.5"}
    cut_off = stack.start_orchestrator(**settings, DATABASE_URL=cable.dsn)
    (run,) = stack.rows(
        "insert into pipeline_runs (user_id, user_query) values (%s, 'What is a quark?') returning id", user
    )
    poll(lambda: models.calls["responder"] == 1)
    cable.cut()
    stack.start_orchestrator(**settings)
    poll(lambda: models.calls["responder"] == 2)
    poll(lambda: "session_lost" in stack.log())
    models.replies["responder"] = "The second one answered."
    models.release("responder")
    stack.wait_archived(run["id"])
    (answer,) = stack.rows("select final_answer from pipeline_runs where id = %s", run["id"])
    assert answer == {"final_answer": "The second one answered."}
    assert models.calls["archivist"] == 1
    cable.mend()
    poll(lambda: stack.rows("select from v_engines where pid = %s and is_alive", cut_off.pid))


def test_a_cut_longer_than_the_lease_is_held_against_no_run(
    stack: Stack, models: ModelServer, cable: Cable, user: UUID
) -> None:
    """The only orchestrator finds its own lease run out when it is back, and nobody has crashed."""
    models.hold("responder")
    settings = models.settings() | {"MAAS_LEASE": "2", "MAAS_HEARTBEAT": "0.5"}
    stack.start_orchestrator(**settings, DATABASE_URL=cable.dsn)
    (run,) = stack.rows(
        "insert into pipeline_runs (user_id, user_query) values (%s, 'What is a quark?') returning id", user
    )
    poll(lambda: models.calls["responder"] == 1)
    cable.cut()
    poll(lambda: stack.rows("select from engines where lease_until < now()") and "unregister_failed" in stack.log())
    cable.mend()
    poll(lambda: models.calls["responder"] == 2)
    assert stack.rows("select losses, deaths from pipeline_runs where id = %s", run["id"]) == [
        {"losses": 0, "deaths": 0}
    ]
    models.release("responder")


def test_a_cut_that_only_the_pool_feels_ends_the_session_with_its_lease(
    stack: Stack, models: ModelServer, cable: Cable, database: str
) -> None:
    """The connection for notifications still answers; the heartbeat that hangs is not waited for any longer."""
    settings = models.settings() | {"MAAS_LEASE": "2", "MAAS_HEARTBEAT": "0.5", "LISTEN_DATABASE_URL": database}
    stack.start_orchestrator(**settings, DATABASE_URL=cable.dsn)
    poll(lambda: "orchestrator_ready" in stack.log())
    cable.cut()
    poll(lambda: "session_lost" in stack.log(), 20)


def test_the_server_answers_soon_when_the_network_is_back(stack: Stack, cable: Cable, user: UUID) -> None:
    """Every connection hangs for good, that for LISTEN too, with requests in flight; new ones take their place."""
    stack.start_server(DATABASE_URL=cable.dsn)

    def post(_: object = None) -> int:
        try:
            body = {"user_id": str(user), "query": "What is a quark?"}
            return stack.client.post("/v1/runs", json=body, timeout=1).status_code
        except httpx2.TimeoutException:
            return 0

    def read(_: object = None) -> int:
        return stack.client.get("/v1/runs", params={"user_id": str(user)}, timeout=30).status_code

    with ThreadPoolExecutor(4) as clients:
        assert set(clients.map(read, range(4))) == {200}
        cable.cut()
        hanging = [clients.submit(read) for _ in range(3)]
        assert post() == 0  # its batch keeps all that are inserted
        poll(lambda: cable.kept >= 4)
        cable.mend(is_forgotten=True)
        poll(lambda: post() == 202)  # 5 s on an idle machine
        assert read() == 200
        assert {one.result(5) for one in hanging} <= {200, 503}


def test_a_request_that_hangs_is_given_up_and_can_be_repeated(stack: Stack, cable: Cable, user: UUID) -> None:
    """The client hears within seconds that it may be stored, and the key of that error makes one run of both."""
    stack.start_server(DATABASE_URL=cable.dsn)
    body = {"user_id": str(user), "query": "What is a quark?"}
    assert stack.client.post("/v1/runs", json=body).status_code == 202
    cable.cut()
    reply = stack.client.post("/v1/runs", json=body, timeout=25)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unconfirmed")
    key = reply.json()["error"]["details"]["idempotency_key"]
    cable.mend()

    def repeat() -> int:
        return stack.client.post("/v1/runs", json=body, headers={"Idempotency-Key": key}, timeout=25).status_code

    poll(lambda: repeat() == 202)
    assert repeat() == 202
    assert stack.rows("select count(*) from pipeline_runs") == [{"count": 2}]
