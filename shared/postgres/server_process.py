"""The processes of a Postgres server: started, recognised, ended, their output logged. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

log = logging.getLogger("supervisor")
server_log = logging.getLogger("postgres")

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_PROC = Path("/proc")


def drop_to(uid: int, gid: int) -> None:
    """Change this process to an ordinary user, irrevocably. Raises OSError."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def dies_with_parent(number: signal.Signals) -> Callable[[], None]:
    """Return a function that a child runs before exec, so that it gets this signal when its parent dies (Linux)."""
    parent = os.getpid()

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if _LIBC is None:
            return
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def backends(data: Path) -> Iterator[int]:
    """Yield the ids of all server processes of the cluster `data` (Linux; none elsewhere)."""
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(folder / "cwd")) == data and b"postgres" in (folder / "cmdline").read_bytes():
                yield int(folder.name)


def is_postmaster(pid: int, data: Path) -> bool:
    """Return whether `pid` is a live server of the cluster `data`, not a zombie or another program with its old id."""
    if not (_PROC / "self").exists():
        ps = subprocess.run(["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True)
        return str(data) in ps.stdout and not ps.stdout.startswith("Z")
    try:
        state = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return state not in ("Z", "X") and os.fsencode(data) in arguments


def end(pid: int, is_running: Callable[[], bool]) -> None:
    """End a postmaster: fast shutdown, then immediate, then kill; at most 9 s."""
    for number, timeout_s in ((signal.SIGINT, 5.0), (signal.SIGQUIT, 2.0), (signal.SIGKILL, 2.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + timeout_s
        while is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not is_running():
            return


class ServerLog:
    """The reading end of a pipe with a server's output. `tail` holds its last lines."""

    def __init__(self) -> None:
        self.tail: deque[str] = deque(maxlen=12)
        self._rest = b""
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def fileno(self) -> int:
        return self.reading

    def close_writing(self) -> None:
        """Close this process's copy of the writing end, after the server has started with its own."""
        os.close(self.writing)

    def drain(self) -> bool:
        """Log the output that has arrived; return False at its end."""
        while True:
            try:
                data = os.read(self.reading, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                self.tail.append(text)
                server_log.info("%s", text)

    def close(self) -> None:
        """Stop reading; a process that still writes gets an error, which Postgres ignores."""
        os.close(self.reading)


def log_to(folder: Path) -> None:
    """Write both logs into `folder`; a full disk loses lines, but stops no server. Raises OSError at the start."""
    folder.mkdir(exist_ok=True)
    logging.raiseExceptions = False
    for logger, name, size, form in (
        (server_log, "server.log", 5_000_000, "%(message)s"),
        (log, "supervisor.log", 500_000, "%(asctime)s [%(process)d] %(levelname)s %(message)s"),
    ):
        handler = RotatingFileHandler(folder / name, maxBytes=size, backupCount=2, encoding="utf-8")
        handler.setFormatter(logging.Formatter(form))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
