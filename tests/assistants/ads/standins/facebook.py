"""A stand-in for Facebook's Marketing API: one tree of objects, figures a day of its advertisements, strict refusals.

State: `tokens` {token: [account ids]}, `accounts`, `campaigns` (account_id), `adsets` (campaign_id), `ads` (adset_id,
creative_id) and `creatives` (account_id) by id, with Facebook's fields; `days` {ad id: {day: {spend, impressions,
clicks, leads, video_views, p25, p50, p75, p95}}}; `forms` {ad id: [{id, created_time, field_data}]};
`token_ends` {token: seconds since 1970}; `app`, its id and secret; `forms_are_forbidden`; `permissions` {name: granted
or declined}, by default those that are needed; `today`, a date, for the limit of 37 months; `max_page`; `is_stuck`: the
page after any is the first one; `max_days` whose figures are given at once; `report_polls` until a report is ready,
`report_end` what becomes of it.
"""

from __future__ import annotations

import json
import re
from datetime import datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.assistants.ads.standins.facebook_graph import (
    CHANGES,
    COPIED,
    NO_OBJECT,
    Graph,
    Refused,
    error,
    fields_of,
    graph_of,
    page,
    refuse,
)
from tests.assistants.ads.standins.facebook_insights import (
    HIDDEN,
    begin_report,
    check_size,
    insights,
    report_of,
    report_state,
)
from tests.standins.server import Json, StandIn, run, standin_of

EDGES = {
    "accounts": {"campaigns", "adsets", "ads", "insights"},
    "campaigns": {"adsets", "ads", "insights"},
    "adsets": {"ads", "insights"},
    "ads": {"insights", "leads"},
    "creatives": set[str](),
}
NEW_ADSET = {"name", "campaign_id", "daily_budget", "status", *COPIED}
NEW_AD = {"name", "adset_id", "creative", "status"}
STATUSES = {"ACTIVE", "PAUSED", "ARCHIVED", "DELETED"}
EFFECTIVE = {
    "campaigns": STATUSES | {"IN_PROCESS", "WITH_ISSUES"},
    "adsets": STATUSES | {"IN_PROCESS", "WITH_ISSUES", "CAMPAIGN_PAUSED"},
    "ads": STATUSES
    | {"IN_PROCESS", "WITH_ISSUES", "CAMPAIGN_PAUSED", "ADSET_PAUSED", "PENDING_REVIEW", "DISAPPROVED"}
    | {"PREAPPROVED", "PENDING_BILLING_INFO"},
}
PERMISSIONS = dict.fromkeys(("ads_management", "ads_read", "leads_retrieval", "public_profile"), "granted")
MAX_IDS = 50
MAX_BUDGET = 10**9
MIN_BUDGET = 100


async def get_object(request: Request) -> Response:
    graph, fb_id = graph_of(request), request.path_params["id"]
    if (report := report_of(graph, fb_id)) is not None:
        return JSONResponse({"id": fb_id} | report_state(report, graph.state))
    kind, _ = graph.find(fb_id, is_deleted_found=True)
    return JSONResponse(graph.shown(kind, fb_id, fields_of(request.query_params)))


async def debug_token(request: Request) -> Response:
    """What `token_ends` says of a token: seconds since 1970; by default it never ends."""
    graph_of(request)
    token = request.query_params.get("input_token", "")
    ends_at = standin_of(request).state.get("token_ends", {}).get(token, 0)
    valid = token in standin_of(request).state["tokens"]
    return JSONResponse({"data": {"type": "SYSTEM_USER", "is_valid": valid, "expires_at": ends_at, "scopes": []}})


