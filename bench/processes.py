"""The product's processes, as an operator starts them; none outlives the benchmark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from maas.settings import Settings
from maas.settings.embeddings import NO_EMBEDDING_MODEL
from shared.errors import MaasError

ROOT = Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
TIMEOUT_S = 20.0
HAS_PROC = Path("/proc/self/stat").exists()
# A child ends when its parent is killed, too: 1 is PR_SET_PDEATHSIG, and exec keeps it. Elsewhere than on Linux not.
LEASH = (
    "import ctypes, os, signal, sys; sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, signal.SIGTERM); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class Processes:
    """Processes of one benchmark over one database; all are ended when the context is left."""

    def __init__(self, folder: Path, dsn: str, settings: Settings, **environment: str) -> None:
        providers = settings.providers
        keys = {
            "OPENAI_API_KEY": providers.openai_api_key and providers.openai_api_key.get_secret_value(),
            "OPENAI_BASE_URL": providers.openai_base_url,
            "GEMINI_API_KEY": providers.gemini_api_key and providers.gemini_api_key.get_secret_value(),
            "GEMINI_BASE_URL": providers.gemini_base_url,
        }
        self._folder = folder
        self._environment = (
            {name: value for name, value in os.environ.items() if not name.startswith("MAAS_")}
            | {name: value for name, value in keys.items() if value}
            | {"DATABASE_URL": dsn, "LISTEN_DATABASE_URL": dsn, "MAAS_LOG_FORMAT": "json", "MAAS_LOG_LEVEL": "warning"}
            | {"MAAS_COMPACT_EVERY": "0", "MAAS_EMBEDDING_MODEL": NO_EMBEDDING_MODEL, "MAAS_USER_RATE": "0"}
            | {"MAAS_MODEL_PROFILE": "cloud"}
            | environment
        )
        self._running: dict[subprocess.Popen[bytes], Path] = {}
        self._started = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in list(self._running):
            process.send_signal(signal.SIGTERM)
        for process in list(self._running):
            self.stop(process)

    def start(self, program: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a program of the checkout."""
        return self.spawn(Path(program).stem, str(ROOT / program), **environment)

    def spawn(
        self, name: str, *arguments: str, python: str = sys.executable, **environment: str
    ) -> subprocess.Popen[bytes]:
        """Start Python with these arguments."""
        self._started += 1
        output = self._folder / f"{name}-{self._started}.log"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [python, "-S", "-c", LEASH, *arguments],
                env=self._environment | environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._running[process] = output
        return process

    def check(self) -> None:
        """Raise MaasError('child_ended') with its last words when a process has ended by itself."""
        for process, output in self._running.items():
            if process.poll() is not None:
                words = "\n".join(output.read_text(errors="replace").splitlines()[-5:])
                raise MaasError("child_ended", f"{output.stem} ended with status {process.returncode}: {words}")

    def output(self, process: subprocess.Popen[bytes]) -> str:
        """All that a process has printed so far."""
        return self._running[process].read_text(errors="replace")

    def log(self) -> str:
        """The last lines that the processes have logged."""
        lines = [line for output in self._running.values() for line in output.read_text(errors="replace").splitlines()]
        return "\n".join(lines[-5:]) or "nothing was logged"

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """kill -9 a process."""
        process.kill()
        process.wait()
        del self._running[process]

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """End a process: politely at first."""
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        del self._running[process]


def cpu_seconds(*pids: int) -> float:
    """CPU time, user and system, that these processes and their ended children have used; 0 where there is no /proc."""
    return sum(_cpu_ticks(pid) for pid in pids) / TICKS if HAS_PROC else 0.0


def memory_mb(pid: int) -> float:
    """The most that a process has had in memory, in MB; 0 where there is no /proc."""
    return _status_mb(pid, "VmHWM")


def resident_mb(pid: int) -> float:
    """What a process has in memory now, in MB; 0 where there is no /proc."""
    return _status_mb(pid, "VmRSS")


def _status_mb(pid: int, field: str) -> float:
    if not HAS_PROC:
        return 0.0
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(field))


def family_seconds(pid: int) -> float:
    """CPU time of a process and its children, those that ended meanwhile included."""
    while True:
        with suppress(FileNotFoundError):  # a child that ends while it is read is counted with its parent
            return cpu_seconds(pid, *children_of(pid))


def children_of(pid: int) -> list[int]:
    """The living children of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15])


class Deadline:
    """Bounds a wait: `check` raises MaasError('too_slow') when the time is over."""

    def __init__(self, seconds: float, what: str) -> None:
        self._seconds, self._what = seconds, what
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise MaasError("too_slow", f"{self._what} took longer than {self._seconds:.0f} s")
