"""Telegram under kill -9: the channel is killed every few seconds, and Postgres now and then, while people write.

`python -m tests.chaos.telegram [--chats N] [--messages N] [--out FILE.json]`; the exit status is 1 when a message was
lost or asked twice, or an answer is missing, doubled or out of order.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from psycopg.rows import DictRow, dict_row

from bench.command import prepare_output, run_command
from bench.report import console, print_table
from tests.channels.telegram.chats import Messenger, messenger
from tests.chaos.own_stack import conclude, own_stack, server_version
from tests.chaos.witness import statements
from tests.polling import poll
from tests.stack import Stack

PUSHES_A_SECOND = 4
STANDSTILL_S = 90.0
SETTINGS = {"MAAS_POLL_INTERVAL": "0.25", "MAAS_LOG_LEVEL": "warning"}


@dataclass(frozen=True, slots=True)
class TelegramVerdict:
    """What SQL found; `offences` by check, all of which should be 0. `rss_mb` is the most memory of a process."""

    offences: dict[str, int]
    figures: dict[str, int]
    kills: int
    restarts: int
    seconds: float
    rss_mb: float

    @property
    def holds(self) -> bool:
        return not any(self.offences.values())


def hold_telegram_trial(
    stack: Stack, chats: int, messages: int, interval: float = 3.0, kill_postgres: Callable[[], None] | None = None
) -> TelegramVerdict:
    """Have people write, kill the process every `interval` seconds, Postgres after every fourth kill; then count."""
    with messenger(stack) as people:
        _ask(stack, "telegram_tables")
        stack.start_orchestrator(**SETTINGS)
        process, standby = people.serve(MAAS_LOG_LEVEL="warning"), people.serve(MAAS_LOG_LEVEL="warning")
        sent, total = 0, chats * messages
        waiting = [(number, chat) for number in range(messages) for chat in range(1, chats + 1)]
        began = moved = struck = time.monotonic()
        kills = restarts = 0
        ended, rss = -1, 0.0
        while True:
            portion, waiting = waiting[: max(10, total // 60)], waiting[max(10, total // 60) :]
            if portion:
                people.push(*[people.message(f"{chat:05} {number:03} message", chat) for number, chat in portion])
                sent += len(portion)
            time.sleep(1 / PUSHES_A_SECOND)
            rss = max(rss, rss_mb(process.pid), rss_mb(standby.pid))
            if time.monotonic() - struck >= interval and ended < total * 0.95:
                stack.stop(process, signal.SIGKILL)
                process, standby = standby, people.serve(MAAS_LOG_LEVEL="warning")
                kills, struck = kills + 1, time.monotonic()
                if kills % 4 == 0 and kill_postgres is not None:
                    kill_postgres()
                    restarts += 1
            (progress,) = _ask(stack, "telegram_progress")
            if progress["ended"] != ended:
                ended, moved = progress["ended"], time.monotonic()
            if progress["handled"] == progress["ended"] == total or time.monotonic() - moved > STANDSTILL_S:
                break
        seconds = time.monotonic() - began
        stack.stop(process)
        stack.stop(standby)
        _tell(stack, people)
        offences = {row["name"]: row["found"] for row in _ask(stack, "telegram_verdict", {"sent": sent})}
        (figures,) = _ask(stack, "telegram_figures")
        counts = {name: int(value or 0) for name, value in figures.items()}
        return TelegramVerdict(offences, counts, kills, restarts, round(seconds, 1), round(rss, 1))


def _ask(stack: Stack, name: str, parameters: dict[str, Any] | None = None) -> list[DictRow]:
    """The rows of a statement, once Postgres answers."""

    def ask() -> list[list[DictRow]]:
        try:
            with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row, connect_timeout=5) as connection:
                cursor = connection.execute(statements()[name].encode(), parameters)
                return [cursor.fetchall() if cursor.description is not None else []]
        except psycopg.OperationalError:
            return []

    return poll(ask, 60, "Postgres answers")[0]


def _tell(stack: Stack, people: Messenger) -> None:
    """Store what stands in the chats."""
    rows = [
        (int(chat), int(number), one["text"])
        for chat, held in people.telegram.state().get("chats", {}).items()
        for number, one in held["messages"].items()
        if not one.get("is_deleted")
    ]
    with psycopg.connect(stack.dsn, autocommit=True) as connection:
        connection.cursor().executemany("insert into public.chaos_chats values (%s, %s, %s)", rows)


def rss_mb(pid: int) -> float:
    """The memory of a process; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def chaos_of_telegram(
    chats: Annotated[int, typer.Option(min=2, help="how many chats")] = 1000,
    messages: Annotated[int, typer.Option(min=1, max=999, help="how many messages in each")] = 5,
    out: Annotated[Path | None, typer.Option(help="file for the verdict (JSON)")] = None,
) -> None:
    """Kill the process that serves a bot, and Postgres, while people write; SQL says what became of their messages."""
    path = prepare_output(out) if out else None
    with own_stack("telegram") as (stack, server):

        def kill_postgres() -> None:
            before = server.pid
            os.kill(before, signal.SIGKILL)
            poll(lambda: server.pid != before, 60, "Postgres comes back")

        stack.is_forking = False  # a process has the memory of its own start
        verdict = hold_telegram_trial(stack, chats, messages, kill_postgres=kill_postgres)
        version = server_version(stack)
    report(verdict)
    conclude(path, verdict, version, kills=verdict.kills, holds=verdict.holds, what="chats")


def report(verdict: TelegramVerdict) -> None:
    """Print the verdict."""
    print_table("Telegram", ["", "count"], list(verdict.figures.items()))
    print_table("Offences", ["", "found"], list(verdict.offences.items()))
    console.print(
        f"{verdict.kills} kills and {verdict.restarts} restarts of Postgres in {verdict.seconds:.0f} s, at most "
        f"{verdict.rss_mb:.0f} MB: {'holds' if verdict.holds else 'FAILED'}"
    )


if __name__ == "__main__":
    run_command(chaos_of_telegram, "chaos.telegram")
