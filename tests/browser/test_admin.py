"""What an administrator sees and does in a browser."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot, violations
from tests.stack import Stack

FIGURES = """select count(*)::int as requests, count(*) filter (where status = 'FAILED')::int as failed,
round(avg(extract(epoch from completed_at - created_at) * 1000))::int as average
from pipeline_runs where kind = 'ask' and created_at > now() - interval '6 days'"""


def answered(stack: Stack, text: str) -> str:
    run = stack.ask(LOCAL_USER, text)
    stack.wait_archived(run)
    return str(run)


def test_the_dashboard_shows_what_sql_counts(stack: Stack, visit: Visitor, word: str) -> None:
    for count in range(3):
        answered(stack, f"{word} {count}")
    (figures,) = stack.rows(FIGURES)
    page = visit("admin")
    requests = page.get_by_role("figure").filter(has_text="Requests, ")
    expect(requests).to_contain_text(f"{figures['requests']:,}")
    expect(requests.locator("canvas")).to_be_visible()
    average = figures["average"]
    said = f"{average} ms" if average < 1000 else f"{average / 1000:.1f}".removesuffix(".0") + " s"
    expect(page.get_by_role("figure").filter(has_text="Average response")).to_contain_text(said)
    expect(page.get_by_text("Orchestrators")).to_be_visible()
    expect(page.get_by_text("in_flight")).to_have_count(0)
    shot(page, "dashboard")
    requests.get_by_role("link").click()
    expect(page.locator("tr[data-row]").first).to_be_visible()


def test_requests_are_filtered_and_traced(stack: Stack, visit: Visitor, word: str) -> None:
    run = answered(stack, f"Filter {word}.")
    page = visit(f"admin/runs?q={word}")
    rows = page.locator("tr[data-row]")
    expect(rows).to_have_count(1)
    page.get_by_label("Status").select_option("FAILED")
    expect(rows).to_have_count(0)
    page.get_by_label("Status").select_option("")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Save these filters").click()
    page.get_by_label("Name of the filters").fill(word)
    page.get_by_role("button", name="Save", exact=True).click()
    saved = page.get_by_label("Saved filters")
    expect(saved).to_have_value(word)
    shot(page, "saved-filters")
    page.goto(f"http://127.0.0.1:{stack.port}/ui/admin/runs")
    saved.select_option(word)
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Delete these filters").click()
    expect(saved).to_have_count(0)
    rows.get_by_role("link").first.click()
    expect(page.get_by_text("Final Responder").locator("visible=true").first).to_be_visible()
    assert run in page.url
    shot(page, "request")


def test_a_prompt_is_saved_compared_and_restored(stack: Stack, visit: Visitor, word: str) -> None:
    (before,) = stack.rows("select version, prompt_template from system_prompts where role_name = 'Mentor'")
    page, other = visit("admin/prompts/Mentor"), visit("admin/prompts/Mentor")
    for one in (page, other):
        editor = one.get_by_role("textbox", name="Mentor")
        expect(editor).to_be_visible()
        editor.focus()
        one.keyboard.press("Control+End")
        one.keyboard.type(f" {word}")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Version {before['version'] + 1}")).to_be_visible()
    (now,) = stack.rows("select version, prompt_template from system_prompts where role_name = 'Mentor'")
    assert now["version"] == before["version"] + 1 and now["prompt_template"].endswith(word)
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_text("Somebody else has saved in the meantime")).to_be_visible()
    assert stack.rows("select version from system_prompts where role_name = 'Mentor'")[0]["version"] == now["version"]
    page.reload()
    page.get_by_label("Compare with").select_option(str(before["version"]))
    difference = page.get_by_role("region", name="Difference")
    expect(difference.locator("ins")).to_contain_text(word)
    shot(page, "prompt-compared")
    page.get_by_role("button", name="Use this text").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Version {before['version'] + 2}")).to_be_visible()
    (after,) = stack.rows("select prompt_template from system_prompts where role_name = 'Mentor'")
    assert after["prompt_template"] == before["prompt_template"]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (360, "dark")])
def test_a_prompt_is_written_by_keys_alone(visit: Visitor, width: int, scheme: str) -> None:
    page = visit("admin/prompts/FinalResponder", viewport={"width": width, "height": 800}, color_scheme=scheme)
    editor = page.get_by_role("textbox", name="FinalResponder")
    expect(editor).to_be_visible()
    editor.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("Mind this")
    page.keyboard.press("Enter")
    page.keyboard.type("and not {nobody}!")
    page.keyboard.press("Backspace")
    assert editor.inner_text().split("\n") == ["Mind this", "and not {nobody}"]
    expect(editor.locator(".cm-unknown")).to_have_text("{nobody}")
    expect(page.get_by_text("Unknown variables: nobody")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_text("Not saved")).to_be_visible()
    assert not violations(page)
    shot(page, f"prompt-{width}-{scheme}")
    for _ in range(20):
        page.keyboard.press("Control+z")
    expect(page.get_by_text("Not saved")).to_have_count(0)  # it is what it was, character by character
    page.keyboard.press("Tab")
    expect(editor).not_to_be_focused()


def test_a_prompt_is_tried_before_it_is_saved(stack: Stack, visit: Visitor, word: str) -> None:
    run = answered(stack, f"My cat is called {word}.")
    page = visit("admin/prompts/FinalResponder")
    page.get_by_label("Its id").fill(run)
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.get_by_role("heading", name="With this text")).to_be_visible()
    expect(page.locator(".card").filter(has_text="With this text").locator(".prose")).not_to_be_empty()
    assert stack.rows("select from raw_logs where run_id in (select id from pipeline_runs where kind = 'trial')") == []
    shot(page, "trial")


def test_a_key_is_created_and_revoked(stack: Stack, visit: Visitor) -> None:
    name = f"key {uuid4().hex[:8]}"
    page = visit("admin/keys")
    page.get_by_text("Create a key").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_role("dialog").locator("pre")).to_contain_text("maas_")
    page.keyboard.press("Escape")
    row = page.get_by_role("row").filter(has_text=name)
    row.get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("dialog", name=f"Revoke the key {name}?")
    assert not stack.rows("select from api_keys where name = %s and revoked_at is not null", name)
    dialog.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    assert stack.rows("select from api_keys where name = %s and revoked_at is not null", name)


def test_looking_at_others_is_noted(stack: Stack, visit: Visitor, word: str) -> None:
    stranger = uuid4()
    run = stack.ask(stranger, f"Nobody knows {word}.")
    stack.wait_archived(run)
    page = visit(f"admin/runs?user={stranger}")
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.goto(f"http://127.0.0.1:{stack.port}/ui/admin/runs/{run}")
    expect(page.get_by_text(word).first).to_be_visible()
    expect(page.get_by_text("you,")).to_have_count(0)  # the words are not the administrator's
    page.goto(f"http://127.0.0.1:{stack.port}/ui/admin/audit?user={stranger}")
    expect(page.get_by_role("cell", name="trace_read").first).to_be_visible()
    for place in ("memories", "users", f"users/{stranger}", "spending?by=user", "inventory"):
        page.goto(f"http://127.0.0.1:{stack.port}/ui/admin/{place}")
        expect(page.get_by_role("table").first).to_be_visible()
        shot(page, place.split("?")[0].replace(f"/{stranger}", "-one"))


def test_a_request_is_tried_again_from_a_stage(stack: Stack, visit: Visitor, word: str) -> None:
    run = answered(stack, f"My boat is called {word}.")
    page = visit(f"admin/runs/{run}")
    page.get_by_text("Try another model or prompt").click()
    page.get_by_label("From this stage on").select_option("assembler")
    page.get_by_role("button", name="Try", exact=True).click()
    trial = page.locator("details[open]").filter(has_text="Try another model or prompt")
    expect(trial.locator(".prose")).to_have_count(2)
    expect(trial.get_by_role("link", name="Trace")).to_be_visible()
    shot(page, "replay")
    trial.get_by_role("link", name="Differences").click()
    expect(page.get_by_role("heading", name="Assembler")).to_be_visible()
    expect(page.get_by_role("rowheader", name="Tokens in")).to_be_visible()
    shot(page, "compare")
    page.go_back()
    page.get_by_role("button", name="Send again").click()
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    expect(page).not_to_have_url(f"http://127.0.0.1:{stack.port}/ui/admin/runs/{run}")
    expect(page.get_by_text(f"My boat is called {word}.").first).to_be_visible()


def test_an_assistant_is_paused_its_requests_wait_and_all_are_cancelled(
    stack: Stack, visit: Visitor, word: str
) -> None:
    page = visit("admin/inventory")
    row = page.locator("tr").filter(has_text="Mentor").first
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_label("Why, for others who look at it").fill(word)
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(row).to_contain_text(f"{word}")
    for count in range(3):
        stack.ask(LOCAL_USER, f"{word} {count}")
    page.goto(f"http://127.0.0.1:{stack.port}/ui/admin")
    expect(page.get_by_role("heading", name="Paused")).to_be_visible()
    page.goto(f"http://127.0.0.1:{stack.port}/ui/admin/runs?assistant=mentor")
    expect(page.locator("tr[data-row]").filter(has_text=word)).to_have_count(3)
    page.get_by_role("button", name="Cancel all that match").click()
    dialog = page.get_by_role("dialog", name="Cancel 3 requests?")
    dialog.get_by_role("textbox").fill("3")
    shot(page, "cancel-all")
    dialog.get_by_role("button", name="Cancel all that match").click()
    expect(page.get_by_text("3 requests changed.")).to_be_visible()
    expect(page.locator("tr[data-row]").filter(has_text=word).filter(has_text="failed cancelled")).to_have_count(3)
    page.goto(f"http://127.0.0.1:{stack.port}/ui/admin")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("dialog").get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name="Paused")).to_have_count(0)
    assert stack.rows("select from v_pauses") == []


def test_a_prompt_is_tried_on_a_set_of_requests(stack: Stack, visit: Visitor, word: str) -> None:
    runs = [answered(stack, f"My {pet} is called {word}.") for pet in ("cat", "dog")]
    page = visit("admin/prompts/FinalResponder")
    page.get_by_role("button", name="New set").click()
    boxes = page.get_by_role("checkbox", name=word)
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.check()
    page.get_by_label("Name of the set").fill(word)
    page.get_by_role("button", name="Keep the set").click()
    page.get_by_role("button", name="Try on all 2 requests").click()
    page.get_by_role("dialog").get_by_role("button", name="Try on all 2 requests").click()
    expect(page.get_by_text("2 of 2 answered")).to_be_visible()
    cards = page.locator("li.card").filter(has_text=word)
    expect(cards).to_have_count(2)
    for card in cards.all():
        expect(card.locator(".prose")).to_have_count(2)
        expect(card.get_by_role("link", name="Differences")).to_be_visible()
    cards.first.scroll_into_view_if_needed()
    shot(page, "trial-set")
    tried = "select from pipeline_runs where kind = 'trial' and metadata->'trial'->>'run_id' = any(%s)"
    assert len(stack.rows(tried, runs)) == 2


def test_a_budget_is_set_and_ended_without_a_restart(stack: Stack, visit: Visitor, word: str) -> None:
    user = uuid4()
    stack.wait_archived(stack.ask(user, f"My heron is called {word}."))
    page = visit(f"admin/users/{user}")
    budget = page.locator("details").filter(has_text="Daily budget of this user")
    budget.locator("summary").click()
    budget.get_by_label("Tokens a day").fill("5000")
    budget.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Daily budget: 5,000 tokens")).to_be_visible()
    assert stack.client.get(f"/v1/users/{user}/spending").json()["daily_tokens"] == 5000
    shot(page, "budget")
    budget.get_by_role("button", name="End this budget").click()
    page.get_by_role("dialog").get_by_role("button", name="End this budget").click()
    expect(page.get_by_text("Daily budget: none")).to_be_visible()


def test_a_price_is_set_where_spending_is_seen(stack: Stack, visit: Visitor, word: str) -> None:
    page = visit("admin/spending")
    page.get_by_text("Prices of models").click()
    page.get_by_label("Provider").fill("openai")
    page.get_by_label("Model, or a pattern with %").fill(word)
    page.get_by_label("In, $ a million").fill("2")
    page.get_by_label("Out, $ a million").fill("10.5")
    page.get_by_role("button", name="Save").last.click()
    row = page.get_by_role("row").filter(has_text=f"openai:{word}")
    expect(row).to_contain_text("10.5")
    row.scroll_into_view_if_needed()
    shot(page, "prices")
    assert stack.rows("select maas_price('openai', %s, 1000, 0, 100) as price", word) == [{"price": 3050}]
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)


def test_on_a_phone_the_navigation_shows_where_one_is(stack: Stack, visit: Visitor, word: str) -> None:
    """The list of its pages began with the dashboard, and the page that one was on stood beyond its edge."""
    answered(stack, word)
    page = visit("admin/audit", viewport={"width": 360, "height": 740}, has_touch=True)
    here = page.get_by_role("navigation", name="Admin").get_by_role("link", name="Audit")
    expect(here).to_be_in_viewport(ratio=1)
    page.get_by_role("navigation", name="Admin").get_by_role("link", name="Webhooks").click()
    expect(page.get_by_role("navigation", name="Admin").locator("[aria-current=page]")).to_be_in_viewport(ratio=1)
    page.goto(page.url.replace("webhooks", "spending"))
    day = page.locator("main table.data tbody td").first
    expect(day).to_be_visible()
    assert day.evaluate("cell => cell.offsetHeight") <= 40  # one line
    shot(page, "navigation-360")


def test_a_quota_is_changed_on_its_page(stack: Stack, visit: Visitor) -> None:
    page = visit("admin/limits")
    page.get_by_role("button", name="Images", exact=True).click()
    value = page.get_by_role("dialog").get_by_label("In force, for each user")
    value.fill("0")
    page.get_by_role("button", name="Save").click()
    assert value.evaluate("input => input.validity.rangeUnderflow")
    value.fill("4321")
    page.get_by_role("button", name="Save").click()
    row = page.locator("tr").filter(has_text="Images").first
    expect(row).to_contain_text("4,321")
    shot(page, "limits")
    assert stack.rows("select name, value from set_limits") == [{"name": "user_images", "value": 4321}]
    row.get_by_role("button", name="As in the settings").click()
    page.get_by_role("dialog").get_by_role("button", name="As in the settings").click()
    expect(row).not_to_contain_text("4,321")
    assert stack.rows("select from set_limits") == []
