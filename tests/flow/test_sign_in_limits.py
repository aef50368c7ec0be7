"""Limits of the sign-in: rates per email and per address, few hashes at a time, and races."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx2
import pytest

from tests.people import PASSWORD, Person, new_email, post, refresh, refusal
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


@pytest.mark.parametrize("is_known", [True, False])
def test_an_email_has_a_rate_from_wherever_it_is_tried(stack: Stack, is_known: bool) -> None:
    """Ten passwords a minute, the eleventh is refused even if it is right; so it is for an unknown email."""
    email = new_email()
    if is_known:
        assert post(stack, "signup", {"email": email, "password": PASSWORD}, **address()).status_code == 200
    attempts = 9 if is_known else 10  # the sign-up was the first
    began = time.monotonic()
    for number in range(attempts):
        spelled = email.upper() if number % 2 else email
        assert refusal(attempt(stack, spelled, address())) == (401, "invalid_credentials")
    assert time.monotonic() - began < 6
    refused = attempt(stack, email, address(), PASSWORD)
    assert refusal(refused) == (429, "over_request_rate_limit")
    assert 1 <= int(refused.headers["retry-after"]) <= 6 and email not in refused.text
    assert refusal(attempt(stack, new_email(), address())) == (401, "invalid_credentials")


def test_an_address_has_a_rate_whatever_it_tries(stack: Stack) -> None:
    """Sixty passwords a minute; a request that cannot reach a hash counts, too. Its other requests go on."""
    mine = address()
    for _ in range(60):
        assert post(stack, SIGN_IN, {"email": "x", "password": "x"}, **mine).status_code == 400
    assert refusal(attempt(stack, new_email(), mine)) == (429, "over_request_rate_limit")
    assert refusal(post(stack, "signup", {"email": new_email(), "password": PASSWORD}, **mine)) == (
        429, "over_request_rate_limit",
    )  # fmt: skip
    verified = post(stack, "verify", {"type": "recovery", "token_hash": "x"}, **mine)
    assert refusal(verified) == (429, "over_request_rate_limit")
    neighbour = {"x-forwarded-for": mine["x-forwarded-for"].replace("::1", "::2")}  # an address of the same client
    assert refusal(attempt(stack, new_email(), neighbour)) == (429, "over_request_rate_limit")
    assert stack.client.get("/auth/v1/settings", headers=mine).status_code == 200
    assert refusal(attempt(stack, new_email(), address())) == (401, "invalid_credentials")


def test_every_route_has_a_rate(stack: Stack) -> None:
    mine = address()
    statuses = Counter(stack.client.get("/auth/v1/health", headers=mine).status_code for _ in range(650))
    assert statuses[200] >= 600 and statuses[429] > 0
    for method, path in (
        ("GET", "user"), ("GET", "settings"), ("POST", "logout"), ("POST", "token?grant_type=refresh_token"),
        ("POST", "token?grant_type=x"),
    ):  # fmt: skip
        while (reply := stack.client.request(method, f"/auth/v1/{path}", headers=mine)).status_code != 429:
            pass
        assert refusal(reply) == (429, "over_request_rate_limit")


def test_the_present_password_cannot_be_guessed_with_a_token(stack: Stack) -> None:
    person = Person(stack)
    assert person._keep(
        post(stack, "signup", {"email": person.email, "password": PASSWORD}, **address())
    ).status_code == 200  # fmt: skip
    for _ in range(10):
        changed = {"password": "another cello", "current_password": "wrong"}
        reply = stack.client.put("/auth/v1/user", json=changed, headers=person.headers | address())
        assert refusal(reply) == (401, "invalid_credentials")
    refused = stack.client.put(
        "/auth/v1/user", json={"password": "another cello"}, headers=person.headers | address()
    )  # fmt: skip
    assert refusal(refused) == (429, "over_request_rate_limit")


def test_many_passwords_at_once_leave_the_server_responsive(stack: Stack) -> None:
    """Hashes are computed two at a time beside the event loop; beyond 34 the client is asked to come back."""
    with ThreadPoolExecutor(60) as pool:
        sent = [pool.submit(attempt, stack, new_email(), address()) for _ in range(60)]
        slowest_s = 0.0
        while not all(one.done() for one in sent):
            began = time.monotonic()
            assert stack.client.get("/healthz").status_code == 200
            slowest_s = max(slowest_s, time.monotonic() - began)
        replies = [one.result() for one in sent]
    counts = Counter(refusal(reply) for reply in replies)
    assert set(counts) == {(401, "invalid_credentials"), (503, "busy")}
    assert counts[401, "invalid_credentials"] >= 34 and slowest_s < 2
    assert all(reply.headers["retry-after"] == "2" for reply in replies if reply.status_code == 503)


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
    stack.rows("select maas_begin_session(%s, 'password', sha256(n::text::bytea), 30) from generate_series(1, 60) n",
               person.id)  # fmt: skip
    assert len(stack.rows("select from auth_sessions where user_id = %s", person.id)) == 50
