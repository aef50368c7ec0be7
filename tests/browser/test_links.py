"""Links to messages: they land where they lead to, however long ago that was said, and one reads on from there."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

from playwright.sync_api import Locator, Page, expect

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot
from tests.browser.test_chat import say
from tests.stack import Stack

EXCHANGES = 100  # four pages of messages


def long_conversation(stack: Stack, user: UUID | str = LOCAL_USER, exchanges: int = EXCHANGES) -> tuple[str, list[str]]:
    """A conversation of so many questions with answers, and the ids of their runs."""
    opened = stack.client.post("/v1/conversations", json={"user_id": str(user)}).json()["id"]
    rows = stack.rows(
        "with said as (select n, gen_random_uuid() as run from generate_series(1, %s) n), kept as ("
        "insert into chat_messages (conversation_id, user_id, run_id, role, content, created_at)"
        " select %s, %s, run, role, what || ' ' || n || '.' || repeat(' And so on.', n %% 40),"
        "   now() - interval '1 day' + make_interval(mins => n, secs => later)"
        " from said, (values ('user', 'Question', 0), ('assistant', 'Answer', 1)) as v (role, what, later))"
        " select run from said order by n",
        exchanges,
        opened,
        user,
    )
    return opened, [str(row["run"]) for row in rows]


def marked(page: Page) -> Locator:
    return page.locator("#log .bg-mark")


def scroll_until(page: Page, text: str, step: int) -> list[str]:
    """Scroll by so many pixels until a text is seen; what was seen on the way, in the order of the page."""
    seen: list[str] = []
    page.locator("#log").hover()
    for _ in range(200):
        seen += page.locator("#log article p, #log article .prose").all_inner_texts()
        if page.get_by_text(re.compile(rf"^{re.escape(text)}\.")).count():
            return seen
        page.mouse.wheel(0, step)
        page.wait_for_timeout(60)
    raise AssertionError(text)


def test_a_link_lands_on_an_old_message_and_one_reads_on_both_ways(stack: Stack, visit: Visitor) -> None:
    conversation, runs = long_conversation(stack)
    for kind, text, name in (("ask", "Question 7.", "asked"), ("run", "Answer 50.", "answered")):
        page = visit(f"c/{conversation}#{kind}-{runs[int(text[-3:-1]) - 1]}")
        expect(marked(page)).to_contain_text(text)
        expect(marked(page)).to_be_in_viewport()
        page.wait_for_timeout(500)  # nothing moves it away
        expect(marked(page)).to_be_in_viewport()
        shot(page, f"link-{name}")
    assert "Question 40." in " ".join(scroll_until(page, "Question 1", -600))
    seen = " ".join(scroll_until(page, f"Answer {EXCHANGES}", 600))
    places = [seen.index(f"Answer {number}.") for number in range(2, EXCHANGES - 1)]
    assert places == sorted(places)  # each was there, in its order


def wait_until_quiet(page: Page, asked: list[str]) -> None:
    """Return when the page has asked for nothing more for a while."""
    before = -1
    while before != len(asked):
        before = len(asked)
        page.wait_for_timeout(700)


def test_a_link_within_the_open_conversation_is_followed(stack: Stack, visit: Visitor) -> None:
    conversation, runs = long_conversation(stack)
    page = visit()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
    expect(page.get_by_label("Assistant", exact=True)).to_contain_text("Mentor")  # before it, a slow page is quiet, too
    wait_until_quiet(page, asked)  # what every page asks once
    asked.clear()
    page.evaluate("place => history.pushState(null, '', place)", f"/ui/c/{conversation}")
    expect(page.get_by_text(f"Answer {EXCHANGES}.")).to_be_visible()
    wait_until_quiet(page, asked)
    assert len(asked) <= 6, asked
    expect(marked(page)).to_have_count(0)
    page.evaluate("place => history.pushState(null, '', place)", f"/ui/c/{conversation}#run-{runs[2]}")
    expect(marked(page)).to_contain_text("Answer 3.")
    expect(marked(page)).to_be_in_viewport()
    page.get_by_role("button", name="Go to the end").click()
    expect(page.get_by_text(f"Answer {EXCHANGES}.")).to_be_in_viewport()
    expect(marked(page)).to_have_count(0)
    assert "#" not in page.url


def test_what_one_says_from_an_old_message_is_seen(stack: Stack, visit: Visitor, word: str) -> None:
    conversation, runs = long_conversation(stack)
    page = visit(f"c/{conversation}#run-{runs[2]}")
    expect(marked(page)).to_be_in_viewport()
    say(page, f"My lilies are called {word}.")
    expect(page.locator("#log article").filter(has_text=f"My lilies are called {word}.").first).to_be_in_viewport()
    expect(page.locator("article[id^=run-] .prose").last).to_be_in_viewport()


def test_a_message_that_is_no_longer_there_is_said_to_be_gone(stack: Stack, visit: Visitor) -> None:
    conversation, _ = long_conversation(stack)
    page = visit(f"c/{conversation}#ask-{uuid4()}")
    expect(page.get_by_text("This message is no longer in the conversation.")).to_be_visible()
    expect(page.get_by_text(f"Answer {EXCHANGES}.")).to_be_in_viewport()
    shot(page, "link-gone")
    page = visit(f"c/{conversation}#ask-{uuid4()}", locale="ru-RU", viewport={"width": 360, "height": 740})
    expect(page.get_by_text("Этого сообщения в беседе больше нет.")).to_be_visible()
    shot(page, "link-gone-ru-360")


def test_links_into_conversations_of_others_show_nothing(stack: Stack, visit: Visitor) -> None:
    mine, _ = long_conversation(stack)
    _, runs = long_conversation(stack, uuid4())
    page = visit(f"c/{mine}#run-{runs[2]}")
    expect(page.get_by_text("This message is no longer in the conversation.")).to_be_visible()


def test_messages_that_cannot_be_read_are_no_empty_conversation(stack: Stack, visit: Visitor) -> None:
    """It said what to talk about, as in a new one, and one's history seemed to be lost."""
    conversation, _ = long_conversation(stack)
    page = visit("history")
    refusal = {"error": {"code": "odd", "message": "no"}}
    page.route("**/messages*", lambda route: route.fulfill(status=403, json=refusal))
    page.goto(f"http://127.0.0.1:{stack.port}/ui/c/{conversation}")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_text("What shall we talk about?")).to_have_count(0)
    shot(page, "messages-away")
    page.unroute("**/messages*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text(f"Answer {EXCHANGES}.")).to_be_in_viewport()
    expect(page.get_by_role("alert")).to_have_count(0)
