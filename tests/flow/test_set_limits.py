"""Quotas and rates that an operator changes over HTTP while the server runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.polling import poll
from tests.stack import Stack

LIMITS = "/v1/admin/limits"
IN_FORCE_S = 10.0


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder: Path = tmp_path_factory.mktemp("stack")
    with Stack(fresh_database, folder, MAAS_USER_RATE="500", MAAS_USER_QUEUE_LIMIT="50") as running:
        running.start_server()
        yield running


def limit(stack: Stack, name: str) -> dict[str, Any]:
    results = stack.client.get(LIMITS).json()["results"]
    (found,) = [one for one in results if one["name"] == name]
    return dict(found)


def set_limit(stack: Stack, name: str, value: object) -> int:
    return stack.client.put(f"{LIMITS}/{name}", json={"value": value}).status_code


def test_a_rate_is_changed_while_the_server_runs(stack: Stack) -> None:
    assert limit(stack, "user_rate")["value"] == limit(stack, "user_rate")["configured"] == 500

    def statuses() -> list[int]:
        user = uuid4()
        return [stack.client.get("/v1/runs", params={"user_id": str(user)}).status_code for _ in range(4)]

    assert statuses() == [200] * 4
    assert set_limit(stack, "user_rate", 2) == 200
    assert statuses() == [200, 200, 429, 429]
    changed = limit(stack, "user_rate")
    assert (changed["value"], changed["configured"], changed["changed_by"]) == (2, 500, "http")
    stack.rows("select maas_set_limit('user_rate', 3)")  # as an operator does in SQL
    poll(lambda: statuses() == [200, 200, 200, 429], IN_FORCE_S)
    assert stack.client.delete(f"{LIMITS}/user_rate").status_code == 200
    assert statuses() == [200] * 4
    assert stack.client.delete(f"{LIMITS}/user_rate").status_code == 404
    (last,) = stack.rows("select actor, details from audit where action = 'limit_drop'")
    assert last == {"actor": "http", "details": {"name": "user_rate", "before": 3}}


def test_a_queue_is_made_shorter_while_the_server_runs(stack: Stack) -> None:
    user = str(uuid4())
    assert set_limit(stack, "user_queue_limit", 1) == 200
    asked = [stack.client.post("/v1/runs", json={"user_id": user, "query": "Hello."}).status_code for _ in range(2)]
    assert asked == [202, 429]
    assert stack.client.delete(f"{LIMITS}/user_queue_limit").status_code == 200
    assert stack.client.post("/v1/runs", json={"user_id": user, "query": "Hello."}).status_code == 202


@pytest.mark.parametrize("value", [0, -1, 10**6 + 1, 10**30, 1.5, "many", "5", None, True, [5]])
def test_a_value_that_cannot_be_is_refused_with_one_error(stack: Stack, value: object) -> None:
    before = limit(stack, "user_images")
    answer = stack.client.put(f"{LIMITS}/user_images", json={"value": value})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
    assert answer.json()["error"]["message"].startswith("value: ")
    assert limit(stack, "user_images") == before


def test_a_limit_that_is_none_is_not_found(stack: Stack) -> None:
    assert set_limit(stack, "port", 5) == 404
    assert set_limit(stack, "x" * 300, 5) == 404
