"""Two people at one browser, one after the other: nothing of the first is there for the second."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import shot
from tests.browser.test_chat import say, wait_for_answers
from tests.browser.test_sign_in import open_page, sign_in, sign_up
from tests.people import new_email
from tests.stack import Stack

Opener = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Server and orchestrator for people with accounts."""
    settings = {"MAAS_AUTH": "local", "MAAS_SIGN_IN_RATE": "1000", "MAAS_SIGN_IN_ADDRESS_RATE": "1000"}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


def go(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()


def sign_out(page: Page) -> None:
    page.get_by_role("navigation").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def kept(page: Page) -> str:
    return str(page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, history.state])"))


def test_the_next_person_finds_nothing_of_the_one_before(stack: Stack, contexts: Opener) -> None:
    page = open_page(stack, contexts)
    ann, bob, secret = new_email(), new_email(), f"s{uuid4().hex[:10]}"
    sign_up(page, ann, "Ann")
    say(page, f"My greyhound is called {secret}.")
    wait_for_answers(page, 1)
    place = page.url
    go(page, "Ann")
    page.get_by_label("Position").fill(f"Chief {secret}")
    page.get_by_label("Department").fill(f"Mergers {secret}")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Saved")).to_be_visible()
    go(page, "Memory")
    expect(page.get_by_text(secret).first).to_be_visible()
    go(page, "New conversation")
    page.route("**/v1/runs", busy)
    say(page, f"Unsent {secret}.")
    expect(page.get_by_text("Not sent yet")).to_be_visible()
    page.get_by_label("Message", exact=True).fill(f"Draft {secret}: fire Bob on Friday")
    assert secret in kept(page)
    sign_out(page)
    page.unroute("**/v1/runs")
    assert secret not in kept(page)
    sign_up(page, bob, "Bob")
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    go(page, "Bob")
    page.get_by_label("Position").fill("Clerk")
    assert page.get_by_label("Department").input_value() == ""
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Saved")).to_be_visible()
    shot(page, "profile-of-the-next-person")
    profiles = {
        row["position"]: row["department"] for row in stack.rows("select position, department from user_profiles")
    }
    assert profiles == {f"Chief {secret}": f"Mergers {secret}", "Clerk": None}
    for name in ("Memory", "History", "New conversation"):
        go(page, name)
        page.wait_for_timeout(500)
        assert secret not in page.content()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    page.wait_for_timeout(500)
    assert secret not in page.content()
    page.keyboard.press("Escape")
    seen = set()
    for _ in range(12):  # back to where the other one was
        page.go_back()
        page.wait_for_timeout(200)
        seen.add(page.url)
        assert secret not in page.content(), page.url
        if page.url == place:
            break
    assert place in seen
    expect(page.get_by_text("There is no such conversation, or it is not yours.")).to_be_visible()
    assert stack.rows("select from pipeline_runs where user_query ~ 'Unsent'") == []
    sign_out(page)
    sign_in(page, ann)
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    page.goto(f"http://127.0.0.1:{stack.port}/ui/profile")
    expect(page.get_by_label("Position")).to_have_value(f"Chief {secret}")


def busy(route: Route) -> None:
    if route.request.method != "POST":
        route.continue_()
        return
    body = json.dumps({"error": {"code": "queue_full", "message": "wait"}})
    route.fulfill(status=429, headers={"retry-after": "60", "content-type": "application/json"}, body=body)


def test_signing_out_in_one_tab_signs_out_all(stack: Stack, contexts: Opener) -> None:
    page = open_page(stack, contexts)
    secret = f"s{uuid4().hex[:10]}"
    sign_up(page, new_email(), "Ann")
    other = page.context.new_page()
    other.goto(f"http://127.0.0.1:{stack.port}/ui/")
    other.get_by_label("Message", exact=True).fill(f"Draft {secret}")
    sign_out(page)
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()
    assert secret not in other.content() and secret not in kept(other)
    sign_up(page, new_email(), "Bob")
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
