"""The page over plain http by a name of a network, where browsers withhold what they keep for secure pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect, sync_playwright

from tests.browser.conftest import OPTIONS, TIMEOUT_MS, chromium, shot
from tests.browser.test_chat import answers, say, wait_for_answers
from tests.browser.test_sign_in import sign_up
from tests.people import new_email
from tests.stack import Stack

HOST = "maas.intern"


@pytest.fixture
def stack(fresh_database: str, tmp_path: Path) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path, MAAS_AUTH="local") as running:
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture
def page() -> Iterator[Page]:
    """A page of a browser that finds HOST on this machine."""
    if (path := chromium()) is None:
        pytest.skip("there is no Chromium (Debian, Ubuntu: apt install chromium)")
    rules = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS, rules])
        opened = browser.new_page(locale="en-US")
        opened.set_default_timeout(TIMEOUT_MS)
        yield opened
        browser.close()


def test_a_person_signs_in_asks_and_copies(stack: Stack, page: Page) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    email = new_email()
    page.goto(f"http://{HOST}:{stack.port}/ui/")
    assert page.evaluate("[isSecureContext, typeof crypto.randomUUID, typeof navigator.clipboard]") == [
        False,
        "undefined",
        "undefined",
    ]
    sign_up(page, email)
    page.reload()  # the session goes on
    say(page, "My greyhound is called Comet.")
    wait_for_answers(page, 1)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    area = page.get_by_label("Message", exact=True)
    area.focus()
    page.keyboard.press("Control+v")
    assert " ".join(area.input_value().split()) == " ".join(answers(page)[-1].split())
    shot(page, "plain-http")
    page.get_by_role("navigation").get_by_role("link", name="Ann").click()
    page.get_by_label("Notify me when an answer is ready while this page is hidden").click()  # browsers refuse it here
    expect(page.get_by_label("Notify me when an answer is ready while this page is hidden")).not_to_be_checked()
    assert errors == []


def test_an_error_of_a_page_leaves_the_rest_of_it(stack: Stack, page: Page) -> None:
    def distort(route: Route) -> None:
        route.fulfill(json={"results": [{"id": "x", "tags": None}], "next": None})

    page.goto(f"http://{HOST}:{stack.port}/ui/")
    sign_up(page, new_email())
    page.route("**/v1/memories?*", distort)
    page.get_by_role("navigation").get_by_role("link", name="Memory").click()
    expect(page.get_by_text("This part of the page is broken.")).to_be_visible()
    shot(page, "broken-part")
    page.unroute("**/v1/memories?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("navigation")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
