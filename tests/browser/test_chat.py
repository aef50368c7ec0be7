"""Chatting in a browser: an answer, the words it came from, and what hostile text and lost connections cannot do."""

from __future__ import annotations

import re
import signal
from urllib.parse import urlsplit
from uuid import uuid4

from playwright.sync_api import Page, Request, Route, expect

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot, violations
from tests.polling import poll
from tests.stack import Stack

HOSTILE = """<script>window.broken = 1</script> <img src=x onerror="window.broken = 1">
[click](javascript:window.broken=1) <a href="javascript:window.broken=1">raw</a> ![pic](https://example.org/pic.png)
<iframe src="https://example.org"></iframe> \x1b[31mred \u202eright to left"""

# Messages arrive late, and what has left the page although it had been there is written down.
WATCHED = """
const send = window.fetch, seen = new Set();
window.lost = [];
window.fetch = async (path, options) => {
  const response = await send(path, options);
  if (String(path).includes("/messages")) await new Promise((resolve) => setTimeout(resolve, 700));
  return response;
};
new MutationObserver(() => {
  const shown = new Set([...document.querySelectorAll("article[id^=run-]")].map((one) => one.id));
  for (const id of seen) if (!shown.has(id)) window.lost.push(id);
  for (const id of shown) seen.add(id);
}).observe(document, { childList: true, subtree: true });
"""

# Nothing that waits a second or longer comes to pass: what asks again and again asks once.
NO_POLLS = """
for (const name of ["setTimeout", "setInterval"]) {
  const real = window[name];
  window[name] = (work, ms = 0, ...rest) => (ms >= 1000 ? 0 : real.call(window, work, ms, ...rest));
}
"""

# The first list of conversations arrives three seconds after it was read.
LATE_LIST = """
const send = window.fetch;
let isFirst = true;
window.fetch = async (path, options) => {
  const isLate = isFirst && new URL(path, location.href).pathname === "/v1/conversations";
  if (isLate) isFirst = false;
  const response = await send(path, options);
  if (isLate) await new Promise((resolve) => setTimeout(resolve, 3000));
  return response;
};
"""


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def answers(page: Page) -> list[str]:
    return page.locator("article[id^=run-] .prose").all_inner_texts()


def wait_until_quiet(page: Page) -> None:
    expect(page.locator("article[id^=run-][aria-busy=true]")).to_have_count(0)


def wait_for_answers(page: Page, count: int) -> None:
    wait_until_quiet(page)
    expect(page.locator("article[id^=run-] .prose")).to_have_count(count)


def reply(stack: Stack, page: Page, text: str) -> None:
    """Have the last answer of the open conversation say this."""
    conversation = urlsplit(page.url).path.rpartition("/")[2]
    stack.rows(
        "update chat_messages set content = %s where id = (select id from chat_messages where conversation_id = %s"
        " and role = 'assistant' order by created_at desc limit 1)",
        text,
        conversation,
    )


