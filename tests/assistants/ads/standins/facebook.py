"""A stand-in for Facebook's Marketing API: one tree of objects, figures a day of its advertisements, strict refusals.

State: `tokens` {token: [account ids]}, `accounts`, `campaigns` (account_id), `adsets` (campaign_id), `ads` (adset_id,
creative_id) and `creatives` (account_id) by id, with Facebook's fields; `days` {ad id: {day: {spend, impressions,
clicks, leads, video_views, p25, p50, p75, p95}}}; `forms` {ad id: [{id, created_time, field_data}]};
`forms_are_forbidden`; `today`, a date, for the limit of 37 months; `max_page`; `is_stuck`: the page after
any is the first one.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.standins.server import Fault, Json, StandIn, run, standin_of

KINDS = ("accounts", "campaigns", "adsets", "ads", "creatives")
COPIED = {"targeting", "optimization_goal", "billing_event", "promoted_object", "destination_type"}
COPIED |= {"bid_strategy", "bid_amount"}
FIELDS = {
    "accounts": {"id", "account_id", "name", "currency", "timezone_name", "account_status", "disable_reason"},
    "campaigns": {"id", "account_id", "name", "objective", "status", "effective_status", "daily_budget"},
    "adsets": {"id", "account_id", "campaign_id", "name", "status", "effective_status", "daily_budget", *COPIED},
    "ads": {"id", "account_id", "campaign_id", "adset_id", "name", "status", "effective_status", "creative"},
    "creatives": {"id", "account_id", "name", "video_id"},
}
EDGES = {
    "accounts": {"campaigns", "adsets", "ads", "insights"},
    "campaigns": {"adsets", "ads", "insights"},
    "adsets": {"ads", "insights"},
    "ads": {"insights", "leads"},
    "creatives": set[str](),
}
CHANGES = {
    "campaigns": {"name", "status", "daily_budget"},
    "adsets": {"name", "status", "daily_budget"},
    "ads": {"name", "status"},
}
NEW_ADSET = {"name", "campaign_id", "daily_budget", "status", *COPIED}
NEW_AD = {"name", "adset_id", "creative", "status"}
STATUSES = {"ACTIVE", "PAUSED", "ARCHIVED", "DELETED"}
HIDDEN = {"ARCHIVED", "DELETED"}  # from lists that do not ask for them
EFFECTIVE = {
    "campaigns": STATUSES | {"IN_PROCESS", "WITH_ISSUES"},
    "adsets": STATUSES | {"IN_PROCESS", "WITH_ISSUES", "CAMPAIGN_PAUSED"},
    "ads": STATUSES
    | {"IN_PROCESS", "WITH_ISSUES", "CAMPAIGN_PAUSED", "ADSET_PAUSED", "PENDING_REVIEW", "DISAPPROVED"}
    | {"PREAPPROVED", "PENDING_BILLING_INFO"},
}
LEVELS = {"account": "accounts", "campaign": "campaigns", "adset": "adsets", "ad": "ads"}
COUNTS = ("impressions", "clicks", "leads", "conversations", "video_views", "p25", "p50", "p75", "p95")
VIDEO = {
    "video_play_actions": "video_views",
    "video_p25_watched_actions": "p25",
    "video_p50_watched_actions": "p50",
    "video_p75_watched_actions": "p75",
    "video_p95_watched_actions": "p95",
}
LEAD_TYPES = ("offsite_conversion.fb_pixel_lead", "onsite_conversion.lead_grouped", "lead")
FIGURES = {"spend", "impressions", "clicks", "actions", "account_id", "campaign_id", "adset_id", "ad_id", *VIDEO}
MAX_BUDGET = 10**9
MIN_BUDGET = 100
MAX_DAYS = 1126  # 37 months
NO_OBJECT = "Unsupported request. Object with ID '{}' does not exist, or cannot be loaded due to missing permissions"


class Refused(Exception):
    """An error of the Graph API."""

    def __init__(self, code: int, message: str, subcode: int = 0, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.subcode, self.status = code, message, subcode, status


def error(refused: Refused) -> Response:
    body = {
        "message": refused.message,
        "type": "OAuthException",
        "code": refused.code,
        "fbtrace_id": "AbCdEfGh",
    } | ({"error_subcode": refused.subcode} if refused.subcode else {})
    return JSONResponse({"error": body}, refused.status)


def refuse(fault: Fault) -> Response:
    status = 400 if fault.code and fault.status == 500 else fault.status
    response = error(Refused(fault.code or 1, fault.message, fault.subcode, status))
    if fault.regain_minutes:
        usage = {"1": [{"type": "ads_management", "estimated_time_to_regain_access": fault.regain_minutes}]}
        response.headers["x-business-use-case-usage"] = json.dumps(usage)
    return response


class Graph:
    """The objects that a token may see."""

    def __init__(self, state: Json, token: str) -> None:
        self.state = state
        if token not in state.get("tokens", {}):
            raise Refused(190, f"Malformed access token {token}")
        self.accounts = set(state["tokens"][token])

    def table(self, kind: str) -> Json:
        table: Json = self.state.setdefault(kind, {})
        return table

    def find(self, fb_id: str) -> tuple[str, Json]:
        for kind in KINDS:
            one = self.table(kind).get(fb_id)
            if one is not None and one.get("status") != "DELETED" and self.account(kind, fb_id) in self.accounts:
                return kind, one
        raise Refused(100, NO_OBJECT.format(fb_id), 33)

    def owners(self, kind: str, fb_id: str) -> dict[str, str]:
        """The ids of the object and of all that it belongs to, by kind."""
        ids = {kind: fb_id}
        if kind == "ads":
            kind, fb_id = "adsets", self.table("ads")[fb_id]["adset_id"]
            ids[kind] = fb_id
        if kind == "adsets":
            kind, fb_id = "campaigns", self.table("adsets")[fb_id]["campaign_id"]
            ids[kind] = fb_id
        if kind in ("campaigns", "creatives"):
            ids["accounts"] = self.table(kind)[fb_id]["account_id"]
        return ids

    def account(self, kind: str, fb_id: str) -> str:
        return self.owners(kind, fb_id)["accounts"]

    def shown(self, kind: str, fb_id: str, fields: list[str]) -> Json:
        """The fields of an object; those without a value are left out, as Facebook does."""
        nested = {one.partition("{")[0]: one.partition("{")[2].removesuffix("}").split(",") for one in fields}
        fields = list(nested)
        if unknown := [name for name in fields if name not in FIELDS[kind]]:
            raise Refused(100, f"(#100) Tried accessing nonexisting field ({unknown[0]})")
        stored, owners = self.table(kind)[fb_id], self.owners(kind, fb_id)
        whole = stored | {"id": fb_id, "account_id": owners["accounts"].removeprefix("act_")}
        for owner, field in (("campaigns", "campaign_id"), ("adsets", "adset_id")):
            if owner in owners and owner != kind:
                whole[field] = owners[owner]
        if kind == "ads":
            creative = stored.get("creative_id")
            whole["creative"] = self.shown("creatives", creative, nested.get("creative", [])) if creative else None
        if kind in CHANGES:
            whole["effective_status"] = self.effective_status(kind, fb_id)
        if whole.get("daily_budget") is not None:
            whole["daily_budget"] = str(whole["daily_budget"])
        return {name: whole[name] for name in ["id", *fields] if whole.get(name) is not None}

    def effective_status(self, kind: str, fb_id: str) -> str:
        own: str = self.table(kind)[fb_id].get("status", "ACTIVE")
        owners = self.owners(kind, fb_id)
        for owner, word in (("campaigns", "CAMPAIGN_PAUSED"), ("adsets", "ADSET_PAUSED")):
            above = self.table(owner)[owners[owner]] if owner in owners and owner != kind else {}
            if own == "ACTIVE" and above.get("status", "ACTIVE") != "ACTIVE":
                return word
        return own

    def below(self, kind: str, fb_id: str, wanted: str) -> list[str]:
        """The ids of the objects of a kind that belong to an object."""
        return sorted(one for one in self.table(wanted) if self.owners(wanted, one).get(kind) == fb_id)

    def new_id(self) -> str:
        self.state["last_id"] = self.state.get("last_id", 990_000_000_000) + 1
        return str(self.state["last_id"])


def graph_of(request: Request) -> Graph:
    header = request.headers.get("authorization", "")
    return Graph(
        standin_of(request).state, header.removeprefix("Bearer ") or request.query_params.get("access_token", "")
    )


def fields_of(request: Request) -> list[str]:
    return re.findall(r"\w+(?:\{[^}]*\})?", request.query_params.get("fields", "id"))


async def get_object(request: Request) -> Response:
    graph, fb_id = graph_of(request), request.path_params["id"]
    kind, _ = graph.find(fb_id)
    return JSONResponse(graph.shown(kind, fb_id, fields_of(request)))


async def change(request: Request) -> Response:
    graph, fb_id, form = graph_of(request), request.path_params["id"], await form_of(request)
    kind, stored = graph.find(fb_id)
    check_fields(form, CHANGES.get(kind, set()))
    check_values(form)
    if "daily_budget" in form:
        owner = {"campaigns": "the ad sets", "adsets": "the campaign"}[kind]
        if stored.get("daily_budget") is None:
            raise Refused(100, f"The budget is set by {owner}", 1885621)
        form["daily_budget"] = int(form["daily_budget"])
    stored.update(form)
    return JSONResponse({"success": True})


async def create(request: Request) -> Response:
    graph, fb_id, form = graph_of(request), request.path_params["id"], await form_of(request)
    edge = request.path_params["edge"]
    kind, _ = graph.find(fb_id)
    if kind != "accounts" or edge not in ("ads", "adsets"):
        raise Refused(100, f"Unsupported post request to {edge}")
    check_fields(form, NEW_AD if edge == "ads" else NEW_ADSET)
    check_values(form)
    if not form.get("name"):
        raise Refused(100, "(#100) The parameter name is required")
    new: Json = {"name": form["name"], "status": form.get("status", "ACTIVE")}
    if edge == "ads":
        owner = ("adsets", form.get("adset_id", ""))
        creative = json_of(form, "creative").get("creative_id", "")
        if creative not in graph.table("creatives") or graph.account("creatives", creative) != fb_id:
            raise Refused(100, "Invalid creative", 1443050)
        new |= {"adset_id": owner[1], "creative_id": creative}
    else:
        owner = ("campaigns", form.get("campaign_id", ""))
        for required in ("daily_budget", "optimization_goal", "billing_event"):
            if required not in form:
                raise Refused(100, f"(#100) The parameter {required} is required")
        new |= form | {"targeting": json_of(form, "targeting"), "daily_budget": int(form["daily_budget"])}
        if "promoted_object" in form:
            new["promoted_object"] = json_of(form, "promoted_object")
    found, stored = graph.find(owner[1])
    if found != owner[0] or graph.account(*owner) != fb_id:
        raise Refused(100, NO_OBJECT.format(owner[1]), 33)
    if edge == "adsets" and stored.get("daily_budget") is not None:
        raise Refused(100, "The campaign has a budget already", 1885621)
    new_id = graph.new_id()
    graph.table(edge)[new_id] = new
    return JSONResponse({"id": new_id})


async def form_of(request: Request) -> Json:
    return {name: str(value) for name, value in (await request.form()).items()}


def json_of(form: Json, name: str) -> Json:
    try:
        value = json.loads(form[name])
    except (KeyError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise Refused(100, f"(#100) The parameter {name} must be a JSON object")
    return value


def check_fields(form: Json, known: set[str]) -> None:
    if unknown := set(form) - known:
        raise Refused(100, f"(#100) Unknown parameter {sorted(unknown)[0]}")


def check_values(form: Json) -> None:
    if form.get("status", "ACTIVE") not in STATUSES:
        raise Refused(100, "(#100) Invalid status")
    budget = form.get("daily_budget", str(MIN_BUDGET))
    if not re.fullmatch(r"[0-9]{1,12}", budget) or not MIN_BUDGET <= int(budget) <= MAX_BUDGET:
        raise Refused(100, "(#100) Invalid daily budget", 1885272)


async def list_edge(request: Request) -> Response:
    graph, fb_id, edge = graph_of(request), request.path_params["id"], request.path_params["edge"]
    kind, _ = graph.find(fb_id)
    if edge not in EDGES[kind]:
        raise Refused(100, f"(#100) Tried accessing nonexisting field ({edge})")
    if edge == "insights":
        rows = insights(graph, kind, fb_id, request)
    elif edge == "leads":
        rows = form_leads(graph, fb_id, request)
    else:
        visible = [one for one in graph.below(kind, fb_id, edge) if is_listed(graph, edge, one, request)]
        rows = [graph.shown(edge, one, fields_of(request)) for one in visible]
    return JSONResponse(page(request, rows))


def is_listed(graph: Graph, edge: str, fb_id: str, request: Request) -> bool:
    wanted = set(json.loads(request.query_params.get("effective_status", "[]")))
    if unknown := sorted(wanted - EFFECTIVE[edge]):
        raise Refused(100, f"(#100) Param effective_status[0] must be one of the statuses, not {unknown[0]}")
    return (
        graph.effective_status(edge, fb_id) in wanted
        if wanted
        else graph.table(edge)[fb_id].get("status") not in HIDDEN
    )


def page(request: Request, rows: list[Json]) -> Json:
    params = dict(request.query_params)
    try:
        limit, first = int(params.get("limit", 25)), int(base64.b64decode(params.get("after", "MA==")))
    except ValueError as wrong:
        raise Refused(100, "(#100) Invalid paging") from wrong
    limit = min(limit, standin_of(request).state.get("max_page", 500))
    part = rows[first : first + limit]
    if not part:
        return {"data": []}
    places = {"before": first, "after": 0 if standin_of(request).state.get("is_stuck") else first + limit}
    cursors = {name: base64.b64encode(str(place).encode()).decode() for name, place in places.items()}
    paging: Json = {"cursors": cursors}
    if first + limit < len(rows):
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        query = params | {"after": cursors["after"], "access_token": token}
        paging["next"] = f"{request.url.replace(query='')}?{urlencode(query)}"
    return {"data": part, "paging": paging}


def form_leads(graph: Graph, ad: str, request: Request) -> list[Json]:
    """Who filled in the forms of an advertisement, for a token with the permission."""
    if graph.state.get("forms_are_forbidden"):
        raise Refused(200, "(#200) Requires leads_retrieval permission to manage the object", status=403)
    after = next((one["value"] for one in json.loads(request.query_params.get("filtering", "[]"))), 0)
    found = graph.state.get("forms", {}).get(ad, [])
    return [one for one in found if datetime.fromisoformat(one["created_time"]).timestamp() > after]


def insights(graph: Graph, kind: str, fb_id: str, request: Request) -> list[Json]:
    """The figures of a level, summed up from the days of the advertisements."""
    level = LEVELS.get(request.query_params.get("level", kind.removesuffix("s")))
    fields, is_daily = fields_of(request), request.query_params.get("time_increment") == "1"
    if level is None or (unknown := [name for name in fields if name not in FIGURES]):
        raise Refused(100, f"(#100) {unknown[0] if level else 'level'} is not valid for fields param")
    since, until = period_of(request, graph.state)
    if (until - since).days >= graph.state.get("max_days", 10**6):
        message = "Please reduce the amount of data you're asking for, then retry your request"
        raise Refused(1, message, status=500)
    sums: dict[tuple[str, str], Json] = defaultdict(lambda: defaultdict(Decimal))
    owners: dict[str, dict[str, str]] = {}
    for ad in graph.below(kind, fb_id, "ads"):
        of_ad = graph.owners("ads", ad)
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
    if found := [{"action_type": name, "value": str(int(count))} for name, count in actions.items() if count]:
        yield "actions", found
    for field, name in VIDEO.items():
        if total[name]:
            yield field, [{"action_type": "video_view", "value": str(int(total[name]))}]


def period_of(request: Request, state: Json) -> tuple[date, date]:
    try:
        found = json.loads(request.query_params.get("time_range", ""))
        since, until = date.fromisoformat(found["since"]), date.fromisoformat(found["until"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise Refused(100, "(#100) time_range must be {since, until}") from wrong
    today = date.fromisoformat(state["today"]) if "today" in state else date.today()
    if since > until:
        raise Refused(100, "(#100) since must be before until", 1487056)
    if since < today - timedelta(MAX_DAYS):
        raise Refused(3018, "(#3018) The start date of the time range cannot be beyond 37 months from the current date")
    return since, until


async def on_refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return error(refused)


def make(fixture: Json) -> StandIn:
    routes = [
        Route("/{version}/{id}", get_object, methods=["GET"]),
        Route("/{version}/{id}", change, methods=["POST"]),
        Route("/{version}/{id}/{edge}", list_edge, methods=["GET"]),
        Route("/{version}/{id}/{edge}", create, methods=["POST"]),
    ]
    return StandIn([*routes], refuse, fixture, {Refused: on_refused})


if __name__ == "__main__":
    run(make)
