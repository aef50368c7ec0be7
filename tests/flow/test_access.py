"""MAAS_AUTH=keys: every route with every kind of key; a route that is added to the table is covered automatically."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as StarletteRoute

from maas.http.admin.people import post_key
from maas.http.ai_sdk.chat import get_ui_stream
from maas.http.app import create_app
from maas.http.auth import LocalAuthenticator
from maas.http.oauth.consent import post_app, post_app_preview
from maas.http.route import Route
from maas.http.routes import all_routes
from maas.settings import load_settings
from maas.users import NewKey, create_key
from shared.db import open_database
from tests.http_calls import Answer, call, chat_of, make, takes_user, user_field
from tests.polling import poll
from tests.stack import NOBODY, Stack

GUARDED = [pytest.param(route, id=f"{route.method} {route.path}") for route in all_routes() if route.scope != "open"]
OF_SOMEBODY = [  # what is for administrators of all users refuses bound keys before it looks whose a thing is
    pytest.param(route, id=f"{route.method} {route.path}")
    for route in all_routes()
    if takes_user(route) and not route.path.startswith("/v1/admin/")
]
OTHERS = {
    "ask": ("read", "metrics"),
    "read": ("ask", "metrics"),
    "metrics": ("ask", "read"),
    "admin": ("ask", "read", "metrics"),
    "erase": ("ask", "read", "metrics"),
    "keys": ("ask", "read", "metrics"),
}
KEY_SCOPES = {"erase": "admin", "keys": "admin"}  # which keys need where people who have signed in have more
USER_RATE = 300
SIGN_IN = {f"/auth/v1/{name}" for name in ("signup", "token", "verify", "user", "logout", "settings", "health")}
CARDS = {"/.well-known/agent-card.json", "/v1/a2a/{model}/.well-known/agent-card.json"}
METADATA = {f"/.well-known/oauth-{name}" for name in ("protected-resource", "authorization-server")} | {
    "/.well-known/oauth-protected-resource/mcp"
}
OAUTH = {f"/oauth/{name}" for name in ("register", "token", "revoke")}
OPEN = {"/v1/shared", "/healthz", "/readyz", "/openapi.json", "/docs"} | METADATA | OAUTH | CARDS | SIGN_IN
WRONG = f"maas_{'0' * 12}_{'0' * 64}"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that asks for keys, and nobody who answers."""
    settings = {"MAAS_AUTH": "keys", "MAAS_USER_RATE": str(USER_RATE), "MAAS_OPENAI_WAIT": "0.2", "MAAS_A2A": "mentor"}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        yield running


@pytest.fixture(scope="module")
def root(stack: Stack) -> str:
    """A key that may do everything."""
    return new_key(stack, scopes=("admin",))


@pytest.fixture
def victim(stack: Stack) -> UUID:
    """A user whose only name is their own."""
    return new_user(stack)


def new_user(stack: Stack) -> UUID:
    """With a private chat, and a conversation in it."""
    user = UUID(str(stack.rows("select maas_resolve_user('api', %s) as id", f"inside:{uuid4()}")[0]["id"]))
    stack.rows("insert into user_identities values ('telegram', %s, %s)", chat_of(user), user)
    stack.rows("select maas_chat_conversation(%s, %s, 'mentor')", chat_of(user), user)
    return user


def name_of(stack: Stack, user: UUID) -> str:
    return str(
        stack.rows("select external_id from user_identities where user_id = %s and provider = 'api'", user)[0][
            "external_id"
        ]
    )


def new_key(
    stack: Stack,
    scopes: tuple[str, ...] = ("ask", "read"),
    user: UUID | None = None,
    prefix: str | None = None,
    rate: int | None = None,
    days: int | None = None,
) -> str:
    async def create() -> str:
        async with open_database(stack.dsn, 2, "test") as db:
            return await create_key(db, NewKey("test", scopes, user, prefix, rate, days), "test")

    return asyncio.run(create())


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def code(answer: Answer) -> tuple[int, str]:
    found = re.search(r'"code": ?"(\w+)"', answer.body)
    return answer.status, found[1] if found else ""


def own_headers(answer: Answer) -> dict[str, str]:
    """Without what is another with every reply."""
    return {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}


def test_only_these_are_open() -> None:
    """Health, the documentation and the sign-in need no key, and none of it names a user."""
    assert {route.path for route in all_routes() if route.scope == "open"} == OPEN
    assert not [route.path for route in all_routes() if route.scope == "open" and takes_user(route)]


