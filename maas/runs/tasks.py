"""Tasks: long work of an assistant in steps, inserted as a run of its own that nobody waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg

from maas import queries
from maas.conversations import queue_full
from maas.runs.submit import not_found
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable

QUEUE_LIMIT = 20  # unfinished tasks of a user


@dataclass(frozen=True, slots=True)
class TaskStep:
    """One step: a call of `tool` with `arguments`, or a `prompt` for the assistant's model.

    It begins when the steps `depends_on`, counted from 1, are done. A prompt gets their results. With both, the model
    calls the tool with arguments from these results, and no approval of the task is one of such a call.
    """

    title: str
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None
    depends_on: Sequence[int] = ()

    def to_json(self) -> dict[str, Any]:
        """The step as maas_insert_task takes it."""
        fields: dict[str, Any] = {"title": self.title, "depends_on": list(self.depends_on)}
        if self.tool is not None:
            fields["tool"] = self.tool
        if self.prompt is not None:
            fields["prompt"] = self.prompt
        if self.arguments or self.prompt is None:
            fields["arguments"] = dict(self.arguments)
        return fields


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """Limits of one task: calls of tools and models, millionths of a dollar (None: no limit), seconds.

    Steps that have not begun when one is reached are skipped.
    """

    calls: int = 100
    price: int | None = None
    seconds: int = 3600

    def to_json(self) -> dict[str, Any]:
        """Return the limits as maas_insert_task takes them."""
        return {"calls": self.calls, "price": self.price, "seconds": self.seconds}


async def insert_task(
    db: Database,
    user_id: UUID,
    title: str,
    steps: Sequence[TaskStep],
    *,
    parent_run_id: UUID | None = None,
    assistant: str | None = None,
    conversation_id: UUID | None = None,
    is_approved: bool = False,
    limits: TaskLimits | None = None,
) -> UUID:
    """Insert a task with its steps, all or nothing; return its run.

    With `parent_run_id`, the run that starts it, it has the assistant and the conversation of that run, and inserting
    the same steps again returns the same task. `is_approved`: the user has seen and approved these steps, so none of
    their calls waits for approval. Raises MaasError: `invalid_request`, `not_found` if the parent is no run of this
    user, `unknown_assistant`, `queue_full`.
    """
    fields = [step.to_json() for step in steps]
    if not is_storable({"title": title, "steps": fields}):
        raise MaasError("invalid_request", "steps: hold NUL, half a surrogate pair or more than 100 levels")
    try:
        row = await db.row(
            queries.insert_task,
            user_id,
            title,
            fields,
            parent_run_id,
            assistant,
            conversation_id,
            is_approved,
            (limits or TaskLimits()).to_json(),
        )
    except (asyncpg.InvalidParameterValueError, asyncpg.CheckViolationError) as error:
        raise MaasError("invalid_request", str(error)) from error
    except asyncpg.ForeignKeyViolationError as error:
        code = "unknown_assistant" if "assistant:" in str(error) else "not_found"
        raise MaasError(code, str(error)) from error
    assert row is not None
    if row["verdict"] == "not_found":
        assert parent_run_id is not None
        raise not_found(parent_run_id)
    if row["verdict"] == "queue_full":
        raise queue_full(QUEUE_LIMIT, ": wait for one of the tasks")
    task: UUID = row["run_id"]
    return task
