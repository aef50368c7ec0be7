"""A question that is asked anew in the middle of a conversation, and the branches that can still be read."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor, shot
from tests.browser.test_chat import say, wait_for_answers
from tests.stack import Stack


def edit(page: Page, old: str, new: str) -> None:
    question = page.locator("[data-index]").filter(has=page.get_by_text(old, exact=True))
    question.get_by_role("button", name="Edit").click()
    field = page.get_by_role("textbox", name="Edited question")
    expect(field).to_be_focused()
    field.fill(new)
    field.press("Enter")


def step(page: Page, question: str, name: str) -> None:
    row = page.locator("[data-index]").filter(has=page.get_by_text(question, exact=True))
    row.get_by_role("button", name=name).click()


def test_branches_are_walked_at_every_depth(stack: Stack, visit: Visitor, word: str) -> None:
    """Edited: the second question after a third; and before that, the third one itself."""
    first, second, third = (f"My {name} is {word}." for name in ("boat", "horse", "garden"))
    page = visit()
    for count, text in enumerate((first, second, third), start=1):
        say(page, text)
        wait_for_answers(page, count)
    edit(page, third, "My house is old.")
    expect(page.get_by_text(third, exact=True)).to_have_count(0)
    wait_for_answers(page, 3)
    edit(page, second, "My horse is brown.")
    expect(page.get_by_text("My house is old.", exact=True)).to_have_count(0)
    wait_for_answers(page, 2)
    say(page, "My cat is small.")
    wait_for_answers(page, 3)
    step(page, "My horse is brown.", "Earlier version")
    expect(page.get_by_text("My house is old.", exact=True)).to_be_visible()
    expect(page.get_by_text("My cat is small.", exact=True)).to_have_count(0)
    step(page, "My house is old.", "Earlier version")
    expect(page.get_by_text(third, exact=True)).to_be_visible()
    expect(page.get_by_text(second, exact=True)).to_be_visible()
    shot(page, "branch")
    page.get_by_role("button", name="To the newest version").click()
    expect(page.get_by_text("My cat is small.", exact=True)).to_be_visible()
    step(page, "My horse is brown.", "Earlier version")
    expect(page.get_by_text("My cat is small.", exact=True)).to_have_count(0)
    say(page, "My dog is big.")
    wait_for_answers(page, 4)
    expect(page.get_by_text("My cat is small.", exact=True)).to_be_visible()
    stack.wait_archived(*[row["id"] for row in stack.rows("select id from pipeline_runs where kind = 'ask'")])
    kept = [row["content"] for row in stack.rows("select content from raw_logs where message_type = 'user_query'")]
    assert kept.count(second) == kept.count(third) == kept.count("My house is old.") == 0
    assert {first, "My horse is brown.", "My cat is small."} <= set(kept)
