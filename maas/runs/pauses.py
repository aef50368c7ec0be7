"""Pauses: assistants, API keys, models and users that operators stop for a while, without losing a request."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from maas import queries
from shared.db import Database
from shared.errors import MaasError

Subject = Literal["assistant", "key", "model", "user"]
MAX_NAME_CHARS, MAX_REASON_CHARS = 200, 500
BUILTIN = "extractive"  # the provider of the model that stands in for others


async def pause(db: Database, subject: Subject, name: str, reason: str | None, actor: str) -> int:
    """Pause it; how many runs left the queue for it. Raises MaasError: `bad_parameter`, `not_found`."""
    _check(subject, name)
    row = await db.row(queries.pause, subject, name, reason, actor)
    assert row is not None
    if row["verdict"] == "not_found":
        raise MaasError("not_found", f"there is no {subject} {name!r} to pause")
    return row["runs"] or 0


async def resume(db: Database, subject: Subject, name: str, actor: str) -> int:
    """End a pause; how many runs are back in the queue. Raises MaasError: `bad_parameter`, `not_found`."""
    _check(subject, name)
    row = await db.row(queries.resume, subject, name, actor)
    assert row is not None
    if row["verdict"] == "not_found":
        raise MaasError("not_found", f"the {subject} {name!r} is not paused")
    return row["runs"] or 0


def _check(subject: Subject, name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME_CHARS:
        raise MaasError("bad_parameter", f"name: must have 1 to {MAX_NAME_CHARS} characters")
    if subject == "model" and not all(name.partition(":")):
        raise MaasError("not_found", f"name: a model is named as provider:name, not {name!r}")
    if subject == "model" and name.startswith(f"{BUILTIN}:"):
        raise MaasError("not_found", "name: the built-in model stands in for others and cannot be paused")
    if subject == "user":
        try:
            UUID(name)
        except ValueError as error:
            raise MaasError("not_found", f"name: a user is named by a UUID, not {name!r}") from error
