"""Lists of thousands: they are scrolled and searched, and only what is near the screen is in the page."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import Page, expect
from psycopg.rows import dict_row

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot, violations
from tests.sql.large_accounts import fill_account
from tests.stack import Stack

ROWS = 2000
READ = 200  # of them, until it is shown that no more are rendered
MAX_RENDERED = 120
UUID_CHARS = 36


@pytest.fixture(scope="module")
def account(stack: Stack) -> None:
    """The user of this machine has asked so often."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        fill_account(connection, ROWS, LOCAL_USER)
        connection.execute("set session_replication_role = replica")
        connection.execute("update pipeline_runs set created_at = now() - make_interval(mins => seq::int)")
        connection.execute("update lsm_storage set summary = 'They talked, ' || id, created_at = now()")


def read_on(page: Page, rows: str, most: int) -> None:
    """Scroll to the end until so many rows were read; never are many of them in the page."""
    scroller = page.locator("main .scrolls").first
    item = page.locator("main ul li[aria-posinset]").last
    for _ in range(300):
        scroller.evaluate("one => one.scrollTo(0, one.scrollHeight)")
        assert page.locator(rows).count() <= MAX_RENDERED
        if item.count() and int(item.get_attribute("aria-posinset") or 0) >= most - 5:
            return
        page.wait_for_timeout(30)
    raise AssertionError(item.get_attribute("aria-posinset"))


@pytest.mark.usefixtures("account")
def test_a_long_history_is_scrolled_walked_and_searched(visit: Visitor) -> None:
    page = visit("history")
    rows = page.locator("[data-run]")
    expect(rows.first).to_be_visible()
    read_on(page, "[data-run]", READ)
    assert rows.count() <= MAX_RENDERED
    numbers = page.locator("li[aria-posinset]").evaluate_all("all => all.map(one => Number(one.ariaPosInSet))")
    assert numbers == sorted(numbers)
    shot(page, "long-history")
    page.evaluate("document.querySelector('main .scrolls').scrollTo(0, 0)")
    expect(rows.first).to_be_in_viewport()
    rows.first.focus()
    seen = []
    for _ in range(40):
        page.keyboard.press("ArrowDown")
        seen.append(page.evaluate("document.activeElement.closest('li')?.ariaPosInSet"))
    assert None not in seen
    assert len(set(seen)) == len(seen), "the focus stood still"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('li')?.ariaPosInSet") not in seen
    expect(page.locator(":focus")).to_be_in_viewport()
    assert not violations(page)
    page.get_by_label("Search in questions and answers").fill("question 1234")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("question 1234")


@pytest.mark.usefixtures("account")
def test_a_long_memory_is_scrolled(visit: Visitor) -> None:
    page = visit("memory")
    cards = page.locator("main li .card")
    expect(cards.first).to_be_visible()
    read_on(page, "main li .card", READ)
    texts = cards.all_inner_texts()
    assert len(texts) == len(set(texts)) <= MAX_RENDERED
    shot(page, "long-memory")
    at = len(texts) // 2
    summary = texts[at].partition("They talked, ")[2][:UUID_CHARS]
    assert len(summary) == UUID_CHARS
    card, words = cards.filter(has_text=summary), "user_query question"
    card.get_by_role("button", name="What it was made from").click()
    expect(card.get_by_text(words).first).to_be_visible()
    top = page.evaluate("document.querySelector('main .scrolls').scrollTop")
    page.evaluate("document.activeElement.blur(); document.querySelector('main .scrolls').scrollTo(0, 0)")
    expect(card).to_have_count(0)
    page.evaluate("top => document.querySelector('main .scrolls').scrollTo(0, top)", top)
    expect(card.get_by_text(words).first).to_be_attached()  # it is as it was left
