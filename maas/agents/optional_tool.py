"""The tool with which a model keeps what the user wants with the optional questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel

from maas.agents.optional_slots import TOOL
from maas.agents.slots import session_of
from maas.tools.calls import ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Phrase, Wording


class Choice(BaseModel):
    decision: Literal["ask", "skip_one", "skip_all"]


@tool(
    domain="slots",
    effect="read",
    name=TOOL,
    wording=Wording(
        Phrase("Keep what you want with the optional questions", "Записать, задавать ли дополнительные вопросы")
    ),
)
async def _optional_questions(choice: Choice, context: ToolContext) -> Any:
    """Keep what the user wants with the optional questions.

    ask: the user wants to answer them. skip_one: not the one that is asked now. skip_all: none of those that are left.
    """
    session = session_of(context)
    optional, left = session.optional, session.optional_left
    if session.missing or not left:
        raise ToolFailure("there is no optional question now")
    if choice.decision == "skip_one" and not optional.is_asking:
        raise ToolFailure("no optional question is asked yet: ask, or skip_all")
    match choice.decision:
        case "ask":
            decided = replace(optional, state="asking")
        case "skip_one":
            decided = replace(optional, state="asking", skipped=(*optional.skipped, left[0].name))
        case "skip_all":
            decided = replace(optional, state="declined")
    still = [slot.name for slot in decided.left(session.slots, session.values)]
    return {"optional": decided.stored(), "still_to_ask": still}


OPTIONAL_QUESTIONS: Tool = replace(_optional_questions, is_meta=True)
