"""Limits of the sign-in: rates per email and per address, few hashes at a time, and races."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from tests.people import COOKIE_MODE, PASSWORD, Person, new_email, post, refresh, refusal
from tests.stack import Stack

SIGN_IN = "token?grant_type=password"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server with the usual limits; a proxy on this machine names the address of each client."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="local") as running:
        running.start_server()
        yield running


def address() -> dict[str, str]:
    """The header of a client with an address of its own."""
    number = uuid4().int
    return {"x-forwarded-for": f"2001:db8:{number >> 112 & 0xFFFF:x}:{number & 0xFFFF:x}::1"}


def attempt(stack: Stack, email: str, headers: dict[str, str], password: str = "wrong") -> httpx2.Response:
    return post(stack, SIGN_IN, {"email": email, "password": password}, **headers)


def exhaust(stack: Stack, email: str, headers: dict[str, str]) -> httpx2.Response:
    """Try wrong passwords until they are refused unseen."""
    for _ in range(30):
        if (reply := attempt(stack, email, headers)).status_code == 429:
            return reply
        assert refusal(reply) == (401, "invalid_credentials")
    raise AssertionError


@pytest.mark.parametrize("is_known", [True, False])
def test_wrong_passwords_of_an_email_and_address_have_a_rate(stack: Stack, is_known: bool) -> None:
    """It keeps out who guesses, however the email is spelled, and nobody else; an unknown email is no exception."""
    email, mine = new_email(), address()
    if is_known:
        assert post(stack, "signup", {"email": email, "password": PASSWORD}, **address()).status_code == 200
    refused = exhaust(stack, email, mine)
    assert refusal(refused) == (429, "over_request_rate_limit") and "wrong passwords" in refused.json()["msg"]
    assert 1 <= int(refused.headers["retry-after"]) <= 6 and email not in refused.text
    assert refusal(attempt(stack, email.upper(), mine, PASSWORD)) == (429, "over_request_rate_limit")
    expected = 200 if is_known else 401
    assert attempt(stack, email, address(), PASSWORD).status_code == expected
    assert refusal(attempt(stack, new_email(), mine)) == (401, "invalid_credentials")


def test_right_passwords_are_not_counted(stack: Stack) -> None:
    email, mine = new_email(), address()
    assert post(stack, "signup", {"email": email, "password": PASSWORD}, **mine).status_code == 200
    statuses = Counter(attempt(stack, email, mine, PASSWORD).status_code for _ in range(25))
    assert statuses == {200: 25}


def test_a_browser_that_is_known_is_not_kept_out(fresh_database: str, tmp_path: Path) -> None:
    """Not by what others try for the email from everywhere, nor by what they try from the same address."""
    settings = {"MAAS_AUTH": "local", "MAAS_SIGN_IN_RATE": "1", "MAAS_SIGN_IN_ADDRESS_RATE": "3"}
    with Stack(fresh_database, tmp_path, **settings) as stack:
        stack.start_server()
        email, mine = new_email(), address()
        own_page = COOKIE_MODE | {"origin": f"http://127.0.0.1:{stack.port}"}
        reply = post(stack, "signup", {"email": email, "password": PASSWORD}, **mine, **own_page)
        morsels = [SimpleCookie(one) for one in reply.headers.get_list("set-cookie")]
        cookie = {"cookie": "; ".join(f"{name}={one.value}" for all_ in morsels for name, one in all_.items())}
        assert "maas_browser=" in cookie["cookie"] and "path=/auth/v1" in reply.headers["set-cookie"].lower()
        stack.client.cookies.clear()
        while attempt(stack, email, address()).status_code != 429:
            pass
        while attempt(stack, new_email(), mine).status_code != 429:
            pass
        assert attempt(stack, email, mine | own_page | cookie, PASSWORD).status_code == 200
        for tried in (new_email(), email):  # the cookie is that of one email; its own rate is one a minute
            stack.client.cookies.clear()
            while attempt(stack, tried, mine | own_page | cookie).status_code != 429:
                pass
        stack.client.cookies.clear()


def test_an_address_has_a_rate_whatever_it_tries(stack: Stack) -> None:
    """Sixty links and sign-ups a minute, with the wrong passwords. Its other requests go on."""
    mine = address()
    link = {"type": "recovery", "token_hash": "x"}
    while (verified := post(stack, "verify", link, **mine)).status_code != 429:
        assert refusal(verified) == (403, "otp_expired")
    assert refusal(verified) == (429, "over_request_rate_limit")
    assert refusal(post(stack, "signup", {"email": new_email(), "password": PASSWORD}, **mine)) == (
        429,
        "over_request_rate_limit",
    )
    neighbour = {"x-forwarded-for": mine["x-forwarded-for"].replace("::1", "::2")}  # an address of the same client
    assert refusal(attempt(stack, new_email(), neighbour)) == (429, "over_request_rate_limit")
    assert stack.client.get("/auth/v1/settings", headers=mine).status_code == 200
    assert refusal(attempt(stack, new_email(), address())) == (401, "invalid_credentials")


def test_every_route_has_a_rate(stack: Stack) -> None:
    mine = address()
    statuses: Counter[int] = Counter()
    while not statuses[429] and statuses[200] < 10 * 600:  # a slow hour refills what it takes
        statuses[stack.client.get("/auth/v1/health", headers=mine).status_code] += 1
    assert statuses[200] >= 600 and statuses[429] == 1
    for method, path in (
        ("GET", "user"),
        ("GET", "settings"),
        ("POST", "logout"),
        ("POST", "token?grant_type=refresh_token"),
        ("POST", "token?grant_type=x"),
    ):
        while (reply := stack.client.request(method, f"/auth/v1/{path}", headers=mine)).status_code != 429:
            pass
        assert refusal(reply) == (429, "over_request_rate_limit")


def test_the_present_password_cannot_be_guessed_with_a_token(stack: Stack) -> None:
    person = Person(stack)
    assert (
        person._keep(post(stack, "signup", {"email": person.email, "password": PASSWORD}, **address())).status_code
        == 200
    )
    changed = {"password": "another cello", "current_password": "wrong"}
    for _ in range(30):
        reply = stack.client.put("/auth/v1/user", json=changed, headers=person.headers | address())
        if reply.status_code == 429:
            break
        assert refusal(reply) == (401, "invalid_credentials")
    assert refusal(reply) == (429, "over_request_rate_limit")


def test_many_passwords_of_one_address_keep_nobody_waiting(stack: Stack) -> None:
    """One is hashed at a time, four wait and the others are asked to come back; somebody else signs in meanwhile."""
    mine = address()
    with ThreadPoolExecutor(61) as pool:
        sent = [pool.submit(attempt, stack, new_email(), mine) for _ in range(60)]
        other = pool.submit(attempt, stack, new_email(), address())
        while not all(one.done() for one in sent):
            assert stack.client.get("/healthz").status_code == 200
        counts = Counter(refusal(one.result()) for one in sent)
        assert refusal(other.result()) == (401, "invalid_credentials")
    assert set(counts) == {(401, "invalid_credentials"), (429, "over_request_rate_limit")}


def test_many_addresses_take_turns(stack: Stack) -> None:
    """Hashes are computed two at a time beside the event loop."""
    with ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(attempt, stack, new_email(), address()) for _ in range(20)]
        while not all(one.done() for one in sent):
            assert stack.client.get("/healthz").status_code == 200
        counts = Counter(refusal(one.result()) for one in sent)
    assert set(counts) <= {(401, "invalid_credentials"), (503, "busy")} and counts[401, "invalid_credentials"] >= 2


def test_one_email_has_one_account_though_many_sign_up_at_once(stack: Stack) -> None:
    email = new_email()
    with ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(post, stack, "signup", {"email": email, "password": PASSWORD}, **address()) for _ in range(8)
        ]
    statuses = Counter(one.result().status_code for one in sent)
    assert statuses == {200: 1, 422: 7}


def test_many_tabs_refresh_at_once(stack: Stack) -> None:
    """All get a session, of one generation; the database has as many tokens."""
    person = Person(stack)
    person._keep(post(stack, "signup", {"email": person.email, "password": PASSWORD}, **address()))
    token = person.session["refresh_token"]
    with ThreadPoolExecutor(8) as pool:
        tokens = {one.json()["refresh_token"] for one in pool.map(lambda _: refresh(stack, token), range(8))}
    assert len(tokens) == 8
    rows = stack.rows("select generation from auth_refresh_tokens where user_id = %s order by 1", person.id)
    assert [row["generation"] for row in rows] == [0] + [1] * 8


def test_an_account_keeps_fifty_sessions(stack: Stack) -> None:
    person = Person(stack)
    person._keep(post(stack, "signup", {"email": person.email, "password": PASSWORD}, **address()))
    stack.rows(
        "select maas_begin_session(%s, 'password', sha256(n::text::bytea), 30) from generate_series(1, 60) n", person.id
    )
    assert len(stack.rows("select from auth_sessions where user_id = %s", person.id)) == 50
