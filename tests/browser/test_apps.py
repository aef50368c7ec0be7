"""An app is connected in a browser: who asks is shown, the person goes back with a code, and disconnects it later."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import shot
from tests.browser.test_sign_in import Opener, open_page, sign_in
from tests.connecting import App, answer_in
from tests.people import signed_up
from tests.polling import poll
from tests.stack import Stack


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="local") as running:
        running.start_server()
        yield running


def test_a_person_allows_an_app_and_disconnects_it(stack: Stack, contexts: Opener) -> None:
    person, app = signed_up(stack), App(stack)
    page = open_page(stack, contexts, f"connect?{urlencode(app.parameters())}")
    went: list[str] = []

    def take(route: Route) -> None:
        went.append(route.request.url)
        route.fulfill(body="back in the app")

    page.route("https://app.example/**", take)
    sign_in(page, person.email)
    expect(page.get_by_text("Editor asks to use MaaS for you")).to_be_visible()
    expect(page.get_by_text("You go back to: app.example")).to_be_visible()
    shot(page, "connect")
    assert went == []
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(page.get_by_text("back in the app")).to_be_visible()
    assert app.exchange(answer_in(went[0])["code"]).status_code == 200 and app.status() == 200
    page.goto(f"http://127.0.0.1:{stack.port}/ui/profile")
    apps = page.get_by_role("list", name="Connected apps")
    expect(apps.get_by_text("Editor")).to_be_visible()
    apps.get_by_role("button", name="Disconnect").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    expect(page.get_by_text("No app is connected.")).to_be_visible()
    poll(lambda: app.status() == 401, what="the token is refused")
