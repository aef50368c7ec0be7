"""Apps that sign in at /mcp by OAuth (MAAS_AUTH=local): what a person allows, and all that others try."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from maas.accounts import hash_token
from tests.connecting import App, answer_in, error_of, register
from tests.logins import login
from tests.people import Person, signed_up
from tests.polling import poll
from tests.stack import Stack, maas

METADATA = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that owns no table; all requests come from one address."""
    settings = {"MAAS_AUTH": "local", "MAAS_SIGN_IN_ADDRESS_RATE": "100000"}
    with (
        login(fresh_database, "maas_server") as address,
        Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running,
    ):
        running.start_server(DATABASE_URL=address)
        yield running


@pytest.fixture
def ann(stack: Stack) -> Person:
    return signed_up(stack)


@pytest.fixture
def app(stack: Stack) -> App:
    return App(stack)


def list_apps(person: Person) -> list[dict[str, Any]]:
    reply = person.stack.client.get("/v1/apps", params={"user_id": person.id}, headers=person.headers)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["results"])


def is_refused(app: App) -> bool:
    return app.status() == 401


def audit_of(person: Person, action: str) -> list[dict[str, Any]]:
    query = "select actor, details from v_audit where action = %s and user_id = %s"
    return [dict(row) for row in person.stack.rows(query, action, UUID(person.id))]


def test_a_client_without_a_token_reads_where_it_gets_one(stack: Stack) -> None:
    origin = f"http://127.0.0.1:{stack.port}"
    reply = stack.client.post("/mcp", json={})
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == f'Bearer realm="maas", resource_metadata="{origin}{METADATA}/mcp"'
    for path in (METADATA, f"{METADATA}/mcp"):
        resource = stack.client.get(path).json()
        assert (resource["resource"], resource["authorization_servers"]) == (f"{origin}/mcp", [origin])
    server = stack.client.get(SERVER).json()
    assert server["issuer"] == origin and server["code_challenge_methods_supported"] == ["S256"]
    assert server["authorization_response_iss_parameter_supported"] is True
    page = stack.client.get(server["authorization_endpoint"].removeprefix(origin))
    assert page.status_code == 200 and page.headers["x-frame-options"] == "DENY"


def test_a_person_connects_an_app_which_reaches_their_memory_alone(stack: Stack, ann: Person, app: App) -> None:
    shown = app.preview(ann, scope="read ask offline_access").json()
    assert (shown["name"], shown["redirect_kind"], shown["redirect_to"]) == ("Editor", "site", "app.example")
    assert (shown["scopes"], shown["problem"]) == (["read", "ask"], None)
    refusal = {"error": "access_denied", "state": "a state", "iss": f"http://127.0.0.1:{stack.port}"}
    assert answer_in(shown["refusal_url"]) == refusal
    assert list_apps(ann) == []
    sent = answer_in(app.connect(ann).json()["redirect_url"])
    assert sent["state"] == "a state" and sent["iss"] == refusal["iss"]
    assert list_apps(ann) == []  # until it has the code
    tokens = app.exchange(sent["code"])
    assert tokens.status_code == 200 and tokens.headers["cache-control"] == "no-store"
    assert (app.tokens["expires_in"], app.tokens["scope"]) == (900, "read ask")
    added = app.mcp.call("add_memory", {"memory": "The cello is in Lisbon."})
    assert added["result"]["isError"] is False, added
    found = app.mcp.call("search_memories", {"query": "cello"})["result"]["structuredContent"]
    assert "Lisbon" in json.dumps(found)
    other = signed_up(stack)
    foreign = app.mcp.call("search_memories", {"query": "cello", "user_id": other.id})["result"]
    assert foreign["isError"] is True
    (one,) = list_apps(ann)
    assert (one["name"], one["scopes"], one["redirect_to"]) == ("Editor", ["read", "ask"], "app.example")
    assert list_apps(other) == []
    assert [row["actor"] for row in audit_of(ann, "app_connect")] == [f"user:{ann.id}"]


def test_an_app_may_do_only_what_it_was_allowed(ann: Person, app: App) -> None:
    app.connected(ann, scope="read")
    assert app.tokens["scope"] == "read"
    names = {tool["name"] for tool in app.mcp.send("tools/list")["result"]["tools"]}
    assert "search_memories" in names and not names & {"ask", "add_memory", "delete_memory"}
    assert app.mcp.call("add_memory", {"memory": "x"})["result"]["isError"] is True


def test_a_token_of_an_app_opens_nothing_but_mcp(stack: Stack, ann: Person, app: App) -> None:
    app.connected(ann)
    for method, path in (
        ("GET", f"/v1/memories?user_id={ann.id}"),
        ("GET", f"/v1/apps?user_id={ann.id}"),
        ("GET", "/auth/v1/user"),
        ("PUT", "/auth/v1/user"),
        ("POST", "/auth/v1/logout"),
        ("DELETE", f"/v1/users/{ann.id}"),
        ("POST", "/v1/apps"),
    ):
        reply = stack.client.request(method, path, headers=app.headers, json={} if method != "GET" else None)
        assert reply.status_code in (401, 403) and "forbidden" not in reply.text, path
    assert stack.client.post("/mcp", headers=app.headers | {"host": "other.example"}, json={}).status_code == 401
    assert app.status() == 200


