"""Recorded replies of a real model under kill -9: the orchestrator dies at each call, and the scenarios must not tell.

`python -m tests.chaos.recorded [--recording FILE] [NAME ...]` plays scenarios of the emulator twice, undisturbed and
killed; the exit status is 1 when an outcome differs, or when SQL finds a run that was lost or made twice.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import httpx2
import psycopg
import typer
from psycopg.rows import dict_row

from bench.command import run_command
from bench.report import console, print_table
from learning_agent.emulator import office
from learning_agent.emulator.batch import PATIENT, REPLAYED, models_of, play_scenarios
from learning_agent.emulator.memory import StoredMemory
from learning_agent.emulator.player import Scene
from learning_agent.emulator.recorder import CHAT, Recorder
from learning_agent.emulator.recording import key_of, read_recording
from learning_agent.emulator.results import Result
from learning_agent.emulator.scenario import read_scenarios
from learning_agent.emulator.system import start_system
from maas.cli.up import EARLY_EXIT_S
from maas.client import MaaS
from tests.chaos.witness import statements

RECORDING = Path("learning_agent/emulator/recordings/qwen2.5-coder-1.5b.json")
RESTART_TIMEOUT_S = 60.0
LEAST_LIFE_S = EARLY_EXIT_S + 1  # `maas up` gives a process up that ends sooner, time after time


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """`kills` by stage; `outcomes` of each scenario, undisturbed and killed; `offences` by check, all to be 0."""

    kills: dict[str, int]
    outcomes: dict[str, tuple[str, str]]
    offences: dict[str, int]

    @property
    def holds(self) -> bool:
        return not any(self.offences.values()) and all(calm == killed for calm, killed in self.outcomes.values())


class Killer(ThreadingHTTPServer):
    """Stands before a model: a request that it sees for the first time kills the orchestrator that has sent it."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.dsn: str | None = None  # None: nobody is killed
        self.kills: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def strike(self, key: str) -> bool:
        """Kill the orchestrator, unless this request has been seen; return whether it was killed."""
        with self._lock:
            if self.dsn is None or key in self._seen:
                return False
            self._seen.add(key)
            time.sleep(max(0.0, self._started + LEAST_LIFE_S - time.monotonic()))
            with psycopg.connect(self.dsn, autocommit=True, row_factory=dict_row) as connection:
                stages = connection.execute(statements()["stage_in_flight"].encode()).fetchall()
                pids = [row["pid"] for row in connection.execute(statements()["orchestrators"].encode())]
                for pid in pids:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self.kills[stages[0]["stage"] if stages else "none"] += 1
                deadline = time.monotonic() + RESTART_TIMEOUT_S
                while time.monotonic() < deadline:
                    alive = {row["pid"] for row in connection.execute(statements()["orchestrators"].encode())}
                    if alive - set(pids):
                        break
                    time.sleep(0.1)
            self._started = time.monotonic()
            return True


class _Handler(BaseHTTPRequestHandler):
    server: Killer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == CHAT and self.server.strike(key_of(json.loads(body))):
            return  # nobody is left to read a reply
        reply = httpx2.post(self.server.upstream.removesuffix("/v1") + self.path, content=body, timeout=60)
        self.send_response(reply.status_code)
        self.send_header("Content-Type", reply.headers["Content-Type"])
        self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(reply.content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def hold_recorded_trial(path: Path = RECORDING, names: list[str] | None = None) -> RecordedVerdict:
    """Play the scenarios of a recording undisturbed, then with a kill at each call."""
    calm, _, _ = _play(path, names, is_killing=False)
    killed, kills, offences = _play(path, names, is_killing=True)
    outcomes = {one.name: (_result_text(one), _result_text(other)) for one, other in zip(calm, killed, strict=True)}
    return RecordedVerdict(kills, outcomes, offences)


def _result_text(result: Result) -> str:
    checks = [check.verdict for turn in result.turns for check in turn.checks]
    return f"{result.outcome}, {checks.count('passed')} of {len(checks)}{result.error and ': ' + result.error}"


def _play(
    path: Path, names: list[str] | None, *, is_killing: bool
) -> tuple[list[Result], dict[str, int], dict[str, int]]:
    recording = read_recording(path)
    chosen = [one for one in read_scenarios() if one.name in (names or recording.scenarios)]
    with ExitStack() as stack:
        killer = stack.enter_context(Killer(stack.enter_context(Recorder(recording)).url))
        stack.callback(killer.shutdown)
        threading.Thread(target=killer.serve_forever, args=(0.05,), daemon=True).start()
        settings = models_of(recording.model, recording.roles) | PATIENT | REPLAYED | {"OPENAI_BASE_URL": killer.url}
        with_tools = any(one.assistant == office.ASSISTANT for one in chosen)
        system = stack.enter_context(start_system(settings, with_tools=with_tools))
        memory = stack.enter_context(StoredMemory(system.dsn))
        client = stack.enter_context(MaaS(system.url))
        killer.dsn = system.dsn if is_killing else None
        scene = Scene(client, memory, system.compact, recording.model, False, None, None, recording.day)
        results = play_scenarios(scene, chosen, at_once=1)
        if recording.missed:
            print(recording.missed, dict(killer.kills))
        with psycopg.connect(system.dsn, row_factory=dict_row) as connection:
            rows = connection.execute(statements()["recorded_verdict"].encode()).fetchall()
        return results, dict(killer.kills), {row["name"]: row["found"] for row in rows}


def recorded_chaos(
    names: Annotated[list[str] | None, typer.Argument(help="scenarios; unset: all of the recording")] = None,
    recording: Annotated[Path, typer.Option(help="a recording that `make emulate RECORD=FILE` has made")] = RECORDING,
) -> None:
    """Kill the orchestrator at each call of a recorded model, and compare with an undisturbed run."""
    verdict = hold_recorded_trial(recording, names)
    print_table("Kills", ["stage", "kills"], sorted(verdict.kills.items()))
    print_table("Scenarios", ["", "undisturbed", "killed"], [(name, *both) for name, both in verdict.outcomes.items()])
    print_table("Offences", ["", "found"], list(verdict.offences.items()))
    console.print("holds" if verdict.holds else "FAILED")
    sys.exit(0 if verdict.holds else 1)


if __name__ == "__main__":
    run_command(recorded_chaos, "chaos.recorded")
