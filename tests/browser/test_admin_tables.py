"""The tables of the desk."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import Page, expect
from psycopg.rows import dict_row

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot, violations
from tests.sql.large_accounts import fill_account
from tests.stack import Stack

ROWS = 60


@pytest.fixture(scope="module")
def account(stack: Stack) -> None:
    """The user of this machine has asked so often."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        fill_account(connection, ROWS, LOCAL_USER)


def tops(page: Page) -> tuple[float, float]:
    """Where the head of the table begins, and what scrolls it."""
    scroller = page.locator("main .scrolls").filter(has=page.locator("h1"))
    head = page.get_by_role("table").first.locator("th").first
    return head.evaluate("one => one.getBoundingClientRect().top"), scroller.evaluate(
        "one => one.getBoundingClientRect().top"
    )


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_head_of_a_table_stays(visit: Visitor, scheme: str) -> None:
    page = visit("admin/runs", viewport={"width": 1440, "height": 800}, color_scheme=scheme)
    expect(page.get_by_role("table")).to_be_visible()
    assert tops(page)[0] > tops(page)[1]
    page.get_by_role("table").locator("tbody tr").nth(40).scroll_into_view_if_needed()
    head, scroller = tops(page)
    assert head == scroller
    expect(page.get_by_role("columnheader", name="Status")).to_be_in_viewport(ratio=1)
    shot(page, f"head-{scheme}")
    assert not violations(page)


@pytest.mark.usefixtures("account")
def test_columns_are_hidden_by_keys_and_stay_so(visit: Visitor) -> None:
    page = visit("admin/runs", viewport={"width": 1440, "height": 800})
    heads = page.get_by_role("columnheader")
    expect(heads).to_have_count(9)
    button = page.get_by_role("button", name="Columns")
    button.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.type("to")
    tokens = page.get_by_role("menuitemcheckbox", name="Tokens")
    expect(tokens).to_be_focused()
    page.keyboard.press("Enter")
    expect(tokens).to_have_attribute("aria-checked", "false")  # and the menu is still open
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    shot(page, "columns")
    assert not violations(page)
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    expect(heads).to_have_count(7)
    page.reload()
    expect(heads).to_have_count(7)
    expect(page.get_by_role("columnheader", name="Tokens")).to_have_count(0)
    page.goto(page.url.replace("runs", "users"))
    expect(heads).to_have_count(6)  # each table has its own
    expect(page.get_by_role("columnheader", name="Last request")).to_have_attribute("aria-sort", "descending")
