"""Leads: lists, one in full, the funnel and the quality of sales. All are read from the tables, connected or not."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from maas.assistants.ads import queries
from maas.assistants.ads.account import Account, account_of
from maas.assistants.ads.ad_tree import together
from maas.assistants.ads.creatives import find_creative
from maas.assistants.ads.metrics import DEFINITIONS, rate, rounded
from maas.assistants.ads.period import PeriodArguments
from maas.assistants.ads.phones import mask_phone, mask_phones
from maas.assistants.ads.revenue import UNREAD
from maas.assistants.ads.tools.arguments import ListArguments, Reference, entities, period_of
from maas.assistants.ads.tools.lead_stage import NO_LEAD, LeadArguments, make_stage_tools
from maas.assistants.ads.tools.wordings import LIST_LEADS, SHOW_FUNNEL, SHOW_LEAD, SHOW_QUALITY
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from shared.db import Database
from shared.text import as_uuid, shorten

DOMAIN = "crm"
SOLD_ONLY = "no stage is chosen, so sold leads alone count as qualified; an operator chooses: maas ads stages"
MAX_SUMMARY_CHARS = 1000
_QUALITY = {
    name: DEFINITIONS[name] for name in ("qualified_leads_crm", "qualified_leads_engaged", "crm_qualification_rate")
}
_STEPS = {
    "leads": "leads",
    "engaged_or_further": "engaged",
    "qualified_or_further": "qualified_crm",
    "paid": "paid",
}
_FUNNEL = {
    "steps": "a lead that came to a step counts in all steps before it, also where it skipped one",
    "engaged": DEFINITIONS["qualified_leads_engaged"],
    "qualified_crm": DEFINITIONS["qualified_leads_crm"],
    "paid": "leads with a revenue",
    "stages": "where the leads are now",
}
TEMPERATURES = "hot: 4 or more messages and one in 24 hours; warm: 2 or more messages, or one in 7 days; cold: others"


class LeadsArguments(ListArguments):
    is_qualified: bool | None = Field(
        default=None, description="Only leads that the CRM calls qualified, or only others"
    )
    is_engaged: bool | None = Field(
        default=None, description="Only leads with 2 or more messages or in a key stage, or only others"
    )
    temperature: Literal["hot", "warm", "cold"] | None = Field(default=None, description="Only such leads")
    stage_id: Reference | None = Field(default=None, description="Only leads in this stage, an id or a name")
    creative_id: Reference | None = Field(
        default=None, description="Only leads that this creative brought: its id or title"
    )


def make_crm_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    """Five tools: leads, one lead, the funnel, the quality of sales, and the move of a lead to another stage."""
    db = deps.db

    @tool(name="getLeads", domain=DOMAIN, effect="read", needs="data", wording=LIST_LEADS)
    async def get_leads(arguments: LeadsArguments, context: ToolContext) -> Any:
        """List leads, the newest first, with stage, temperature and source (default: of all time)."""
        account = account_of(context)
        period = await period_of(db, arguments, context, "all")
        creative_id = None
        if arguments.creative_id is not None and (creative_id := as_uuid(arguments.creative_id)) is None:
            creative_id = (await find_creative(db, context, arguments.creative_id))["id"]
        stages = await _stage_ids(db, account, arguments.stage_id)
        wanted = arguments.is_qualified, arguments.is_engaged, stages, creative_id, arguments.temperature
        args = account.user_id, account.id, period.start, period.end, *wanted
        counts, rows = await together(
            db.row(queries.ads_count_leads, *args), db.rows(queries.ads_leads, *args, arguments.limit)
        )
        items = [_lead(row, account.timezone) for row in rows]
        data = {
            "period": period.shown(),
            **account.freshness("crm", "whatsapp"),
            **counts,
            "empty_in_period": counts["count"] == 0 < counts["count_all_time"],
            "currency": account.revenue_currency,
            "temperatures": TEMPERATURES,
            "leads": items,
        }
        return ToolAnswer(data, entities(items))

    @tool(name="getLeadDetails", domain=DOMAIN, effect="read", needs="data", wording=SHOW_LEAD)
    async def get_lead_details(arguments: LeadArguments, context: ToolContext) -> Any:
        """Show one lead: stage, temperature, messages, revenue, and which creative and direction brought it."""
        account = account_of(context)
        reference = arguments.lead_id
        row = await db.row(queries.ads_lead, account.user_id, account.id, reference, as_uuid(reference))
        if row is None:
            raise ToolFailure(NO_LEAD)
        lead = _lead(row, account.timezone) | {
            "crm_id": row["crm_lead_id"],
            "pipeline_id": row["pipeline_id"],
            "direction": row["direction"],
            "direction_id": str(row["direction_id"]) if row["direction_id"] else None,
            "reached_key_stage": row["reached_key_stage"],
            "messages_to_lead": int(row["messages_out"] or 0),
            "summary": shorten(mask_phones(row["summary"]) or "", MAX_SUMMARY_CHARS) or None,
            "updated_at": row["updated_at"].astimezone(account.timezone).isoformat(timespec="seconds"),
        }
        named = {one: lead[f"{one}_id"] for one in ("creative", "direction") if lead[f"{one}_id"]}
        data = {
            **account.freshness("crm", "whatsapp"),
            "lead": lead,
            "currency": account.revenue_currency,
            "temperatures": TEMPERATURES,
        }
        return ToolAnswer(data, entities([lead]) | {str(lead[one]): entity_id for one, entity_id in named.items()})

    @tool(name="getFunnelStats", domain=DOMAIN, effect="read", needs="data", wording=SHOW_FUNNEL)
    async def get_funnel_stats(arguments: PeriodArguments, context: ToolContext) -> Any:
        """Show the sales funnel of the leads that came in a period (default: all time), by step and by stage."""
        account = account_of(context)
        period = await period_of(db, arguments, context, "all")
        ends = account.user_id, account.id, period.start, period.end
        row, stages, is_unread = await together(
            db.row(queries.ads_sales_quality, *ends),
            db.rows(queries.ads_stage_counts, *ends),
            db.value(queries.ads_has_unread_leads, *ends),
        )
        counts = [row[name] for name in _STEPS]
        steps = [
            {
                "step": name,
                "count": count,
                "percent_of_leads": rounded(rate(count, counts[0])),
                "percent_of_step_before": rounded(rate(count, before)),
            }
            for name, count, before in zip(_STEPS.values(), counts, [counts[0], *counts], strict=False)
        ]
        data = {
            "period": period.shown(),
            **account.freshness("crm", "whatsapp"),
            "count": row["leads"],
            "count_all_time": row["leads_all_time"],
            "empty_in_period": row["leads"] == 0 < row["leads_all_time"],
            "revenue": rounded(row["revenue"]),
            "currency": account.revenue_currency,
            "steps": steps,
            "pipelines": _pipelines(stages, row["leads"]),
            "definitions": _FUNNEL,
            **({"engaged_note": UNREAD} if is_unread else {}),
        }
        return ToolAnswer(data)

    @tool(name="getSalesQuality", domain=DOMAIN, effect="read", wording=SHOW_QUALITY)
    async def get_sales_quality(arguments: PeriodArguments, context: ToolContext) -> Any:
        """Count qualified leads and their share among the leads that came in a period (default: all time).

        `count` are leads that the CRM calls qualified; `count_all_time` says how many there are outside of the period.
        """
        account = account_of(context)
        period = await period_of(db, arguments, context, "all")
        ends = account.user_id, account.id, period.start, period.end
        row, stages, is_unread = await together(
            db.row(queries.ads_sales_quality, *ends),
            db.rows(queries.ads_stages, account.user_id, account.id),
            db.value(queries.ads_has_unread_leads, *ends),
        )
        count, count_all_time = row["qualified_crm"], row["qualified_crm_all_time"]
        data = {
            "period": period.shown(),
            **account.freshness("crm", "whatsapp"),
            "count": count,
            "count_all_time": count_all_time,
            "empty_in_period": count == 0 < count_all_time,
            "leads": row["leads"],
            "leads_all_time": row["leads_all_time"],
            "qualified_leads_crm": count,
            "qualified_leads_crm_all_time": count_all_time,
            "qualified_leads_engaged": row["engaged"],
            "qualified_leads_engaged_all_time": row["engaged_all_time"],
            "leads_with_2_messages": row["with_messages"],
            "leads_with_2_messages_all_time": row["with_messages_all_time"],
            "leads_in_key_stage": row["key_stage"],
            "crm_qualification_rate": rounded(rate(count, row["leads"])),
            "crm_qualification_rate_all_time": rounded(rate(count_all_time, row["leads_all_time"])),
            "revenue": rounded(row["revenue"]),
            "currency": account.revenue_currency,
            "definitions": _QUALITY,
            "qualified_from_stages": [one["name"] for one in stages if one["is_qualifying"]] or SOLD_ONLY,
            **({"engaged_note": UNREAD} if is_unread else {}),
        }
        return ToolAnswer(data)

    return [get_leads, get_lead_details, get_funnel_stats, get_sales_quality, *make_stage_tools(deps, vendors)]


async def _stage_ids(db: Database, account: Account, reference: str | None) -> list[str] | None:
    """The stages with this id or name, of all pipelines; None for any. Raises ToolFailure."""
    if reference is None or reference.isdecimal():  # the CRM may not have named it yet
        return None if reference is None else [reference]
    rows = await db.rows(queries.ads_stages, account.user_id, account.id)
    wanted = reference.strip().lower()
    if found := sorted({row["stage_id"] for row in rows if row["name"].strip().lower() == wanted}):
        return found
    names = ", ".join(dict.fromkeys(row["name"] for row in rows)) or "none is known"
    raise ToolFailure(f"there is no such stage; there are: {shorten(names, MAX_SUMMARY_CHARS)}")


def _lead(row: queries.AdsLeadsRow | queries.AdsLeadRow, zone: ZoneInfo) -> dict[str, Any]:
    last = row["last_message_at"]
    return {
        "id": str(row["id"]),
        "name": mask_phones(row["name"]),
        "phone": mask_phone(row["phone"]),
        "stage": row["stage"],
        "stage_id": row["stage_id"],
        "pipeline": row["pipeline"],
        "temperature": row["temperature"],
        "is_qualified": row["is_qualified"],
        "is_engaged": row["is_engaged"],
        "messages": row["messages_in"],
        "last_message_at": None if last is None else last.astimezone(zone).isoformat(timespec="seconds"),
        "revenue": rounded(row["revenue"]),
        "creative": row["creative"],
        "creative_id": str(row["creative_id"]) if row["creative_id"] else None,
        "created_at": row["created_at"].astimezone(zone).isoformat(timespec="seconds"),
    }


def _pipelines(stages: list[queries.AdsStageCountsRow], leads: int) -> list[dict[str, Any]]:
    """The stages of each pipeline in their order; `name` is None for those that the CRM has not named yet."""
    found: defaultdict[tuple[str | None, str | None], list[dict[str, Any]]] = defaultdict(list)
    for row in stages:
        found[row["pipeline_id"], row["pipeline_name"]].append(
            {
                "id": row["stage_id"],
                "name": row["name"],
                "count": row["leads"],
                "percent_of_leads": rounded(rate(row["leads"], leads)),
                "qualified_leads_engaged": row["engaged"],
                "qualified_leads_crm": row["qualified"],
                "revenue": rounded(row["revenue"]),
            }
        )
    return [{"id": key[0], "name": key[1], "stages": items} for key, items in found.items()]
