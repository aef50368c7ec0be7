"""/v1/users/{id}/ads: the businesses of a user, what they are connected to, and what is not set up yet.

Tokens come in and never go out. A service is asked before its token is stored; syncs are done by orchestrators.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, cast
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import ConfigDict, Field, SecretStr, StringConstraints, model_validator
from starlette.requests import Request
from starlette.responses import Response

from maas.assistants.ads import queries
from maas.assistants.ads.clients.facebook_objects import AdAccount
from maas.assistants.ads.connections import (
    AD_ACCOUNT_PATTERN,
    CRM_URL_PATTERN,
    ENDS_SOON,
    STALE_AFTER,
    Business,
    ask_crm,
    ask_facebook,
    ask_whatsapp,
)
from maas.assistants.ads.settings import AdsSettings
from maas.http.authorize import principal_of, read_body
from maas.http.request_input import read_id
from maas.http.schemas import QueryText, RequestBody, Schema, json_response, only_field
from maas.http.state import app_state
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.errors import MaasError

MAX_AD_ACCOUNTS = 50  # of one request
VENDOR_HOST = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\.(amocrm\.(ru|com)|kommo\.com)", re.ASCII)
OTHER_HOST = (
    "crm.url: an address of amoCRM, such as https://NAME.amocrm.ru; a server of your own is connected by "
    "`maas ads connect` or named in AMOCRM_BASE_URL"
)
NOT_YOURS = "the WhatsApp server has the telephones of everybody: an administrator of all users names an instance"
Service = Literal["Facebook", "amoCRM", "WhatsApp"]
Problem = Literal["no_token", "token_ended", "token_ends", "failed", "never_read", "stale"]
Missing = Literal["Facebook", "amoCRM", "WhatsApp", "directions", "stages"]
Token = Annotated[SecretStr, Field(min_length=8, max_length=8000, json_schema_extra={"writeOnly": True})]
FbId = Annotated[str, StringConstraints(pattern=AD_ACCOUNT_PATTERN)]
Instance = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{1,100}$")]
CrmUrl = Annotated[str, StringConstraints(pattern=CRM_URL_PATTERN, max_length=300)]
DUE: tuple[Service, ...] = ("Facebook", "amoCRM", "WhatsApp")


class FacebookToken(RequestBody):
    token: Token


class CrmToken(RequestBody):
    url: CrmUrl = Field(description="Of amoCRM, or the address in AMOCRM_BASE_URL.")
    token: Token


class AdAccountChoice(FacebookToken):
    accounts: list[FbId] = Field(min_length=1, max_length=MAX_AD_ACCOUNTS, description="Those that the token sees.")


class WhatsappChoice(RequestBody):
    instance: Instance = Field(description="Of the Evolution API; only administrators of all users may name one.")


class ConnectionCheck(RequestBody):
    """One token or instance to try; nothing is stored."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                only_field("facebook", "crm", "whatsapp"),
                only_field("crm", "facebook", "whatsapp"),
                only_field("whatsapp", "facebook", "crm"),
            ]
        }
    )

    facebook: FacebookToken | None = None
    crm: CrmToken | None = None
    whatsapp: WhatsappChoice | None = None

    @model_validator(mode="after")
    def _one(self) -> ConnectionCheck:
        if sum(one is not None for one in (self.facebook, self.crm, self.whatsapp)) != 1:
            raise ValueError("send facebook or crm or whatsapp, one of them")
        return self


