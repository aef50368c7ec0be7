"""A stand-in for amoCRM: leads with contacts, pipelines, pages of at most 250, problem+json errors.

State: `tokens`, a list; `leads` {id: {name, price, status_id, pipeline_id, created_at, updated_at, contact_id, utm}},
utm {utm_content: value}, is_deleted: only in the trash; `contacts` {id: {name, phone, other_phone: the first of two}};
`pipelines` {id: {name, sort, statuses: {id: {name, sort}}}}; `currency`, by default USD; `max_page`, at most 250;
`is_endless`: every page has a next one. Times are seconds since 1970; a change takes `now`, or the time of this
machine.
"""

from __future__ import annotations

import re
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.standins.server import Fault, Json, StandIn, run, standin_of

MAX_PAGE = 250
HAL, PROBLEM = "application/hal+json", "application/problem+json"
LEAD_PARAMS = re.compile(r"page|limit|with|order\[(?:updated_at|created_at|id)\]|filter\[updated_at\]\[(?:from|to)\]")
CONTACT_PARAMS = re.compile(r"page|limit|filter\[id\]\[[0-9]*\]")
CHANGES = {"name", "price", "status_id", "pipeline_id"}
TITLES = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class Refused(Exception):
    """An error of amoCRM; `path` is the field that is wrong."""

    def __init__(self, status: int, detail: str, path: str = "") -> None:
        super().__init__(detail)
        self.status, self.detail, self.path = status, detail, path


def error(refused: Refused) -> Response:
    body: Json = {
        "title": TITLES.get(refused.status, "Error"),
        "type": f"https://httpstatus.es/{refused.status}",
        "status": refused.status,
        "detail": refused.detail,
    }
    if refused.path:
        wrong = {"code": "NotSupportedChoice", "path": refused.path, "detail": "The value is not a valid choice."}
        body["validation-errors"] = [{"request_id": "0", "errors": [wrong]}]
    return JSONResponse(body, refused.status, media_type=PROBLEM)


def refuse(fault: Fault) -> Response:
    return error(Refused(fault.status, fault.message))


def state_of(request: Request) -> Json:
    """The state, for a request with a valid token."""
    state: Json = standin_of(request).state
    if request.headers.get("authorization", "").removeprefix("Bearer ") not in state.get("tokens", []):
        raise Refused(401, "Токен не действителен")
    return state


def check_params(request: Request, known: re.Pattern[str]) -> None:
    if unknown := [name for name in request.query_params if not known.fullmatch(name)]:
        raise Refused(400, "Request validation failed", unknown[0])


def shown(state: Json, lead_id: str, request: Request) -> Json:
    stored = state["leads"][lead_id]
    whole: Json = {"price": 0, "is_deleted": False, "custom_fields_values": None, "closed_at": None} | stored
    contact = whole.pop("contact_id", None)
    if utm := whole.pop("utm", None):
        kind = {"field_id": 7, "field_type": "tracking_data"}
        whole["custom_fields_values"] = [
            kind | {"field_name": name, "field_code": name.upper(), "values": [{"value": value}]}
            for name, value in utm.items()
        ]
    embedded: Json = {"tags": [], "companies": []}
    if "contacts" in request.query_params.get("with", ""):
        embedded["contacts"] = [] if contact is None else [{"id": int(contact), "is_main": True}]
    whole |= {"id": int(lead_id), "_embedded": embedded}
    return whole


def deleted(lead_id: str, stored: Json) -> Json:
    """All that is told of a lead in the trash."""
    return {"id": int(lead_id), "updated_by": 1, "updated_at": stored["updated_at"], "is_deleted": True}


def listed(request: Request, name: str, rows: list[Json]) -> Response:
    params, state = request.query_params, standin_of(request).state
    page, limit = number(params.get("page", "1"), "page"), number(params.get("limit", "50"), "limit")
    if limit > MAX_PAGE:
        raise Refused(400, "Request validation failed", "limit")
    limit = min(limit, state.get("max_page", MAX_PAGE))
    part = rows[(page - 1) * limit : page * limit]
    if state.get("is_endless"):
        part = rows[:limit]
    elif not part:
        return Response(status_code=204)
    links = {"self": {"href": str(request.url)}}
    if page * limit < len(rows) or state.get("is_endless"):
        links["next"] = {"href": str(request.url.include_query_params(page=page + 1))}
    return JSONResponse({"_page": page, "_links": links, "_embedded": {name: part}}, media_type=HAL)


