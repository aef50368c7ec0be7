"""Prices of models that operators set while everything runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.stack import Stack

PRICE = {"provider": "openai", "model": "gpt-new%", "input": 2, "cached": None, "output": 10.5, "image": None}
COST = "select maas_price('openai', 'gpt-new-mini', 1000, 0, 100) as price"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        yield running


def of_new(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in PRICE} for one in results if one["model"].startswith("gpt-new")]


def test_a_price_is_set_changed_and_deleted(stack: Stack) -> None:
    before = stack.client.get("/v1/admin/prices").json()["results"]
    assert {"openai", "anthropic", "gemini"} <= {one["provider"] for one in before} and of_new(before) == []
    assert stack.rows(COST) == [{"price": None}]
    reply = stack.client.put("/v1/admin/prices", json=PRICE)
    assert (reply.status_code, of_new(reply.json()["results"])) == (200, [PRICE]), reply.text
    assert stack.rows(COST) == [{"price": 3050}]
    changed = PRICE | {"input": 0.5, "cached": 0.25, "image": 0.04}
    assert of_new(stack.client.put("/v1/admin/prices", json=changed).json()["results"]) == [changed]
    assert stack.rows(COST) == [{"price": 1550}]
    old = {"provider": "openai", "model": "gpt-new%"}
    statuses = [stack.client.post("/v1/admin/prices/drop", json=old).status_code for _ in range(2)]
    assert statuses == [200, 404] and stack.rows(COST) == [{"price": None}]
    noted = stack.rows("select actor, details from audit where action = 'price_change' order by id")
    assert [(row["actor"], row["details"]["how"]) for row in noted] == [
        ("http", how) for how in ("insert", "update", "delete")
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"input": -1},
        {"output": None},
        {"input": 1e9},
        {"provider": "OpenAI:"},
        {"provider": ""},
        {"model": ""},
        {"model": "a b"},
        {"model": "x" * 201},
        {"currency": "EUR"},
    ],
)
def test_a_wrong_price_is_not_set(stack: Stack, change: dict[str, Any]) -> None:
    assert stack.client.put("/v1/admin/prices", json=PRICE | change).status_code == 422
    assert of_new(stack.client.get("/v1/admin/prices").json()["results"]) == []
