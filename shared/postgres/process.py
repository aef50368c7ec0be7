"""Processes of the embedded Postgres: none outlives its keeper, none is taken for another. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_PROC = Path("/proc")


def drop_to(uid: int, gid: int) -> None:
    """Become an ordinary user for good. Raises OSError."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def dies_with_parent(number: signal.Signals) -> Callable[[], None]:
    """A function to run in a child before exec: the child gets `number` when this process dies (Linux)."""
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
    """Process ids of every process of a server of the cluster `data` (Linux; none elsewhere)."""
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(folder / "cwd")) == data and b"postgres" in (folder / "cmdline").read_bytes():
                yield int(folder.name)


def is_postmaster(pid: int, data: Path) -> bool:
    """Whether `pid` is a live server of the cluster `data`, and neither a zombie nor a stranger with its old number."""
    if not (_PROC / "self").exists():
        shown = subprocess.run(["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True)
        return str(data) in shown.stdout and not shown.stdout.startswith("Z")
    try:
        state = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return state not in ("Z", "X") and os.fsencode(data) in arguments


def end(pid: int, is_running: Callable[[], bool]) -> None:
    """Ask a postmaster to end (fast), insist (immediate) and kill it: 9 s at worst."""
    for number, patience in ((signal.SIGINT, 5.0), (signal.SIGQUIT, 2.0), (signal.SIGKILL, 2.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not is_running():
            return
