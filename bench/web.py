"""The web interface in Chromium: how soon something is seen, an answer, a change, how a long conversation scrolls.

`python -m bench.web [--quick] --out FILE.json`. The tabs of the memory figure are streams without a browser.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import httpx2
import typer
from playwright.sync_api import Page, sync_playwright

from bench.command import prepare_output, run_command
from bench.report import Figure, hold_gates, machine, percentile, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from maas.settings import load_settings
from maas.users import LOCAL_USER
from shared.errors import MaasError
from tests.browser.conftest import OPTIONS, chromium
from tests.chaos.telegram import rss_mb
from tests.stack import Stack

VISITS, CHANGES, QUICK = 9, 100, 10
MESSAGES = 2000
TABS, QUICK_TABS = 1000, 100
FRAMES_A_SECOND = 60
PAINT_LIMIT_MS, CHANGE_LIMIT_MS, FRAME_LIMIT_MS, TABS_LIMIT_MB = 1000.0, 200.0, 20.0, 300.0
ANSWER_LIMIT_MS = 1000.0
FOLLOW = r"""async (user) => {
  window.seen = {};
  const body = (await fetch(`/v1/users/${user}/events`)).body;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  (async () => {
    for (let read; !(read = await reader.read()).done; )
      for (const [, status] of read.value.matchAll(/"archive_status": "(\w+)"/g)) seen.last = [status, Date.now()];
  })();
}"""
# When the words of an answer stand in the page, in milliseconds since 1970.
ANSWERED = """() => new MutationObserver((_, watching) => {
  if (document.querySelector("article[id^=run-][aria-busy=false] .prose, article[id^=run-]:not([aria-busy]) .prose")) {
    window.answeredAt = Date.now();
    watching.disconnect();
  }
}).observe(document, { childList: true, subtree: true, attributes: true, characterData: true })"""
# Milliseconds from frame to frame, by the time that each frame has; those in which nothing moved are not counted.
FRAMES = """async () => {
  const box = document.getElementById("log"), gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < 120; i++) {
    const top = box.scrollTop;
    box.scrollBy(0, -600);
    const isMoved = box.scrollTop !== top, now = await new Promise(requestAnimationFrame);
    if (isMoved) gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""


def web(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="few visits, changes and tabs")] = False,
) -> None:
    """Measure the web interface."""
    if (path := chromium()) is None:
        raise MaasError("no_browser", "there is no Chromium (Debian, Ubuntu: apt install chromium)")
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn, tempfile.TemporaryDirectory() as folder:
        about = machine(server_version(sandbox.server_dsn))
        with Stack(dsn, Path(folder)) as stack:
            stack.is_forking = False  # the server has the memory of its own start
            server = stack.start_server(MAAS_FOLLOWERS=str(2 * TABS))
            stack.start_orchestrator()
            url = f"http://127.0.0.1:{stack.port}"
            with sync_playwright() as playwright:
                page = playwright.chromium.launch(executable_path=path, args=list(OPTIONS)).new_page()
                figures = {
                    "a visit": measure_visits(page, url, QUICK if quick else VISITS),
                    "a first answer": measure_answers(page, stack, url, QUICK if quick else VISITS),
                    "a change": measure_changes(page, stack, url, QUICK if quick else CHANGES),
                    "2,000 messages": measure_scrolling(page, stack, url),
                }
            tabs = QUICK_TABS if quick else TABS
            before = rss_mb(server.pid)
            taken = asyncio.run(measure_tabs(url, tabs, server.pid)) - before
            figures["tabs"] = [Figure(f"memory of {tabs}", "MB", taken, TABS_LIMIT_MB)]
    print_figures("The web interface, on {cores} cores, Postgres {postgres}".format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


def measure_visits(page: Page, url: str, count: int) -> list[Figure]:
    """Milliseconds to the first paint, with nothing kept of the visit before."""
    client = page.context.new_cdp_session(page)
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    paints = []
    for _ in range(count):
        page.goto(f"{url}/ui/")
        page.get_by_role("textbox").wait_for()
        paint = page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        paints.append(paint.json_value())
    return [Figure("first paint, median", "ms", statistics.median(paints), PAINT_LIMIT_MS)]


def measure_answers(page: Page, stack: Stack, url: str, count: int) -> list[Figure]:
    """Milliseconds from when an answer was written to the database to when it stands in a page just opened."""
    taken = []
    for number in range(count):
        page.goto(f"{url}/ui/")
        page.evaluate(ANSWERED)
        page.get_by_label("Message", exact=True).fill(f"My dog number {number} is called Comet.")
        page.keyboard.press("Enter")
        shown_at = page.wait_for_function("() => window.answeredAt").json_value()
        [run] = stack.rows(
            "select extract(epoch from completed_at)::float8 * 1000 as at from pipeline_runs"
            " where kind = 'ask' order by seq desc limit 1"
        )
        taken.append(shown_at - run["at"])
    return percentiles("from written to seen", taken, (50, 95), ANSWER_LIMIT_MS)


def measure_changes(page: Page, stack: Stack, url: str, count: int) -> list[Figure]:
    """Milliseconds from an UPDATE to the event in the browser."""
    run = stack.ask(LOCAL_USER, "Something to change.")
    stack.wait_archived(run)
    page.goto(f"{url}/ui/profile")
    page.evaluate(FOLLOW, str(LOCAL_USER))
    taken = []
    for number in range(count):
        status = ("FAILED", "SKIPPED")[number % 2]
        began = time.time()
        stack.rows("update pipeline_runs set archive_status = %s where id = %s", status, run)
        page.wait_for_function("status => (window.seen.last || [])[0] === status", arg=status, polling=5)
        taken.append(page.evaluate("window.seen.last[1]") - 1000 * began)
    return percentiles("to the browser", taken, (50, 95), CHANGE_LIMIT_MS)


def measure_scrolling(page: Page, stack: Stack, url: str) -> list[Figure]:
    """Milliseconds between two frames while a long conversation is scrolled back to its beginning."""
    conversation = uuid4()
    insert_messages(stack, conversation)
    page.goto(f"{url}/ui/c/{conversation}")
    page.locator("#log article").first.wait_for()
    gaps: list[float] = []
    while more := page.evaluate(FRAMES):
        gaps += more
    nodes = page.locator("#log article").count()
    missed = sum(round(gap * FRAMES_A_SECOND / 1000) - 1 for gap in gaps)
    return [
        Figure("between frames, p95", "ms", percentile(gaps, 0.95), FRAME_LIMIT_MS),
        Figure("frames missed", "%", 100 * missed / (len(gaps) + missed)),
        Figure("messages in the page", "", nodes, 60),
    ]


def insert_messages(stack: Stack, conversation: UUID) -> None:
    stack.rows(
        "insert into chat_conversations (id, user_id, title) values (%s, %s, 'a long talk')", conversation, LOCAL_USER
    )
    stack.rows(
        "insert into chat_messages (conversation_id, user_id, role, content, created_at)"
        " select %s, %s, case n %% 2 when 0 then 'user' else 'assistant' end,"
        " repeat('Words about **something** that were said. ', 1 + n %% 7), now() - (%s - n) * interval '1 minute'"
        " from generate_series(1, %s) n",
        conversation,
        LOCAL_USER,
        MESSAGES,
        MESSAGES,
    )


async def measure_tabs(url: str, count: int, pid: int) -> float:
    """The memory of the server while so many streams of users are open, in MB."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=url, timeout=60, trust_env=False, limits=limits) as client:
        is_measured = asyncio.Event()

        async def follow() -> None:
            async with client.stream("GET", f"/v1/users/{uuid4()}/events") as reply:
                assert reply.status_code == 200
                opened.append(1)
                await is_measured.wait()

        opened: list[int] = []
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(follow())
            while len(opened) < count:
                await asyncio.sleep(0.1)
            await asyncio.sleep(2)
            taken = rss_mb(pid)
            is_measured.set()
    return taken


if __name__ == "__main__":
    run_command(web, "bench.web")
