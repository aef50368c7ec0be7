"""Users by any name: who is named, who is found, and who may name whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import httpx2
import psycopg
from starlette.requests import Request

from maas.http.app import create_app
from maas.http.auth import Principal
from maas.settings import load_settings
from shared.db import open_database
from tests.polling import apoll
from tests.stack import NOBODY

LISTENERS = """select count(*) from pg_stat_activity
  where datname = current_database() and state = 'idle' and query ilike 'listen%'"""
BOTH = frozenset({"ask", "read"})


class FixedAuthenticator:
    """Every request is sent by this principal."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    async def authenticate(self, request: Request) -> Principal:
        return self._principal


@asynccontextmanager
async def client_of(dsn: str, principal: Principal) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the application whose requests are all sent by this principal."""
    async with open_database(dsn, 2, "maas test") as db:
        app = create_app(db, dsn, load_settings(), FixedAuthenticator(principal))
        transport = httpx2.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://t") as it:
            await apoll(lambda: _listens(dsn), what="the application listens")
            yield it


def _listens(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        (count,) = connection.execute(LISTENERS).fetchone() or (0,)
        return bool(count)


async def name(client: httpx2.AsyncClient, external_id: str) -> httpx2.Response:
    return await client.post("/v1/users", json={"external_id": external_id})


async def find(client: httpx2.AsyncClient, external_id: str) -> httpx2.Response:
    return await client.get("/v1/users", params={"external_id": external_id})


async def test_a_name_is_one_user_for_ever(fresh_database: str) -> None:
    async with client_of(fresh_database, Principal("any", BOTH)) as client:
        for external_id in ("ann@example.org", "Анна 😀", "a" * 200, " ann "):
            assert (await find(client, external_id)).status_code == 404
            first = await name(client, external_id)
            assert first.status_code == 200 and first.json()["external_id"] == external_id
            assert (await name(client, external_id)).json() == first.json() == (await find(client, external_id)).json()
        user = uuid4()
        assert (await name(client, str(user))).json()["user_id"] == str(user)
        assert (await find(client, str(user))).json()["user_id"] == str(user)


async def test_what_is_no_name_is_refused(fresh_database: str) -> None:
    async with client_of(fresh_database, Principal("any", BOTH)) as client:
        assert (await client.get("/v1/users")).json()["error"]["code"] == "bad_parameter"
        for external_id in ("", " ", "a" * 201, "\0"):
            assert (await name(client, external_id)).status_code == 422
            assert (await find(client, external_id)).json()["error"]["code"] == "bad_user"


async def test_who_only_reads_names_nobody(fresh_database: str) -> None:
    async with client_of(fresh_database, Principal("reader", frozenset({"read"}))) as client:
        assert (await name(client, "new@example.org")).status_code == 403
        assert (await find(client, "new@example.org")).status_code == 404


async def test_a_prefix_bounds_the_names(fresh_database: str) -> None:
    async with client_of(fresh_database, Principal("any", BOTH)) as client:
        foreign = (await name(client, "other:ann")).json()["user_id"]
    async with client_of(fresh_database, Principal("app", BOTH, prefix="app:")) as client:
        own = (await name(client, "app:ann")).json()["user_id"]
        assert (await find(client, "app:ann")).json()["user_id"] == own
        for external_id in ("other:ann", "other:bob", foreign, str(NOBODY)):
            for reply in (await name(client, external_id), await find(client, external_id)):
                assert reply.status_code == 404
                assert foreign not in reply.text or external_id == foreign
        added = await client.post("/v1/memories", json={"user_id": own, "memory": "I like tea."})
        assert added.status_code == 202


async def test_who_is_bound_to_a_user_finds_no_other(fresh_database: str) -> None:
    async with client_of(fresh_database, Principal("any", BOTH)) as client:
        own = (await name(client, "bound@example.org")).json()["user_id"]
        foreign = (await name(client, "foreign@example.org")).json()["user_id"]
    async with client_of(fresh_database, Principal("bound", BOTH, user_id=UUID(own))) as client:
        for external_id in ("bound@example.org", own):
            assert (await name(client, external_id)).json()["user_id"] == own
            assert (await find(client, external_id)).json()["user_id"] == own
        for external_id in ("foreign@example.org", "nobody@example.org", foreign):
            for reply in (await name(client, external_id), await find(client, external_id)):
                assert reply.status_code == 404
                assert reply.json()["error"]["message"] == f"there is no user {external_id!r}"
    async with client_of(fresh_database, Principal("any", BOTH)) as client:
        assert (await find(client, "nobody@example.org")).status_code == 404


async def test_a_history_is_its_users(fresh_database: str) -> None:
    async with client_of(fresh_database, Principal("any", BOTH)) as client:
        user = str(uuid4())
        added = await client.post("/v1/memories", json={"user_id": user, "memory": "I like tea."})
        path = f"/v1/memories/{added.json()['raw_log_ids'][0]}/history"
        (words,) = (await client.get(path)).json()["results"]
        assert (words["kind"], words["memory"], words["made_into"]) == ("turn", "I like tea.", None)
    async with client_of(fresh_database, Principal("stranger", BOTH, user_id=uuid4())) as client:
        assert (await client.get(path)).status_code == 404
