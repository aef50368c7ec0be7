"""History, memory, profile and the palette in a browser; how every page looks on small and large screens."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import expect

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot, violations
from tests.browser.test_chat import reply, wait_for_answers
from tests.stack import Stack

UI = Path(__file__).parents[2] / "ui" / "src"
ROUTE = re.compile(r'<Route path="([^"]+)"')
PAGE_OF_MEMORY = re.compile(r'^  "(/memory[^"]*)": ', re.MULTILINE)
TEXTS = re.compile(r"/((?:en|ru)(?:_\w+)?)-")  # scripts with the sentences of a language
REDIRECTS = {"/sign-in", "/reset"}  # for those who are signed in; test_sign_in.py is for the others
WIDTHS = (360, 768, 1440)
# How many pixels a select has beside the text of what is chosen in it.
ROOM_OF_CHOSEN = """
select => {
  const style = getComputedStyle(select), pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const inner = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return inner - pen.measureText(select.selectedOptions[0].text).width;
}
"""


def places(run: UUID, conversation: UUID) -> list[str]:
    """A place of every page that the routes of the web interface name."""
    values = {
        "/c/:id": [f"/c/{conversation}", f"/c/{uuid4()}"],
        "/runs/:id": [f"/runs/{run}"],
        "/memory/:page?": PAGE_OF_MEMORY.findall((UI / "pages" / "memory.tsx").read_text()),
        "/imported": ["/imported", "/imported?conversation=2025-05-01"],
        "/admin/*?": [],  # its own routes
        "/admin/runs/:id": [f"/admin/runs/{run}"],
        "/admin/compare": ["/admin/compare", f"/admin/compare?before={run}&after={run}"],
        "/admin/conversations/:id": [f"/admin/conversations/{conversation}"],
        "/admin/users/:id": [f"/admin/users/{LOCAL_USER}"],
        "/admin/prompts/:role": ["/admin/prompts/FinalResponder"],
    }
    routes = [path for file in ("app.tsx", "admin/admin.tsx") for path in ROUTE.findall((UI / file).read_text())]
    assert len(routes) > 30 and set(values) <= set(routes)
    unknown = [path for path in routes if re.search("[:*?]", path) and path not in values]
    assert not unknown, f"say with which values these are opened: {unknown}"
    found = [place for path in routes if path not in REDIRECTS for place in values.get(path, [path])]
    return [*(place.removeprefix("/") for place in found), "nowhere", "admin/nowhere", "shared"]


def insert_runs(stack: Stack, count: int, word: str, answer: str = "Yes.") -> list[UUID]:
    """Answered requests of the user of this machine, outside of conversations."""
    rows = stack.rows(
        "insert into pipeline_runs (user_id, user_query) select %s, %s || ' ' || n from generate_series(1, %s) n"
        " returning id",
        LOCAL_USER,
        word,
        count,
    )
    ids = [row["id"] for row in rows]
    stack.wait_archived(*ids, seconds=60)
    stack.rows("update pipeline_runs set final_answer = %s where id = any(%s)", answer, ids)
    return ids


def test_history_loads_more_and_finds_words_of_answers(stack: Stack, visit: Visitor, word: str) -> None:
    ids = insert_runs(stack, 60, word)
    found = uuid4().hex[:12]
    stack.rows("update pipeline_runs set final_answer = %s where id = %s", f"It is {found}.", ids[0])
    stack.rows(
        "update raw_logs set content = %s where run_id = %s and message_type = 'assistant_response'",
        f"It is {found}.",
        ids[0],
    )
    page = visit("history")
    rows = page.locator("[data-run]")
    expect(rows.first).to_be_visible()
    for count in range(3):
        insert_runs(stack, 1, f"{word} meanwhile {count}")
        page.mouse.move(700, 400)
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(400)
    expect(page.get_by_text(f"{word} 1", exact=True)).to_be_attached()
    shown = rows.evaluate_all("all => all.map(one => one.dataset.run)")
    assert len(shown) == len(set(shown)) and {str(one) for one in ids} <= set(shown)
    page.get_by_label("Search in questions and answers").fill(found)
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(found)
    page.get_by_label("Search in questions and answers").fill(r"%_\\'\"<b>")
    expect(page.get_by_text("No request matches.")).to_be_visible()


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
def test_history_is_grouped_by_the_days_of_the_browser(stack: Stack, visit: Visitor, word: str, zone: str) -> None:
    now = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)  # a Wednesday everywhere
    ages = {"Today": 0, "Yesterday": 1, "This week": 2, "Older": 9}
    ids = insert_runs(stack, len(ages), word)
    page = visit(timezone_id=zone)
    page.clock.set_fixed_time(now)
    offset = page.evaluate("-new Date().getTimezoneOffset()")
    midnight = (now + timedelta(minutes=offset)).replace(hour=0, minute=0) - timedelta(minutes=offset)
    for run, age in zip(ids, ages.values(), strict=True):  # at 23:59 of that day
        at = midnight - timedelta(days=age) + timedelta(hours=23, minutes=59)
        stack.rows("update pipeline_runs set created_at = %s where id = %s", min(at, now) if not age else at, run)
    page.goto(f"http://127.0.0.1:{stack.port}/ui/history")
    page.get_by_label("Search in questions and answers").fill(word)
    expect(page.locator("[data-run]")).to_have_count(len(ages))
    for run, title in zip(ids, ages, strict=True):
        expect(page.get_by_role("region", name=title).locator(f"[data-run='{run}']")).to_be_attached()


def test_memory_is_searched_corrected_and_brought_along(
    stack: Stack, visit: Visitor, word: str, tmp_path: Path
) -> None:
    file = tmp_path / "history.ndjson"
    file.write_text(f'{{"role": "user", "content": "My boat is called {word}.", "at": "2025-05-01T10:00:00Z"}}\n')
    page = visit("memory")
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Imported: 1 new message,")).to_be_visible()
    page.get_by_label("Search memory").fill("What is my boat called?")
    page.keyboard.press("Enter")
    card = page.get_by_role("listitem").filter(has_text=f"My boat is called {word}.").first
    expect(card).to_be_visible()
    shot(page, "memory-found")
    card.get_by_role("button", name="Wrong?").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(f"My boat is called new{word}.")
    page.get_by_role("dialog").get_by_role("button", name="Correct").click()
    expect(page.get_by_role("dialog").get_by_text("From now on")).to_be_visible()
    page.keyboard.press("Escape")
    first = page.locator("main li .card").first
    expect(first).to_contain_text(f"new{word}")
    expect(page.get_by_text("Corrected since").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert word in download.value.path().read_text()


@pytest.mark.parametrize("language", ["en-US", "ru-RU"])
def test_on_a_phone_the_notice_about_signing_in_takes_two_lines(visit: Visitor, language: str) -> None:
    page = visit("history", viewport={"width": 360, "height": 740}, locale=language, has_touch=True)
    notice = page.locator("[data-local]")
    expect(notice).to_be_visible()
    line = float(notice.evaluate("notice => parseFloat(getComputedStyle(notice).lineHeight)"))
    assert notice.locator("span").first.evaluate("text => text.getBoundingClientRect().height") <= 2 * line + 1
    shot(page, f"notice-{language}")
    notice.get_by_role("button").click()
    expect(notice).to_have_count(0)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en-US", "ru-RU"])
def test_how_an_assistant_acts_is_read_to_its_end(visit: Visitor, language: str, width: int) -> None:
    page = visit(viewport={"width": width, "height": 740}, locale=language)
    modes = page.locator("select:visible:has(option[value=plan])")
    for mode in ("auto", "plan", "ask"):
        modes.select_option(mode)
        assert modes.evaluate(ROOM_OF_CHOSEN) >= 0, mode
    shot(page, f"mode-{language[:2]}-{width}")


def test_a_profile_is_kept_and_speaks_another_language(stack: Stack, visit: Visitor) -> None:
    page = visit("profile")
    page.get_by_label("Name").fill("Анна")
    page.get_by_label("Position").fill("Инженер")
    page.get_by_label("Department").fill("Снабжение")
    page.get_by_label("Language").select_option("ru")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Профиль")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Имя")).to_have_value("Анна")
    expect(page.get_by_label("Должность")).to_have_value("Инженер")
    expect(page.get_by_label("Отдел")).to_have_value("Снабжение")
    page.get_by_label("Язык").select_option("en")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()


def test_everything_is_reached_by_keys(stack: Stack, visit: Visitor) -> None:
    page = visit("history")
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("combobox")
    expect(palette).to_be_focused()
    palette.fill("memory")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search memory")).to_be_focused()


@pytest.mark.parametrize(("language", "scheme"), [("en-US", "light"), ("ru-RU", "dark")])
def test_pages_fit_every_screen_and_keep_nobody_out(stack: Stack, visit: Visitor, language: str, scheme: str) -> None:
    """Each page is opened once; its window is then made as wide as those of phones, tablets and screens."""
    hook = {"user_id": str(LOCAL_USER), "url": f"https://hooks.example/{'a-long-address/' * 9}"}
    assert stack.client.post("/v1/webhooks", json=hook).status_code == 201
    page = visit(locale=language, color_scheme=scheme)
    scripts: set[str] = set()
    page.on("response", lambda answer: scripts.add(answer.url) if answer.url.endswith(".js") else None)
    page.locator("textarea").fill("I like tea.")
    page.keyboard.press("Enter")
    wait_for_answers(page, 1)
    page.locator("article[id^=run-]").last.get_by_role("button", name=re.compile("Evidence|Основания")).click()
    found = {}
    (run,) = stack.rows("select id, conversation_id from pipeline_runs where kind = 'ask' order by seq desc limit 1")
    all_places = places(run["id"], run["conversation_id"])
    for place in (page.url, *(f"http://127.0.0.1:{stack.port}/ui/{one}" for one in all_places)):
        if place != page.url:
            page.goto(place)
            expect(page.locator("main, h1").first).to_be_visible()
            expect(page.locator(".skeleton")).to_have_count(0)
        if place.endswith("/ui/webhooks"):
            page.get_by_role("button", name=re.compile("Deliveries|Отправки")).first.click()
            expect(page.locator("table")).to_be_visible()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            is_wide = "() => document.documentElement.scrollWidth > innerWidth"
            assert not page.evaluate(is_wide), (place, width)
            bars = page.locator("main > header:visible").evaluate_all(
                "all => all.map(one => [one.offsetHeight, one.scrollHeight <= 56 && one.scrollWidth <= innerWidth])"
            )
            is_bare = not bars and (width == max(WIDTHS) or place.endswith("/shared"))
            assert bars == [[56, True]] or is_bare, (place, width, bars)
            shot(page, f"{place.partition('/ui/')[2].replace('/', '-')[:30] or 'chat'}-{language[:2]}-{width}-{scheme}")
            if here := violations(page):
                found[place, width] = here
    assert not found, found
    texts = {name for script in scripts for name in TEXTS.findall(script)}
    assert texts >= {f"{language[:2]}_pages", f"{language[:2]}_ads"}
    assert all(name.startswith(language[:2]) for name in texts), texts
    assert bool(re.search("[а-яё]", page.locator("h1").first.inner_text())) == (language == "ru-RU")


def test_preferences_are_changed_and_cleared(stack: Stack, visit: Visitor) -> None:
    page = visit("profile")
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()
    expect(page.get_by_text("How you want to work")).to_have_count(0)
    path = f"/v1/users/{stack.client.get('/ui/config.json').json()['local_user_id']}/preferences"
    stack.client.put(path, json={"preferences": {"focus_time": "nine to eleven", "career_goals": "more"}})
    page.reload()
    page.get_by_label("When you need to focus").fill("at night")
    page.get_by_label("What you want to achieve").fill("")
    page.locator("[data-preferences]").get_by_role("button", name="Save").click()
    expect(page.locator("[data-preferences]").get_by_role("button", name="Saved")).to_be_visible()
    kept = stack.client.get(path).json()["preferences"]
    assert {slot: one["value"] for slot, one in kept.items()} == {"focus_time": "at night"}


def test_the_buttons_of_memory_end_where_its_cards_do(visit: Visitor) -> None:
    page = visit("memory/documents")
    right = "one => one.getBoundingClientRect().right"
    button, card = page.get_by_role("button", name="Erase everything"), page.locator("main .card").first
    expect(card).to_be_visible()
    assert abs(float(button.evaluate(right)) - float(card.evaluate(right))) < 1


RICH = """| Item | Who | When | Price | Remark |
|--|--|--|--|--|
| box 1 | Ann | 2026-01-01 | 1200 | a remark that is rather long |

