"""Calls by SQL, for programs beside the database: which there are, and what is said of errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maas.clients.calls import Call, NewRun, Reply
from maas.clients.errors import Forbidden, InvalidRequest, MaaSError, NotFound, Unavailable

LOOK = 1.0  # seconds after which a run is looked at although no notification came
ENDS = ("COMPLETED", "FAILED")
_LOST = (
    "08",
    "25006",
    "40",
    "53",
    "57",
)  # beginnings of SQLSTATEs: connections, failover, deadlocks, resources, operators
_BAD = ("22", "23")


def arguments_of(run: NewRun) -> tuple[Any, ...]:
    """Those of client_insert."""
    metadata = None if run.metadata is None else json.dumps(dict(run.metadata), ensure_ascii=False)
    return (
        run.id, run.user_id, run.query, run.assistant, run.conversation_id, run.mode, metadata,
        [str(one) for one in run.attachment_ids],
    )  # fmt: skip


def reply_of(row: Mapping[str, Any] | None, run_id: str) -> Reply:
    """A row in the form of the HTTP reply. Raises NotFound."""
    if row is None:
        raise NotFound("not_found", f"there is no run {run_id}")
    return Reply(json.dumps(dict(row), default=str).encode())


def refuse(call: Call) -> MaaSError:
    """The error of what only a server can do."""
    return InvalidRequest(
        "needs_url",
        f"{call.method} {call.path} needs a server: MaaS(url=...); by dsn there are ask, submit and wait, "
        "for users who are named by their UUID",
    )


def error_of_state(state: str | None, message: str, column: str | None) -> MaaSError:
    """The error of an SQLSTATE; none means that the connection is lost."""
    if state is None or state.startswith(_LOST):
        return Unavailable("database_unreachable", f"Postgres does not answer ({message}); check the dsn")
    if state == "23503" and column in ("conversation_id", "attachment_ids"):
        return NotFound("not_found", message)
    if state == "23503":
        return InvalidRequest("unknown_assistant", "assistant: there is no active assistant of this name")
    if state.startswith(_BAD):
        return InvalidRequest("invalid_request", message)
    if state == "42501":
        return Forbidden("forbidden", message)
    return MaaSError("sql_error", f"{state}: {message}")
