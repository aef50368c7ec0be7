"""A real browser before the real server: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.stack import Stack

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")
TIMEOUT_MS = 15_000
Visitor = Callable[..., Page]
expect.set_options(timeout=TIMEOUT_MS)


def chromium() -> str | None:
    """The path of Chromium on this machine."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")  # its event loop runs in this thread, where other modules have their own
def browser() -> Iterator[Browser]:
    if (path := chromium()) is None:
        pytest.skip("there is no Chromium (Debian, Ubuntu: apt install chromium)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Server and orchestrator with the built-in model, open to this machine, with a few tools."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        running.start_orchestrator(MAAS_TOOLS="tests.toolbox:TOOLS", TOOLBOX=str(running.folder))
        yield running


@pytest.fixture
def contexts(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browsers of different people; what their pages complain about fails the test."""
    opened: list[BrowserContext] = []
    complaints: list[str] = []

    def open_context(**options: Any) -> BrowserContext:
        context = browser.new_context(**{"locale": "en-US", "viewport": {"width": 1280, "height": 800}} | options)
        context.set_default_timeout(TIMEOUT_MS)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("console", lambda said: complaints.append(said.text) if is_complaint(said.text) else None)
        opened.append(context)
        return context

    yield open_context
    for context in opened:
        context.close()
    assert not complaints, complaints


def is_complaint(text: str) -> bool:
    """Whether the console of a page says that a rule of security was broken, or that React found a mistake."""
    return "Content Security Policy" in text or "Minified React error" in text


@pytest.fixture
def visit(stack: Stack, contexts: Callable[..., BrowserContext]) -> Visitor:
    """Opens a place of the web interface in a browser of its own."""

    def open_page(place: str = "", **options: Any) -> Page:
        page = contexts(**options).new_page()
        page.goto(f"http://127.0.0.1:{stack.port}/ui/{place}")
        return page

    return open_page


@pytest.fixture
def word() -> str:
    """A word that nobody else has said."""
    return f"w{uuid4().hex[:10]}"


def shot(page: Page, name: str) -> None:
    """Keep a picture of the page, for people to look at, when a folder is named for them."""
    if folder := os.environ.get("TEST_PICTURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")


def violations(page: Page) -> list[Any]:
    """What axe finds: rules with the first elements that break them."""
    return [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in Axe().run(page).response["violations"]
    ]