- boxes
- [x] van

```python
def pack(box: Box, things: list[Thing]) -> Receipt: ...
```
"""
HEIGHTS = "all => all.map(one => one.getBoundingClientRect().height)"
BROKEN_WORDS = """all => all.filter((one) => {
  const words = document.createRange();
  words.selectNodeContents(one);
  return words.getClientRects().length > one.textContent.trim().split(/[ -]/).length;
}).map((one) => one.textContent)"""


@pytest.mark.parametrize("language", ["en-US", "ru-RU"])
def test_an_answer_and_what_it_is_made_of_are_whole_on_a_phone(stack: Stack, visit: Visitor, language: str) -> None:
    page = visit(viewport={"width": 360, "height": 740}, locale=language)
    bar = page.get_by_role("checkbox").locator("xpath=ancestor::div[1]")
    expect(bar.locator("select")).to_be_visible()
    controls = bar.locator("input, select").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert max(controls) - min(controls) < 20, "one line holds both"
    page.locator("textarea").fill("Show me a table.")
    page.keyboard.press("Enter")
    wait_for_answers(page, 1)
    reply(stack, page, RICH)
    page.reload()
    expect(page.locator(".prose td").first).to_be_visible()
    assert page.locator(".prose th, .prose td").evaluate_all(BROKEN_WORDS) == []
    dots = page.locator(".prose li").evaluate_all("all => all.map(one => getComputedStyle(one).listStyleType)")
    assert dots == ["disc", "none"]
    code, button = (page.locator(one).bounding_box() for one in (".prose pre code", ".prose pre + button"))
    assert code is not None and button is not None
    assert button["y"] + button["height"] <= code["y"], "the button hides code"
    assert not violations(page)
    shot(page, f"rich-{language[:2]}-360")
    page.locator("article[id^=run-]").last.get_by_role("button", name=re.compile("Evidence|Основания")).click()
    tabs = page.get_by_role("tablist")
    expect(tabs.get_by_role("tab")).to_have_count(3)
    assert tabs.evaluate("list => list.scrollWidth <= list.clientWidth")
    shot(page, f"panels-{language[:2]}-360")
    tabs.get_by_role("tab").nth(1).click()
    expect(page.get_by_role("tabpanel").locator("summary").first).to_be_visible()
    heights = page.get_by_role("tabpanel").locator("summary").evaluate_all(HEIGHTS)
    assert min(heights) >= 24, "what is pressed is large enough (WCAG 2.5.8)"