def test_an_answer_and_the_words_it_came_from(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit()
    say(page, f"My greyhound is called {word}.")
    wait_for_answers(page, 1)
    say(page, "What is my greyhound called?")
    wait_for_answers(page, 2)
    assert word in answers(page)[-1]
    page.locator("article[id^=run-]").last.get_by_role("button", name="Evidence").click()
    panel = page.get_by_role("complementary")
    expect(panel.get_by_text(f"My greyhound is called {word}.", exact=True).first).to_be_visible()
    panel.get_by_role("button", name="Show in its conversation").first.click()
    expect(panel.get_by_role("link", name="Show in its conversation").first).to_be_visible()
    shot(page, "evidence")
    page.get_by_role("tab", name="Trace").click()
    expect(panel.get_by_text("Final Responder").first).to_be_visible()
    shot(page, "trace")
    page.get_by_role("tab", name="Evidence").click()
    panel.get_by_role("button", name="Show in its conversation").first.click()
    panel.get_by_role("link", name="Show in its conversation").first.click()
    expect(page.locator("#log .bg-mark")).to_contain_text(word)


def test_an_answer_stays_where_it_was_given(visit: Visitor, word: str) -> None:
    page = visit()
    page.add_init_script(WATCHED)
    page.reload()
    for count in range(1, 4):
        say(page, f"The tulips of {word} are red.")
        wait_for_answers(page, count)
    assert page.evaluate("window.lost") == []


def test_what_changed_while_it_was_read_is_read_again(visit: Visitor, word: str) -> None:
    page = visit()
    page.add_init_script(LATE_LIST)
    page.reload()
    say(page, f"The crocuses of {word} are blue.")
    wait_for_answers(page, 1)
    expect(page.get_by_role("navigation").get_by_text(f"The crocuses of {word} are blue.")).to_be_visible()


def test_the_first_answer_of_a_page_is_shown_by_its_events(visit: Visitor, word: str) -> None:
    """The page is told of the answer; it does not find it by asking again."""
    page = visit()
    page.add_init_script(NO_POLLS)
    page.reload()
    say(page, f"The irises of {word} are white.")
    wait_for_answers(page, 1)
    expect(page.get_by_role("navigation").get_by_text(f"The irises of {word} are white.")).to_be_visible()


def test_a_memory_is_forgotten_where_it_was_seen(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit()
    say(page, f"The password of the cellar is {word}.")
    wait_for_answers(page, 1)
    stack.wait_archived(*[row["id"] for row in stack.rows("select id from pipeline_runs where user_query ~ %s", word)])
    say(page, "What is the password of the cellar?")
    wait_for_answers(page, 2)
    page.locator("article[id^=run-]").last.get_by_role("button", name="Evidence").click()
    panel = page.get_by_role("complementary")
    card = panel.get_by_role("listitem").filter(has_text=f"The password of the cellar is {word}.")
    card.first.get_by_role("button", name="forget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Forget", exact=True).click()
    expect(dialog.get_by_text("Forgotten:")).to_be_visible()
    shot(page, "forgotten")
    assert stack.rows("select from raw_logs where content = %s", f"The password of the cellar is {word}.") == []


def test_hostile_text_is_text(stack: Stack, visit: Visitor) -> None:
    page = visit()
    say(page, HOSTILE.replace("\x1b", ""))
    wait_for_answers(page, 1)
    for text in (HOSTILE, "> " * 3000 + "deep", "*" * 50_000, "[" * 20_000, "| a |\n" * 5000, "x" * 1_000_000):
        reply(stack, page, text)
        page.reload()
        expect(page.locator("article[id^=run-]").last).to_be_visible()
        page.get_by_label("Message", exact=True).fill("still there")
        assert page.evaluate("window.broken") is None
    reply(stack, page, HOSTILE)
    page.reload()
    answer = page.locator("article[id^=run-]").last
    expect(answer).to_contain_text("<script>window.broken = 1</script>")
    assert answer.locator("img, script, iframe").count() == 0
    assert all(
        urlsplit(href).scheme in ("https", "http", "mailto", "")
        for href in answer.locator("a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    )
    assert "\u202e" not in answer.inner_text() and "\x1b" not in answer.inner_text()
    shot(page, "hostile")


def test_markdown_is_shown_as_such(stack: Stack, visit: Visitor) -> None:
    page = visit()
    say(page, "Hello.")
    wait_for_answers(page, 1)
    reply(stack, page, "# Title\n\n- one\n- two\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    page.reload()
    answer = page.locator("article[id^=run-]").last
    for tag, count in (("h1", 1), ("li", 2), ("pre code", 1), ("td", 2)):
        expect(answer.locator(tag)).to_have_count(count)
    shot(page, "markdown")


def test_code_is_shown_as_it_was_written(stack: Stack, visit: Visitor) -> None:
    page = visit()
    say(page, "Hello.")
    wait_for_answers(page, 1)
    reply(stack, page, "The first is `list[0]`, see [1]:\n\n```python\nprint(rows[12][3])\n```")
    page.reload()
    answer = page.locator("article[id^=run-] .prose").last
    expect(answer.locator("code").first).to_have_text("list[0]")
    expect(answer.locator("pre code")).to_have_text("print(rows[12][3])\n")
    expect(answer.get_by_role("button")).to_have_text(["[1]", "Copy"])
    shot(page, "code")


def test_code_gets_its_colours_when_they_have_come(stack: Stack, visit: Visitor) -> None:
    """The highlighter is asked for when the first code is shown; until it is there, code is plain text."""
    code = "def first(rows):  # rows[0]\n    return rows[0] or 'none'\n"
    page = visit()
    say(page, "Hello.")
    wait_for_answers(page, 1)
    reply(stack, page, f"It is so [1]:\n\n```python\n{code}```")
    held: list[Route] = []
    page.context.route(re.compile(r"/assets/highlight-"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/assets/highlight-")):
        page.reload()
    shown = page.locator("article[id^=run-] .prose pre code").last
    expect(shown).to_have_text(code)
    expect(shown.locator("span")).to_have_count(0)
    held.pop().continue_()
    keyword, comment = shown.get_by_text("def", exact=True), shown.get_by_text("# rows[0]")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        expect(keyword).to_have_css("color", {"light": "rgb(37, 80, 184)", "dark": "rgb(143, 178, 255)"}[scheme])
        expect(comment).not_to_have_css("color", keyword.evaluate("one => getComputedStyle(one).color"))
        shot(page, f"highlighted-{scheme}")
        assert not violations(page)
    expect(shown).to_have_text(code)
    expect(page.locator("article[id^=run-] .prose").last.get_by_role("button")).to_have_text(["[1]", "Copy"])


def test_the_text_area_grows_and_keeps_a_draft(visit: Visitor) -> None:
    page = visit()
    area = page.get_by_label("Message", exact=True)
    height = area.evaluate("one => one.offsetHeight")
    area.fill("one\ntwo\nthree\nfour")
    assert area.evaluate("one => one.offsetHeight") > height + 30
    page.reload()
    expect(page.get_by_label("Message", exact=True)).to_have_value("one\ntwo\nthree\nfour")


def test_stages_are_words_and_the_view_follows(stack: Stack, visit: Visitor) -> None:
    page = visit()
    orchestrator = next(one for one in stack._processes if "main.py" in str(stack._logs[one.pid]))
    orchestrator.send_signal(signal.SIGSTOP)
    say(page, "Line 1 of a long talk about nothing at all.")
    expect(page.locator("[data-stage=NEW]")).to_contain_text("waiting for its turn")
    orchestrator.send_signal(signal.SIGCONT)
    log = page.locator("#log")
    for count in range(2, 8):
        wait_until_quiet(page)
        say(page, f"Line {count} of a long talk about nothing at all.")
        expect(log).to_contain_text(f"Line {count} of")
    wait_until_quiet(page)
    end = "box => box.scrollHeight - box.scrollTop - box.clientHeight"
    poll(lambda: log.evaluate(end) < 100, what="the last answer is seen")
    log.hover()
    to_the_end = page.get_by_role("button", name="Go to the end")
    for _ in range(10):  # the view follows as long as the last answer grows
        page.mouse.wheel(0, -5000)
        page.wait_for_timeout(200)
        if to_the_end.is_visible():
            break
    to_the_end.click()
    expect(page.get_by_role("button", name="Go to the end")).to_have_count(0)


def test_a_message_waits_for_the_server(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit()
    say(page, "Hello.")
    wait_for_answers(page, 1)
    server = next(one for one in stack._processes if "server.py" in str(stack._logs[one.pid]))
    stack.stop(server, signal.SIGKILL)
    say(page, f"Remember {word}.")
    expect(page.get_by_text("Not sent yet")).to_be_visible()
    waiting, sent = (page.get_by_role("article").filter(has_text=text).first for text in ("Not sent yet", "Hello."))
    log = page.get_by_role("log").evaluate("one => one.clientWidth")
    assert all(one.evaluate("one => one.clientWidth") < log / 2 for one in (waiting, sent)), "as wide as its words"
    stack.start_server()
    wait_for_answers(page, 2)
    expect(page.locator("[data-offline]")).to_have_count(0)
    assert len(stack.rows("select from pipeline_runs where user_query ~ %s", word)) == 1


def test_an_operators_update_is_seen(stack: Stack, visit: Visitor, word: str) -> None:
    """How soon is measured by bench.web."""
    page = visit("history")
    run = stack.ask(LOCAL_USER, f"Something about {word}.")
    expect(page.get_by_text(f"Something about {word}.")).to_be_visible()
    stack.wait_archived(run)
    stack.rows(
        "update pipeline_runs set final_answer = 'changed by hand', archive_status = 'FAILED' where id = %s", run
    )
    expect(page.get_by_text("changed by hand")).to_be_visible()


def test_a_page_calls_nothing_but_its_server(stack: Stack, visit: Visitor) -> None:
    page = visit()
    seen: list[str] = []

    def note(request: Request) -> None:
        parts = urlsplit(request.url)
        assert parts.hostname == "127.0.0.1" or parts.scheme in ("blob", "data"), request.url
        seen.append(f"{request.method} {re.sub('[0-9a-f]{8}-[0-9a-f-]{27}', '{id}', parts.path)}")

    page.on("request", note)
    say(page, "What do you know?")
    wait_for_answers(page, 1)
    assert {one for one in seen if one.startswith(("POST", "PUT", "PATCH", "DELETE"))} == {"POST /v1/runs"}
    kinds = {one.partition(" ")[2].split("/")[2] for one in seen if one.partition(" ")[2].startswith("/v1/")}
    assert {"runs"} <= kinds <= {"runs", "users", "conversations", "actions", "assistants"}
    assert {one.partition("{id}")[2] for one in seen if "/v1/users/" in one} <= {"/events"}  # of all runs


def count_requests(page: Page) -> list[str]:
    """The requests to the API from now on, as they are sent."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if (path := urlsplit(request.url).path).startswith("/v1/"):
            asked.append(f"{request.method} {path}")

    page.on("request", note)
    return asked


def test_an_exchange_takes_few_requests(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit()
    expect(page.get_by_label("Assistant", exact=True)).to_contain_text("Mentor")
    asked = count_requests(page)
    say(page, f"The {word} is green.")
    wait_for_answers(page, 1)
    stack.wait_archived(*[row["id"] for row in stack.rows("select id from pipeline_runs where user_query ~ %s", word)])
    expect(page.get_by_text("saving to memory")).to_have_count(0)
    assert len(asked) <= 8, "\n".join(asked)


def test_an_unknown_conversation_is_said_to_be_unknown(visit: Visitor) -> None:
    page = visit(f"c/{uuid4()}")
    expect(page.get_by_text("There is no such conversation, or it is not yours.")).to_be_visible()
    page = visit("nowhere")
    expect(page.get_by_text("There is no such page.")).to_be_visible()


def propose(stack: Stack, page: Page, text: str) -> str:
    """A tool call of the last answer of the open conversation that waits for a decision; its id."""
    conversation = urlsplit(page.url).path.rpartition("/")[2]
    (row,) = stack.rows(
        "select maas_propose_action(r.id, %s, 'wipe', jsonb_build_object('text', %s::text), 'dangerous', t.version)"
        " as id from pipeline_runs r, tools t where conversation_id = %s and t.name = 'wipe' order by seq desc limit 1",
        text,
        text,
        conversation,
    )
    return str(row["id"])


def test_an_action_is_changed_approved_and_rejected(stack: Stack, visit: Visitor) -> None:
    page = visit()
    say(page, "Wipe a line for me.")
    wait_for_answers(page, 1)
    approved, rejected = propose(stack, page, "one"), propose(stack, page, "two")
    page.reload()
    cards = page.get_by_role("region", name="wipe?")
    expect(cards).to_have_count(2)
    page.get_by_role("link", name="2 actions wait").click()  # those of all conversations
    expect(cards).to_have_count(2)
    page.go_back()
    card = cards.filter(has_text="textone")
    expect(card).to_contain_text("This cannot be undone.")
    shot(page, "approval")
    card.get_by_role("button", name="Edit the arguments").click()
    card = cards.filter(has=page.get_by_role("textbox"))
    card.get_by_role("textbox", name="text").fill("three")
    card.get_by_role("button", name="Approve").click()
    expect(cards).to_have_count(1)
    cards.get_by_role("button", name="Reject").click()
    expect(cards).to_have_count(0)
    expect(page.get_by_text(re.compile("wipe: rejected"))).to_be_visible()
    failed = page.get_by_text(re.compile("wipe: failed"))  # the mentor has no such tool
    expect(failed).to_have_count(2)  # where it was proposed, and where it was executed
    expect(page.get_by_text('wipe {"text"')).to_have_count(0)  # nobody wrote that
    expect(page.locator(".prose").get_by_text("Nothing was done")).to_be_visible()
    shot(page, "decided")
    states = {str(row["id"]): row["status"] for row in stack.rows("select id, status from v_actions")}
    assert (states[approved], states[rejected]) == ("failed", "rejected")
    (row,) = stack.rows("select arguments from v_actions where id = %s", approved)
    assert row["arguments"] == {"text": "three"}
