"""The state machine of a run: statuses, their transitions and the stage of each. A test holds it equal to the SQL."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Literal, cast

PriorityWord = Literal["high", "normal", "low"]


class Status(StrEnum):
    """The status of a run, visible to clients: eight values that never change."""

    NEW = "NEW"  # -> ANALYZING, FAILED
    ANALYZING = "ANALYZING"  # -> ANALYZED, FAILED
    ANALYZED = "ANALYZED"  # -> ASSEMBLING, FAILED
    ASSEMBLING = "ASSEMBLING"  # -> READY, FAILED
    READY = "READY"  # -> RESPONDING, FAILED
    RESPONDING = "RESPONDING"  # -> COMPLETED, FAILED
    COMPLETED = "COMPLETED"  # the answer is visible; `archive_status` says whether it is in memory
    FAILED = "FAILED"  # -> NEW, only by a retry


class ArchiveStatus(StrEnum):
    """Whether the exchange of a run is in memory. The user's next run waits until it is one of the last three."""

    PENDING = "PENDING"
    ARCHIVING = "ARCHIVING"
    ARCHIVED = "ARCHIVED"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


class RunKind(StrEnum):
    """What a run is for; the SQL has the same values."""

    ASK = "ask"  # a question of a user
    ACTION = "action"  # a tool call that the user approved, or a button that was pressed
    TASK = "task"  # long work in steps
    ARCHIVE = "archive"  # imported messages that are to be summarized
    CALL = "call"  # a pass-through model that called tools of the client or failed; kept for its cost
    TRIAL = "trial"  # an answer given again from a stage on; nobody but administrators sees it


class QueueState(StrEnum):
    """Where an unfinished run is in the queue, as the view v_queue counts it."""

    INBOX = "inbox"
    WAITING = "waiting"  # behind an earlier run of its key
    RUNNABLE = "runnable"
    DEFERRED = "deferred"  # runnable once its model is back
    IN_FLIGHT = "in_flight"
    PAUSED = "paused"
    SCHEDULED = "scheduled"


class Priority(IntEnum):
    """Which users are answered first when more requests wait than can run at once; as in the column `priority`."""

    HIGH = 1
    NORMAL = 0
    LOW = -1

    @property
    def word(self) -> PriorityWord:
        """Its name to clients."""
        return cast(PriorityWord, self.name.lower())

    @classmethod
    def of(cls, word: PriorityWord) -> Priority:
        """Return the priority of this name."""
        return cls[word.upper()]


NEXT: dict[Status, Status] = {
    Status.NEW: Status.ANALYZING,
    Status.ANALYZING: Status.ANALYZED,
    Status.ANALYZED: Status.ASSEMBLING,
    Status.ASSEMBLING: Status.READY,
    Status.READY: Status.RESPONDING,
    Status.RESPONDING: Status.COMPLETED,
}
TERMINAL = frozenset({Status.COMPLETED, Status.FAILED})

STAGE_OF: dict[Status, str] = {
    Status.NEW: "analyzer",
    Status.ANALYZING: "analyzer",
    Status.ANALYZED: "draft_builder",
    Status.ASSEMBLING: "assembler",
    Status.READY: "final_responder",
    Status.RESPONDING: "final_responder",
    Status.COMPLETED: "archivist",
}
STAGES = tuple(dict.fromkeys(STAGE_OF.values()))

ROLE_OF: dict[str, str] = {  # the stages that call a model, and the role of each
    "analyzer": "Analyzer",
    "assembler": "Assembler",
    "final_responder": "FinalResponder",
    "archivist": "Archivist",
}


def is_legal(before: Status, after: Status) -> bool:
    """Whether a run may change from one status to the other. Only a retry changes FAILED to NEW."""
    if after is Status.FAILED:
        return before not in TERMINAL
    return NEXT.get(before) is after or (before is Status.FAILED and after is Status.NEW)


def statuses_of(stages: frozenset[str]) -> list[Status]:
    """The statuses whose next stage is among `stages`."""
    return [status for status, stage in STAGE_OF.items() if stage in stages]