class NewConnections(RequestBody):
    """What a business is connected to from now on; what is left out stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [only_field(name) for name in ("facebook", "crm", "whatsapp")]}
    )

    business: Annotated[QueryText, Field(max_length=200)] = Field(
        description="Its name; one that is new makes a new business."
    )
    facebook: AdAccountChoice | None = None
    crm: CrmToken | None = None
    whatsapp: WhatsappChoice | None = None

    @model_validator(mode="after")
    def _something(self) -> NewConnections:
        if self.facebook is None and self.crm is None and self.whatsapp is None:
            raise ValueError("send facebook, crm or whatsapp")
        return self


class SyncRequest(RequestBody):
    business_id: UUID | None = Field(None, description="Without one, all connections are read.")


class FoundAdAccount(Schema):
    id: str
    name: str
    currency: str
    timezone: str
    can_run_ads: bool


class FacebookCheck(Schema):
    accounts: list[FoundAdAccount] = Field(description="That the token sees.")
    missing_permissions: list[str]
    permissions_unknown: str | None = Field(description="Why it is not known what the token may do.")
    token_ends_at: datetime | None = Field(description="null: never, or Facebook does not tell it.")


class CrmCheck(Schema):
    stages: int
    currency: str
    token_ends_at: datetime | None = Field(description="null: never, or the token does not tell it.")


class WhatsappCheck(Schema):
    state: str | None = Field(description="open, connecting or close; null: this server has no key to ask with.")
    is_linked: bool | None = Field(description="Whether a telephone is linked to the instance; null: not known.")


class CheckResult(Schema):
    """What the service answered; a token or instance that it refuses is the error `bad_parameter` with its words."""

    facebook: FacebookCheck | None
    crm: CrmCheck | None
    whatsapp: WhatsappCheck | None


class AdsConnection(Schema):
    service: Service
    id: str = Field(description="`act_NUMBER` of an ad account, else the id of the business.")
    title: str = Field(description="The name of the ad account, the address of amoCRM, the instance of WhatsApp.")
    currency: str | None
    timezone: str | None
    token_ends_at: datetime | None
    synced_at: datetime | None = Field(description="When a sync last read it to the end.")
    is_syncing: bool
    is_waiting: bool = Field(description="Whether its first or a wanted sync has not begun yet.")
    next_sync_at: datetime | None = Field(description="null: as soon as an orchestrator is free, or never.")
    progress: dict[str, int] = Field(description="Rows by kind that the sync which began last has read so far.")
    error: str | None = Field(description="Why the last sync did not read all, in the words of the service.")
    problems: list[Problem]


class AdsBusiness(Schema):
    id: UUID
    name: str
    connections: list[AdsConnection]
    missing: list[Missing] = Field(description="What is not set up yet, the most important first.")


class AdsState(Schema):
    businesses: list[AdsBusiness]
    crm_url: str | None = Field(description="The address of amoCRM that this server proposes.")
    whatsapp: Literal["open", "administrators", "not_configured"] = Field(
        description="Whether the caller may connect an instance; not_configured: no WhatsApp server is set."
    )


async def get_ads(request: Request) -> Response:
    """Return what a user's businesses are connected to, how old their data is, and what is missing."""
    return json_response(await _read_state(request, read_id(request, "user")))


async def post_ads_check(request: Request) -> Response:
    """Try a token or an instance at its service and return what it answers; nothing is stored."""
    body = await read_body(request, ConnectionCheck)
    own, facebook, crm, whatsapp = _own_settings(request), None, None, None
    _check_allowed(request, body)
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        if body.facebook is not None:
            found = await ask_facebook(http, own, body.facebook.token.get_secret_value())
            facebook = FacebookCheck(
                accounts=[_shown(one) for one in found.accounts],
                missing_permissions=list(found.missing),
                permissions_unknown=found.unknown,
                token_ends_at=found.ends_at,
            )
        elif body.crm is not None:
            answer = await ask_crm(http, body.crm.url, body.crm.token.get_secret_value())
            crm = CrmCheck(stages=answer.stages, currency=answer.currency, token_ends_at=answer.ends_at)
        elif body.whatsapp is not None:
            state = await ask_whatsapp(http, own, body.whatsapp.instance)
            whatsapp = WhatsappCheck(state=state, is_linked=None if state is None else state == "open")
    return json_response(CheckResult(facebook=facebook, crm=crm, whatsapp=whatsapp))


async def post_ads_connections(request: Request) -> Response:
    """Connect a business, or store new tokens of it; each service is asked first, and is read in the background."""
    user_id, body = read_id(request, "user"), await read_body(request, NewConnections)
    state, own = app_state(request), _own_settings(request)
    business = Business(state.db, user_id, body.business.strip(), principal_of(request).name)
    _check_allowed(request, body)
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:  # all are asked before anything is stored
        token = body.facebook.token.get_secret_value() if body.facebook is not None else ""
        found: Sequence[AdAccount] = ()
        if body.facebook is not None:
            found = _chosen((await ask_facebook(http, own, token)).accounts, body.facebook.accounts)
        if body.crm is not None:
            await ask_crm(http, body.crm.url, body.crm.token.get_secret_value())
        if body.whatsapp is not None:
            await ask_whatsapp(http, own, body.whatsapp.instance)
    for one in found:
        account_id = await business.add_ad_account(one, token)
    if body.crm is not None:
        account_id = await business.add_crm(body.crm.url, body.crm.token.get_secret_value())
    if body.whatsapp is not None:
        account_id = await business.add_whatsapp(body.whatsapp.instance)
    await state.db.value(queries.ads_want_syncs, user_id, account_id)
    return json_response(await _read_state(request, user_id), 201)