def test_only_a_person_who_has_signed_in_says_yes(stack: Stack, ann: Person, app: App) -> None:
    key = maas(stack, "keys", "create", "ann", "--user", ann.id).stdout.strip()
    for path in ("/v1/apps", "/v1/apps/preview"):
        by_key = stack.client.post(path, json=app.parameters(), headers={"authorization": f"Bearer {key}"})
        assert by_key.status_code == 403
        assert stack.client.post(path, json=app.parameters()).status_code == 401
        cookie = {"cookie": f"maas_refresh={ann.session['refresh_token']}", "origin": "https://evil.example"}
        assert stack.client.post(path, json=app.parameters(), headers=cookie).status_code == 401


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"scope": "admin erase"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ],
)
def test_an_app_that_asks_for_too_much_is_not_connected(
    ann: Person, app: App, changes: dict[str, Any], problem: str
) -> None:
    shown = app.preview(ann, **changes).json()
    assert shown["problem"] == problem == answer_in(shown["refusal_url"])["error"]
    assert app.connect(ann, **changes).status_code == 422


def test_a_code_is_exchanged_once(ann: Person, app: App) -> None:
    code = app.code(ann)
    assert app.exchange(code).status_code == 200 and app.status() == 200
    assert error_of(app.exchange(code)) == (400, "invalid_grant")
    poll(lambda: is_refused(app), what="the app is disconnected")
    assert error_of(app.renew()) == (400, "invalid_grant") and list_apps(ann) == []
    assert [row["details"]["kind"] for row in audit_of(ann, "app_reuse")] == ["code"]


def test_a_code_serves_only_the_one_who_asked_for_it(stack: Stack, ann: Person, app: App) -> None:
    code, other = app.code(ann), App(stack)
    for changes in (
        {"code_verifier": "x" * 43},
        {"client_id": other.client_id},
        {"redirect_uri": "https://evil.example/"},
        {"code": "maasac_unknown"},
    ):
        assert error_of(app.exchange(code, **changes)) == (400, "invalid_grant"), changes
    assert error_of(app.exchange(code, resource="https://other.example/mcp")) == (400, "invalid_target")
    assert error_of(app.exchange(code, code_verifier="x")) == (400, "invalid_request")
    assert error_of(app.exchange(code, client_id="maasci_nobody")) == (401, "invalid_client")
    assert error_of(app.token(grant_type="password")) == (400, "unsupported_grant_type")
    assert app.exchange(code).status_code == 200


def test_a_code_lasts_for_a_minute(stack: Stack, ann: Person, app: App) -> None:
    code = app.code(ann)
    (row,) = stack.rows("select expires_at - now() as rest from app_tokens where hash = %s", hash_token(code))
    assert 50 < row["rest"].total_seconds() <= 60
    stack.rows("update app_tokens set expires_at = now() where hash = %s", hash_token(code))
    assert error_of(app.exchange(code)) == (400, "invalid_grant")


def test_a_refresh_token_is_replaced_and_its_reuse_ends_all_tokens(ann: Person, app: App) -> None:
    first = app.connected(ann).tokens
    assert app.renew().status_code == 200
    assert app.tokens["refresh_token"] != first["refresh_token"] and app.status() == 200
    assert error_of(app.renew(first["refresh_token"])) == (400, "invalid_grant")
    poll(lambda: is_refused(app), what="the app is disconnected")
    assert error_of(app.renew()) == (400, "invalid_grant")
    assert [row["details"]["kind"] for row in audit_of(ann, "app_reuse")] == ["refresh"]


def test_a_refresh_token_serves_its_client_and_resource(stack: Stack, ann: Person, app: App) -> None:
    app.connected(ann)
    assert error_of(app.renew(client_id=App(stack).client_id)) == (400, "invalid_grant")
    assert error_of(app.renew(resource="https://other.example/mcp")) == (400, "invalid_target")
    assert error_of(app.renew(app.tokens["access_token"])) == (400, "invalid_grant")
    assert app.renew(resource=f"http://127.0.0.1:{stack.port}/mcp").status_code == 200


def test_an_access_token_ends_by_itself(stack: Stack, ann: Person, app: App) -> None:
    app.connected(ann)
    stack.rows("update app_tokens set expires_at = now() where hash = %s", hash_token(app.tokens["access_token"]))
    assert is_refused(app)
    assert app.renew().status_code == 200 and app.status() == 200


