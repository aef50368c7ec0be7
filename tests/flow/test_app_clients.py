"""Clients that register by themselves: where they send people, what they call themselves, and how many there are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connecting import REDIRECT, App, error_of, register
from tests.logins import login
from tests.people import Person, signed_up
from tests.stack import Stack


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


@pytest.mark.parametrize(
    ("registered", "wanted", "is_allowed"),
    [
        (REDIRECT, REDIRECT, True),
        (REDIRECT, f"{REDIRECT}/", False),
        (REDIRECT, f"{REDIRECT}?next=x", False),
        (REDIRECT, "https://app.example.evil.example/callback", False),
        (REDIRECT, "https://app.example:8443/callback", False),
        (REDIRECT, "https://APP.example/callback", False),
        (REDIRECT, "https://app.example@evil.example/callback", False),
        (REDIRECT, "javascript:alert(1)", False),
        (REDIRECT, None, True),
        ("http://127.0.0.1/callback", "http://127.0.0.1:4711/callback", True),
        ("http://localhost:1234/callback", "http://localhost:4711/callback", True),
        ("http://localhost:1234/callback", "http://127.0.0.1:4711/callback", False),
        ("http://127.0.0.1/callback", "http://127.0.0.1:4711/other", False),
        ("http://127.0.0.1/callback", "http://127.0.0.1:4711@evil.example/callback", False),
        ("http://127.0.0.1/callback", "http://127.0.0.1.evil.example/callback", False),
        ("http://127.0.0.1/callback", "https://127.0.0.1/callback", False),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor://anysphere.cursor-mcp/oauth/callback", True),
    ],
)
def test_a_person_is_sent_to_a_registered_address_alone(
    stack: Stack, ann: Person, registered: str, wanted: str | None, is_allowed: bool
) -> None:
    app = App(stack, registered)
    for asking in (app.preview, app.connect):
        reply = asking(ann, redirect_uri=wanted)
        assert (reply.status_code < 300) == is_allowed, reply.text
        if is_allowed:
            address = reply.json().get("redirect_url") or reply.json()["refusal_url"]
            assert address.startswith(f"{wanted or registered}?")
        else:
            assert reply.status_code == 422 and "redirect_uri" in reply.text and "url" not in reply.json()


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "javascript://app.example/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "http://app.example/callback",
        "http://localhost.evil.example/",
        "http://127.0.0.1\\@evil.example/",
        "https://ann@app.example/",
        "https:///callback",
        "https://[::1/",
        "https://app.example/#fragment",
        "https://app.example/\r\nlocation: x",
        "https://äpp.example/",
        "//app.example/",
        "/callback",
        "",
        "intent://scan/",
        "https://app.example/" + "x" * 1000,
    ],
)
def test_no_address_of_another_kind_is_registered(stack: Stack, address: str) -> None:
    assert error_of(register(stack, REDIRECT, address)) == (400, "invalid_redirect_uri")


def test_hostile_names_are_shown_on_one_line_or_refused(stack: Stack, ann: Person) -> None:
    def name_of(name: object) -> str:
        reply = register(stack, client_name=name)
        assert reply.status_code == 201, reply.text
        shown: str = App(stack, client_id=reply.json()["client_id"]).preview(ann).json()["name"]
        return shown

    assert name_of("<script>alert(1)</script>") == "<script>alert(1)</script>"  # the page shows it as text
    assert name_of("Claude\n\u202eevil\x1b[2J") == r"Claude\n\u202eevil\x1b[2J"
    assert name_of(" ") == name_of(None) == "app.example"
    assert name_of("x" * 5000) == "x" * 100
    assert error_of(register(stack, client_name="a\x00b"))[0] == 400
    surrogate = b'{"client_name": "\\ud800", "redirect_uris": ["https://app.example/"]}'
    json_type = {"content-type": "application/json"}
    assert error_of(stack.client.post("/oauth/register", content=surrogate, headers=json_type))[0] == 400
    assert error_of(register(stack, client_name={"a": 1})) == (400, "invalid_client_metadata")


def test_what_is_too_large_is_not_parsed(stack: Stack, app: App) -> None:
    assert error_of(register(stack, client_name="x" * 20_000)) == (413, "invalid_request")
    assert error_of(register(stack, *[f"{REDIRECT}/{number}" for number in range(11)]))[0] == 400
    assert error_of(app.token(grant_type="x" * 20_000)) == (413, "invalid_request")
    many = "&".join(f"f{number}=x" for number in range(30))
    form = {"content-type": "application/x-www-form-urlencoded"}
    for body in (many, "client_id=a&client_id=b", "client_id=%ff&grant_type=x", "\u00e4=b"):
        assert error_of(stack.client.post("/oauth/token", content=body, headers=form)) == (400, "invalid_request")
    assert error_of(stack.client.post("/oauth/token", json={})) == (415, "invalid_request")


def test_clients_that_nobody_connects_are_forgotten(stack: Stack, ann: Person) -> None:
    used, unused = App(stack).connected(ann), App(stack)
    stack.rows("update app_clients set created_at = created_at - interval '25 hours'")
    new = App(stack)
    assert used.preview(ann).status_code == new.preview(ann).status_code == 200
    assert unused.preview(ann).status_code == 422


def test_registrations_have_a_rate_and_a_limit(stack: Stack, fresh_database: str) -> None:
    fill = "insert into app_clients (id, redirect_uris, created_at) select 'c' || n, '{https://a.example/}', %s from "
    fill += "generate_series(1, 10000) n"
    with Stack(stack.dsn, stack.folder, MAAS_AUTH="local", MAAS_SIGN_IN_ADDRESS_RATE="3") as limited:
        limited.start_server()
        (now,) = stack.rows("select clock_timestamp() as at")
        stack.rows(fill, now["at"])
        full = register(limited)
        assert error_of(full) == (503, "temporarily_unavailable") and int(full.headers["retry-after"]) > 0
        stack.rows("update app_clients set created_at = created_at - interval '11 minutes' where id ~ '^c[0-9]+$'")
        assert register(limited).status_code == 201
        assert register(limited).status_code == 201
        assert error_of(register(limited)) == (429, "temporarily_unavailable")
        stack.rows("delete from app_clients where id ~ '^c[0-9]+$'")