async def post_ads_sync(request: Request) -> Response:
    """Have the connections of a user, or of one business, read as soon as an orchestrator is free."""
    user_id, body = read_id(request, "user"), await read_body(request, SyncRequest)
    await app_state(request).db.value(queries.ads_want_syncs, user_id, body.business_id)
    return json_response(await _read_state(request, user_id), 202)


async def _read_state(request: Request, user_id: UUID) -> AdsState:
    own = _own_settings(request)
    rows = await app_state(request).db.rows(queries.ads_connection_states, user_id, own.ads_sync_interval)
    ids = dict.fromkeys(row["business_id"] for row in rows)
    whatsapp: Literal["open", "administrators", "not_configured"] = "not_configured"
    if own.evolution_base_url is not None:
        whatsapp = "open" if _may_name_instances(request) else "administrators"
    return AdsState(
        businesses=[_business([row for row in rows if row["business_id"] == one]) for one in ids],
        crm_url=own.amocrm_base_url,
        whatsapp=whatsapp,
    )


def _business(rows: Sequence[queries.AdsConnectionStatesRow]) -> AdsBusiness:
    services = {row["service"] for row in rows}
    missing: list[Missing] = [one for one in DUE if one not in services]
    if any(row["has_adsets"] for row in rows) and not any(row["has_directions"] for row in rows):
        missing.append("directions")
    if rows[0]["has_stages"] and not rows[0]["has_qualifying"]:
        missing.append("stages")
    return AdsBusiness(
        id=rows[0]["business_id"],
        name=rows[0]["business"],
        connections=[_connection(row) for row in rows],
        missing=missing,
    )


def _connection(row: queries.AdsConnectionStatesRow) -> AdsConnection:
    return AdsConnection(
        service=cast(Service, row["service"]),
        id=row["named"],
        title=row["title"],
        currency=row["currency"],
        timezone=row["timezone"],
        token_ends_at=row["token_ends_at"],
        synced_at=row["synced_at"],
        is_syncing=row["is_syncing"],
        is_waiting=row["is_wanted"] or (row["begun_at"] is None and row["is_by_itself"]),
        next_sync_at=row["due_at"],
        progress=row["progress"],
        error=row["error"],
        problems=_problems(row),
    )


def _problems(row: queries.AdsConnectionStatesRow) -> list[Problem]:
    """What `maas doctor` says of a connection, too."""
    found: list[Problem] = []
    now, ends_at, synced_at = row["read_at"], row["token_ends_at"], row["synced_at"]
    if not row["has_token"]:
        found.append("no_token")
    elif ends_at is not None and ends_at - now < ENDS_SOON:
        found.append("token_ends" if ends_at > now else "token_ended")
    if row["error"] is not None:
        found.append("failed")
    if synced_at is None:
        found.append("never_read")
    elif now - synced_at > STALE_AFTER:
        found.append("stale")
    return found


def _chosen(seen: Sequence[AdAccount], wanted: Sequence[str]) -> list[AdAccount]:
    """Those of the ad accounts that a token sees which are wanted. Raises MaasError('bad_parameter')."""
    known = {one.fb_id: one for one in seen}
    if unknown := [one for one in wanted if one not in known]:
        raise MaasError("bad_parameter", f"nothing was stored: the token does not see {unknown[0]}")
    return [known[one] for one in dict.fromkeys(wanted)]


def _shown(one: AdAccount) -> FoundAdAccount:
    return FoundAdAccount(
        id=one.fb_id, name=one.name, currency=one.currency, timezone=one.timezone, can_run_ads=one.can_run_ads
    )


def _own_settings(request: Request) -> AdsSettings:
    return app_state(request).settings.of(AdsSettings)


def _may_name_instances(request: Request) -> bool:
    """Whether the caller serves all users: the instances of the WhatsApp server are those of all of them."""
    principal = principal_of(request)
    return principal.may("admin") and not principal.is_bound


def _check_allowed(request: Request, body: ConnectionCheck | NewConnections) -> None:
    """Raise MaasError for an instance that the caller may not name, `forbidden`, and for a CRM elsewhere."""
    if body.whatsapp is not None and not _may_name_instances(request):
        raise MaasError("forbidden", NOT_YOURS)
    if body.crm is not None:
        _check_host(_own_settings(request), body.crm.url)


def _check_host(settings: AdsSettings, url: str) -> None:
    """Raise MaasError('bad_parameter') for a CRM elsewhere: this process would send requests for anybody anywhere."""
    if settings.amocrm_base_url is not None and url.rstrip("/") == settings.amocrm_base_url.rstrip("/"):
        return
    parts = urlsplit(url)
    if parts.scheme != "https" or not VENDOR_HOST.fullmatch(parts.netloc.lower()):
        raise MaasError("bad_parameter", OTHER_HOST)