async def exchange_token(request: Request) -> Response:
    """A new token for a valid one, by the secret of its app; it ends after 60 days."""
    state, params = standin_of(request).state, request.query_params
    wanted = {"grant_type", "client_id", "client_secret", "set_token_expires_in_60_days", "fb_exchange_token"}
    token = params.get("fb_exchange_token", "")
    if set(params) != wanted or [params["client_id"], params["client_secret"]] != state.get("app"):
        raise Refused(101, "Error validating client secret.")
    if token not in state["tokens"]:
        raise Refused(190, "Error validating access token", 463)
    renewed = f"{token}R"
    state["tokens"][renewed] = state["tokens"][token]
    return JSONResponse({"access_token": renewed, "token_type": "bearer", "expires_in": 60 * 86_400})


async def get_objects(request: Request) -> Response:
    """Several objects by their ids; one that is not there refuses all."""
    graph, ids = graph_of(request), request.query_params.get("ids", "").split(",")
    if not 0 < len(set(ids)) <= MAX_IDS:
        raise Refused(100, f"(#100) Too many IDs. Maximum: {MAX_IDS}. Provided: {len(ids)}.")
    kinds = {one: graph.find(one, is_deleted_found=True)[0] for one in ids}
    return JSONResponse({one: graph.shown(kind, one, fields_of(request.query_params)) for one, kind in kinds.items()})


async def list_mine(request: Request) -> Response:
    """What the token may do, and the ad accounts that it sees."""
    graph, edge = graph_of(request), request.path_params["edge"]
    if edge == "permissions":
        granted = PERMISSIONS | graph.state.get("permissions", {})
        rows = [{"permission": one, "status": status} for one, status in granted.items()]
    elif edge == "adaccounts":
        rows = [graph.shown("accounts", one, fields_of(request.query_params)) for one in sorted(graph.accounts)]
    else:
        raise Refused(2500, f"Unknown path components: /{edge}")
    return JSONResponse(page(request, rows))


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
    if edge == "insights" and (report := report_of(graph, fb_id)) is not None:
        if not report.get("is_ready"):
            raise Refused(100, "(#100) The report is not ready")
        return JSONResponse(page(request, report["rows"]))
    kind, _ = graph.find(fb_id, is_deleted_found=edge in ("insights", "leads"))
    if edge not in EDGES[kind]:
        raise Refused(100, f"(#100) Tried accessing nonexisting field ({edge})")
    if edge == "insights":
        check_size(request.query_params, graph.state)
        rows = insights(graph, kind, fb_id, request.query_params)
    elif edge == "leads":
        rows = form_leads(graph, fb_id, request)
    else:
        visible = [one for one in graph.below(kind, fb_id, edge) if is_listed(graph, edge, one, request)]
        rows = [graph.shown(edge, one, fields_of(request.query_params)) for one in visible]
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


def form_leads(graph: Graph, ad: str, request: Request) -> list[Json]:
    """Who filled in the forms of an advertisement, for a token with the permission."""
    if graph.state.get("forms_are_forbidden"):
        raise Refused(200, "(#200) Requires leads_retrieval permission to manage the object", status=403)
    after = next((one["value"] for one in json.loads(request.query_params.get("filtering", "[]"))), 0)
    found = graph.state.get("forms", {}).get(ad, [])
    return [one for one in found if datetime.fromisoformat(one["created_time"]).timestamp() > after]


async def on_refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return error(refused)


def make(fixture: Json) -> StandIn:
    routes = [
        Route("/{version}/debug_token", debug_token, methods=["GET"]),
        Route("/{version}/oauth/access_token", exchange_token, methods=["GET"]),
        Route("/{version}/", get_objects, methods=["GET"]),
        Route("/{version}/me/{edge}", list_mine, methods=["GET"]),
        Route("/{version}/{id}", get_object, methods=["GET"]),
        Route("/{version}/{id}", change, methods=["POST"]),
        Route("/{version}/{id}/{edge}", list_edge, methods=["GET"]),
        Route("/{version}/{id}/insights", begin_report, methods=["POST"]),
        Route("/{version}/{id}/{edge}", create, methods=["POST"]),
    ]
    return StandIn([*routes], refuse, fixture, {Refused: on_refused})


if __name__ == "__main__":
    run(make)
