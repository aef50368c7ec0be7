"""`maas up`: everything on this machine, and one Ctrl-C stops it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

from maas.commands.migrate import prepare
from maas.commands.session import console, note
from shared import log
from shared.dsn import find_postgres
from shared.errors import MaasError
from shared.parent import VARIABLE
from shared.settings import ROLES, Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 10.0


def up() -> None:
    """Start Postgres (unless DATABASE_URL is set), the HTTP server and an orchestrator; Ctrl-C stops all."""
    settings = load_settings()
    log.configure(settings.log_level, settings.log_format)
    with find_postgres(settings, note) as postgres:
        applied, _ = prepare(postgres.query)
        if applied:
            note(f"database prepared: {len(applied)} migrations")
        signal.signal(signal.SIGTERM, _interrupt)
        environment = os.environ | {
            "DATABASE_URL": postgres.query, "LISTEN_DATABASE_URL": postgres.listen, VARIABLE: str(os.getpid()),
        }  # fmt: skip
        children = [
            subprocess.Popen([sys.executable, str(ROOT / name)], env=environment) for name in ("main.py", "server.py")
        ]
        try:
            _announce(settings, children)
            _watch(children)
        except KeyboardInterrupt:
            note("\nstopping")
        finally:
            _stop(children)


def _announce(settings: Settings, children: list[subprocess.Popen[bytes]]) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{settings.port}"
    while not _is_ready(f"{address}/readyz"):
        _check(children)
        time.sleep(0.05)
    models = sorted({settings.role_model(role) for role in ROLES})
    console.print(f"MaaS answers at {address}  (try it: {address}/docs)")
    console.print(f"models: {', '.join(models)}; Ctrl-C stops everything")


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return b'"orchestrators":0' not in reply.read()
    except (urllib.error.URLError, OSError):
        return False


def _watch(children: list[subprocess.Popen[bytes]]) -> None:
    while True:
        _check(children)
        time.sleep(0.2)


def _check(children: list[subprocess.Popen[bytes]]) -> None:
    for child, name in zip(children, ("orchestrator", "server"), strict=True):
        if child.poll() is not None:
            raise MaasError("child_ended", f"the {name} ended with status {child.returncode}; see its last lines above")


def _stop(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.poll() is None:
            child.terminate()
    deadline = time.monotonic() + PATIENCE
    for child in children:
        try:
            child.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
