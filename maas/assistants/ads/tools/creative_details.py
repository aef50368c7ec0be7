"""Tools that show one creative: its ads, its days, its analysis, risk, tests and transcript, all as stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of, ad_account_of
from maas.assistants.ads.creatives import (
    NOTES,
    find_creative,
    name_of,
    read_creatives,
    recommend,
    title_of,
    video,
)
from maas.assistants.ads.metrics import Figures
from maas.assistants.ads.period import PeriodArguments
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.tools.arguments import DaysArguments, Reference, entities, money, stored_period_of
from maas.assistants.ads.tools.wordings import (
    LIST_TESTS,
    SHOW_ANALYSIS,
    SHOW_CREATIVE,
    SHOW_CREATIVE_DAYS,
    SHOW_RISKS,
    SHOW_TRANSCRIPT,
)
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer
from maas.tools.tool import Tool, ToolContext, tool
from shared.db import Database
from shared.text import shorten

DOMAIN = "creative"
MAX_ADS = 50
MAX_TRANSCRIPT_CHARS = 12_000
_ID = Field(description="The id of the creative, from getCreatives")


class CreativeArguments(BaseModel):
    creative_id: Reference = _ID


class CreativePeriodArguments(PeriodArguments):
    creative_id: Reference = _ID


class CreativeDaysArguments(DaysArguments):
    creative_id: Reference = _ID


class ScoresArguments(BaseModel):
    creative_id: Reference | None = Field(None, description="Only this creative")
    limit: int = Field(20, ge=1, le=100, description="How many to list, the riskiest first")


class CreativeTestsArguments(BaseModel):
    creative_id: Reference | None = Field(None, description="Only tests of this creative")
    status: Literal["running", "stopped", "finished", "failed"] | None = Field(None, description="Only these")
    limit: int = Field(20, ge=1, le=100, description="How many to list, the newest first")


def make_creative_details(deps: Deps) -> list[Tool]:
    """Three tools: one creative in full, its days, its transcript."""
    db = deps.db

    @tool(name="getCreativeDetails", domain=DOMAIN, effect="read", needs="data", wording=SHOW_CREATIVE)
    async def get_creative_details(arguments: CreativePeriodArguments, context: ToolContext) -> Any:
        """Show one creative: figures, and the ads and directions that use it. Default period: all."""
        row = await find_creative(db, context, arguments.creative_id)
        period = await stored_period_of(db, arguments, context, "all")
        (one,) = await read_creatives(db, context, period, ids=[row["id"]])
        ads = await db.rows(queries.creative_ads, context.user_id, ad_account_of(context).id, row["id"])
        state = {
            "has_transcript": row["transcript"] is not None,
            "is_uploaded": row["fb_creative_id"] is not None,
        }
        data = {
            "period": period.shown(),
            **account_of(context).freshness("creative", "crm", "whatsapp"),
            **ad_account_of(context).shown(),
            **one.revenue_note,
            "creative": one.shown() | state,
            "ads": [_ad(ad) for ad in ads[:MAX_ADS]],
            "ads_count": len(ads),
            "definitions": NOTES,
        }
        return ToolAnswer(data, entities={one.title: str(one.id)}, recommendations=recommend([one]))

    @tool(name="getCreativeMetrics", domain=DOMAIN, effect="read", needs="data", wording=SHOW_CREATIVE_DAYS)
    async def get_creative_metrics(arguments: CreativeDaysArguments, context: ToolContext) -> Any:
        """Show a creative's figures by day, with the retention of a video at 25, 50, 75, 95 %. Default: last_30d."""
        row = await find_creative(db, context, arguments.creative_id)
        period = await stored_period_of(db, arguments, context, "last_30d")
        (one,) = await read_creatives(db, context, period, ids=[row["id"]])
        days = await db.rows(queries.creative_days, context.user_id, row["id"], period.first, period.last)
        is_video = row["media_type"] == "video"
        data = {
            "period": period.shown(),
            **account_of(context).freshness("creative", "crm", "whatsapp"),
            **ad_account_of(context).shown(),
            **one.revenue_note,
            "total": one.shown(),
            "days": [_day(day, is_video=is_video) for day in days[-arguments.limit :]],
            "days_count": len(days),
            "definitions": NOTES,
        }
        return ToolAnswer(data, entities={one.title: str(one.id)}, recommendations=recommend([one]))

    @tool(name="getCreativeTranscript", domain=DOMAIN, effect="read", needs="data", wording=SHOW_TRANSCRIPT)
    async def get_creative_transcript(arguments: CreativeArguments, context: ToolContext) -> Any:
        """Show what is said in a video."""
        row = await find_creative(db, context, arguments.creative_id)
        text = mask_phones(row["transcript"])
        data = {
            "creative": name_of(row),
            "language": row["transcript_language"],
            "transcript": None if text is None else shorten(text, MAX_TRANSCRIPT_CHARS),
        }
        return ToolAnswer(data, entities={title_of(row): str(row["id"])})

    return [get_creative_details, get_creative_metrics, get_creative_transcript]


