"""The tables of the operators, and the way to each of them, on screens of every width."""

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
IN_VIEW = """all => all.every(one => {
  const {left, right} = one.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
})"""


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
@pytest.mark.parametrize(("width", "language"), [(1440, "en"), (1440, "ru"), (1024, "en"), (768, "ru")])
def test_every_page_of_administrators_is_in_view(visit: Visitor, width: int, language: str) -> None:
    """At 1440 pixels the last entries stood beyond the edge."""
    page = visit("admin/runs", viewport={"width": width, "height": 900}, locale=language)
    nav = page.get_by_role("navigation").filter(has=page.locator("a[href='/ui/admin/audit']"))
    expect(nav).to_be_visible()
    expect(page.get_by_role("table")).to_be_visible()
    assert nav.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert nav.get_by_role("link").evaluate_all(IN_VIEW)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shot(page, f"navigation-{width}-{language}")


@pytest.mark.usefixtures("account")
def test_on_a_phone_every_page_of_administrators_is_reached(visit: Visitor) -> None:
    page = visit("admin/runs", viewport={"width": 360, "height": 740}, has_touch=True)
    expect(page.get_by_role("table")).to_be_visible()
    for link in page.get_by_role("navigation", name="Admin").get_by_role("link").all():
        link.scroll_into_view_if_needed()
        expect(link).to_be_in_viewport(ratio=0.9)
        assert link.evaluate("one => one.offsetHeight") >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    table = page.locator("main .scrolls .scrolls").first
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")  # it scrolls by itself
    shot(page, "runs-360")


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


LINES = """all => Math.max(...all.map(one => {
  const text = document.createRange();
  text.selectNodeContents(one);
  return new Set(Array.from(text.getClientRects(), box => Math.round(box.top))).size;
}))"""


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("language", ["en-US", "ru-RU"])
def test_what_a_tool_does_is_read_at_a_glance(visit: Visitor, language: str, width: int) -> None:
    page = visit("admin/inventory", viewport={"width": width, "height": 800}, locale=language)
    table = page.get_by_role("table", name="Инструменты" if language == "ru-RU" else "Tools")
    table.scroll_into_view_if_needed()
    effects = table.locator("tbody td:nth-child(2)")
    expect(effects.first).to_be_visible()
    assert effects.evaluate_all(LINES) == 1
    assert effects.evaluate_all(IN_VIEW), "without scrolling the table"
    shot(page, f"tools-{language[:2]}-{width}")


@pytest.mark.usefixtures("account")
def test_what_opens_a_summary_stands_before_it(stack: Stack, visit: Visitor) -> None:
    page = visit("admin/memories", viewport={"width": 1440, "height": 800})
    text = page.locator("summary span").first
    expect(text).to_be_visible()
    offset = "one => one.getBoundingClientRect().top - one.closest('td').getBoundingClientRect().top"
    assert text.evaluate(offset) < 16, "not on a line of its own"


@pytest.mark.usefixtures("account")
def test_long_details_of_the_audit_do_not_widen_the_page(stack: Stack, visit: Visitor, word: str) -> None:
    stack.rows(
        "insert into audit (actor, action, details) values (%s, 'export', %s)",
        word,
        f'{{"counts": "{"messages:1,summaries:2," * 20}"}}',
    )
    page = visit("admin/audit", viewport={"width": 1440, "height": 800})
    expect(page.get_by_text(word)).to_be_visible()
    assert (
        page.locator("main .scrolls")
        .filter(has=page.locator("h1"))
        .evaluate("one => one.scrollWidth <= one.clientWidth")
    )
    shot(page, "audit-1440")


@pytest.mark.usefixtures("account")
def test_on_a_phone_names_are_whole_and_stand_in_the_middle_of_what_is_pressed(visit: Visitor) -> None:
    page = visit("admin/users", viewport={"width": 360, "height": 740}, has_touch=True)
    name = page.locator("tbody a").first
    expect(name).to_be_visible()
    assert name.evaluate_all(LINES) == 1
    offset = """one => {
      const text = document.createRange();
      text.selectNodeContents(one);
      const [inner, outer] = [text.getBoundingClientRect(), one.getBoundingClientRect()];
      return Math.abs(inner.top + inner.bottom - outer.top - outer.bottom) / 2;
    }"""
    assert page.get_by_role("navigation", name="Admin").get_by_role("link").first.evaluate(offset) < 2
    shot(page, "users-360")
