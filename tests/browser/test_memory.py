"""The memory page follows what is remembered while it is open, and leaves alone what somebody reads or writes there."""

from __future__ import annotations

import time

import psycopg
import pytest
from playwright.sync_api import Page, expect
from psycopg.rows import dict_row

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot
from tests.sql.large_accounts import fill_account
from tests.stack import Stack

ROWS = 200
TOP = "one => one.getBoundingClientRect().top"


@pytest.fixture(scope="module")
def account(stack: Stack) -> None:
    """The user of this machine has asked so often."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        fill_account(connection, ROWS, LOCAL_USER)
        connection.execute(
            """update lsm_storage set summary = 'They talked, ' || id, occurred_at = now() - interval '1 minute',
                 time_bucket_start = current_date, time_bucket_end = current_date"""
        )


def remember(stack: Stack, words: str) -> None:
    body = {"user_id": str(LOCAL_USER), "memory": words}
    assert stack.client.post("/v1/memories", json=body).status_code == 202


def read_on(page: Page, pages: int) -> None:
    """Scroll to the end until so many more pages were read."""
    answers: list[str] = []
    page.on("response", lambda answer: answers.append(answer.url) if "before=" in answer.url else None)
    for _ in range(300):
        page.locator("main .scrolls").first.evaluate("one => one.scrollTo(0, one.scrollHeight)")
        if len(answers) >= pages:
            return
        page.wait_for_timeout(50)
    raise AssertionError(answers)


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("pages", [1, 4])  # all rows are in the page, or only those near the screen
def test_what_is_remembered_appears_and_moves_nothing(stack: Stack, visit: Visitor, word: str, pages: int) -> None:
    page = visit("memory", viewport={"width": 1280, "height": 800})
    cards = page.locator("main li .card")
    expect(cards.first).to_be_visible()
    read_on(page, pages)
    page.locator("main .scrolls").first.evaluate("one => one.scrollTo(0, one.scrollHeight / 2)")
    page.wait_for_timeout(300)
    here = (
        page.locator("main li .card")
        .filter(has_text="They talked")
        .evaluate_all("all => all.findIndex(one => one.getBoundingClientRect().top > 100)")
    )
    summary = cards.nth(here).locator("p").nth(1).inner_text()
    card = cards.filter(has_text=summary)
    card.get_by_role("button", name="Wrong?").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("What is being")
    before = card.evaluate(TOP)
    totals = page.locator("main p").filter(has_text="summaries")
    counted = totals.inner_text()
    with page.expect_response(lambda answer: "/v1/memories?" in answer.url):
        remember(stack, f"I like {word}.")
    expect(totals).not_to_have_text(counted)
    page.wait_for_timeout(300)
    assert abs(card.evaluate(TOP) - before) < 2
    expect(page.get_by_role("dialog").get_by_role("textbox")).to_have_value("What is being")
    page.keyboard.press("Escape")
    page.locator("main .scrolls").first.evaluate("one => one.scrollTo(0, 0)")
    expect(cards.first).to_contain_text(word)
    shot(page, f"memory-followed-{pages}")


@pytest.mark.usefixtures("account")
def test_a_burst_is_read_in_few_requests_and_seen_by_who_is_at_the_beginning(
    stack: Stack, visit: Visitor, word: str
) -> None:
    page = visit("memory")
    cards = page.locator("main li .card")
    expect(cards.first).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/memories?" in request.url else None)
    began = time.monotonic()
    for number in range(30):
        remember(stack, f"I like {word} {number}.")
    expect(cards.first).to_contain_text(f"{word} 29")
    expect(cards.first).to_be_in_viewport()
    seconds = time.monotonic() - began
    assert 1 <= len(asked) <= seconds + 2, (seconds, asked)


@pytest.mark.usefixtures("account")
def test_a_fact_appears_where_facts_are_shown(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit("memory/facts")
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    remember(stack, f"My sister is called {word.capitalize()}.")
    expect(page.get_by_text(word.capitalize()).first).to_be_visible()
