"""The account that a run works for: found by the request's choice or the user's default, with its connections.

Every domain of advertising is opened from the same row; they differ in what connects them and in the data they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import SecretStr

from maas.assistants.ads import queries
from maas.assistants.ads.connections import STALE_AFTER, crm_secret, facebook_secret
from maas.engine.stages import Deps
from maas.tools.calls import ToolFailure
from maas.tools.openers import Opener
from maas.tools.tool import ToolContext
from maas.user_secrets import UserSecrets
from shared.db import Database

Domain = Literal["ads", "creative", "crm", "whatsapp"]
DOMAINS: tuple[Domain, ...] = ("ads", "creative", "crm", "whatsapp")
ACCOUNT, FACEBOOK_TOKEN, CRM_TOKEN = "account", "facebook_token", "crm_token"  # members of ToolContext.values
DOMAIN_OF: Mapping[str, Domain] = {"Facebook": "ads", "amoCRM": "crm", "WhatsApp": "whatsapp"}
SERVICES: Mapping[Domain, str] = {"ads": "Facebook", "creative": "Facebook", "crm": "amoCRM", "whatsapp": "WhatsApp"}
NO_ACCOUNT = "there is no advertising account yet; an operator adds one: maas ads connect"
UNKNOWN_ACCOUNT = "there is no such account; ask which one, or leave it out for the default"
NO_AD_ACCOUNT = "this account has no ad account; an operator adds one: maas ads connect"


@dataclass(frozen=True, slots=True)
class AdAccount:
    """An ad account of Facebook. `fb_id` begins with act_; money is in `currency`, days are days of `timezone`.

    `others` are the other ad accounts of the business, with their currencies; `stored_from` is the first day whose
    figures are stored, None where that is unknown.
    """

    id: UUID
    fb_id: str
    name: str
    currency: str
    timezone: ZoneInfo
    others: Sequence[str] = ()
    stored_from: date | None = None

    def shown(self) -> dict[str, Any]:
        """What a result says of the account that its money is of."""
        shown = {"ad_account": self.name, "currency": self.currency}
        if self.others:
            shown["not_included"] = (
                f"the business also has {', '.join(self.others)}: figures are of {self.name} alone, and money of "
                "different currencies is not added up; a request names the ad account that it is about"
            )
        return shown


@dataclass(frozen=True, slots=True)
class Rate:
    """What one unit of the currency `of`, that of the CRM, was in `currency` on a day."""

    value: Decimal
    of: str
    currency: str
    day: date


@dataclass(frozen=True, slots=True)
class Account:
    """A business of a user. `ad_account` is None where there is none, or where the request names the business alone."""

    id: UUID
    user_id: UUID
    name: str
    ad_account: AdAccount | None
    crm_url: str | None
    crm_currency: str | None
    rate: Rate | None
    whatsapp_instance: str | None
    is_connected: Mapping[Domain, bool]
    has_data: Mapping[Domain, bool]
    synced_at: Mapping[Domain, datetime | None]
    token_ends_at: Mapping[Domain, datetime | None]
    sync_errors: Mapping[str, str]
    read_at: datetime

    @property
    def timezone(self) -> ZoneInfo:
        """The zone that its days are in; UTC without an ad account."""
        return self.ad_account.timezone if self.ad_account else ZoneInfo("UTC")

    @property
    def currency(self) -> str | None:
        """What its money is in; None without an ad account."""
        return self.ad_account.currency if self.ad_account else None

    @property
    def revenue_currency(self) -> str | None:
        """What its leads pay in: the CRM's currency, that of the ad account while that of the CRM is unknown."""
        return self.crm_currency or self.currency

    @property
    def usable_rate(self) -> Rate | None:
        """The rate between the currencies that the CRM and the ad account have now; None without one."""
        rate = self.rate
        return rate if rate is not None and (rate.of, rate.currency) == (self.crm_currency, self.currency) else None

    @property
    def needs_rate(self) -> bool:
        """Whether leads pay in another currency than ads cost."""
        return None not in (self.currency, self.crm_currency) and self.currency != self.crm_currency

    def freshness(self, *domains: Domain) -> dict[str, Any]:
        """When the tables of domains were last filled from their services, for a result; old ones are said in words."""
        times = {
            one: self.synced_at[one] for one in domains if self.is_connected[one] or self.synced_at[one] is not None
        }
        if not times:
            return {}
        shown: dict[str, Any] = {
            "synced_at": {
                one: None if at is None else at.astimezone(self.timezone).isoformat(timespec="minutes")
                for one, at in times.items()
            }
        }
        if old := [one for one, at in times.items() if at is None or self.read_at - at > STALE_AFTER]:
            services = dict.fromkeys(SERVICES[one] for one in old)
            reasons = [self.sync_errors[name] for name in services if name in self.sync_errors]
            shown["stale"] = (
                f"the tables of {', '.join(old)} were not filled within a day, so what came since is missing: say so; "
                + ("; ".join(reasons) or "no sync has come to its end: an operator looks at maas ads syncs")
            )
        return shown

    @property
    def integrations(self) -> dict[str, bool]:
        """Which services are connected. `roi`: revenue can be set against spend."""
        flags = {"fb": self.is_connected["ads"], "crm": self.is_connected["crm"]}
        flags["whatsapp"] = self.is_connected["whatsapp"]
        return flags | {"roi": self.has_data["ads"] and self.has_data["crm"]}


