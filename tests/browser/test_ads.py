"""A person connects a business in a browser: a token is checked, accounts are chosen, and a first sync reads them."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.assistants.ads.shop import AMOCRM, CRM_TOKEN, FACEBOOK, TOKEN
from tests.browser.conftest import Visitor, shot
from tests.stack import Stack
from tests.standins.running import Running, standin


@pytest.fixture(scope="module")
def facebook() -> Iterator[Running]:
    with standin("facebook", FACEBOOK) as running:
        yield running


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory, facebook: Running) -> Iterator[Stack]:
    """Server and orchestrator that reach stand-ins of Facebook and amoCRM."""
    with standin("amocrm", AMOCRM) as crm:
        urls = {"FB_BASE_URL": facebook.url, "AMOCRM_BASE_URL": crm.url}
        with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **urls) as running:
            running.start_server()
            running.start_orchestrator()
            yield running


def test_a_business_is_connected_and_read(stack: Stack, visit: Visitor, facebook: Running) -> None:
    facebook.merge({"permissions": {"leads_retrieval": "declined"}})
    page = visit("ads")
    page.get_by_label("Name of the business").fill("Ремонт")
    token = page.get_by_label("Access token of a system user")
    token.fill("EAABunknown0123456789")
    page.get_by_role("button", name="Check the token").click()
    expect(page.get_by_role("alert")).to_contain_text("Facebook does not accept the access token")
    token.fill(TOKEN)
    page.get_by_role("button", name="Check the token").click()
    expect(page.get_by_text("no permission leads_retrieval: leads by forms are not read")).to_be_visible()
    page.get_by_role("checkbox", name="act_1").check()
    shot(page, "ads_token")
    page.get_by_role("button", name="Connect what is chosen").click()
    expect(page.get_by_text("1 ad account is connected.")).to_be_visible()
    business = page.get_by_role("region", name="Ремонт")
    expect(business.get_by_text("read last: ads 3")).to_be_visible()
    page.get_by_label("Long-lived token").fill(CRM_TOKEN)
    page.get_by_role("button", name="Check and connect amoCRM").click()
    expect(page.get_by_text("amoCRM is connected: 5 stages, prices in USD.")).to_be_visible()
    expect(business.get_by_text("leads 1")).to_be_visible()
    expect(business.get_by_text("No direction is defined")).to_be_visible()
    expect(business.get_by_text("WhatsApp is not connected")).to_be_visible()
    assert TOKEN not in page.content() and CRM_TOKEN not in page.content()
    shot(page, "ads_connected")


def test_an_operator_connects_for_a_person_of_telegram(stack: Stack, visit: Visitor) -> None:
    chat = str(uuid4().int % 10**10)
    (row,) = stack.rows("select maas_resolve_user('telegram', %s) as id", chat)
    page = visit("admin/ads")
    page.get_by_label("User").fill(chat)
    page.get_by_role("button", name=chat).click()
    expect(page.get_by_text("No business is connected yet.")).to_be_visible()
    page.get_by_label("Name of the business").fill("Окна")
    page.get_by_label("Access token of a system user").fill(TOKEN)
    page.get_by_role("button", name="Check the token").click()
    page.get_by_role("checkbox", name="act_2").check()
    page.get_by_role("button", name="Connect what is chosen").click()
    expect(page.get_by_role("region", name="Окна")).to_be_visible()
    assert stack.rows("select fb_id from ad_accounts where user_id = %s", row["id"]) == [{"fb_id": "act_2"}]
