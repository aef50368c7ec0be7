"""Runs from the client's side: submit a request; read, cancel and retry runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import asyncpg

from maas import queries
from maas.conversations import Mode, queue_full, unknown_assistant
from maas.engine.limits import Limits
from maas.engine.states import Priority
from maas.runs.client_context import NO_CONTEXT, ClientContext
from shared.db import LOST_IN_A_COMMIT, Database
from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore
from shared.group_commit import GroupCommit
from shared.ids import new_id
from shared.json import is_storable
from shared.waiting import wait_at_most

TRACEPARENT = "traceparent"
LARGE_REQUEST_CHARS = 8192  # a longer request is inserted alone, since Postgres takes longer to parse its text
MAX_LARGE_INSERTS = 2  # at one moment; users who wait take turns
MAX_WAITING_INSERTS = 100  # of one user
LARGE_INSERT_TIMEOUT_S = 20.0  # for which one waits for its turn
INSERT_TIMEOUT_S = 10.0  # of a statement with its commit: a server of Postgres that hangs holds nobody for longer
REPLACE_WINDOW_S = 3600.0  # within which a request that is sent again is a wish for another answer to it
ENDED_WINDOW_S = 10.0  # the official OpenAI clients wait at most 8 s before they send a request again
PRIMARY_KEY = "pipeline_runs_pkey"
UNCONFIRMED = "run-"  # begins the key of a request that was sent without one
Attribute = str | int | float | bool
OPENAI_SOURCE = "openai"  # the source of requests to the OpenAI-compatible API


@dataclass(frozen=True, slots=True)
class Submission:
    """A request as a client sends it. `idempotency_key` is unique per `caller`; `mode` None: that of its conversation.

    `traceparent` (W3C) is the client's span; it is stored in the metadata, where an INSERT may put it, too. A request
    with `is_remembered` false is answered and logged, but never recalled. `replaces`: the run of the same user whose
    question it asks again; that exchange leaves memory once this one is in it. It does not start before `run_at`;
    `attributes` are what lists of runs can be filtered by. With `debounce` it waits that many seconds for another one
    of its conversation, whose text is joined to its own.
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
    context: ClientContext = NO_CONTEXT
    is_remembered: bool = True
    replaces: UUID | None = None
    priority: Priority = Priority.NORMAL
    run_at: datetime | None = None
    attributes: dict[str, Attribute] | None = None
    debounce: float | None = None

    @property
    def stored_metadata(self) -> dict[str, Any] | None:
        """The metadata as they are stored in the row."""
        return self.metadata if self.traceparent is None else {**(self.metadata or {}), TRACEPARENT: self.traceparent}


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run of an identical request; `answered_s`: how many seconds ago it was answered, None if it still runs."""

    id: UUID
    answered_s: float | None

    def is_same_request(self, is_retry: bool, was_sent: bool) -> bool:
        """Whether a client that repeats its request wants the answer of this run, and not another one.

        `is_retry`: its SDK says so; `was_sent`: the answer has reached it.
        """
        if self.answered_s is None:
            return True
        return self.answered_s < ENDED_WINDOW_S and (is_retry or not was_sent)


class Submitter:
    """Inserts runs; requests of one moment go in one statement, large ones in statements of their own.

    A user with as many unfinished runs as `limits` allow is refused. Processes that insert at the same moment may
    exceed the limit a little.
    """

    def __init__(self, db: Database, limits: Limits | None = None) -> None:
        self._db = db
        self._limits = limits
        self._inserts: GroupCommit[tuple[UUID, Submission], bool | MaasError] = GroupCommit(self._insert)
        # They wait for each other, and nobody for them.
        self._debounced: GroupCommit[tuple[UUID, Submission], bool | MaasError] = GroupCommit(self._insert)
        self.large = FairSemaphore(
            "long requests", MAX_LARGE_INSERTS, MAX_LARGE_INSERTS, LARGE_INSERT_TIMEOUT_S, MAX_WAITING_INSERTS
        )
        self._turns: WeakValueDictionary[tuple[UUID, str], asyncio.Lock] = WeakValueDictionary()

    @property
    def queue_limit(self) -> int | None:
        """How many unfinished runs a user may have at present; None: any number."""
        return None if self._limits is None else self._limits["user_queue_limit"]

    def turn(self, submission: Submission) -> asyncio.Lock:
        """The lock under which a question of a user is looked for and then inserted: one of a moment is the first."""
        return self._turns.setdefault((submission.user_id, submission.query), asyncio.Lock())

    async def submit(self, submission: Submission) -> UUID:
        """Insert the row and return its id; with a repeated idempotency key, the id of the earlier row.

        A request that is joined to another one has the id of that.

        Raises MaasError: `unknown_assistant`, `not_found` for a conversation or an attachment of another user,
        `queue_full`, `share_used` and `busy` with `retry_after` in seconds, `idempotency_conflict` for the same key
        with another body, or `unconfirmed`, with a key to repeat the request with, if it had none and may be stored.
        """
        run_id = _id_in(submission.idempotency_key) or new_id()
        try:
            inserted = await self._insert_one(run_id, submission)
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != PRIMARY_KEY:
                raise
            inserted = False
        except LOST_IN_A_COMMIT as error:
            if submission.idempotency_key is not None:
                raise
            raise _unconfirmed(run_id) from error
        except asyncpg.ForeignKeyViolationError as error:
            if error.column_name in ("conversation_id", "attachment_ids"):
                raise MaasError("not_found", error.message) from error
            raise await unknown_assistant(self._db, submission.assistant) from error
        if isinstance(inserted, MaasError):
            raise inserted
        if inserted and submission.debounce is None:
            return run_id
        return await self._find_same(run_id, submission)

    async def _find_same(self, run_id: UUID, submission: Submission) -> UUID:
        """The id of the row that this request was inserted as before, or that it is joined to. Raises MaasError."""
        if (joined := await self._find_joined(run_id, submission)) is not None:
            if not joined["is_same"]:
                raise _key_of_another()
            return UUID(str(joined["run_id"]))
        row = await self._db.row(queries.run_of_key, submission.caller, submission.idempotency_key, run_id)
        if row is None:
            raise MaasError("conflict", "the request was erased while it was being repeated; send it again")
        is_same = (
            row["user_id"] == submission.user_id
            and row["user_query"] == submission.query
            and row["assistant"] == submission.assistant
            and row["conversation_id"] == submission.conversation_id
            and _without_span(row["metadata"]) == _without_span(submission.metadata)
            and row["mode"] == submission.mode
            and tuple(row["attachment_ids"]) == submission.attachment_ids
            and row["client_context"] == submission.context.to_json()
            and (submission.is_remembered or not row["is_remembered"])
            and row["priority"] == submission.priority
            and row["run_at"] == submission.run_at
            and row["attributes"] == submission.attributes
        )
        if not is_same:
            raise _key_of_another()
        return UUID(str(row["id"]))

    async def _find_joined(self, run_id: UUID, submission: Submission) -> queries.JoinedRunRow | None:
        """The run that answers this request, if it waited for others."""
        return await self._db.row(
            queries.joined_run,
            run_id,
            submission.caller,
            submission.idempotency_key,
            submission.query,
            submission.assistant,
            submission.conversation_id,
            submission.metadata,
            list(submission.attachment_ids),
            submission.mode,
            submission.context.to_json(),
            submission.priority,
            submission.attributes,
        )

    async def find_repeated(self, submission: Submission) -> EarlierRun | None:
        """The newest run of an identical request, of this caller and user, that has not failed."""
        row = await self._db.row(
            queries.repeated_run,
            submission.user_id,
            submission.caller,
            submission.source,
            submission.query,
            submission.assistant,
            submission.conversation_id,
            submission.metadata,
            list(submission.attachment_ids),
            submission.context.to_json(),
            submission.is_remembered,
            REPLACE_WINDOW_S,
        )
        return None if row is None else EarlierRun(row["id"], row["seconds_ago"] if row["is_answered"] else None)

    async def _insert_one(self, run_id: UUID, submission: Submission) -> bool | MaasError:
        if len(submission.query) < LARGE_REQUEST_CHARS:
            inserts = self._inserts if submission.debounce is None else self._debounced
            return await inserts.submit((run_id, submission))
        async with self.large.hold(submission.user_id):
            return (await self._insert([(run_id, submission)]))[0]

    async def _insert(self, items: list[tuple[UUID, Submission]]) -> list[bool | MaasError]:
        submissions = [submission for _, submission in items]
        inserting = self._db.rows(
            queries.insert_runs,
            [run_id for run_id, _ in items],
            [s.user_id for s in submissions],
            [s.query for s in submissions],
            [s.assistant for s in submissions],
            [s.conversation_id for s in submissions],
            [s.stored_metadata for s in submissions],
            [s.source for s in submissions],
            [s.caller for s in submissions],
            [s.idempotency_key for s in submissions],
            self.queue_limit,
            [f"{{{','.join(map(str, s.attachment_ids))}}}" for s in submissions],
            [s.mode for s in submissions],
            [s.context.to_json() for s in submissions],
            [s.is_remembered for s in submissions],
            [s.replaces for s in submissions],
            [s.priority for s in submissions],
            [s.run_at for s in submissions],
            [s.attributes for s in submissions],
            [s.debounce for s in submissions],
        )
        rows = await wait_at_most(INSERT_TIMEOUT_S, inserting)
        verdicts = {row["id"]: row["unfinished"] is None or self._refusal(row) for row in rows}
        return [verdicts.get(run_id, False) for run_id, _ in items]

    def _refusal(self, row: queries.InsertRunsRow) -> MaasError:
        seconds = row["retry_after"]
        advice = f", and at most {self.queue_limit} are allowed; wait for one to finish and retry in about {seconds} s"
        return queue_full(self.queue_limit, advice, unfinished=row["unfinished"], retry_after=seconds)


async def read_run_state(db: Database, run_id: UUID) -> queries.RunStatesRow:
    """What a client sees of a run. Raises MaasError('not_found')."""
    rows = await db.rows(queries.run_states, [run_id])
    if not rows:
        raise not_found(run_id)
    return rows[0]


async def read_run_row(db: Database, run_id: UUID) -> queries.RunRow:
    """The whole row. Raises MaasError('not_found')."""
    row = await db.row(queries.run, run_id)
    if row is None:
        raise not_found(run_id)
    return row


async def read_run(db: Database, run_id: UUID) -> dict[str, Any]:
    """The whole row, and what belongs to the run. Raises MaasError('not_found')."""
    row = await read_run_row(db, run_id)
    return {**await read_run_state(db, run_id), **row}


async def cancel_run(db: Database, run_id: UUID, actor: str) -> None:
    """Request the end of a run. Raises MaasError: `not_found`, `already_finished`."""
    verdict = await db.value(queries.cancel_run, run_id, actor)
    if verdict == "not_found":
        raise not_found(run_id)
    if verdict == "finished":
        raise MaasError("already_finished", f"run {run_id} is finished; there is nothing to cancel")


async def retry_run(db: Database, run_id: UUID, actor: str) -> None:
    """Start a FAILED run or a failed archive again. Raises MaasError: `not_found`, `not_failed`."""
    verdict = await db.value(queries.retry_run, run_id, actor)
    if verdict == "not_found":
        raise not_found(run_id)
    if verdict == "not_failed":
        raise MaasError("not_failed", f"run {run_id} is not FAILED; only a failed run can be tried again")


def _id_in(key: str | None) -> UUID | None:
    """The id of a run in the key of an error `unconfirmed`."""
    prefix, _, text = (key or "").partition(UNCONFIRMED)
    try:
        return UUID(text) if not prefix else None
    except ValueError:
        return None


def _key_of_another() -> MaasError:
    return MaasError("idempotency_conflict", "this Idempotency-Key was used with another body; take a new key")


def _unconfirmed(run_id: UUID) -> MaasError:
    key = f"{UNCONFIRMED}{run_id}"
    return MaasError(
        "unconfirmed",
        "Postgres did not confirm the request, which may be stored: send it again with the header "
        f"Idempotency-Key: {key} and it is answered once",
        {"idempotency_key": key, "retry_after": 1},
    )


def _without_span(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metadata without the span, which differs when a request is sent again."""
    return {name: value for name, value in (metadata or {}).items() if name != TRACEPARENT}


def not_found(run_id: UUID) -> MaasError:
    """Return the error for a run that is not there, or not of this user."""
    return MaasError("not_found", f"there is no run {run_id}")


@dataclass(frozen=True, slots=True)
class AnsweringAssistant:
    """An assistant that answers the OpenAI-compatible API: when it was changed last, and whether it looks at photos."""

    updated_at: datetime
    takes_photos: bool


async def list_assistants(db: Database, name: str | None = None) -> dict[str, AnsweringAssistant]:
    """The assistants that answer the OpenAI-compatible API, by name. With `name` only that one."""
    if not is_storable(name):
        return {}
    rows = await db.rows(queries.answering_assistants, OPENAI_SOURCE, name)
    return {row["name"]: AnsweringAssistant(row["updated_at"], row["takes_photos"]) for row in rows}


async def list_inactive_assistants(db: Database) -> dict[str, str]:
    """Names of the built-in assistants that cannot be used because something is not configured, with the reasons."""
    rows = await db.rows(queries.inactive_assistants, None)
    return {row["name"]: row["inactive_reason"] or "" for row in rows}