def account_of(context: ToolContext) -> Account:
    """The account that a tool works for; the opener of its domain put it there."""
    account = context.values[ACCOUNT]
    assert isinstance(account, Account)
    return account


def ad_account_of(context: ToolContext) -> AdAccount:
    """The ad account that a tool works for. Raises ToolFailure if the account has none."""
    if (found := account_of(context).ad_account) is None:
        raise ToolFailure(NO_AD_ACCOUNT)
    return found


async def read_account(db: Database, user_id: UUID, named: str | None) -> Account | None:
    """The account that `named` is: an id of ours, or one of Facebook with act_; None: the user's default.

    None if the user has no such account, whoever else may have it.
    """
    row = await db.row(queries.ads_account, user_id, named)
    if row is None:
        return None
    zone = row["timezone"]
    ad_account = None
    if row["ad_account_id"] is not None:
        ad_account = AdAccount(
            row["ad_account_id"],
            row["fb_id"],
            row["ad_account_name"],
            row["currency"],
            zone_of(zone),
            row["other_ad_accounts"],
            row["synced_from"],
        )
    has_token = row["has_facebook_token"]
    has_leads, has_messages = row["has_leads"], row["has_messages"]
    return Account(
        id=row["user_account_id"],
        user_id=user_id,
        name=row["name"],
        ad_account=ad_account,
        crm_url=row["crm_url"],
        crm_currency=row["crm_currency"],
        rate=_rate_of(row),
        whatsapp_instance=row["instance"],
        is_connected={
            "ads": has_token,
            "creative": has_token,
            "crm": row["crm_url"] is not None and row["has_crm_token"],
            "whatsapp": row["instance"] is not None,
        },
        has_data={
            "ads": row["has_campaigns"] or row["has_directions"],
            "creative": row["has_creatives"],
            "crm": has_leads or has_messages,
            "whatsapp": has_messages,
        },
        synced_at={
            "ads": row["ads_synced_at"],
            "creative": row["ads_synced_at"],
            "crm": row["crm_synced_at"],
            "whatsapp": row["whatsapp_synced_at"],
        },
        token_ends_at={
            "ads": row["ads_token_ends_at"],
            "creative": row["ads_token_ends_at"],
            "crm": row["crm_token_ends_at"],
            "whatsapp": None,
        },
        sync_errors=row["sync_errors"] or {},
        read_at=row["read_at"],
    )


def _rate_of(row: queries.AdsAccountRow) -> Rate | None:
    value, of, currency, day = row["rate"], row["rate_of"], row["rate_currency"], row["rated_on"]
    return None if value is None or of is None or currency is None or day is None else Rate(value, of, currency, day)


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this IANA name, UTC if there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return ZoneInfo("UTC")


async def read_values(db: Database, user_id: UUID, named: str | None) -> dict[str, Any] | None:
    """An account and its tokens, as tools get them in ToolContext.values; `named` and None as in `read_account`."""
    if (account := await read_account(db, user_id, named)) is None:
        return None
    names = {CRM_TOKEN: crm_secret(account.id)}
    if account.ad_account is not None:
        names[FACEBOOK_TOKEN] = facebook_secret(account.ad_account.fb_id)
    secrets = await UserSecrets(db).read(user_id, list(names.values()))
    tokens = {key: SecretStr(secrets[name].value) for key, name in names.items() if name in secrets}
    return {ACCOUNT: account} | tokens


async def _open(deps: Deps, context: ToolContext, domain: Domain) -> Mapping[str, Any]:
    values = await read_values(deps.db, context.user_id, context.account_id)
    if values is None:
        raise ToolFailure(NO_ACCOUNT if context.account_id is None else UNKNOWN_ACCOUNT)
    account = values[ACCOUNT]
    return values | {"connected": account.is_connected[domain], "has_data": account.has_data[domain]}


async def open_ads(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    return await _open(deps, context, "ads")


async def open_creative(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    return await _open(deps, context, "creative")


async def open_crm(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    return await _open(deps, context, "crm")


async def open_whatsapp(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    return await _open(deps, context, "whatsapp")


OPENERS: dict[str, Opener] = {"ads": open_ads, "creative": open_creative, "crm": open_crm, "whatsapp": open_whatsapp}
