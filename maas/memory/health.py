"""Memory health: whether the memory behind an answer was complete, and why it was not.

Stages note reasons as codes in the log of their run, and the run stores them. The answer is given all the same.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

MemoryState = Literal["ok", "degraded", "unavailable"]


class MemoryReason(StrEnum):
    """Why memory was incomplete."""

    SEARCH_FAILED = "search_failed"  # nothing was recalled but the latest messages and the notes
    EMBEDDER_BUSY = "embedder_busy"  # searched by words only: many queries were being embedded
    EMBEDDER_UNAVAILABLE = "embedder_unavailable"  # searched by words only: the embedder failed, or its circuit is open
    VECTORS_UNREADABLE = "vectors_unreadable"  # searched by words only: stored vectors were not read in time
    VECTORS_BEHIND = "vectors_behind"  # older messages have no vectors yet, so they were searched by words only
    ARCHIVE_FAILED = "archive_failed"  # the summary of the previous exchange could not be written
    ARCHIVE_SKIPPED = "archive_skipped"  # the previous request failed, so its exchange has no summary by the Archivist
    ARCHIVE_BEHIND = "archive_behind"  # the summary of the previous exchange is not written yet
    CLIENT_MESSAGES_CUT = "client_messages_cut"  # of the earlier messages that came along, not all fitted
