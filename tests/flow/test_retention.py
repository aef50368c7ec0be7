"""A memory whose words are gone, at every endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from tests.polling import poll
from tests.stack import Stack


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("retention")) as running:
        running.start_server()
        yield running


@pytest.fixture(scope="module")
def user(stack: Stack) -> UUID:
    """One who said something long ago, and something today."""
    user = uuid4()
    orchestrator = stack.start_orchestrator()
    old = stack.ask(user, "My heron is called Ferdinand.")
    new = stack.ask(user, "My cat is called Mina.")
    stack.wait_archived(old, new)
    stack.stop(orchestrator)
    stack.rows("update raw_logs set created_at = now() - interval '60 days' where run_id = %s", old)
    stack.rows(
        "update pipeline_runs set created_at = now() - interval '60 days', completed_at = now() - interval '60 days' "
        "where id = %s",
        old,
    )
    stack.start_orchestrator(MAAS_RETENTION_DAYS="30")
    poll(lambda: stack.client.get(f"/v1/runs/{old}").status_code == 404, what="the old run is swept")
    assert stack.client.get(f"/v1/runs/{new}").status_code == 200
    return user


def test_a_record_says_that_its_words_are_gone(stack: Stack, user: UUID) -> None:
    records = stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"]
    assert len(records) == 2
    found = {}
    for record in records:
        found["Ferdinand" in record["memory"]] = stack.client.get(f"/v1/memories/{record['id']}/sources").json()
    assert (found[True]["results"], found[True]["gone"]) == ([], 2)
    assert (len(found[False]["results"]), found[False]["gone"]) == (2, 0)


def test_a_record_is_found_where_its_words_no_longer_are(stack: Stack, user: UUID) -> None:
    def search(**more: object) -> list[dict[str, object]]:
        question = {"user_id": str(user), "query": "What is my heron called?"}
        results: list[dict[str, object]] = stack.client.post("/v1/memories/search", json=question | more).json()[
            "results"
        ]
        return results

    first = search()[0]
    assert first["kind"] == "summary" and "Ferdinand" in str(first["memory"])
    now = datetime.now(UTC)
    assert search(as_of=now.isoformat())[0] == first
    for nothing in ({"as_of": (now - timedelta(days=1)).isoformat()}, {"to": (now - timedelta(days=1)).isoformat()}):
        assert not [one for one in search(**nothing) if one["id"] == first["id"]]
    run = stack.ask(user, "What is my heron called?")
    assert first["id"] in [source["id"] for source in stack.answer(run)["sources"]]


def test_nobody_else_finds_it(stack: Stack, user: UUID) -> None:
    found = stack.client.post("/v1/memories/search", json={"user_id": str(uuid4()), "query": "heron Ferdinand"})
    assert found.json()["results"] == []


def test_an_export_comes_back_whole(stack: Stack, user: UUID) -> None:
    export = stack.client.get(f"/v1/users/{user}/export").content
    kinds = [json.loads(line).get("type") for line in export.splitlines()]
    again = uuid4()
    back = stack.client.post(
        f"/v1/users/{again}/import", content=export, headers={"content-type": "application/x-ndjson"}
    )
    assert back.status_code == 202, back.text
    assert (back.json()["added"], back.json()["records"]) == (kinds.count("log"), kinds.count("record"))
    gone = stack.rows("select words_gone, summary from lsm_storage where user_id = %s and words_gone", again)
    assert len(gone) == 1 and "Ferdinand" in gone[0]["summary"]


def test_it_is_noted_and_counted(stack: Stack, user: UUID) -> None:
    notes = stack.rows("select actor, details->>'logs' as logs from v_audit where action = 'retention'")
    assert notes == [{"actor": "retention", "logs": "2"}]
    poll(lambda: "maas_words_swept_total 2.0" in stack.client.get("/metrics").text, what="it is counted")


def test_what_operators_do_is_noted(stack: Stack, user: UUID) -> None:
    run = stack.ask(user, "What is my cat called?")
    assert stack.client.get(f"/v1/runs/{run}/trace").status_code == 200
    assert stack.client.get("/v1/runs", params={"status": "FAILED"}).status_code == 200
    notes = stack.rows(
        "select action, actor, user_id, subject from v_audit where action in ('trace_read', 'runs_list')"
    )
    assert [tuple(row.values()) for row in notes] == [
        ("runs_list", "http", None, None),
        ("trace_read", "http", user, run),
    ]
