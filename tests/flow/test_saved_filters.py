"""Filters that each operator keeps by name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from maas.users import NewKey, create_key
from shared.db import open_database
from tests.stack import Stack


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="keys") as running:
        running.start_server()
        yield running


def new_admin(stack: Stack) -> dict[str, str]:
    async def create() -> str:
        async with open_database(stack.dsn, 1, "test") as db:
            return await create_key(db, NewKey("desk", ("admin",)), "test")

    return {"authorization": f"Bearer {asyncio.run(create())}"}


def put(stack: Stack, admin: dict[str, str], place: str, query: str) -> tuple[int, Any]:
    reply = stack.client.put(f"/v1/admin/filters/{place}", json={"query": query}, headers=admin)
    return reply.status_code, reply.json()


def kept(stack: Stack, admin: dict[str, str]) -> list[tuple[str, str, str]]:
    found = stack.client.get("/v1/admin/filters", headers=admin).json()["results"]
    return [(one["list"], one["name"], one["query"]) for one in found]


def test_each_operator_keeps_their_own(stack: Stack) -> None:
    mine, others = new_admin(stack), new_admin(stack)
    assert put(stack, mine, "runs/late ones", "status=FAILED&error=timeout")[0] == 200
    assert put(stack, mine, "users/late ones", "sort=errors")[0] == 200
    assert put(stack, others, "runs/late ones", "q=tea")[0] == 200
    assert put(stack, mine, "runs/late ones", "status=FAILED")[0] == 200
    assert kept(stack, mine) == [("runs", "late ones", "status=FAILED"), ("users", "late ones", "sort=errors")]
    place = "/v1/admin/filters/runs/late ones"
    assert [stack.client.delete(place, headers=mine).status_code for _ in range(2)] == [204, 404]
    assert kept(stack, others) == [("runs", "late ones", "q=tea")]


def test_they_are_few_short_and_of_these_lists(stack: Stack) -> None:
    admin = new_admin(stack)
    for number in range(50):
        assert put(stack, admin, f"runs/{number}", "q=tea")[0] == 200
    status, refused = put(stack, admin, "runs/one more", "q=tea")
    assert (status, refused["error"]["code"]) == (403, "quota_exceeded")
    assert put(stack, admin, "runs/7", "q=coffee")[0] == put(stack, admin, "users/one more", "q=tea")[0] == 200
    for place in ("prompts/x", f"runs/{'x' * 101}", "runs/%00", "runs/%20"):
        assert put(stack, admin, place, "q=tea")[0] == 404, place
    for query in ("x" * 2001, "a b", "\0", "é"):
        assert put(stack, admin, "users/wrong", query)[0] == 422, query


def test_they_go_with_their_operator(stack: Stack) -> None:
    user = uuid4()
    stack.rows("insert into saved_filters (owner, list, name, query) values (%s, 'runs', 'x', '')", f"jwt:{user}")
    assert stack.client.delete(f"/v1/users/{user}", headers=new_admin(stack)).status_code == 200
    assert stack.rows("select from saved_filters where owner = %s", f"jwt:{user}") == []
