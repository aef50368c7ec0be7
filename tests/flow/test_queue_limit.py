"""How many unfinished requests a user may have: HTTP refuses what is above, SQL of applications does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.polling import poll
from tests.stack import Stack

LIMIT = 5


@pytest.fixture
def idle(database: str, tmp_path: Path) -> Iterator[Stack]:
    """A server with a small limit, and nobody who answers."""
    with Stack(database, tmp_path, MAAS_USER_QUEUE_LIMIT=str(LIMIT)) as running:
        running.start_server()
        yield running


def post(stack: Stack, user: UUID, query: str = "And now?", key: str | None = None) -> httpx2.Response:
    headers = {"idempotency-key": key} if key else {}
    return stack.client.post("/v1/runs", json={"user_id": str(user), "query": query}, headers=headers)


def insert(stack: Stack, user: UUID, count: int = 1, **columns: str) -> None:
    names = "".join(f", {name}" for name in columns)
    values = "".join(f", '{value}'" for value in columns.values())
    words = f"insert into pipeline_runs (user_id, user_query{names}) select %s, 'by SQL'{values}"
    stack.rows(f"{words} from generate_series(1, {count})", user)


def unfinished(stack: Stack, user: UUID) -> int:
    return len(stack.rows("select from pipeline_runs where user_id = %s and queue_state < 2 and kind = 'ask'", user))


def test_the_limit_without_any_orchestrator(idle: Stack, user: UUID) -> None:
    """One clear error in the usual shape; other users are not affected."""
    for _ in range(LIMIT):
        assert post(idle, user).status_code == 202
    refused = post(idle, user)
    assert refused.status_code == 429
    error: dict[str, Any] = refused.json()["error"]
    seconds = int(refused.headers["retry-after"])
    assert 1 <= seconds <= 60
    assert (error["code"], error["details"]) == (
        "queue_full",
        {"unfinished": LIMIT, "limit": LIMIT, "retry_after": seconds},
    )
    assert "wait for one to finish" in error["message"]
    assert unfinished(idle, user) == LIMIT
    assert post(idle, uuid4()).status_code == 202


def test_posts_at_one_moment_do_not_exceed_it(idle: Stack, user: UUID) -> None:
    """Those of one batch are counted too, each user for himself."""
    other = uuid4()
    with ThreadPoolExecutor(24) as pool:
        replies = list(pool.map(lambda n: post(idle, (user, other)[n % 2]).status_code, range(48)))
    assert Counter(replies) == {202: 2 * LIMIT, 429: 48 - 2 * LIMIT}
    assert (unfinished(idle, user), unfinished(idle, other)) == (LIMIT, LIMIT)


def test_a_repeated_key_gives_its_run_when_the_queue_is_full(idle: Stack, user: UUID) -> None:
    first = post(idle, user, key="mine")
    for _ in range(LIMIT - 1):
        post(idle, user)
    assert post(idle, user, key="another").status_code == 429
    again = post(idle, user, key="mine")
    assert (again.status_code, again.json()) == (202, first.json())
    assert post(idle, user, "other words", key="mine").status_code == 409
    assert unfinished(idle, user) == LIMIT


def test_repeated_keys_at_one_moment(idle: Stack, user: UUID) -> None:
    """A repetition takes no place, whether its run was accepted or refused a moment before."""
    with ThreadPoolExecutor(24) as pool:
        replies = list(pool.map(lambda n: post(idle, user, key=f"key {n // 4}"), range(4 * LIMIT)))
    assert {reply.status_code for reply in replies} == {202}
    assert len({reply.json()["request_id"] for reply in replies}) == unfinished(idle, user) == LIMIT
    with ThreadPoolExecutor(24) as pool:
        late = list(pool.map(lambda n: post(idle, user, key=f"late {n % 2}").status_code, range(12)))
    assert set(late) == {429}


def test_inserts_always_queue_and_count(idle: Stack, user: UUID) -> None:
    """Any number by SQL; runs of other kinds take no place."""
    insert(idle, user, LIMIT - 1)
    insert(idle, user, 3, kind="archive")
    assert post(idle, user).status_code == 202
    assert post(idle, user).status_code == 429
    insert(idle, user, 30)
    refused = post(idle, user)
    assert refused.json()["error"]["details"]["unfinished"] == LIMIT + 30


def test_a_finished_run_makes_room(idle: Stack, user: UUID) -> None:
    for number in range(LIMIT):
        post(idle, user, f"number {number}")
    assert post(idle, user).status_code == 429
    orchestrator = idle.start_orchestrator()
    poll(lambda: unfinished(idle, user) == 0)
    assert post(idle, user).status_code == 202
    idle.wait_archived(*(row["id"] for row in idle.rows("select id from pipeline_runs")))
    idle.stop(orchestrator)
    insert(idle, user, LIMIT)
    refused = post(idle, user)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1"), "as fast as the last ones were"


def test_the_description_names_it(idle: Stack) -> None:
    refusal = idle.client.get("/openapi.json").json()["paths"]["/v1/runs"]["post"]["responses"]["429"]
    assert refusal["headers"]["Retry-After"]["schema"]["type"] == "integer"
