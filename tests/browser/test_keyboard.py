"""A walk through the pages by keyboard alone: each control is reached, the focus is seen and comes back."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor
from tests.browser.test_chat import wait_for_answers
from tests.browser.test_pages import insert_runs
from tests.stack import Stack

MAX_STEPS = 80  # with Tab to a control
PLACES = (
    "actions",
    "memory",
    "memory/facts",
    "memory/documents",
    "history",
    "profile",
    "admin/runs",
    "admin/users",
    "admin/keys",
    "admin/audit",
)
IS_SEEN = """one => [one, one.closest("label")].some((shown) => {
  if (!shown) return false;  // a field for files is hidden, and its label has the outline
  const style = getComputedStyle(shown), box = shown.getBoundingClientRect();
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && box.width > 0 && box.height > 0;
})"""
IS_ON_TOP = """one => {
  const {left, right, top, bottom} = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint((left + right) / 2, top + 1))
    && one.contains(document.elementFromPoint((left + right) / 2, bottom - 1));
}"""
CONTROLS = "main :is(a[href], button, input, select, textarea, summary):visible"


def walk_to(page: Page, control: Locator, key: str = "Tab") -> None:
    """Press the key until the control has the focus, which is seen."""
    for _ in range(MAX_STEPS):
        page.keyboard.press(key)
        if control.evaluate("one => one === document.activeElement"):
            assert control.evaluate(IS_SEEN), "the focus is not seen"
            return
    raise AssertionError(f"{MAX_STEPS} steps with {key} do not lead to {control}")


def test_a_chat_by_keyboard(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit()
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type(f"My boat is called {word}.")
    page.keyboard.press("Enter")
    wait_for_answers(page, 1)
    evidence = page.locator("article[id^=run-]").last.get_by_role("button", name=re.compile("Evidence"))
    walk_to(page, evidence, "Shift+Tab")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Evidence")
    expect(panel).to_be_visible()
    walk_to(page, panel.get_by_role("tab", name="Evidence"))
    page.keyboard.press("ArrowRight")
    trace = page.get_by_role("complementary", name="Trace")
    expect(trace.get_by_role("tab", name="Trace")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name=re.compile("Logs"))).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(trace.get_by_role("tabpanel", name="Trace")).to_be_visible()
    fold = trace.locator("summary").filter(has_text="What happened").first
    walk_to(page, fold)
    page.keyboard.press("Enter")
    expect(trace.locator("details[open] li").first).to_be_visible()
    walk_to(page, trace.get_by_role("button", name="Save as JSON"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    expect(evidence).to_be_focused()


def test_a_question_before_an_act_gives_the_focus_back(stack: Stack, visit: Visitor) -> None:
    page = visit("memory")
    erase = page.get_by_role("button", name="Erase everything")
    expect(erase).to_be_visible()
    walk_to(page, erase)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(erase).to_be_focused()


def test_each_control_is_reached_in_its_order(stack: Stack, visit: Visitor, word: str) -> None:
    """Nothing is passed over, nothing holds the focus, and no control takes it out of its place on the page."""
    (run,) = insert_runs(stack, 1, word)
    stack.rows("select maas_propose_action(%s, 'c1', 'send_mail', '{\"to\": \"Ann\"}', 'dangerous')", run)
    page = visit()
    for place in (*PLACES, f"runs/{run}"):
        page.goto(f"http://127.0.0.1:{stack.port}/ui/{place}")
        expect(page.locator("h1").first).to_be_visible()
        expect(page.locator(".skeleton")).to_have_count(0)
        assert page.locator("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").count() == 0, place
        controls = page.locator(CONTROLS).locator("visible=true")
        controls.evaluate_all(
            "all => all.filter(one => !one.disabled && one.tabIndex >= 0).forEach((one, n) => one.dataset.walk = n)"
        )
        count = min(page.locator("[data-walk]").count(), MAX_STEPS)
        assert count, place
        first = page.locator("[data-walk='0']")
        first.focus()
        reached = [0]
        for _ in range(3 * count):
            if reached[-1] == count - 1:
                break
            page.keyboard.press("Tab")
            at, is_seen = page.evaluate(
                f"() => [document.activeElement.dataset.walk, ({IS_SEEN})(document.activeElement)]"
            )
            if at is not None and int(at) != reached[-1]:  # a date has several stops, of which the browser marks each
                reached.append(int(at))
                assert is_seen, (place, at)
        assert reached == list(range(count)), place


def test_a_menu_at_the_end_of_a_list_is_shown_whole(stack: Stack, visit: Visitor) -> None:
    """It was cut off where the list of conversations ends, with what deletes one beyond the edge."""
    for _ in range(20):
        stack.client.post("/v1/conversations", json={"user_id": str(LOCAL_USER)}).raise_for_status()
    page = visit(viewport={"width": 1280, "height": 600})
    menus = page.get_by_role("button", name="More for the conversation")
    expect(menus.nth(19)).to_be_attached()
    in_view = [menu for menu in menus.all() if menu.evaluate(IS_ON_TOP)]
    assert 1 < len(in_view) < 20
    for menu in in_view:
        menu.click()
        expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
        assert all(item.evaluate(IS_ON_TOP) for item in page.get_by_role("menuitem").all())
        page.keyboard.press("Escape")
        expect(menu).to_be_focused()
