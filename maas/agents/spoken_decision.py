"""A typed yes or no decides what the last answer of the conversation showed to its user: one action, or those named.

Three must agree: code finds that the user's message is a plain yes or no, and of several actions to which of them, see
maas.tools.consent; the last answer showed all that wait, as they are now; and the model, which knows what the message
answers, calls the tool that it is offered for this, before it has read any result. No text that a model or a tool
writes can decide an action.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from maas import queries
from maas.conversations.actions import Decision
from maas.engine.run import LostRun, Run
from maas.tools.calls import ToolFailure
from maas.tools.consent import read_decision
from maas.tools.consent.choice import Choice, read_choice
from maas.tools.tool import Tool, tool
from maas.tools.waiting_actions import MAX_SHOWN
from maas.tools.wording import subject_of
from shared.db import Database

CONFIRM, REJECT = "confirm_pending", "reject_pending"
_ONE = (
    "The action in <pending> waits for the user's decision, and the user's message reads like one. If it answers that "
    "action, call {tool}; if it answers something else, go on without it."
)
_SEVERAL = (
    "The {number} actions in <pending> wait for the user's decision, and the user's message reads like one on all of "
    "them. If it answers them, call {tool} once, which decides all; if it answers something else, go on without it."
)
_WAITS = (
    "What is in <pending> waits for the user's decision, and the user's message decides nothing. Answer what they say. "
    "If they want it done otherwise, call its tool with the other arguments. Never say that it is done."
)
_UNDECIDED = (
    "The user's message reads like a decision, but it does not say on which of several actions, or the last answer did "
    "not show them as they are now, so it decides nothing. Below your answer the user sees <pending> again, and how to "
    "decide: say in one sentence that you ask again. If they name one of several, call its tool again with the same "
    "arguments."
)
_DECIDED: Mapping[Decision, str] = {
    "approve": "approved: it is executed after this answer and its outcome follows in a message of its own; say so",
    "reject": "rejected: it is not executed; say so",
}
_NOT_DECIDED = "what was shown no longer waits: nothing was decided; say so"
Verdict = Literal["decided", "none", "lost"]


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """What a model reads about actions that wait, `calls`, and the tool that decides them."""

    calls: tuple[str, ...]
    instruction: str
    tool: Tool | None


async def find_pending_decision(db: Database, run: Run) -> PendingDecision | None:
    """Return what waits in the conversation and what the user's message may decide of it; None if nothing waits.

    A message that reads like a decision and decides nothing has the answer show again what waits.
    """
    if run.conversation_id is None or run.kind != "ask":
        return None
    rows = await db.rows(queries.undecided_actions, run.id, MAX_SHOWN + 1)
    if not rows:
        return None
    calls = tuple(row["call"] for row in rows)
    shown = [row for row in rows if row["is_shown"]]
    is_list = len(shown) in (1, len(rows))
    listed = {row["shown_place"]: row for row in shown} if is_list else dict(enumerate(rows, 1))
    subjects = {place: subject_of(row["wording"], row["arguments"]) for place, row in listed.items()}
    choice = read_choice(run.user_query, subjects)
    if choice is None and all(read_decision(run.user_query, one) is None for one in subjects.values()):
        return PendingDecision(calls, _WAITS, None)
    run.log.waiting = "conversation"
    if choice is None or not is_list:
        return PendingDecision(calls, _UNDECIDED, None)
    deciding = _deciding_tool(db, run, choice)
    meant = tuple(listed[place]["call"] for place in choice.places)
    wording = _ONE if len(meant) == 1 else _SEVERAL
    return PendingDecision(meant, wording.format(tool=deciding.name, number=len(meant)), deciding)


def _deciding_tool(db: Database, run: Run, choice: Choice) -> Tool:
    async def decide() -> Any:
        row = await db.row(queries.decide_by_words, run.id, run.attempt, choice.decision, list(choice.places))
        assert row is not None
        verdict = cast(Verdict, row["verdict"])
        if verdict == "lost":
            raise LostRun
        if verdict != "decided":
            raise ToolFailure(_NOT_DECIDED)
        run.log.waiting = "run" if choice.is_of_all else "conversation"
        calls = row["calls"]
        named = {"call": calls[0]} if len(calls) == 1 else {"calls": calls}
        return named | {"decision": _DECIDED[choice.decision]}

    verb = "Approve" if choice.decision == "approve" else "Reject"
    object_ = "action" if len(choice.places) == 1 else "actions"
    decide.__doc__ = f"{verb} the {object_} in <pending>, because the user's message says so."
    name = CONFIRM if choice.decision == "approve" else REJECT
    return replace(tool(domain="approval", effect="read", name=name)(decide), is_meta=True)