def test_a_person_disconnects_an_app_and_nobody_else_does(stack: Stack, ann: Person, app: App) -> None:
    app.connected(ann)
    (one,) = list_apps(ann)
    other = signed_up(stack)
    path = f"/v1/apps/{one['id']}"
    assert stack.client.delete(path, headers=other.headers).status_code == 404 and app.status() == 200
    assert stack.client.get("/v1/apps", params={"user_id": ann.id}, headers=other.headers).status_code == 404
    assert stack.client.delete(path, headers=ann.headers).status_code == 204
    assert stack.client.delete(path, headers=ann.headers).status_code == 404
    poll(lambda: is_refused(app), what="the token is refused")
    assert error_of(app.renew()) == (400, "invalid_grant") and list_apps(ann) == []


def test_an_operator_disconnects_an_app_of_somebody(stack: Stack, ann: Person, app: App) -> None:
    app.connected(ann)
    key = {"authorization": f"Bearer {maas(stack, 'keys', 'create', 'operator', '--scope', 'admin').stdout.strip()}"}
    (one,) = stack.client.get("/v1/apps", params={"user_id": ann.id}, headers=key).json()["results"]
    assert stack.client.delete(f"/v1/apps/{one['id']}", headers=key).status_code == 204
    poll(lambda: is_refused(app), what="the token is refused")
    routes = {row["details"]["route"] for row in audit_of(ann, "user_access")}
    assert routes == {"GET /v1/apps", "DELETE /v1/apps/{id}"}


def test_an_app_disconnects_itself(stack: Stack, ann: Person) -> None:
    for kind in ("access_token", "refresh_token"):
        app = App(stack).connected(ann)
        foreign = {"token": app.tokens[kind], "client_id": App(stack).client_id}
        assert stack.client.post("/oauth/revoke", data=foreign).status_code == 200 and app.status() == 200
        own = {"token": app.tokens[kind], "client_id": app.client_id}
        assert stack.client.post("/oauth/revoke", data=own).status_code == 200
        poll(lambda app=app: is_refused(app), what="the token is refused")  # type: ignore[misc]


def test_a_new_password_a_block_and_erasing_disconnect_apps(stack: Stack) -> None:
    def end(person: Person) -> App:
        return App(stack).connected(person)

    ann, ben, cleo = (signed_up(stack) for _ in range(3))
    changed, blocked, erased = end(ann), end(ben), end(cleo)
    assert ann.change(password="another cello of Lisbon").status_code == 200
    assert maas(stack, "users", "block", ben.id).returncode == 0
    reply = stack.client.delete(f"/v1/users/{cleo.id}", headers=cleo.headers)
    assert (reply.json()["erased"]["connected_apps"], reply.json()["erased"]["app_tokens"]) == (1, 3)
    for app, statuses in ((changed, (401,)), (blocked, (401, 403)), (erased, (401,))):
        poll(lambda app=app, statuses=statuses: app.status() in statuses)  # type: ignore[misc]
        assert error_of(app.renew()) == (400, "invalid_grant")
    assert stack.rows("select from connected_apps where user_id = any(%s)", [UUID(one.id) for one in (ann, cleo)]) == []


def test_no_secret_is_stored_or_logged(stack: Stack, ann: Person, app: App) -> None:
    code = app.code(ann)
    assert app.exchange(code).status_code == 200
    stored = str(stack.rows("select to_jsonb(t) from app_tokens t")) + str(
        stack.rows("select to_jsonb(a) from connected_apps a")
    )
    for secret in (code, *(app.tokens[kind] for kind in ("access_token", "refresh_token"))):
        assert secret not in stored and secret not in stack.log()


def test_a_user_keeps_the_fifty_newest_apps(stack: Stack, ann: Person, app: App) -> None:
    stack.rows(
        "insert into connected_apps (user_id, client_id, name, redirect_uri, scopes, resource, generation, created_at,"
        " expires_at) select %s, 'c', 'n', 'https://a.example/', '{read}', 'r', 1, now() - interval '1 hour',"
        " now() + interval '1 day' from generate_series(1, 60)",
        UUID(ann.id),
    )
    app.connected(ann)
    assert len(list_apps(ann)) == 50 and list_apps(ann)[0]["name"] == "Editor"


def test_nobody_connects_apps_where_nobody_signs_in(fresh_database: str, stack: Stack) -> None:
    for settings in ({"MAAS_AUTH": "keys"}, {"MAAS_AUTH": "local", "MAAS_UI": "off"}):
        with Stack(stack.dsn, stack.folder, **settings) as running:
            running.start_server()
            replies: list[httpx2.Response] = [running.client.get(path) for path in (METADATA, SERVER)]
            replies += [register(running), running.client.post("/oauth/token", data={"grant_type": "x"})]
            assert [reply.status_code for reply in replies] == [404] * 4
            assert "resource_metadata" not in running.client.post("/mcp", json={}).headers["www-authenticate"]