def test_no_route_is_without_a_scope(fresh_database: str) -> None:
    """Whatever is mounted says what it needs, but for three that show nothing of anybody."""

    def unguarded(routes: list[BaseRoute]) -> Iterator[str]:
        for route in routes:
            assert isinstance(route, StarletteRoute | Mount), route
            guard = route.endpoint if isinstance(route, StarletteRoute) else route.app
            if getattr(guard, "scope", None) is None:
                yield route.path

    async def find() -> list[str]:
        async with open_database(fresh_database, 2, "test") as db:
            return list(unguarded(create_app(db, fresh_database, load_settings(), LocalAuthenticator()).routes))

    assert asyncio.run(find()) == ["/docs/static", "/ui/{path:path}", "/"]


@pytest.mark.parametrize("route", GUARDED)
def test_without_a_key(stack: Stack, root: str, victim: UUID, route: Route) -> None:
    """No key and a wrong one: 401, the same for things that are there and for those that are not."""
    thing = make(stack, route.resource, victim, root)
    answers = [
        call(stack, route, victim, one, **headers)
        for one in (thing, NOBODY)
        for headers in ({}, bearer(WRONG), {"x-api-key": WRONG}, bearer(root[:-1] + ("0" if root[-1] != "0" else "1")))
    ]
    assert {code(answer) for answer in answers} <= {(401, "unauthenticated"), (401, "invalid_api_key")}
    assert {answer.headers["www-authenticate"] for answer in answers} == {'Bearer realm="maas"'}
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize("route", GUARDED)
def test_without_the_scope(stack: Stack, keys: dict[str, str], root: str, victim: UUID, route: Route) -> None:
    thing = make(stack, route.resource, victim, root)
    answers = [call(stack, route, victim, one, **bearer(keys[route.scope])) for one in (thing, NOBODY)]
    assert {code(answer) for answer in answers} == {(403, "forbidden")}
    assert answers[0].body == answers[1].body


@pytest.mark.parametrize("route", OF_SOMEBODY)
def test_of_somebody_else(stack: Stack, keys: dict[str, str], root: str, victim: UUID, route: Route) -> None:
    """Keys of another user and of other names may do all, but for their own: the same 404 as for what is not there."""
    thing, nobody = make(stack, route.resource, victim, root), uuid4()
    for name in ("another user", "outside"):
        foreign = call(stack, route, victim, thing, **bearer(keys[name]))
        unknown = call(stack, route, nobody, NOBODY if route.resource != "user" else nobody, **bearer(keys[name]))
        is_closed = route.handler is post_key  # to all keys that are bound, whoever is named
        assert code(foreign) == ((403, "forbidden") if is_closed else (404, "not_found"))
        assert foreign.body.replace(str(thing), "ID").replace(str(victim), "ID") == unknown.body.replace(
            str(NOBODY), "ID"
        ).replace(str(nobody), "ID")
        assert own_headers(foreign) == own_headers(unknown)


@pytest.mark.parametrize("route", GUARDED)
def test_the_right_key(stack: Stack, keys: dict[str, str], root: str, route: Route) -> None:
    """Of the user, of their name, of nobody: each may call the route, but what is for all users is for the last."""
    for name in ("own", "inside", "root"):
        user = new_user(stack)
        scope = KEY_SCOPES.get(route.scope, route.scope)
        key = root if name == "root" else keys[name] if name == "inside" else new_key(stack, (scope,), user)
        known_as = name_of(stack, user) if user_field(route) == "external_id" and name == "inside" else user
        answer = call(stack, route, known_as, make(stack, route.resource, user, root), **bearer(key))
        waiting = {504} if 504 in route.errors else set()  # nobody answers
        nothing = {204} if route.handler is get_ui_stream else set()  # no question was asked
        missing = (
            {404}
            if any(name in route.path for name in ("{key}", "{document}", "{entity}", "{set}"))
            or route.handler in (post_app, post_app_preview)  # which are for people who sign in
            or route.path.endswith(
                ("/try", "/reset", "/budget", "/drop", "/actions/decide", "/v1/messages")
            )  # the last without a model
            else set()
        )
        if route.path.startswith("/v1/admin/") and name != "root":
            assert code(answer) == (403, "forbidden"), (name, answer)
        else:
            assert answer.status in {route.status, 409, 422, *waiting, *nothing, *missing}, (name, answer)


