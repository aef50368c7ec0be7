"""A tool that has a model analyse a creative: its transcript and figures in, a score, a verdict and advice out."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from maas.assistants.ads import queries
from maas.assistants.ads.account import ad_account_of
from maas.assistants.ads.creatives import find_creative, name_of, read_creatives, title_of
from maas.assistants.ads.period import PeriodArguments
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.tools.arguments import period_of
from maas.assistants.ads.tools.creative_details import CreativeArguments
from maas.assistants.ads.tools.wordings import ANALYZE_CREATIVE
from maas.engine.stages import Deps
from maas.prompting.prompts import read_prompts
from maas.tools.calls import ToolAnswer, ToolFailure, tag_safe_json
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Preview
from shared.db import Database
from shared.json import json_object
from shared.models import Message, Request
from shared.text import shorten

DOMAIN = "creative"
ANALYST = "CreativeAnalyst"
MAX_ANALYZED_CHARS = 12_000  # of a transcript
ANALYSIS_TIMEOUT_S = 45.0


class Analysis(BaseModel):
    """What the model has to reply."""

    score: int = Field(ge=0, le=100)
    verdict: Annotated[str, StringConstraints(min_length=1, max_length=4000)]
    recommendations: list[Annotated[str, StringConstraints(min_length=1, max_length=1000)]] = Field(max_length=10)


_SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer"},
        "verdict": {"type": "string"},
        "recommendations": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["score", "verdict", "recommendations"],
    "additionalProperties": False,
}


def make_creative_analysis(deps: Deps) -> list[Tool]:
    """One tool."""
    db = deps.db

    async def verify_analysis(_: Any, context: ToolContext, data: Any) -> Any:
        """The stored analysis."""
        rows = await db.rows(queries.creative_analyses, context.user_id, data["creative"]["id"], 1)
        return {"verified": bool(rows) and rows[0]["score"] == data["score"]}

    async def preview_analysis(arguments: CreativeArguments, context: ToolContext) -> Preview:
        return Preview(title_of(await find_creative(db, context, arguments.creative_id)))

    @tool(
        name="triggerCreativeAnalysis",
        domain=DOMAIN,
        effect="write",
        needs="data",
        wording=ANALYZE_CREATIVE,
        verify=verify_analysis,
        preview=preview_analysis,
    )
    async def trigger_creative_analysis(arguments: CreativeArguments, context: ToolContext) -> Any:
        """Have a model analyse a creative: score of 0 to 100, verdict, recommendations. The analysis is stored."""
        creative = await find_creative(db, context, arguments.creative_id)
        reply = await context.ask(await _analysis_request(db, context, creative), timeout=ANALYSIS_TIMEOUT_S)
        analysis = _read_analysis(reply.text)
        advice = [mask_phones(one) or "" for one in analysis.recommendations]
        verdict = mask_phones(analysis.verdict) or ""
        model = str((reply.raw or {}).get("model") or "model")
        stored = await db.row(
            queries.keep_creative_analysis, context.user_id, creative["id"], analysis.score, verdict, advice, model
        )
        if stored is None:
            raise ToolFailure("the creative no longer exists: nothing was stored")
        data = {"creative": name_of(creative), "score": analysis.score, "verdict": verdict, "recommendations": advice}
        return ToolAnswer(data, entities={title_of(creative): str(creative["id"])}, recommendations=advice)

    return [trigger_creative_analysis]


async def _analysis_request(db: Database, context: ToolContext, creative: queries.FindCreativesRow) -> Request:
    period = await period_of(db, PeriodArguments(), context, "all")
    (figures,) = await read_creatives(db, context, period, ids=[creative["id"]])
    shown = {
        "creative": figures.shown(),
        "transcript": shorten(mask_phones(creative["transcript"]) or "", MAX_ANALYZED_CHARS),
        "currency": ad_account_of(context).currency,
        **figures.revenue_note,
    }
    prompt = (await read_prompts(db, ANALYST, language=await context.prompt_language()))[ANALYST]
    text = f"<creative>\n{tag_safe_json(shown, is_sorted=True)}\n</creative>"
    return Request(
        role="FinalResponder",
        system=prompt.text,
        messages=(Message("user", text),),
        json_schema=_SCHEMA,
        temperature=0.3,
        max_tokens=1500,
    )


def _read_analysis(text: str) -> Analysis:
    """Raises ToolFailure for a reply of another shape."""
    try:
        return Analysis.model_validate(json_object(text))
    except ValidationError as error:
        raise ToolFailure("the model's analysis had another shape than asked for: nothing was stored") from error
