"""The objects of the stand-in for Facebook, as a token sees them, and its errors."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.standins.server import Fault, Json, standin_of

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
CHANGES = {
    "campaigns": {"name", "status", "daily_budget"},
    "adsets": {"name", "status", "daily_budget"},
    "ads": {"name", "status"},
}
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

    def find(self, fb_id: str, *, is_deleted_found: bool = False) -> tuple[str, Json]:
        """An object that the token sees; a deleted one can be read by its id, and that is all."""
        for kind in KINDS:
            one = self.table(kind).get(fb_id)
            if one is None or (one.get("status") == "DELETED" and not is_deleted_found):
                continue
            if self.account(kind, fb_id) in self.accounts:
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


def fields_of(params: Mapping[str, str]) -> list[str]:
    return re.findall(r"\w+(?:\{[^}]*\})?", params.get("fields", "id"))


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
