"""What other processes of the same user may see of this one."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def close_to_others() -> None:
    """Linux: from now on only root reads environment, memory and open files of this process, until it executes another.

    The process itself cannot open /proc/self/fd, so /dev/stdin, any more.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
