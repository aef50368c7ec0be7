"""The interview: four questions that everybody is asked, and three for those who like; code chooses the next one.

The answers are kept in a session that goes on in every conversation of the user, and become the user's preferences once
nothing is left to ask for.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from maas.agents.collector import SlotField, Texts
from maas.agents.slot import MAX_VALUE_CHARS
from maas.agents.slots import session_of, verify_collected
from maas.assistants.corporate import queries
from maas.assistants.corporate.user_tools import REQUIRED, UserArguments, check_user
from maas.engine.run import LostRun
from maas.engine.stages import Deps
from maas.tools.calls import ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Phrase, Wording

DOMAIN = "onboarding"
COMPLETION = "completeInitialInterview"
MAX_POSITION_CHARS = 200
_QUESTIONS = {
    "competencies": (
        "Компетенции",
        "За какие задачи вы отвечаете на своей должности и в чём особенно сильны?",
        "What are you responsible for in your position, and what are you best at?",
    ),
    "communication_style": (
        "Стиль общения",
        "Как вам удобнее получать ответы: коротко или подробно, строго или свободно?",
        "How do you like your answers: short or detailed, formal or relaxed?",
    ),
    "meeting_preferences": (
        "Встречи",
        "В какое время вам удобны встречи, какой длины и как часто?",
        "When do meetings suit you, how long should they be, and how often?",
    ),
    "focus_time": (
        "Время без помех",
        "Когда вы работаете сосредоточенно и вас лучше не отвлекать?",
        "When do you do focused work and prefer not to be disturbed?",
    ),
    "working_style": (
        "Стиль работы",
        "Как вы строите работу: по плану, рывками, в паре с кем-то?",
        "How do you organise your work: by plan, in bursts, or together with somebody?",
    ),
    "career_goals": (
        "Цели",
        "К чему вы стремитесь в работе в ближайшие год-два?",
        "What do you want to achieve at work in the next year or two?",
    ),
    "problem_solving": (
        "Подход к задачам",
        "Как вы берётесь за трудную задачу: сразу пробуете, раскладываете на части, советуетесь?",
        "How do you approach a hard problem: do you try at once, break it down, or ask for advice?",
    ),
}
SLOTS = tuple(
    SlotField(name=name, label=label, question=Texts(ru=ru, en=en), required=name in REQUIRED)
    for name, (label, ru, en) in _QUESTIONS.items()
)
Answer = Annotated[str, StringConstraints(max_length=MAX_VALUE_CHARS)]


class StartArguments(UserArguments):
    position: Annotated[str, StringConstraints(max_length=MAX_POSITION_CHARS)] | None = Field(
        None, description="The user's position, if the profile has none and the user has named it"
    )


class Answers(BaseModel):
    competencies: Answer | None = Field(None, description="What the user is responsible for and good at")
    communication_style: Answer | None = Field(None, description="How the user likes to be talked to")
    meeting_preferences: Answer | None = Field(None, description="When, how long and how often meetings suit the user")
    focus_time: Answer | None = Field(None, description="When the user prefers not to be disturbed")
    working_style: Answer | None = Field(None, description="How the user organises work")
    career_goals: Answer | None = Field(None, description="What the user wants to achieve")
    problem_solving: Answer | None = Field(None, description="How the user approaches hard problems")


def make_interview_tools(deps: Deps) -> list[Tool]:
    """The tools of the dialogue; code calls the last one."""
    db = deps.db

    async def verify_start(_: Any, context: ToolContext, __: Any) -> Any:
        """The position that the profile has now."""
        row = await db.row(queries.who_is_user, context.user_id)
        return {"position": row["position"] if row is not None else None}

    async def verify_end(_: Any, context: ToolContext, __: Any) -> Any:
        """What stands in the user's preferences now."""
        row = await db.row(queries.who_is_user, context.user_id)
        assert row is not None
        return {"interview_passed": row["is_interviewed"], "preferences": row["preferences"]}

    @tool(
        domain=DOMAIN,
        effect="write",
        idempotent=True,
        name="startInitialInterview",
        verify=verify_start,
        wording=Wording(Phrase("Begin the interview", "Начать интервью")),
    )
    async def start_initial_interview(arguments: StartArguments, context: ToolContext) -> Any:
        """Begin the interview, or go on where it was left. The position of the user is kept if the profile has none."""
        check_user(arguments, context)
        session = session_of(context)
        position = (arguments.position or "").strip() or None
        known = await db.value(queries.begin_interview, context.run_id, position)
        if known is None:
            raise LostRun
        return {"position": known or None} | session.progress({})

    @tool(
        domain=DOMAIN,
        effect="write",
        idempotent=True,
        name="conductInitialInterview",
        verify=verify_collected,
        wording=Wording(Phrase("Keep answers of the interview", "Записать ответы на вопросы интервью")),
    )
    async def conduct_initial_interview(answers: Answers, context: ToolContext) -> Any:
        """Keep what the user has answered, one or several questions at once, also to change an earlier answer.

        The result says what is still needed; [SYSTEM STATE] names the next question.
        """
        return session_of(context).collect(answers)

    @tool(
        domain=DOMAIN,
        effect="write",
        idempotent=True,
        name=COMPLETION,
        verify=verify_end,
        wording=Wording(Phrase("End the interview", "Завершить интервью")),
    )
    async def complete_initial_interview(context: ToolContext) -> Any:
        """Keep the answers as the preferences of the user. Code calls it once nothing is left to ask for."""
        session = session_of(context)
        if session.missing:
            names = ", ".join(slot.name for slot in session.missing)
            raise ToolFailure(f"not yet: {names} must be answered first")
        if not await db.value(queries.keep_interview, context.run_id, dict(session.values)):
            raise LostRun
        return {"saved": sorted(session.values)}

    return [start_initial_interview, conduct_initial_interview, complete_initial_interview]
