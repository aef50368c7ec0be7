"""Webhooks under kill -9: an orchestrator is killed every second, and the receiver fails half the time.

A second endpoint never answers; a third, which gets the events of one user, always does. Pauses between attempts are
cut short, so that three days pass in minutes.

`python -m tests.chaos.webhooks [--events N] [--out FILE.json]`; the exit status is 1 when an event was lost.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import psycopg
import typer
from psycopg.rows import DictRow, dict_row
from standardwebhooks import Webhook, WebhookVerificationError

from bench.command import prepare_output, run_command
from bench.report import console, print_table
from tests.chaos.own_stack import conclude, own_stack, server_version
from tests.chaos.witness import statements
from tests.stack import Stack

USERS = 500
EVENTS_OF_A_RUN = 2
HANG_S = 60.0
STANDSTILL_S = 120.0
SETTINGS = {
    "MAAS_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "MAAS_POLL_INTERVAL": "0.25",
    "MAAS_CONCURRENCY": "32",
    "MAAS_LOG_LEVEL": "warning",
}


@dataclass(frozen=True, slots=True)
class WebhookVerdict:
    """What SQL found; `offences` by check, all of which should be 0."""

    offences: dict[str, int]
    figures: dict[str, int]
    kills: int
    seconds: float

    @property
    def holds(self) -> bool:
        return not any(self.offences.values())


class Receiver:
    """Refuses every other delivery to `/hook` by chance, and keeps a journal; `/hang` never answers."""

    def __init__(self, seed: int) -> None:
        self.journal: list[tuple[UUID, str, UUID | None, bool, float]] = []
        self.unverified = 0
        self.secrets: dict[str, str] = {}  # by path
        self._random = random.Random(seed)
        self._writing = threading.Lock()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        """Return the status."""
        try:
            event = Webhook(self.secrets[path]).verify(body, headers)
        except WebhookVerificationError:
            self.unverified += 1
            return 400
        run = event["data"].get("run_id")
        with self._writing:
            is_taken = path == "/quiet" or self._random.random() < 0.5
            name = UUID({key.lower(): value for key, value in headers.items()}["webhook-id"])
            self.journal.append((name, event["type"], UUID(run) if run else None, is_taken, time.time()))
        return 204 if is_taken else 500

    @contextmanager
    def listening(self) -> Iterator[str]:
        """The URL at which it listens."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    return  # the sender was killed
                if self.path == "/hang":
                    time.sleep(HANG_S)
                    return
                self.send_response(receiver.take(self.path, dict(self.headers), body))
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.block_on_close = True, False
        server.handle_error = lambda *_: None  # type: ignore[method-assign] # a sender that was killed
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()


def hold_webhook_trial(stack: Stack, events: int, orchestrators: int = 2, interval: float = 1.0) -> WebhookVerdict:
    """Insert runs, kill an orchestrator every `interval` seconds or later, deliver what they cause, and count."""
    receiver = Receiver(seed=1)
    with (
        psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection,
        receiver.listening() as url,
    ):
        connection.execute(statements()["hook_tables"].encode())
        endpoint, receiver.secrets["/hook"] = _create(connection, f"{url}/hook")
        quiet, receiver.secrets["/quiet"] = _create(connection, f"{url}/quiet", UUID(int=1))
        hanging, _ = _create(connection, f"{url}/hang")
        processes = [stack.start_orchestrator(**SETTINGS) for _ in range(orchestrators)]
        runs = events // EVENTS_OF_A_RUN
        connection.execute(statements()["insert_hook_runs"].encode(), (min(USERS, runs), runs))
        began = moved = killed = time.monotonic()
        kills, left, left_at_kill = 0, runs, runs
        while (now_left := _left(connection, endpoint)) and time.monotonic() - moved < STANDSTILL_S:
            if now_left != left:
                left, moved = now_left, time.monotonic()
            is_due = time.monotonic() - killed >= interval and left != left_at_kill
            if is_due and time.monotonic() - began > interval:
                place = kills % orchestrators
                stack.stop(processes[place], signal.SIGKILL)
                processes[place] = stack.launch("main.py", **SETTINGS)
                kills, killed, left_at_kill = kills + 1, time.monotonic(), left
            connection.execute(statements()["hooks_hurry"].encode(), (endpoint,))
            connection.execute("select maas_replay_webhook(%s)", (endpoint,))
            time.sleep(0.5)
        seconds = time.monotonic() - began
        for process in processes:
            stack.stop(process, signal.SIGKILL)
        with connection.cursor().copy("copy chaos_hooks from stdin") as copy:
            for row in receiver.journal:
                copy.write_row(row)
        rows = connection.execute(statements()["hooks_verdict"].encode(), (endpoint, endpoint)).fetchall()
        figures = connection.execute(statements()["hooks_figures"].encode(), (hanging, quiet, endpoint)).fetchone()
        assert figures is not None
        offences = {row["name"]: int(row["found"]) for row in rows} | {"signatures that are wrong": receiver.unverified}
        found = {name: int(value or 0) for name, value in figures.items()}
        return WebhookVerdict(offences, found, kills, round(seconds, 1))


def _create(connection: psycopg.Connection[DictRow], url: str, user: UUID | None = None) -> tuple[UUID, str]:
    row = connection.execute("select * from maas_create_webhook(%s, %s)", (user, url)).fetchone()
    assert row is not None
    return row["id"], row["secret"]


def _left(connection: psycopg.Connection[DictRow], endpoint: UUID) -> int:
    row = connection.execute(statements()["hooks_left"].encode(), (endpoint,)).fetchone()
    assert row is not None
    return int(row["n"])


def chaos_of_webhooks(
    events: Annotated[int, typer.Option(min=100, help="how many events, at least")] = 10_000,
    out: Annotated[Path | None, typer.Option(help="file for the verdict (JSON)")] = None,
) -> None:
    """Kill an orchestrator every second while events are sent to a receiver that fails half the time."""
    path = prepare_output(out) if out else None
    with own_stack("webhooks") as (stack, _):
        verdict = hold_webhook_trial(stack, events)
        version = server_version(stack)
    print_table("Events", ["", "count"], list(verdict.figures.items()))
    print_table("Offences", ["", "found"], list(verdict.offences.items()))
    console.print(f"{verdict.kills} kills in {verdict.seconds:.0f} s: {'holds' if verdict.holds else 'FAILED'}")
    conclude(path, verdict, version, kills=verdict.kills, holds=verdict.holds, what="events")


if __name__ == "__main__":
    run_command(chaos_of_webhooks, "chaos.webhooks")
