"""Figures of the stand-in for Facebook: at once, or as a report that is made in the background."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.assistants.ads.standins.facebook_graph import Graph, Refused, fields_of, graph_of
from tests.standins.server import Json

Params = Mapping[str, str]
LEVELS = {"account": "accounts", "campaign": "campaigns", "adset": "adsets", "ad": "ads"}
VIDEO = {
    "video_play_actions": "video_views",
    "video_thruplay_watched_actions": "whole_plays",
    "video_p25_watched_actions": "p25",
    "video_p50_watched_actions": "p50",
    "video_p75_watched_actions": "p75",
    "video_p95_watched_actions": "p95",
}
GOALS = {
    "purchases": ("purchase", "omni_purchase", "offsite_conversion.fb_pixel_purchase"),
    "landings": ("landing_page_view", "omni_landing_page_view"),
}
LEAD_TYPES = ("offsite_conversion.fb_pixel_lead", "onsite_conversion.lead_grouped", "lead")
FIGURES = {"spend", "impressions", "clicks", "actions", "account_id", "campaign_id", "adset_id", "ad_id", *VIDEO}
HIDDEN = {"ARCHIVED", "DELETED"}  # from lists and figures that do not ask for them
ALL_STATUSES = {"ACTIVE", "PAUSED", "IN_PROCESS", "WITH_ISSUES", "CAMPAIGN_PAUSED", "ADSET_PAUSED", "PENDING_REVIEW"}
ALL_STATUSES |= {"DISAPPROVED", "PREAPPROVED", "PENDING_BILLING_INFO", *HIDDEN}
MAX_DAYS = 1126  # 37 months


def check_size(params: Params, state: Json) -> None:
    """What Facebook gives at once is limited; `max_days` 0: not even a day."""
    since, until = period_of(params, state)
    if (until - since).days >= state.get("max_days", 10**6):
        message = "Please reduce the amount of data you're asking for, then retry your request"
        raise Refused(1, message, status=500)


def insights(graph: Graph, kind: str, fb_id: str, params: Params) -> list[Json]:
    """The figures of a level, summed up from the days of the advertisements."""
    level = LEVELS.get(params.get("level", kind.removesuffix("s")))
    fields, is_daily = fields_of(params), params.get("time_increment") == "1"
    if level is None or (unknown := [name for name in fields if name not in FIGURES]):
        raise Refused(100, f"(#100) {unknown[0] if level else 'level'} is not valid for fields param")
    since, until = period_of(params, graph.state)
    is_shown = filter_of(graph, level, params)
    sums: dict[tuple[str, str], Json] = defaultdict(lambda: defaultdict(Decimal))
    owners: dict[str, dict[str, str]] = {}
    for ad in graph.below(kind, fb_id, "ads"):
        of_ad = graph.owners("ads", ad)
        if not is_shown(of_ad[level]):
            continue
        for day, figures in graph.state.get("days", {}).get(ad, {}).items():
            if since.isoformat() <= day <= until.isoformat():
                owners[of_ad[level]] = {name: of_ad[table] for name, table in LEVELS.items()}
                for name, number in figures.items():
                    sums[day if is_daily else "", of_ad[level]][name] += Decimal(str(number))
    rows = []
    for (day, one), total in sorted(sums.items()):
        if total["impressions"] > 0:
            period = {"date_start": day or since.isoformat(), "date_stop": day or until.isoformat()}
            rows.append({name: value for name, value in row(total, owners[one]) if name in fields} | period)
    return rows


def filter_of(graph: Graph, level: str, params: Params) -> Callable[[str], bool]:
    """Whether an object of a level is among the figures; without a filter by status, deleted ones are not."""
    if level == "accounts":
        return lambda _: True
    statuses = {one for one in ALL_STATUSES if one not in HIDDEN}
    for one in json.loads(params.get("filtering", "[]")):
        if (one["field"], one["operator"]) != (f"{level.removesuffix('s')}.effective_status", "IN"):
            raise Refused(100, f"(#100) Filtering field {one['field']} is invalid")
        statuses = set(one["value"])
        if unknown := statuses - ALL_STATUSES:
            raise Refused(100, f"(#100) Filtering value {sorted(unknown)[0]} is invalid")
    return lambda fb_id: graph.effective_status(level, fb_id) in statuses


def row(total: Json, owners: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Numbers are texts; one lead stands under several types; what is nought is left out."""
    for name, fb_id in owners.items():
        yield f"{name}_id", fb_id.removeprefix("act_")
    yield "spend", str(total["spend"].quantize(Decimal("0.01")))
    yield "impressions", str(int(total["impressions"]))
    yield "clicks", str(int(total["clicks"]))
    actions = {"link_click": total["clicks"], "video_view": total["video_views"]} | dict.fromkeys(
        LEAD_TYPES, total["leads"]
    )
    actions["onsite_conversion.messaging_conversation_started_7d"] = total["conversations"]
    for name, types in GOALS.items():
        actions |= dict.fromkeys(types, total[name])
    if found := [{"action_type": name, "value": str(int(count))} for name, count in actions.items() if count]:
        yield "actions", found
    for field, name in VIDEO.items():
        if total[name]:
            yield field, [{"action_type": "video_view", "value": str(int(total[name]))}]


def period_of(params: Params, state: Json) -> tuple[date, date]:
    try:
        found = json.loads(params.get("time_range", ""))
        since, until = date.fromisoformat(found["since"]), date.fromisoformat(found["until"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise Refused(100, "(#100) time_range must be {since, until}") from wrong
    today = date.fromisoformat(state["today"]) if "today" in state else date.today()
    if since > until:
        raise Refused(100, "(#100) since must be before until", 1487056)
    if since < today - timedelta(MAX_DAYS):
        raise Refused(3018, "(#3018) The start date of the time range cannot be beyond 37 months from the current date")
    return since, until


async def begin_report(request: Request) -> Response:
    """A report of figures that is made in the background."""
    graph, fb_id = graph_of(request), request.path_params["id"]
    kind, _ = graph.find(fb_id)
    rows = insights(graph, kind, fb_id, request.query_params)
    report_id = graph.new_id()
    graph.table("reports")[report_id] = {"account_id": graph.account(kind, fb_id), "rows": rows, "polls": 0}
    return JSONResponse({"report_run_id": report_id})


def report_of(graph: Graph, fb_id: str) -> Json | None:
    found: Json | None = graph.table("reports").get(fb_id)
    return found if found is not None and found["account_id"] in graph.accounts else None


def report_state(report: Json, state: Json) -> Json:
    """How far a report is; each look at it brings it forward."""
    report["polls"] += 1
    wanted = state.get("report_polls", 2)
    is_over = report["polls"] > wanted
    status = state.get("report_end", "Job Completed") if is_over else "Job Running"
    report["is_ready"] = status == "Job Completed"
    return {
        "async_status": status,
        "async_percent_completion": 100 if is_over else 100 * report["polls"] // (wanted + 1),
    }
