"""Signing up, in and out in a browser; what a page keeps of it, and that nobody sees what is another's."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import shot, violations
from tests.browser.test_chat import say, wait_for_answers
from tests.people import PASSWORD, new_email, signed_up
from tests.polling import poll
from tests.stack import Stack, maas

LIFETIME_S = 10  # of an access token
Opener = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Server and orchestrator for people with accounts, whose tokens end soon."""
    settings = {
        "MAAS_AUTH": "local",
        "MAAS_ACCESS_LIFETIME": str(LIFETIME_S),
        "MAAS_JWT_LEEWAY": "0",
        "MAAS_SIGN_IN_RATE": "1000",
        "MAAS_SIGN_IN_ADDRESS_RATE": "1000",
    }
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


def open_page(stack: Stack, contexts: Opener, place: str = "") -> Page:
    page = contexts().new_page()
    page.goto(f"http://127.0.0.1:{stack.port}/ui/{place}")
    return page


def fill(page: Page, email: str, password: str) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=False).first.fill(password)


def sign_up(page: Page, email: str, name: str = "Ann") -> None:
    page.get_by_role("button", name="Sign up").click()
    fill(page, email, PASSWORD)
    page.get_by_label("Name").fill(name)
    page.locator("form").get_by_role("button", name="Sign up").click()
    expect(page.get_by_label("Message", exact=True)).to_be_visible()


