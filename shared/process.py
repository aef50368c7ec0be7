"""The current process: hidden from other processes of its user, ended together with its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

PARENT_VARIABLE = "MAAS_PARENT_PID"
PARENT_POLL_INTERVAL_S = 0.3
_PR_SET_DUMPABLE = 4


def close_to_others() -> None:
    """Let only root read environment, memory and open files of this process, until it executes a program (Linux).

    The process itself cannot open /proc/self/fd, and so /dev/stdin, from then on.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_with_parent() -> None:
    """Send SIGTERM to this process as soon as the parent that MAAS_PARENT_PID names has ended; nothing without it."""
    parent = os.environ.get(PARENT_VARIABLE)
    if parent and parent.isdigit():
        threading.Thread(target=_watch, args=(int(parent),), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_INTERVAL_S)
    os.kill(os.getpid(), signal.SIGTERM)
