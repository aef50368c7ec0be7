"""Ids of rows that are written from Python."""

from __future__ import annotations

import secrets
import time
from uuid import UUID

VERSION_AND_VARIANT = 7 << 76 | 0b10 << 62


def new_id() -> UUID:
    """Return a UUID of version 7, as maas_new_id does: milliseconds since 1970, then 74 bits drawn by chance.

    New rows are then neighbours in an index by id, and a checkpoint is followed by images of few of its pages.
    """
    milliseconds = time.time_ns() // 1_000_000 & (1 << 48) - 1
    chance = secrets.randbits(12) << 64 | secrets.randbits(62)
    return UUID(int=milliseconds << 80 | chance | VERSION_AND_VARIANT)
