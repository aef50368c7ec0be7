"""The errors of the emulator, and the statuses that its command ends with."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What the command ends with: everything held, something did not, nothing could be played, an old recording."""

    PASSED = 0
    FAILED = 1
    UNUSABLE = 2
    STALE_RECORDING = 3


class EmulatorError(Exception):
    """Nothing can be played; the message is for people and says what to do next."""