def make_creative_records(deps: Deps) -> list[Tool]:
    """Three tools: what analyses, a scoring agent and tests have said of creatives."""
    db = deps.db

    @tool(name="getCreativeAnalysis", domain=DOMAIN, effect="read", needs="data", wording=SHOW_ANALYSIS)
    async def get_creative_analysis(arguments: CreativeArguments, context: ToolContext) -> Any:
        """Show what the last analysis said of a creative: score of 0 to 100, verdict, recommendations."""
        row = await find_creative(db, context, arguments.creative_id)
        rows = await db.rows(queries.creative_analyses, context.user_id, row["id"], 1)
        entity = {title_of(row): str(row["id"])}
        if not rows:
            none = {"creative": name_of(row), "analysis": None, "hint": "triggerCreativeAnalysis makes one"}
            return ToolAnswer(none, entities=entity)
        newest = rows[0]
        advice = [mask_phones(str(one)) or "" for one in newest["recommendations"]]
        analysis = {
            "score": newest["score"],
            "verdict": mask_phones(newest["verdict"]),
            "recommendations": advice,
            "model": newest["model"],
            "analyzed_at": _moment(newest["analyzed_at"], account_of(context).timezone),
        }
        data = {"creative": name_of(row), "analysis": analysis, "analyses_count": newest["total"]}
        return ToolAnswer(data, entities=entity, recommendations=advice)

    @tool(name="getCreativeScores", domain=DOMAIN, effect="read", needs="data", wording=SHOW_RISKS)
    async def get_creative_scores(arguments: ScoresArguments, context: ToolContext) -> Any:
        """List, by creative, the risk from 0 to 100 that its cost per lead grows, as a scoring agent sees it."""
        creative_id = await _id_of(db, arguments.creative_id, context)
        account = ad_account_of(context)
        rows = await db.rows(queries.creative_risks, context.user_id, account.id, creative_id, arguments.limit)
        scores = [
            {
                **name_of(row),
                "risk_score": row["risk_score"],
                "factors": row["factors"],
                "scored_at": _moment(row["scored_at"], account.timezone),
            }
            for row in rows
        ]
        return ToolAnswer({"scores": scores}, entities=entities(scores, "title"))

    @tool(name="getCreativeTests", domain=DOMAIN, effect="read", needs="data", wording=LIST_TESTS)
    async def get_creative_tests(arguments: CreativeTestsArguments, context: ToolContext) -> Any:
        """List tests of creatives with their budgets and results."""
        creative_id, account = await _id_of(db, arguments.creative_id, context), ad_account_of(context)
        rows = await db.rows(
            queries.creative_tests, context.user_id, account.id, creative_id, None, arguments.status, arguments.limit
        )
        tests = [
            {
                "id": str(row["id"]),
                "creative_id": str(row["creative_id"]),
                "title": title_of(row),
                "status": row["status"],
                "direction": row["direction"],
                "daily_budget": money(row["budget_minor"], account.currency),
                "currency": account.currency,
                "started_at": _moment(row["started_at"], account.timezone),
                "stopped_at": _moment(row["stopped_at"], account.timezone),
                "result": row["result"],
            }
            for row in rows
        ]
        named = [{"id": one["id"], "name": f"test of {one['title']}"} for one in tests]
        return ToolAnswer({"count": rows[0]["total"] if rows else 0, "tests": tests}, entities=entities(named))

    return [get_creative_analysis, get_creative_scores, get_creative_tests]


async def _id_of(db: Database, reference: str | None, context: ToolContext) -> UUID | None:
    """The id of the creative that is asked for; None for all. Raises ToolFailure."""
    if reference is None:
        return None
    found: UUID = (await find_creative(db, context, reference))["id"]
    return found


def _ad(row: queries.CreativeAdsRow) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "name": mask_phones(row["name"]),
        "status": row["status"],
        "adset": row["adset"],
        "adset_status": row["adset_status"],
        "campaign": row["campaign"],
        "direction": row["direction"],
    }


def _day(row: queries.CreativeDaysRow, *, is_video: bool) -> dict[str, Any]:
    figures = Figures(row["spend"], row["impressions"], row["clicks"], row["leads"])
    return {
        "day": row["day"].isoformat(),
        **figures.shown(),
        "purchases": row["purchases"],
        **(video(row) if is_video else {}),
    }


def _moment(at: datetime | None, zone: ZoneInfo) -> str | None:
    return None if at is None else at.astimezone(zone).isoformat(timespec="minutes")
