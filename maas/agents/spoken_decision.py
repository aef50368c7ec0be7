"""A typed yes or no decides the one action that the last answer of the conversation showed to its user.

Three must agree: code finds that the user's message is a plain yes or no, see maas.tools.consent; the last answer
showed exactly one action, as it is now; and the model, which knows what the message answers, calls the tool that it is
offered for this, before it has read any result. No text that a model or a tool writes can decide an action.
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
from maas.tools.tool import Tool, tool
from maas.tools.wording import subject_of
from shared.db import Database

CONFIRM, REJECT = "confirm_pending", "reject_pending"
MAX_NAMED = 10  # actions that are named to the model
_ONE = (
    "The action in <pending> waits for the user's decision, and the user's message reads like one. If it answers that "
    "action, call {tool}; if it answers something else, go on without it."
)
_WAITS = (
    "What is in <pending> waits for the user's decision, and the user's message decides nothing. Answer what they say. "
    "If they want it done otherwise, call its tool with the other arguments. Never say that it is done."
)
_UNDECIDED = (
    "The user's message reads like a decision, but the last answer did not show exactly one action, as it is now, so "
    "it decides nothing. Below your answer the user sees <pending> again, and how to decide: say in one sentence that "
    "you ask again. If they name one of several, call its tool again with the same arguments."
)
_DECIDED: Mapping[Decision, str] = {
    "approve": "approved: it is executed after this answer and its outcome follows in a message of its own; say so",
    "reject": "rejected: it is not executed; say so",
}
_NOT_DECIDED = {
    "expired": "it has expired: tell the user to ask for it again",
    "several": "several actions wait now: name them and ask which one is meant",
}
Verdict = Literal["decided", "none", "several", "expired", "lost"]


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """What a model reads about actions that wait, `calls`, and the tool that decides the only one."""

    calls: tuple[str, ...]
    instruction: str
    tool: Tool | None


async def find_pending_decision(db: Database, run: Run) -> PendingDecision | None:
    """Return what waits in the conversation and what the user's message may decide of it; None if nothing waits.

    A message that reads like a decision and decides nothing has the answer show again what waits.
    """
    if run.conversation_id is None or run.kind != "ask":
        return None
    rows = await db.rows(queries.undecided_actions, run.id, MAX_NAMED)
    if not rows:
        return None
    calls = tuple(row["call"] for row in rows)
    shown = [row for row in rows if row["is_shown"]]
    subjects = [subject_of(row["wording"], row["arguments"]) for row in (shown if len(shown) == 1 else rows)]
    decision = next((said for one in subjects if (said := read_decision(run.user_query, one)) is not None), None)
    if decision is None:
        return PendingDecision(calls, _WAITS, None)
    run.log.waiting = "conversation"
    if len(shown) != 1:
        return PendingDecision(calls, _UNDECIDED, None)
    deciding = _deciding_tool(db, run, decision)
    return PendingDecision((shown[0]["call"],), _ONE.format(tool=deciding.name), deciding)


def _deciding_tool(db: Database, run: Run, decision: Decision) -> Tool:
    async def decide() -> Any:
        row = await db.row(queries.decide_by_words, run.id, run.attempt, decision)
        assert row is not None
        verdict = cast(Verdict, row["verdict"])
        if verdict == "lost":
            raise LostRun
        if verdict != "decided":
            raise ToolFailure(_NOT_DECIDED.get(verdict, "nothing waits for a decision now: tell the user"))
        run.log.waiting = "run"
        return {"call": row["call"], "decision": _DECIDED[decision]}

    verb = "Approve" if decision == "approve" else "Reject"
    decide.__doc__ = f"{verb} the action in <pending>, because the user's message says so."
    name = CONFIRM if decision == "approve" else REJECT
    return replace(tool(domain="approval", effect="read", name=name)(decide), is_meta=True)
