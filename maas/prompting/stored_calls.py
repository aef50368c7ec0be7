"""Model calls that an earlier owner of a run has stored: what it paid for is taken, not asked for again."""

from __future__ import annotations

from typing import Protocol, TypeGuard, cast
from uuid import UUID

from maas import queries
from maas.engine.run import Run, StageLog
from maas.engine.stages import Deps
from shared.models import ErrorCode, ModelError, Reply, ToolCall, Usage


class ModelCaller(Protocol):
    """An object whose model calls are recorded: a run, or a group of records that is merged."""

    @property
    def id(self) -> UUID: ...

    @property
    def user_id(self) -> UUID: ...

    @property
    def attempt(self) -> int: ...

    @property
    def log(self) -> StageLog: ...


async def read_earlier_calls(run: ModelCaller, deps: Deps, stage: str) -> None:
    """Read, once a stage, the calls that earlier owners of this run have stored."""
    if not is_live(run) or run.attempt == 1 or run.log.earlier is not None:
        return
    rows = await deps.db.rows(queries.kept_calls, run.id, stage)
    if run.log.earlier is None:  # a call side by side may have read them meanwhile
        run.log.earlier = list(rows)
        run.log.next_round = max(row["round"] + 1 for row in rows) if rows else 0


def count_failed_attempts(run: ModelCaller, request_hash: str, tries: int) -> int:
    """How often earlier owners have made this request. Raises its ModelError where no attempt is left."""
    if not is_live(run):
        return 0
    failed = [row for row in run.log.earlier or () if row["request_hash"] == request_hash and row["error"]]
    attempts: int = sum(row["attempts"] for row in failed)
    if failed and (attempts >= tries or failed[-1]["error"].startswith("too_slow: ")):
        code, _, cause = failed[-1]["error"].partition(": ")
        raise ModelError(cast(ErrorCode, code), cause)
    return attempts


def take_stored_reply(run: ModelCaller, request_hash: str) -> Reply | None:
    """The reply that an earlier owner has stored for the same request; each is returned once."""
    earlier = run.log.earlier
    if not is_live(run) or earlier is None:
        return None
    for index, row in enumerate(earlier):
        if row["request_hash"] == request_hash and not row["error"]:
            del earlier[index]
            calls = tuple(ToolCall(**call) for call in row["calls"] or ())
            usage = Usage(row["tokens_in"], row["tokens_out"], row["tokens_cached"])
            return Reply(row["reply"], row["finish"], calls, usage, row["parts"] or {})
    return None


def is_replayed(run: ModelCaller) -> bool:
    return isinstance(run, Run) and run.as_of is not None


def is_live(run: ModelCaller) -> TypeGuard[Run]:
    """Whether its calls are stored; those of a replay and of a group of summaries are not."""
    return isinstance(run, Run) and run.as_of is None
