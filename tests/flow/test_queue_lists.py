"""The figures of the queue lead to the runs that they count."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from tests.stack import Stack

STATES = {
    "inbox": "queue_state = -2",
    "waiting": "queue_state = -1",
    "runnable": "queue_state = 0",
    "deferred": "queue_state = 0, not_before = now()",
    "in_flight": "queue_state = 1",
    "paused": "queue_state = -3",
    "scheduled": "queue_state = -4, run_at = now() + interval '1 hour'",
}


def queued(stack: Stack, state: str, user: UUID, query: str = "Where is Comet?", kind: str = "ask") -> str:
    insert = "insert into pipeline_runs (user_id, user_query, kind) values (%s, %s, %s) returning id"
    run = stack.rows(insert, user, query, kind)[0]["id"]
    stack.rows(f"update pipeline_runs set {STATES[state]} where id = %s", run)
    return str(run)


def listed(stack: Stack, **parameters: Any) -> list[str]:
    reply = stack.client.get("/v1/admin/runs", params=parameters)
    assert reply.status_code == 200, reply.text
    return [run["request_id"] for run in reply.json()["results"]]


def test_each_figure_of_the_queue_is_a_list_of_its_runs(bare: Stack) -> None:
    """A trial, too: the figure counts it."""
    runs = {state: [queued(bare, state, uuid4()), queued(bare, state, uuid4(), kind="archive")] for state in STATES}
    runs["runnable"].append(queued(bare, "runnable", uuid4(), kind="trial"))
    figures = bare.client.get("/v1/admin/metrics").json()["queue"]
    assert {state: len(found) for state, found in runs.items()} == figures
    assert {state: sorted(listed(bare, queue=state)) for state in figures} == {
        state: sorted(found) for state, found in runs.items()
    }


def test_other_filters_narrow_a_list_of_the_queue(bare: Stack) -> None:
    user = uuid4()
    mine = queued(bare, "paused", user, "Where is the kayak?")
    other = queued(bare, "paused", uuid4())
    import_ = queued(bare, "paused", uuid4(), kind="archive")
    assert listed(bare, queue="paused", user_id=str(user)) == [mine]
    assert listed(bare, queue="paused", q="KAYAK") == [mine]
    assert listed(bare, queue="paused", kind="archive") == [import_]
    assert listed(bare, queue="paused", status="FAILED") == []
    assert listed(bare, queue="paused", assistant="mentor") == [import_, other, mine]
    page = bare.client.get("/v1/admin/runs", params={"queue": "paused", "limit": 2}).json()
    assert [run["request_id"] for run in page["results"]] == [import_, other]
    assert listed(bare, queue="paused", limit=2, before=page["next"]) == [mine]
    refused = bare.client.get("/v1/admin/runs", params={"queue": "finished"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_parameter")