@pytest.fixture(scope="module")
def keys(stack: Stack) -> dict[str, str]:
    """By a scope: all but that; the others may do everything for some."""
    others = {scope: new_key(stack, scopes) for scope, scopes in OTHERS.items()}
    return others | {
        "another user": new_key(stack, ("admin",), uuid4()),
        "outside": new_key(stack, ("admin",), prefix="outside:"),
        "inside": new_key(stack, ("admin",), prefix="inside:"),
    }


def test_a_foreign_user_in_body_or_query_beside_an_own_thing(stack: Stack, root: str, victim: UUID) -> None:
    """Who names two users is not there for one of them."""
    mine = uuid4()
    key, run = new_key(stack, ("ask", "read"), mine), make(stack, "run", mine, root)
    assert stack.client.get(f"/v1/runs/{run}", headers=bearer(key)).status_code == 200
    theirs = {"user_id": str(victim)}
    assert stack.client.get(f"/v1/runs/{run}", params=theirs, headers=bearer(key)).status_code == 404
    pressed = stack.client.post(f"/v1/runs/{run}/press", json=theirs | {"button": "yes"}, headers=bearer(key))
    assert pressed.status_code == 404
    twice = stack.client.get("/v1/runs", params=[("user_id", str(mine)), ("user_id", str(victim))], headers=bearer(key))
    assert twice.status_code == 400
    conversation = make(stack, "conversation", victim, root)
    body = {"user_id": str(mine), "query": "hello", "conversation_id": str(conversation)}
    assert stack.client.post("/v1/runs", json=body, headers=bearer(key)).status_code == 404


def test_lists_need_a_user(stack: Stack, root: str, victim: UUID) -> None:
    """A bound key means its own; all users in one status are for an admin who is bound to none."""
    make(stack, "run", victim, root)

    def status(key: str, **params: str) -> int:
        return stack.client.get("/v1/runs", params=params, headers=bearer(key)).status_code

    assert (status(root), status(root, status="NEW"), status(root, user_id=str(victim))) == (400, 200, 200)
    free, prefix = new_key(stack), new_key(stack, ("admin",), prefix="inside:")
    assert (status(free), status(free, status="NEW"), status(free, user_id=str(victim))) == (400, 400, 200)
    assert (status(prefix), status(prefix, status="NEW"), status(prefix, user_id=str(victim))) == (400, 400, 200)
    own = stack.client.get("/v1/runs", params={"status": "NEW"}, headers=bearer(new_key(stack, user=victim))).json()
    assert [one["user_id"] for one in own["results"]] == [str(victim)]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Basic bWFhczp4",
        "Bearer maas_",
        "Bearer null",
        f"Bearer {'x' * 60_000}",
        f"Bearer {WRONG}x",
        f"Bearer {WRONG.upper()}",
        f"Token {WRONG}",
        "Bearer ключ",
        "Bearer \x80\xff",
        "Bearer a\tb",
        "Bearer eyJhbGciOiJub25lIn0.e30.",
        f"Bearer {WRONG} {WRONG}",
    ],
)
def test_whatever_is_no_key_gets_one_answer(stack: Stack, header: str) -> None:
    reply = stack.client.get("/v1/runs", headers={b"authorization": header.encode()})
    plain = stack.client.get("/v1/runs")
    assert (reply.status_code, reply.content) == (401, plain.content)
    assert reply.headers["www-authenticate"] == 'Bearer realm="maas"'


def test_a_nul_in_a_header_opens_nothing(stack: Stack, root: str) -> None:
    """The parser refuses it before us, and the server goes on."""
    with socket.create_connection(("127.0.0.1", stack.port), timeout=10) as raw:
        raw.sendall(f"GET /v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {root}\0\r\n\r\n".encode())
        assert raw.recv(100).split()[1] in (b"400", b"401")
    assert stack.client.get("/healthz").status_code == 200


def test_mcp_asks_too(stack: Stack) -> None:
    for headers in ({}, bearer(WRONG)):
        assert stack.client.post("/mcp", json={}, headers=headers).status_code == 401


def test_keys_are_shown_either_way(stack: Stack, root: str) -> None:
    for headers in (
        bearer(root),
        {"authorization": f"bearer {root}"},
        {"x-api-key": root},
        {"authorization": "Basic bWFhczp4", "x-api-key": root},
    ):
        assert stack.client.get("/metrics", headers=headers).status_code == 200


