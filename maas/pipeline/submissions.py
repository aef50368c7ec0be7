"""The client's side of a run: inserted, read, listed, cancelled, retried."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from maas.pipeline.client_context import NOTHING, ClientContext
from maas.pipeline.conversations import Mode
from maas.pipeline.states import Status
from shared.db import Database
from shared.errors import MaasError
from shared.group_commit import GroupCommit

TRACE = "traceparent"
LARGE_CHARS = 8192  # of a request that goes by itself, since reading its words takes Postgres longer
LARGE_AT_ONCE = 2
REPEATED_WITHIN_S = 900.0  # a client that waits longer for one answer has given up
ENDED_WITHIN_S = 10.0  # the official clients wait at most 8 s before they ask again


@dataclass(frozen=True, slots=True)
class Submission:
    """A request as a client sends it. `idempotency_key` is unique per `caller`; no `mode`: that of its conversation.

    `traceparent` (W3C) is the client's span; it goes along in the metadata, where an INSERT may put it, too.
    What is not to be remembered is answered and logged, and nothing recalls it.
    """

    user_id: UUID
    query: str
    assistant: str = "mentor"
    conversation_id: UUID | None = None
    metadata: dict[str, Any] | None = None
    source: str = "http"
    caller: str = ""
    idempotency_key: str | None = None
    attachment_ids: tuple[UUID, ...] = ()
    mode: Mode | None = None
    traceparent: str | None = None
    context: ClientContext = NOTHING
    is_remembered: bool = True

    @property
    def stored_metadata(self) -> dict[str, Any] | None:
        """The metadata of its row."""
        return self.metadata if self.traceparent is None else {**(self.metadata or {}), TRACE: self.traceparent}


class Submissions:
    """Inserts runs; those that arrive at one moment go in one statement, large ones alone and beside the others.

    A user who has `queue_limit` unfinished runs is refused; processes that insert at one moment may exceed it a little.
    """

    def __init__(self, db: Database, queue_limit: int | None = None) -> None:
        self._db = db
        self.queue_limit = queue_limit
        self._inserts: GroupCommit[tuple[UUID, Submission], bool | MaasError] = GroupCommit(self._insert)
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def submit(self, submission: Submission) -> UUID:
        """Insert the row and return its id; a repeated idempotency key returns the earlier row's.

        Raises MaasError: `unknown_assistant`, `not_found` for a conversation or an attachment of somebody else,
        `queue_full` with `retry_after` in seconds, or `idempotency_conflict` for the same key with another body.
        """
        run_id = uuid4()
        try:
            inserted = await self._insert_one(run_id, submission)
        except asyncpg.ForeignKeyViolationError as error:
            if error.column_name in ("conversation_id", "attachment_ids"):
                raise MaasError("not_found", error.message) from error
            message = f"assistant: there is no active assistant {submission.assistant!r}"
            raise MaasError("unknown_assistant", message) from error
        if isinstance(inserted, MaasError):
            raise inserted
        if inserted:
            return run_id
        row = await self._db.row("run_of_key", submission.caller, submission.idempotency_key)
        if row is None:
            raise MaasError("conflict", "the request was erased while it was being repeated; send it again")
        same = (
            row["user_id"] == submission.user_id and row["user_query"] == submission.query
            and row["assistant"] == submission.assistant and row["conversation_id"] == submission.conversation_id
            and _untraced(row["metadata"]) == _untraced(submission.metadata) and row["mode"] == submission.mode
            and tuple(row["attachment_ids"]) == submission.attachment_ids
            and row["client_context"] == submission.context.to_json()
            and (submission.is_remembered or not row["is_remembered"])
        )  # fmt: skip
        if not same:
            raise MaasError("idempotency_conflict", "this Idempotency-Key was used with another body; take a new key")
        return UUID(str(row["id"]))

    async def find_repeated(self, submission: Submission) -> UUID | None:
        """The run of the very same request, of this caller and user, that is in flight or has just been answered."""
        found: UUID | None = await self._db.value(
            "repeated_run", submission.user_id, submission.caller, submission.source, submission.query,
            submission.assistant, submission.conversation_id, submission.metadata, list(submission.attachment_ids),
            submission.context.to_json(), submission.is_remembered, REPEATED_WITHIN_S, ENDED_WITHIN_S,
        )  # fmt: skip
        return found

    async def _insert_one(self, run_id: UUID, submission: Submission) -> bool | MaasError:
        if len(submission.query) < LARGE_CHARS:
            return await self._inserts.submit((run_id, submission))
        async with self._large:
            return (await self._insert([(run_id, submission)]))[0]

    async def _insert(self, items: list[tuple[UUID, Submission]]) -> list[bool | MaasError]:
        submissions = [submission for _, submission in items]
        rows = await self._db.rows(
            "insert_runs", [run_id for run_id, _ in items], [s.user_id for s in submissions],
            [s.query for s in submissions], [s.assistant for s in submissions],
            [s.conversation_id for s in submissions],
            [s.stored_metadata for s in submissions], [s.source for s in submissions], [s.caller for s in submissions],
            [s.idempotency_key for s in submissions], self.queue_limit,
            [f"{{{','.join(map(str, s.attachment_ids))}}}" for s in submissions], [s.mode for s in submissions],
            [s.context.to_json() for s in submissions], [s.is_remembered for s in submissions],
        )  # fmt: skip
        verdicts = {row["id"]: row["unfinished"] is None or self._queue_full(row) for row in rows}
        return [verdicts.get(run_id, False) for run_id, _ in items]

    def _queue_full(self, row: Mapping[str, int]) -> MaasError:
        unfinished, seconds = row["unfinished"], row["retry_after"]
        return MaasError(
            "queue_full",
            f"{unfinished} requests of this user are not finished yet and {self.queue_limit} may be; "
            f"wait for one of them and send this again, in {seconds} s perhaps",
            {"unfinished": unfinished, "limit": self.queue_limit, "retry_after": seconds},
        )


async def read_run(db: Database, run_id: UUID) -> dict[str, Any]:
    """The whole row. Raises MaasError('not_found')."""
    row = await db.row("run", run_id)
    if row is None:
        raise not_found(run_id)
    return dict(row)


async def list_runs(
    db: Database,
    *,
    user_id: UUID | None = None,
    status: Status | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """Runs, newest first; `before` is created_at and id of the last one of the page before."""
    at, last = before or (None, None)
    return [dict(row) for row in await db.rows("list_runs", user_id, str(status) if status else None, at, last, limit)]


async def cancel_run(db: Database, run_id: UUID, actor: str) -> None:
    """Ask for its end. Raises MaasError: `not_found`, `already_finished`."""
    verdict = await db.value("cancel_run", run_id, actor)
    if verdict == "not_found":
        raise not_found(run_id)
    if verdict == "finished":
        raise MaasError("already_finished", f"run {run_id} is finished; there is nothing to cancel")


async def retry_run(db: Database, run_id: UUID, actor: str) -> None:
    """A new try of a FAILED run, or of a failed archive. Raises MaasError: `not_found`, `not_failed`."""
    verdict = await db.value("retry_run", run_id, actor)
    if verdict == "not_found":
        raise not_found(run_id)
    if verdict == "not_failed":
        raise MaasError("not_failed", f"run {run_id} is not FAILED; only a failed run can be tried again")


def _untraced(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Without the span, which is another when the same is sent again."""
    return {name: value for name, value in (metadata or {}).items() if name != TRACE}


def not_found(run_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no run {run_id}")
