"""A question and what came of it as a task of A2A: the messages that go on with it, and its approved actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from maas import queries
from maas.engine.states import TERMINAL, RunKind, Status
from shared.db import Database

SOURCE = "a2a"
ENDED = ("COMPLETED", "FAILED", "CANCELED")
MAX_RUNS = 1000  # of a user, among the newest of which tasks are listed
HOW_TO_DECIDE = (
    "waits for a decision: answer with a data part, {'approved': true} or {'approved': false}, "
    "which may have other 'arguments'; or say yes or no"
)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it is now. `runs` are in order; `waiting` are the actions that somebody has to decide."""

    id: UUID
    context_id: UUID
    state: str
    changed_at: datetime
    runs: Sequence[Mapping[str, Any]]
    waiting: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, row: queries.A2aTasksRow) -> Self:
        """Return the task of a row of `a2a_tasks`."""
        assert row["conversation_id"] is not None
        runs, waiting = row["runs"] or (), row["waiting"] or ()
        return cls(row["id"], row["conversation_id"], row["state"], row["changed_at"], runs, waiting)

    @property
    def is_over(self) -> bool:
        """Whether nothing more can happen to it."""
        return self.state in ENDED

    @property
    def open_runs(self) -> list[UUID]:
        """The runs that are at work, in order."""
        return [UUID(run["id"]) for run in self.runs if Status(run["status"]) not in TERMINAL]

    def status(self) -> dict[str, Any]:
        """Return its TaskStatus; the message says what it waits for, or why it failed."""
        status: dict[str, Any] = {"state": f"TASK_STATE_{self.state}", "timestamp": to_timestamp(self.changed_at)}
        if parts := self._explain():
            status["message"] = self.message(f"{self.id}-{self.state.lower()}", "ROLE_AGENT", parts)
        return status

    def message(self, message_id: str, role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """Return a Message of this task."""
        ids = {"messageId": message_id, "taskId": str(self.id), "contextId": str(self.context_id)}
        return {**ids, "role": role, "parts": parts}

    def artifacts(self) -> list[dict[str, Any]]:
        """Return the answers and the outcomes of actions."""
        return [
            artifact(run["id"], run["kind"], run["answer"])
            for run in self.runs
            if run["status"] == Status.COMPLETED and run["answer"]
        ]

    def to_json(self, history_length: int | None = None, with_artifacts: bool = True) -> dict[str, Any]:
        """Return the Task, with the newest messages of its user."""
        history = [
            self.message(run["message_id"] or run["id"], "ROLE_USER", [{"text": run["query"]}])
            for run in self.runs
            if run["kind"] == RunKind.ASK
        ]
        if history_length is not None:
            history = history[len(history) - history_length :] if history_length < len(history) else history
        task: dict[str, Any] = {"id": str(self.id), "contextId": str(self.context_id), "status": self.status()}
        if with_artifacts:
            task["artifacts"] = self.artifacts()
        if history:
            task["history"] = history
        return task

    def _explain(self) -> list[dict[str, Any]]:
        if self.state == "INPUT_REQUIRED":
            names = ", ".join(one["tool"] for one in self.waiting)
            actions = [
                {
                    "action": one["id"],
                    **{name: one[name] for name in ("tool", "arguments", "fingerprint", "title", "reason")},
                    **{name: one[name] for name in ("object", "changes") if one[name]},
                    "expiresAt": one["expires_at"],
                }
                for one in self.waiting
            ]
            return [{"text": f"{names} {HOW_TO_DECIDE}"}, {"data": {"actions": actions}}]
        if self.state == "FAILED":
            failed = next(run for run in reversed(self.runs) if run["status"] == Status.FAILED)
            return [{"text": f"{failed['error_code']}: {failed['error_message'] or 'the run failed'}"}]
        return []


async def find_task(db: Database, user_id: UUID, assistant: str | None, task_id: UUID) -> Task | None:
    """Return a task of this user and assistant, None: any; None if there is none."""
    row = await db.row(queries.a2a_tasks, user_id, assistant, task_id, None, None, None, None, None, 1, MAX_RUNS)
    return None if row is None else Task.of(row)


def artifact(run_id: str, kind: str, text: str) -> dict[str, Any]:
    """Return the Artifact that the answer of a run is."""
    name = "outcome" if kind == RunKind.ACTION else "answer"
    return {"artifactId": run_id, "name": name, "parts": [{"text": text, "mediaType": "text/plain"}]}


def to_timestamp(at: datetime) -> str:
    """Return a time in UTC with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