def test_revoked_and_expired_keys_are_refused_within_a_second(stack: Stack) -> None:
    """Their use is noted meanwhile, beside the requests."""
    revoked, expired = new_key(stack), new_key(stack, days=1)
    params = {"user_id": str(uuid4())}

    def status(key: str) -> int:
        return stack.client.get("/v1/runs", params=params, headers=bearer(key)).status_code

    assert status(revoked) == status(expired) == 200
    used = "select id from api_keys where id = %s and last_used_at > now() - interval '20 s'"
    poll(lambda: stack.rows(used, revoked[5:17]), what="the use of the key is noted")
    stack.rows("select maas_revoke_key(%s)", revoked[5:17])
    stack.rows("update api_keys set expires_at = now() where id = %s", expired[5:17])
    poll(lambda: status(revoked) == 401, what="the revoked key is refused")
    poll(lambda: status(expired) == 401, what="the expired key is refused")


def test_failures_are_counted_and_logged_without_the_key(stack: Stack, root: str) -> None:
    before = counted(stack, root, "wrong")
    wrong = root[:-8] + "".join("1" if letter == "0" else "0" for letter in root[-8:])
    assert stack.client.get("/v1/runs", headers=bearer(wrong)).status_code == 401
    assert counted(stack, root, "wrong") == before + 1
    assert '"cause": "wrong"' in stack.log()
    for secret in (wrong[18:], root[18:], wrong[18:50]):
        assert secret not in stack.log()


def counted(stack: Stack, key: str, cause: str) -> float:
    text = stack.client.get("/metrics", headers=bearer(key)).text
    found = re.search(rf'maas_http_unauthenticated_total{{cause="{cause}"}} (\S+)', text)
    return float(found[1]) if found else 0.0


def test_a_key_has_its_rate(stack: Stack) -> None:
    """Five at once, then one each twelve seconds; another key is not touched."""
    key, other, params = new_key(stack, rate=5), new_key(stack, rate=5), {"user_id": str(uuid4())}
    statuses = [stack.client.get("/v1/runs", params=params, headers=bearer(key)).status_code for _ in range(5)]
    assert statuses == [200] * 5
    refused = stack.client.get("/v1/runs", params=params, headers=bearer(key))
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (429, "rate_limited")
    assert 1 <= int(refused.headers["retry-after"]) == error["details"]["retry_after"] <= 12
    assert error["details"]["per_minute"] == 5
    assert stack.client.get("/v1/runs", params=params, headers=bearer(other)).status_code == 200


def test_a_user_has_a_rate(stack: Stack, root: str) -> None:
    """MAAS_USER_RATE counts who is named, by whichever key, once a request."""
    user, other = uuid4(), uuid4()
    own = new_key(stack, ("ask", "read"), user)
    body, began = {"user_id": str(user), "query": "hello"}, time.monotonic()
    assert stack.client.post("/v1/runs", json=body, headers=bearer(own)).status_code == 202
    assert stack.client.post("/v1/runs", json=body, headers=bearer(root)).status_code == 202
    assert stack.client.get(f"/v1/users/{user}/export", headers=bearer(root)).status_code == 200
    params, more = {"user_id": str(user)}, 0
    while stack.client.get("/v1/memories", params=params, headers=bearer(own)).status_code == 200:
        more += 1
    assert 0 <= more + 3 - USER_RATE <= (time.monotonic() - began) * USER_RATE / 60
    assert refusal(lambda: stack.client.get("/v1/memories", headers=bearer(own)))["code"] == "rate_limited"
    assert refusal(lambda: stack.client.post("/v1/runs", json=body, headers=bearer(root)))["code"] == "rate_limited"
    assert stack.client.post("/v1/runs", json=body | {"user_id": str(other)}, headers=bearer(root)).status_code == 202


def refusal(send: Callable[[], httpx2.Response]) -> dict[str, Any]:
    """The error of a bucket that is nearly empty: it fills while requests take their time."""
    replies = (send() for _ in range(20))
    error: dict[str, Any] = next(reply.json()["error"] for reply in replies if reply.status_code == 429)
    return error


def test_the_document_says_what_routes_need(stack: Stack) -> None:
    document = stack.client.get("/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "key"}
    for route in all_routes():
        operation = document["paths"][route.path][route.method.lower()]
        is_guarded = route.scope != "open"
        assert ("security" in operation) == is_guarded
        if route.path not in SIGN_IN:  # which authenticates by itself
            assert (set(operation["responses"]) >= {"401", "403", "429"}) == is_guarded
        if is_guarded:
            assert operation["security"] == [{"bearer": [route.scope]}, {"key": [route.scope]}]
