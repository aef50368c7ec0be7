"""A conversation that a file brought, in the page: listed, read, and where a link to its words lands."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from playwright.sync_api import expect

from maas.users import LOCAL_USER
from tests.browser.conftest import Visitor, shot, violations
from tests.flow.test_imported import chatgpt
from tests.stack import Stack


def test_imported_conversations_are_read_and_linked(stack: Stack, visit: Visitor, word: str, tmp_path: Path) -> None:
    began = datetime(datetime.now(UTC).year, 1, 1, 12, tzinfo=UTC).timestamp()
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([chatgpt(word, f"About {word}", 120, began), chatgpt(f"{word}-ru", "О супе", 4, began)]))
    page = visit("memory")
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Imported: 124 new messages")).to_be_visible()
    year = datetime.now(UTC).year
    days = f"{year}: Messages on 1 day; most on January 1: 124"
    expect(page.locator("[data-days]")).to_have_accessible_name(days)
    page.get_by_role("link", name="Imported conversations").click()
    expect(page.get_by_role("link", name="О супе")).to_be_visible()
    shot(page, "imported-list")
    page.get_by_role("link", name=f"About {word}").click()
    expect(page.get_by_role("heading", name=f"About {word}")).to_be_visible()
    expect(page.locator("[data-message]")).to_have_count(50)
    page.get_by_role("button", name="Earlier messages").click()
    expect(page.locator("[data-message]")).to_have_count(100)
    (log,) = stack.rows(
        "select id from raw_logs where user_id = %s and content = %s", LOCAL_USER, f"Word 30 of {word}."
    )
    page.goto(f"http://127.0.0.1:{stack.port}/ui/imported?conversation={word}&around={log['id']}")
    target = page.locator(f"[data-message='{log['id']}']")
    expect(target).to_be_in_viewport()
    expect(target.locator(".bg-mark")).to_have_count(0)
    expect(target).to_have_class("rounded bg-mark ring-8 ring-mark")
    views: list[tuple[int, Literal["light", "dark"]]] = [(360, "light"), (768, "dark"), (1440, "light")]
    for width, scheme in views:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        shot(page, f"imported-{width}-{scheme}")
        assert not violations(page)
        page.goto(f"http://127.0.0.1:{stack.port}/ui/memory")
        expect(page.locator("[data-days]")).to_be_visible()
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        shot(page, f"memory-days-{width}-{scheme}")
        page.go_back()
        expect(target).to_be_in_viewport()