def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    fill(page, email, password)
    page.locator("form").get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sign_in_keeps_nobody_out(stack: Stack, contexts: Opener, scheme: str) -> None:
    page = contexts(color_scheme=scheme).new_page()
    for place, button in (("reset", "Set a new password"), ("", "Sign in"), ("sign-in", "Sign up")):
        page.goto(f"http://127.0.0.1:{stack.port}/ui/{place}")
        if button == "Sign up":
            page.get_by_role("button", name=button).click()
        expect(page.locator("form").get_by_role("button", name=button)).to_be_visible()
        for width in (360, 768, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert not page.evaluate("() => document.documentElement.scrollWidth > innerWidth"), (button, width)
            assert not violations(page), (button, width)
            shot(page, f"{button}-{width}-{scheme}")


def test_a_person_signs_up_out_and_in(stack: Stack, contexts: Opener) -> None:
    page, email = open_page(stack, contexts, "history"), new_email()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()  # a protected place
    shot(page, "sign-in")
    sign_up_form = page.get_by_role("button", name="Sign up")
    sign_up_form.click()
    fill(page, email, PASSWORD)
    page.get_by_label("Name").fill("Ann")
    page.locator("form").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()  # where the person wanted to go
    page.goto(f"http://127.0.0.1:{stack.port}/ui/profile")
    expect(page.locator("[data-email]")).to_have_text(f"Ann, {email}")
    page.get_by_role("main").get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    sign_in(page, email, "not the password")
    expect(page.get_by_role("alert")).to_be_visible()
    shot(page, "wrong-password")
    sign_in(page, email)
    expect(page.locator("[data-email]")).to_be_visible()


def test_a_session_is_renewed_by_itself_and_survives_a_reload(stack: Stack, contexts: Opener) -> None:
    page = open_page(stack, contexts)
    sign_up(page, new_email())
    say(page, "I like tea.")
    wait_for_answers(page, 1)
    page.wait_for_timeout((LIFETIME_S + 2) * 1000)
    say(page, "I like coffee, too.")
    wait_for_answers(page, 2)
    page.reload()
    wait_for_answers(page, 2)


def refresh_cookie(page: Page, url: str) -> Any:
    """The cookie of the session."""
    (cookie,) = (one for one in page.context.cookies(f"{url}/auth/v1/token") if one["name"] == "maas_refresh")
    return cookie


def test_no_script_can_read_the_refresh_token(stack: Stack, contexts: Opener) -> None:
    page = open_page(stack, contexts)
    sign_up(page, new_email())
    cookie = refresh_cookie(page, f"http://127.0.0.1:{stack.port}")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and cookie["path"] == "/auth/v1"
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert cookie["value"] not in stored and "eyJ" not in stored


def test_after_signing_out_the_old_token_is_refused(stack: Stack, contexts: Opener) -> None:
    page = open_page(stack, contexts)
    sign_up(page, new_email())
    url = f"http://127.0.0.1:{stack.port}"
    cookie = refresh_cookie(page, url)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    reply = stack.client.post(
        "/auth/v1/token", params={"grant_type": "refresh_token"}, json={"refresh_token": cookie["value"]}
    )
    assert reply.status_code in (400, 401)
    page.reload()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_link_of_an_administrator_sets_a_new_password(stack: Stack, contexts: Opener) -> None:
    person = signed_up(stack)
    link = next(word for word in maas(stack, "users", "reset", person.email).stdout.split() if "/ui/reset" in word)
    page = open_page(stack, contexts, link[link.index("reset") :])
    page.get_by_label("New password").fill("another cello")
    page.get_by_role("button", name="Set a new password").click()
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
    assert person.sign_in("another cello").status_code == 200
    again = open_page(stack, contexts, link[link.index("reset") :])
    again.get_by_label("New password").fill("a third cello")
    again.get_by_role("button", name="Set a new password").click()
    expect(again.get_by_role("alert")).to_contain_text("no longer valid")


def test_nobody_sees_what_is_anothers(stack: Stack, contexts: Opener) -> None:
    ann, bob = open_page(stack, contexts), open_page(stack, contexts)
    sign_up(ann, new_email(), "Ann")
    sign_up(bob, new_email(), "Bob")
    secret = f"s{uuid4().hex[:10]}"
    say(ann, f"My secret is {secret}.")
    wait_for_answers(ann, 1)
    place = ann.url
    (run,) = stack.rows("select id, user_id from pipeline_runs where user_query ~ %s", secret)
    for stranger in (place, f"/ui/runs/{run['id']}", f"/ui/runs/{run['id']}?user_id={run['user_id']}"):
        bob.goto(stranger if stranger.startswith("http") else f"http://127.0.0.1:{stack.port}{stranger}")
        bob.wait_for_timeout(1000)
        assert secret not in bob.content()
    for place in ("history", "memory", "", "admin", "admin/runs", "admin/prompts"):
        bob.goto(f"http://127.0.0.1:{stack.port}/ui/{place}")
        bob.wait_for_timeout(500)
        assert secret not in bob.content()
    expect(bob.get_by_text("Only administrators may see this.")).to_be_visible()


def test_a_stolen_session_is_ended(stack: Stack, contexts: Opener) -> None:
    """A thief has renewed with the cookie; when its owner does, or the other way round, both are signed out."""
    page = open_page(stack, contexts)
    email = new_email()
    sign_up(page, email)
    url = f"http://127.0.0.1:{stack.port}"
    cookie = refresh_cookie(page, url)
    token = cookie["value"]
    with httpx2.Client(base_url=url) as thief:
        for _ in range(3):
            reply = thief.post("/auth/v1/token", params={"grant_type": "refresh_token"}, json={"refresh_token": token})
            assert reply.status_code == 200
            token = reply.json()["refresh_token"]
        stack.rows("update auth_sessions set rotated_at = rotated_at - interval '1 minute'")
        page.reload()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        reply = thief.post("/auth/v1/token", params={"grant_type": "refresh_token"}, json={"refresh_token": token})
    assert reply.status_code in (400, 401)


def test_a_server_that_comes_back_keeps_people_signed_in(stack: Stack, contexts: Opener) -> None:
    page = open_page(stack, contexts)
    sign_up(page, new_email())
    server = next(one for one in stack._processes if "server.py" in str(stack._logs[one.pid]))
    stack.stop(server, signal.SIGKILL)
    page.wait_for_timeout((LIFETIME_S + 1) * 1000)
    stack.start_server()
    say(page, "I am still here.")
    wait_for_answers(page, 1)


def test_a_person_makes_a_key_that_works_until_it_is_revoked(stack: Stack, contexts: Opener) -> None:
    page, name = open_page(stack, contexts), f"key {uuid4().hex[:8]}"
    sign_up(page, new_email())
    page.goto(f"http://127.0.0.1:{stack.port}/ui/profile")
    page.get_by_text("Create a key").first.click()
    form = page.locator("details").filter(has_text="Create a key")
    form.get_by_label("Name").fill(name)
    form.get_by_role("button", name="Create a key").click()
    key = page.get_by_role("dialog").locator("pre").inner_text()
    page.keyboard.press("Escape")
    headers = {"authorization": f"Bearer {key}"}
    assert stack.client.get("/v1/runs", headers=headers).status_code == 200
    row = page.get_by_role("listitem").filter(has_text=name)
    row.scroll_into_view_if_needed()
    shot(page, "own-keys")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name=f"Revoke the key {name}?").get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    poll(lambda: stack.client.get("/v1/runs", headers=headers).status_code == 401, what="the key is refused")
