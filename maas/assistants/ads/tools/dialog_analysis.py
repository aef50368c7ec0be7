"""A tool that has a model analyse a dialogue: its messages in, a summary, a temperature and advice out."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.tools.dialogs import (
    DOMAIN,
    DialogArguments,
    Temperature,
    dialog_of,
    find_dialog,
    read_messages,
)
from maas.assistants.ads.tools.wordings import ANALYZE_DIALOG
from maas.engine.stages import Deps
from maas.prompting.prompts import read_prompts
from maas.tools.calls import ToolAnswer, ToolFailure, tag_safe_json
from maas.tools.tool import Tool, ToolContext, tool
from shared.json import json_object
from shared.models import Message, Request

ANALYST = "DialogAnalyst"
MAX_ANALYZED_MESSAGES = 80  # the newest
ANALYSIS_TIMEOUT_S = 45.0
_Line = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class Analysis(BaseModel):
    """What the model has to reply."""

    summary: Annotated[str, StringConstraints(min_length=1, max_length=4000)]
    temperature: Temperature
    objections: list[_Line] = Field(max_length=10)
    recommendations: list[_Line] = Field(max_length=10)


_LINES = {"type": "array", "items": {"type": "string"}}
_SCHEMA = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "temperature": {"type": "string", "enum": ["hot", "warm", "cold"]},
        "objections": _LINES,
        "recommendations": _LINES,
    },
    "required": ["summary", "temperature", "objections", "recommendations"],
    "additionalProperties": False,
}


def make_dialog_analysis(deps: Deps) -> list[Tool]:
    """One tool. It changes nothing but the summary that searchDialogSummaries finds."""
    db = deps.db

    @tool(name="analyzeDialog", domain=DOMAIN, effect="read", needs="data", timeout=60.0, wording=ANALYZE_DIALOG)
    async def analyze_dialog(arguments: DialogArguments, context: ToolContext) -> Any:
        """Have a model read a dialogue: summary, temperature, objections, advice. The summary can be searched later."""
        account = account_of(context)
        row = await find_dialog(db, context, arguments.dialog_id)
        messages = await read_messages(db, context, row["jid"], MAX_ANALYZED_MESSAGES)
        if not messages:
            raise ToolFailure("this dialogue has no messages yet")
        prompt = (await read_prompts(db, ANALYST, language=await context.prompt_language()))[ANALYST]
        request = Request(
            role="FinalResponder",
            system=prompt.text,
            json_schema=_SCHEMA,
            temperature=0.3,
            max_tokens=1500,
            messages=(Message("user", f"<dialog>\n{tag_safe_json(messages)}\n</dialog>"),),
        )
        analysis = _read_analysis((await context.ask(request, timeout=ANALYSIS_TIMEOUT_S)).text)
        summary = mask_phones(analysis.summary) or ""
        advice = [mask_phones(one) or "" for one in analysis.recommendations]
        await db.rows(
            queries.ads_keep_summary,
            account.user_id,
            account.id,
            row["jid"],
            summary,
            analysis.temperature,
            row["last_message_at"],
        )
        dialog = dialog_of(row, account.timezone) | {"temperature": analysis.temperature, "is_summary_current": True}
        data = {
            **account.freshness("whatsapp"),
            "dialog": dialog,
            "analyzed_messages": len(messages),
            "count": row["messages_in"] + row["messages_out"],
            "date_from": messages[0]["sent_at"],
            "date_to": messages[-1]["sent_at"],
            "summary": summary,
            "objections": [mask_phones(one) for one in analysis.objections],
            "recommendations": advice,
        }
        return ToolAnswer(data, {str(dialog["name"] or dialog["phone"]): str(row["id"])}, advice)

    return [analyze_dialog]


def _read_analysis(text: str) -> Analysis:
    """Raises ToolFailure for a reply of another shape."""
    try:
        return Analysis.model_validate(json_object(text))
    except ValidationError as error:
        raise ToolFailure("the model's analysis had another shape than asked for: nothing was stored") from error