def number(text: str, path: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise Refused(400, "Request validation failed", path)
    return int(text)


async def leads(request: Request) -> Response:
    state, params = state_of(request), request.query_params
    check_params(request, LEAD_PARAMS)
    first = number(params.get("filter[updated_at][from]", "0"), "from")
    last = number(params.get("filter[updated_at][to]", "999999999999"), "to")
    is_trash = "only_deleted" in params.get("with", "")
    found = {one: lead for one, lead in state.get("leads", {}).items() if bool(lead.get("is_deleted")) == is_trash}
    rows = [deleted(one, lead) if is_trash else shown(state, one, request) for one, lead in found.items()]
    rows = [row for row in rows if first <= row["updated_at"] <= last]
    for field in ("updated_at", "created_at", "id"):
        if direction := params.get(f"order[{field}]"):
            rows.sort(key=lambda row: (row[field], row["id"]), reverse=direction == "desc")
    return listed(request, "leads", rows)


async def lead(request: Request) -> Response:
    state, lead_id = state_of(request), str(request.path_params["id"])
    if lead_id not in state.get("leads", {}):
        return Response(status_code=204)
    return JSONResponse(shown(state, lead_id, request), media_type=HAL)


async def change(request: Request) -> Response:
    state, lead_id = state_of(request), str(request.path_params["id"])
    body: Any = await request.json()
    if lead_id not in state.get("leads", {}):
        raise Refused(404, "Element not found")
    if not isinstance(body, dict) or (unknown := set(body) - CHANGES):
        raise Refused(400, "Request validation failed", sorted(unknown)[0] if isinstance(body, dict) else "body")
    stored = state["leads"][lead_id]
    changed = stored | body
    pipeline = state.get("pipelines", {}).get(str(changed["pipeline_id"]))
    if pipeline is None:
        raise Refused(400, "Request validation failed", "pipeline_id")
    if str(changed["status_id"]) not in pipeline["statuses"]:
        raise Refused(400, "Request validation failed", "status_id")
    stored |= body | {"updated_at": state.get("now", int(time.time()))}
    return JSONResponse({"id": int(lead_id), "updated_at": stored["updated_at"]}, media_type=HAL)


async def contacts(request: Request) -> Response:
    state = state_of(request)
    check_params(request, CONTACT_PARAMS)
    ids = {value for name, value in request.query_params.multi_items() if name.startswith("filter[id]")}
    rows = []
    for contact_id, stored in state.get("contacts", {}).items():
        if not ids or contact_id in ids:
            phone = {"field_id": 1, "field_name": "Телефон", "field_code": "PHONE", "field_type": "multitext"}
            phones = [stored[one] for one in ("other_phone", "phone") if stored.get(one)]
            values = [{"value": one, "enum_id": 1, "enum_code": "WORK"} for one in phones]
            fields = [phone | {"values": values}] if values else None
            rows.append({"id": int(contact_id), "name": stored.get("name", ""), "custom_fields_values": fields})
    return listed(request, "contacts", rows)


async def account(request: Request) -> Response:
    stored = {"id": 1, "name": "Кухни", "subdomain": "kitchens", "country": "KZ", "currency_symbol": "$"}
    return JSONResponse(stored | {"currency": state_of(request).get("currency", "USD")}, media_type=HAL)


async def pipelines(request: Request) -> Response:
    rows = []
    for pipeline_id, stored in state_of(request).get("pipelines", {}).items():
        statuses = [
            {"id": int(one), "name": status["name"], "sort": status["sort"], "pipeline_id": int(pipeline_id)}
            for one, status in stored["statuses"].items()
        ]
        row = {"id": int(pipeline_id), "name": stored["name"], "sort": stored["sort"], "is_archive": False}
        rows.append(row | {"_embedded": {"statuses": statuses}})
    body = {"_total_items": len(rows), "_links": {"self": {"href": str(request.url)}}, "_embedded": {"pipelines": rows}}
    return JSONResponse(body, media_type=HAL)


async def on_refused(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return error(refused)


def make(fixture: Json) -> StandIn:
    routes = [
        Route("/api/v4/leads", leads, methods=["GET"]),
        Route("/api/v4/leads/pipelines", pipelines, methods=["GET"]),
        Route("/api/v4/leads/{id:int}", lead, methods=["GET"]),
        Route("/api/v4/leads/{id:int}", change, methods=["PATCH"]),
        Route("/api/v4/account", account, methods=["GET"]),
        Route("/api/v4/contacts", contacts, methods=["GET"]),
    ]
    return StandIn([*routes], refuse, fixture, {Refused: on_refused})


if __name__ == "__main__":
    run(make)
