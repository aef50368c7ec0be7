"""Answers to interrupts: each decides the action that it is about, and an approved action is a run of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from maas import queries
from maas.conversations.actions import (
    ActionStatus,
    Decision,
    decide_action,
    list_actions,
    not_found,
    read_action,
)
from maas.engine.events import EventType
from maas.http.action_edits import edit
from maas.http.ag_ui.schemas import ResumeEntry
from maas.http.state import AppState
from maas.runs.event_stream import Cursor, EventStream
from shared.errors import MaasError


@dataclass(frozen=True, slots=True)
class Shown:
    """A run of MaaS that a run of the protocol shows: a question, or an approved action.

    `tool_call_id`: the call that the client has seen proposed, which is the only one that the action makes.
    """

    run_id: UUID
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """An action that was rejected; `tool_call_id` is None if the client was not shown a call."""

    tool_call_id: str | None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An action whose edited arguments were looked up: it waits, and is shown as it is now. See `Rejected`."""

    action_id: UUID
    tool_call_id: str | None


class CallNames:
    """The names of the calls of a run for clients, by the order of their events; ids of models may recur.

    Agents that work side by side may have calls of one id, so a call is known by its tool, too.
    """

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id
        self._count = 0
        self._open: dict[tuple[str, str], str] = {}

    def begin(self, data: Mapping[str, Any]) -> str:
        """Return the name of a call that begins."""
        self._count += 1
        name = self._open[_key(data)] = f"{self._run_id}-call-{self._count}"
        return name

    def find(self, data: Mapping[str, Any]) -> str | None:
        """Return the name of an open call; None if it has not begun, or has ended."""
        return self._open.get(_key(data))

    def end(self, data: Mapping[str, Any]) -> str:
        """Return the name of a call that ends, and began before."""
        return self._open.pop(_key(data))

    def end_all(self) -> list[str]:
        """Return the names of all open calls, which end."""
        names = list(self._open.values())
        self._open.clear()
        return names


def _key(data: Mapping[str, Any]) -> tuple[str, str]:
    return data["call_id"], data["tool"]


async def decide(
    state: AppState, user_id: UUID, conversation_id: UUID, entries: Sequence[ResumeEntry], by: str
) -> list[Shown | Rejected | Reviewed]:
    """Decide the actions that the entries name, once however often they are sent.

    Nothing is decided if one of them is not of this conversation, or if one that waits in the same run is left out.
    Raises MaasError: `not_found`, `bad_parameter`, and those of `edit` and `decide_action`.
    """
    db = state.db
    actions = [await read_action(db, entry.interrupt_id, user_id) for entry in entries]
    for action in actions:
        if action["conversation_id"] != conversation_id:
            raise not_found(action["id"])
    named = {action["id"] for action in actions}
    for run_id in dict.fromkeys(action["run_id"] for action in actions):
        waiting = await list_actions(db, user_id, run_id=run_id, status=ActionStatus.PENDING)
        if left := [str(one["id"]) for one in waiting if one["id"] not in named]:
            raise MaasError("bad_parameter", f"resume: answer all interrupts of the run at once, {', '.join(left)} too")
    return [await _decide(state, user_id, entry, action, by) for entry, action in zip(entries, actions, strict=True)]


async def _decide(
    state: AppState, user_id: UUID, entry: ResumeEntry, action: queries.ActionRow, by: str
) -> Shown | Rejected | Reviewed:
    verdict = entry.payload if entry.status == "resolved" else None
    is_approved = verdict is not None and verdict.approved
    if not _was_decided_so(action, is_approved):
        fingerprint = (entry.metadata or {}).get("fingerprint")
        edited = verdict.edited_args if is_approved and verdict is not None else None
        if edited is not None and edited != action["arguments"]:
            row, is_looked_up = await edit(state, action["id"], user_id, edited, by)
            if is_looked_up:
                return Reviewed(row["id"], await _find_call(state.event_stream, row["run_id"], str(row["id"])))
            fingerprint = row["fingerprint"]
        shown = fingerprint if isinstance(fingerprint, str) else None
        decision: Decision = "approve" if is_approved else "reject"
        limit = state.submissions.queue_limit
        action = await decide_action(state.db, action["id"], user_id, decision, by, limit, shown)
    call = await _find_call(state.event_stream, action["run_id"], str(action["id"]))
    if not is_approved:
        return Rejected(call)
    run_id = action["action_run_id"]
    assert run_id is not None
    return Shown(run_id, call)


def _was_decided_so(action: queries.ActionRow, is_approved: bool) -> bool:
    return action["action_run_id"] is not None if is_approved else action["status"] == ActionStatus.REJECTED


async def _find_call(stream: EventStream, run_id: UUID, action_id: str) -> str | None:
    """The call that an action was proposed by, as clients know it."""
    cursor, names = Cursor(), CallNames(run_id)
    while (page := await stream.read(run_id, cursor)) is not None:
        for event in page.events:
            if event.type not in (EventType.TOOL_START, EventType.TOOL_RESULT, EventType.APPROVAL_REQUIRED):
                continue
            data = json.loads(event.data)
            if event.type == EventType.TOOL_START or names.find(data) is None:
                names.begin(data)
            if event.type == EventType.APPROVAL_REQUIRED and data["action_id"] == action_id:
                return names.find(data)
            if event.type == EventType.TOOL_RESULT:
                names.end(data)
        if not page.has_more:
            return None
        cursor = page.cursor
    return None
