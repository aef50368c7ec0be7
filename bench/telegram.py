"""The Telegram channel: how soon a message of a person is a run, how few edits show a stream, what memory it takes.

`python -m bench.telegram [--quick] --out FILE.json`, against the stand-in for Telegram of the tests.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from bench.command import prepare_output, run_command
from bench.report import Figure, hold_gates, machine, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from maas.settings import load_settings
from tests.channels.telegram.chats import Messenger, messenger
from tests.chaos.telegram import rss_mb
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack

MESSAGES, QUICK_MESSAGES = 600, 60
PAUSE_S = 0.05  # between two messages
WORDS, STREAM_S = 100, 2.0
TAKEN_LIMIT_MS, EDITS_LIMIT, RSS_LIMIT_MB = 50.0, 5, 100.0


def telegram(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="few messages")] = False,
) -> None:
    """Measure the Telegram channel."""
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn, tempfile.TemporaryDirectory() as folder:
        about = machine(server_version(sandbox.server_dsn))
        with HTTPServer(threaded=True) as server, Stack(dsn, Path(folder)) as stack, messenger(stack) as people:
            stack.is_forking = False  # the process has the memory of its own start
            models = ModelServer(server)
            stack.start_orchestrator(**models.settings(), MAAS_FAST_PATH="1")
            process = people.serve()
            people.write("hello", 1)
            people.wait_done()
            figures = {
                "messages": measure_messages(people, QUICK_MESSAGES if quick else MESSAGES),
                "a stream": measure_stream(people, models),
                "process": [Figure("memory", "MB", rss_mb(process.pid), RSS_LIMIT_MB)],
            }
            models.close()
    print_figures("Telegram, on {cores} cores, Postgres {postgres}".format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


def measure_messages(people: Messenger, count: int) -> list[Figure]:
    """Milliseconds from the moment in which the stand-in gets a message to the run in the database."""
    pushed: dict[str, float] = {}
    for number in range(count):
        text = f"message {number}"
        pushed[text] = time.time()
        people.write(text, 100 + number % 50)
        time.sleep(PAUSE_S)
    people.wait_done(120)
    rows = people.stack.rows(
        "select user_query, extract(epoch from created_at)::float8 as at from pipeline_runs "
        "where user_query like 'message %'"
    )
    taken = [1000 * (row["at"] - pushed[row["user_query"]]) for row in rows]
    return percentiles("to the run", taken, (50, 95), TAKEN_LIMIT_MS)


def measure_stream(people: Messenger, models: ModelServer) -> list[Figure]:
    """Edits that show 100 words of two seconds."""
    models.replies["responder"] = " ".join(f"word{number}" for number in range(WORDS))
    models.delay = STREAM_S / WORDS
    people.write("tell me", 7)
    people.wait(f"word{WORDS - 1}", 7)
    people.wait_done()
    (message,) = people.messages(7)
    return [Figure("edits", "", len(message["edits"]), EDITS_LIMIT + 0.5)]


if __name__ == "__main__":
    run_command(telegram, "bench.telegram")
