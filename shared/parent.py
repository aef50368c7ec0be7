"""A child that must not outlive the process that started it."""

from __future__ import annotations

import os
import signal
import threading
import time

VARIABLE = "MAAS_PARENT_PID"
LOOK = 0.3


def end_with_parent() -> None:
    """When MAAS_PARENT_PID names the parent, send SIGTERM to this process as soon as that one is gone."""
    parent = os.environ.get(VARIABLE)
    if parent and parent.isdigit():
        threading.Thread(target=_watch, args=(int(parent),), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
