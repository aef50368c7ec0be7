"""The state machine of a run. The same table stands in sql/migrations; a test holds them equal."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where a run is; the public contract, eight words that never change."""

    NEW = "NEW"  # -> ANALYZING, FAILED
    ANALYZING = "ANALYZING"  # -> ANALYZED, FAILED
    ANALYZED = "ANALYZED"  # -> ASSEMBLING, FAILED
    ASSEMBLING = "ASSEMBLING"  # -> READY, FAILED
    READY = "READY"  # -> RESPONDING, FAILED
    RESPONDING = "RESPONDING"  # -> COMPLETED, FAILED
    COMPLETED = "COMPLETED"  # the answer is visible; archiving goes on in `archive_status`
    FAILED = "FAILED"  # -> NEW, by a retry only


class ArchiveStatus(StrEnum):
    """Whether the exchange is in memory; the user's next run waits for one of the last three."""

    PENDING = "PENDING"
    ARCHIVING = "ARCHIVING"
    ARCHIVED = "ARCHIVED"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


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

ROLE_OF: dict[str, str] = {  # the stages that ask a model, and as whom
    "analyzer": "Analyzer",
    "assembler": "Assembler",
    "final_responder": "FinalResponder",
    "archivist": "Archivist",
}


def is_legal(before: Status, after: Status) -> bool:
    """Whether a run may go from one status to the other; FAILED -> NEW belongs to a retry."""
    if after is Status.FAILED:
        return before not in TERMINAL
    return NEXT.get(before) is after or (before is Status.FAILED and after is Status.NEW)


def statuses_of(stages: frozenset[str]) -> list[Status]:
    """The statuses whose next stage is among `stages`."""
    return [status for status, stage in STAGE_OF.items() if stage in stages]
