"""A typed yes or no decides the one action of the conversation that waits for its user.

Three must agree: the user's message is a yes or a no by the table below and nothing else; exactly one action waits; and
the model, which knows what the message answers, calls the tool that it is offered for this, before it has read any
result. No text that a model or a tool writes can decide an action.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from maas.agents.tool_calls import ToolFailure
from maas.agents.tools import Tool, tool
from maas.conversations.actions import Decision
from maas.engine.claims import LostRun, Run
from shared.db import Database

CONFIRM, REJECT = "confirm_pending", "reject_pending"
MAX_CHARS = 60  # of a message that decides
MAX_NAMED = 10  # actions that are named to the model
_YES = {
    "en": (
        "yes", "yes please", "yeah", "yep", "sure", "ok", "okay", "yes ok", "confirm", "confirmed", "i confirm",
        "yes i confirm", "approve", "approved", "i approve", "agreed", "i agree", "yes i agree", "go ahead",
        "yes go ahead", "do it", "yes do it", "please do", "yes please do", "proceed", "yes proceed",
    ),
    "ru": (
        "да", "ага", "да да", "да конечно", "конечно", "да пожалуйста", "хорошо", "да хорошо", "ок", "окей", "да ок",
        "подтверждаю", "да подтверждаю", "одобряю", "да одобряю", "согласен", "согласна", "да согласен",
        "да согласна", "разрешаю", "да разрешаю", "давай", "да давай", "давайте", "да давайте", "делай", "да делай",
        "сделай", "да сделай", "делайте", "да делайте", "выполняй", "да выполняй", "выполняйте", "да выполняйте",
        "верно", "да верно", "все верно", "да все верно",
    ),
}  # fmt: skip
_NO = {
    "en": (
        "no", "nope", "no thanks", "no thank you", "cancel", "cancel it", "no cancel", "no cancel it", "stop",
        "no stop", "reject", "rejected", "i reject", "decline", "dont", "no dont", "dont do it", "no dont do it",
        "do not", "do not do it", "no do not", "never mind", "no never mind",
    ),
    "ru": (
        "нет", "нет нет", "не", "не надо", "нет не надо", "нет спасибо", "отмена", "нет отмена", "отмени", "нет отмени",
        "отмените", "отменить", "отклоняю", "отклонить", "отклони", "стоп", "нет стоп", "не делай", "нет не делай",
        "не делайте", "нет не делайте", "нельзя", "не согласен", "не согласна", "нет не согласен", "нет не согласна",
        "не подтверждаю", "нет не подтверждаю", "не разрешаю", "передумал", "передумала", "нет передумал",
        "нет передумала",
    ),
}  # fmt: skip
_SIGNS: Mapping[str, Decision] = {"👍": "approve", "✅": "approve", "👎": "reject", "❌": "reject"}
_PHRASES: dict[str, Decision] = {phrase: "approve" for phrases in _YES.values() for phrase in phrases}
_PHRASES.update({phrase: "reject" for phrases in _NO.values() for phrase in phrases})
_VARIANTS = re.compile("[\N{VARIATION SELECTOR-16}\U0001f3fb-\U0001f3ff]")  # how a sign is coloured
_SPELLINGS = str.maketrans({"ё": "е", "'": "", "’": ""})
_ANSWERED = re.compile(r"[\w\s.,!…)\U0001f300-\U0001faff❤☺]*")  # a question mark, a quotation, a list: no decision
_ONE = (
    "The action in <pending> waits for the user's decision, and the user's message reads like one. If it answers that "
    "action, call {tool}; if it answers something else, go on without it."
)
_SEVERAL = (
    "The user's message reads like a decision, but every action in <pending> waits for one, so it decides none of "
    "them. Name each of them in words and ask the user to decide on each by itself."
)
_DECIDED: Mapping[Decision, str] = {
    "approve": "approved: it is executed after this answer and its outcome is told in a message of its own; say so",
    "reject": "rejected: it is not executed; say so",
}
_NOT_DECIDED = {
    "expired": "it has expired: tell the user to ask for it again",
    "several": "several actions wait now: name them and ask which one is meant",
}
Verdict = Literal["decided", "none", "several", "expired", "lost"]


def read_decision(message: str) -> Decision | None:
    """Return what a message decides if it is a yes or a no of the tables and nothing else."""
    if len(message) > MAX_CHARS:
        return None
    text = _VARIANTS.sub("", message).strip()
    if (decision := _SIGNS.get(text)) is not None:
        return decision
    text = text.casefold().translate(_SPELLINGS)
    return _PHRASES.get(" ".join(re.findall(r"\w+", text))) if _ANSWERED.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """What a model is told of actions that wait, `calls`, and the tool that decides the only one."""

    calls: tuple[str, ...]
    instruction: str
    tool: Tool | None


async def find_pending_decision(db: Database, run: Run) -> PendingDecision | None:
    """Return what the user's message may decide; None if it is no decision or nothing waits."""
    if run.conversation_id is None or run.kind != "ask" or (decision := read_decision(run.user_query)) is None:
        return None
    rows = await db.rows("undecided_actions", run.id, MAX_NAMED)
    if not rows:
        return None
    calls = tuple(row["call"] for row in rows)
    if len(rows) > 1:
        return PendingDecision(calls, _SEVERAL, None)
    deciding = _deciding_tool(db, run.id, run.attempt, decision)
    return PendingDecision(calls, _ONE.format(tool=deciding.name), deciding)


def _deciding_tool(db: Database, run_id: UUID, attempt: int, decision: Decision) -> Tool:
    async def decide() -> Any:
        row = await db.row("decide_by_words", run_id, attempt, decision)
        assert row is not None
        verdict: Verdict = row["verdict"]
        if verdict == "lost":
            raise LostRun
        if verdict != "decided":
            raise ToolFailure(_NOT_DECIDED.get(verdict, "nothing waits for a decision any more: tell the user"))
        return {"call": row["call"], "decision": _DECIDED[decision]}

    verb = "Approve" if decision == "approve" else "Reject"
    decide.__doc__ = f"{verb} the action in <pending>, because the user's message says so."
    name = CONFIRM if decision == "approve" else REJECT
    return replace(tool(domain="approval", effect="read", name=name)(decide), is_meta=True)
