"""Operating-system processes: hidden from others of their user, ended together with their parent, without root.

Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

PARENT_VARIABLE = "MAAS_PARENT_PID"
PARENT_POLL_INTERVAL_S = 0.3
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def close_to_others() -> None:
    """Let only root read environment, memory and open files of this process, until it executes a program (Linux).

    The process itself cannot open /proc/self/fd, and so /dev/stdin, from then on.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_with_parent() -> None:
    """Send SIGTERM to this process as soon as the parent that MAAS_PARENT_PID names has ended; nothing without it."""
    parent = os.environ.get(PARENT_VARIABLE)
    if parent and parent.isdigit():
        threading.Thread(target=_watch, args=(int(parent),), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_INTERVAL_S)
    os.kill(os.getpid(), signal.SIGTERM)


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


def drop_to(uid: int, gid: int) -> None:
    """Change this process to an ordinary user, irrevocably. Raises OSError."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
