"""The MaaS that scenarios are played against: one that is started in a folder of its own, or one that runs already."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import yaml
from psycopg.types.json import Jsonb

from learning_agent.emulator import office
from learning_agent.emulator.errors import EmulatorError
from learning_agent.emulator.memory import StoredMemory

ROOT = Path(__file__).resolve().parents[2]
MAAS = Path(sys.executable).parent / "maas"
READY = "MaaS answers at "
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
COMMAND_TIMEOUT_S = 3600.0
KEPT_LINES = 20
SETTINGS = {  # of a MaaS that is started: nothing happens behind a scenario's back
    "MAAS_COMPACT_EVERY": "0",
    "MAAS_EMBEDDING_MODEL": "none",
    "MAAS_USER_RATE": "0",
    "MAAS_LOG_LEVEL": "warning",
    "MAAS_LOG_FORMAT": "json",
    "MAAS_TIMEZONE": "UTC",
    "MAAS_POLL_INTERVAL": "0.2",
}


@dataclass(frozen=True, slots=True)
class System:
    """A running MaaS. `is_own`: it was started for the scenarios, so retention may delete whatever it likes."""

    url: str
    dsn: str
    environment: Mapping[str, str]
    folder: Path
    is_own: bool

    def compact(self, user: UUID) -> None:
        """Merge the old summaries of a user. Raises EmulatorError."""
        _command({**self.environment, "DATABASE_URL": self.dsn}, self.folder, "compact", "--user", str(user))


@contextmanager
def start_system(settings: Mapping[str, str], *, with_tools: bool) -> Iterator[System]:
    """Start everything over an embedded Postgres; stop and delete it at the end. Raises EmulatorError."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        port = _free_port()
        environment = {name: text for name, text in os.environ.items() if not name.startswith("MAAS_")}
        for name in ("DATABASE_URL", "LISTEN_DATABASE_URL"):
            environment.pop(name, None)
        environment |= {**SETTINGS, "MAAS_DATA_DIR": str(folder / "data"), "MAAS_PORT": str(port), **settings}
        if with_tools:
            tools = _free_port()
            _wait_for_port(
                tools, *stack.enter_context(_process([sys.executable, "-m", office.MODULE, str(tools)], ROOT))
            )
            environment["MAAS_MCP_SERVERS"] = json.dumps(office.settings(tools))
        process, lines = stack.enter_context(_process([str(MAAS), "up"], folder, environment))
        _wait_ready(process, lines)
        dsn = _command(environment, folder, "doctor", "--dsn").strip()
        if with_tools:
            prepare_office(dsn)
        yield System(f"http://127.0.0.1:{port}", dsn, environment, folder, is_own=True)


@contextmanager
def given_system(url: str, dsn: str) -> Iterator[System]:
    """A MaaS that runs already; its models and settings are its own."""
    with _folder() as folder:
        yield System(url.rstrip("/"), dsn, dict(os.environ), folder, is_own=False)


def prepare_office(dsn: str) -> None:
    """Add the assistant that uses the tools of the office."""
    data = yaml.safe_load(office.DATA.read_text(encoding="utf-8"))
    with StoredMemory(dsn) as memory:
        memory.rows("add_prompt", role=data["role"], prompt=data["prompt"])
        definition = {"toolset": ["office"], "default_mode": "auto"}
        memory.rows("add_assistant", name=office.ASSISTANT, role=data["role"], definition=Jsonb(definition))


@contextmanager
def _folder() -> Iterator[Path]:
    disk = Path("/var/tmp")
    folder = Path(tempfile.mkdtemp(prefix="maas-emulator-", dir=disk if disk.is_dir() else None))
    folder.chmod(0o755)  # Postgres runs as another user where we are root
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _process(
    command: list[str], working: Path, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A program and the last lines that it has printed; it is stopped at the end."""
    own = dict(os.environ if environment is None else environment) | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command,
        env=own,
        cwd=working,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            del lines[:-KEPT_LINES]

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_S)
        process.kill()
        process.wait()
        reader.join(STOP_TIMEOUT_S)
        assert process.stdout is not None
        process.stdout.close()


def _wait_ready(process: subprocess.Popen[str], lines: list[str]) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while not any(line.startswith(READY) for line in list(lines)):
        if process.poll() is not None or time.monotonic() > end:
            raise EmulatorError("MaaS does not start; its last lines:\n" + "\n".join(lines))
        time.sleep(0.1)


def _wait_for_port(port: int, process: subprocess.Popen[str], lines: list[str]) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.connect(("127.0.0.1", port))
            return
        if process.poll() is not None or time.monotonic() > end:
            raise EmulatorError("the server of tools does not start; its last lines:\n" + "\n".join(lines))
        time.sleep(0.1)


def _command(environment: Mapping[str, str], folder: Path, *words: str) -> str:
    done = subprocess.run(
        [str(MAAS), *words],
        env=dict(environment),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise EmulatorError(f"maas {words[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
