"""How many requests a page sends: to open a long conversation, for an exchange in it, and to begin with it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.test_chat import count_requests, say
from tests.browser.test_links import long_conversation, wait_until_quiet
from tests.stack import Stack

EXCHANGES = 60
TO_OPEN, TO_EXCHANGE, TO_BEGIN = 6, 8, 8


def test_a_long_conversation_takes_few_requests(stack: Stack, visit: Visitor, word: str) -> None:
    conversation, _ = long_conversation(stack, exchanges=EXCHANGES)
    stack.client.patch(f"/v1/conversations/{conversation}", json={"title": word}).raise_for_status()
    page = visit()
    asked = count_requests(page)
    in_list = page.get_by_role("navigation").get_by_role("link", name=word)
    expect(in_list).to_be_visible()
    wait_until_quiet(page, asked)  # what every page asks once
    asked.clear()
    in_list.click()
    expect(page.get_by_text(f"Answer {EXCHANGES}.")).to_be_in_viewport()
    wait_until_quiet(page, asked)
    assert 1 <= len(asked) <= TO_OPEN, "\n".join(asked)

    asked.clear()
    say(page, f"The {word} is green.")
    expect(page.locator("article[id^=run-] .prose").last).to_contain_text("Your message is kept in memory")
    stack.wait_archived(*[row["id"] for row in stack.rows("select id from pipeline_runs where user_query ~ %s", word)])
    expect(page.get_by_text("saving to memory")).to_have_count(0)
    wait_until_quiet(page, asked)
    assert 1 <= len(asked) <= TO_EXCHANGE, "\n".join(asked)

    asked.clear()
    page.reload()
    expect(page.get_by_text(f"The {word} is green.").last).to_be_in_viewport()
    wait_until_quiet(page, asked)
    assert 1 <= len(asked) <= TO_BEGIN, "\n".join(asked)


@pytest.mark.parametrize(("locale", "spoken"), [("en-US", "en"), ("ru-RU", "ru")])
def test_a_page_loads_the_texts_of_its_language_only(visit: Visitor, locale: str, spoken: str) -> None:
    page = visit("profile", locale=locale)
    expect(page.locator("main h1, main h2").first).to_be_visible()
    script = "performance.getEntriesByType('resource').map(one => one.name.split('/').pop().split('-')[0])"
    loaded = set(page.evaluate(script))
    assert loaded & {"en", "ru", "en_pages", "ru_pages"} == {spoken, f"{spoken}_pages"}
