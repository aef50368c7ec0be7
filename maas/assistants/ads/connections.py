"""Connecting a business to its services: what each answers to a token, and how that becomes a connection.

`maas ads connect` and the web interface do it by this file alone. A service is asked before anything is stored, and no
answer holds a token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import httpx2

from maas.assistants.ads import queries
from maas.assistants.ads.clients.amocrm import AmoCrmClient, token_ends_at
from maas.assistants.ads.clients.evolution import EvolutionClient
from maas.assistants.ads.clients.facebook import FacebookClient
from maas.assistants.ads.clients.facebook_objects import AdAccount
from maas.assistants.ads.settings import AdsSettings
from shared.db import Database
from shared.errors import MaasError
from shared.vendors import VendorError

MAX_BUSINESS_CHARS = 200
STALE_AFTER = timedelta(days=1)
ENDS_SOON = timedelta(days=14)  # of a token
AD_ACCOUNT_PATTERN = "^act_[0-9]{1,20}$"
AGAIN_S = 10  # after which a service that did not answer may be asked again
_AWAY = frozenset({"unreachable", "timeout", "unavailable", "rate_limited"})
CRM_URL_PATTERN = r"^https?://[^/\s?#]+/?$"
AD_ACCOUNT, CRM_URL = re.compile(AD_ACCOUNT_PATTERN), re.compile(CRM_URL_PATTERN)
WANTED = ("ads_management", "leads_retrieval")  # permissions of a token of Facebook
_READING = frozenset({"ads_read", "ads_management"})


@dataclass(frozen=True, slots=True)
class FacebookAnswer:
    """What Facebook says of a token: the ad accounts that it sees, the permissions that it lacks, when it ends.

    `unknown`: why it is not known what the token may do, in words.
    """

    accounts: Sequence[AdAccount]
    missing: Sequence[str]
    unknown: str | None
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class CrmAnswer:
    """What amoCRM says: how many stages it has, the currency of its prices, when the token ends."""

    stages: int
    currency: str
    ends_at: datetime | None


async def ask_facebook(
    http: httpx2.AsyncClient, settings: AdsSettings, token: str, wanted: Sequence[str] | None = None
) -> FacebookAnswer:
    """Try a token, on the `wanted` ad accounts or on all that it sees.

    Raises MaasError: `bad_parameter` with what Facebook answers, and for a token that may not read ads; `busy` where it
    does not answer.
    """
    client = FacebookClient(http, token, settings.fb_base_url, settings.fb_api_version)
    try:
        granted, unknown = await _permissions(client)
        accounts = [await client.account(one) for one in wanted] if wanted else await client.accounts()
    except VendorError as error:
        raise _refused(error) from error
    if granted is not None and not granted & _READING:
        has = ", ".join(sorted(granted)) or "none"
        raise _nothing_stored(
            f"the token may not read ads: it needs the permission ads_read or ads_management, and has {has}"
        )
    if not accounts:
        raise _nothing_stored(
            "the token sees no ad account: assign one to its system user in the settings of the business"
        )
    missing = [] if granted is None else [one for one in WANTED if one not in granted]
    return FacebookAnswer(accounts, missing, unknown, await _end_of_token(client))


async def _permissions(client: FacebookClient) -> tuple[frozenset[str] | None, str | None]:
    """Those of the token; None and why where Facebook tells nothing of them. Raises VendorError for a wrong token."""
    try:
        return await client.permissions(), None
    except VendorError as error:
        if error.code == "unauthorized":
            raise
        return None, error.message


async def _end_of_token(client: FacebookClient) -> datetime | None:
    """When the token ends; None: never, or Facebook does not tell it."""
    try:
        return await client.token_ends_at()
    except VendorError:
        return None


async def ask_crm(http: httpx2.AsyncClient, url: str, token: str) -> CrmAnswer:
    """Try a token of amoCRM. Raises MaasError: `bad_parameter` with what it answers, `busy` where it does not."""
    client = AmoCrmClient(http, url, token)
    try:
        currency, stages = await client.currency(), await client.stages()
        await client.check_leads()
    except VendorError as error:
        raise _refused(error) from error
    return CrmAnswer(len(stages), currency, token_ends_at(token))


async def ask_whatsapp(http: httpx2.AsyncClient, settings: AdsSettings, instance: str) -> str | None:
    """The state of an instance: open, connecting or close; None where this process has no server or key to ask.

    Raises MaasError: `bad_parameter` with what the server answers, `busy` where it does not.
    """
    if settings.evolution_base_url is None or settings.evolution_api_key is None:
        return None
    key = settings.evolution_api_key.get_secret_value()
    try:
        return await EvolutionClient(http, settings.evolution_base_url, instance, key).state()
    except VendorError as error:
        raise _refused(error) from error


@dataclass(frozen=True, slots=True)
class Business:
    """The business of a user that is connected, by its name; `actor` is written to the audit."""

    db: Database
    user_id: UUID
    name: str
    actor: str

    async def add_ad_account(self, found: AdAccount, token: str) -> UUID:
        """Connect an ad account that Facebook has shown to this token. Raises MaasError, as the others do."""
        name = (found.name or found.fb_id)[:MAX_BUSINESS_CHARS]
        account_id = await self._store(found.fb_id, name, found.currency, found.timezone)
        await self._set_token(facebook_secret(found.fb_id), token)
        return account_id

    async def add_crm(self, url: str, token: str) -> UUID:
        """Connect an amoCRM that has answered to this token."""
        account_id = await self._store(crm_url=url)
        await self._set_token(crm_secret(account_id), token)
        return account_id

    async def add_whatsapp(self, instance: str) -> UUID:
        """Connect an instance of the Evolution API."""
        return await self._store(instance=instance)

    async def _set_token(self, name: str, token: str) -> None:
        try:
            await self.db.value(queries.set_ads_token, self.user_id, name, token, self.actor)
        except asyncpg.InvalidParameterValueError as error:
            raise MaasError("bad_parameter", str(error.args[0])) from None

    async def _store(
        self,
        fb_id: str | None = None,
        title: str | None = None,
        currency: str | None = None,
        timezone: str | None = None,
        crm_url: str | None = None,
        instance: str | None = None,
    ) -> UUID:
        account = fb_id, title, currency, timezone
        try:
            stored = await self.db.value(
                queries.connect_ads, self.user_id, self.name, *account, crm_url, instance, self.actor
            )
        except asyncpg.CheckViolationError as error:
            raise _nothing_stored(f"{error.constraint_name} does not hold") from error
        except asyncpg.ProgramLimitExceededError as error:
            raise MaasError("quota_exceeded", str(error.args[0])) from error
        return UUID(str(stored))


def facebook_secret(fb_id: str) -> str:
    """The name of the user's secret that holds the token of an ad account."""
    return f"facebook_{fb_id.removeprefix('act_')}"


def crm_secret(user_account_id: UUID) -> str:
    """The name of the user's secret that holds the token of an account's CRM."""
    return f"amocrm_{user_account_id.hex}"


def _refused(error: VendorError) -> MaasError:
    if error.code in _AWAY:
        return MaasError(
            "busy", f"nothing was stored: {error.message}", {"retry_after": round(error.retry_after or AGAIN_S)}
        )
    return _nothing_stored(error.message)


def _nothing_stored(why: str) -> MaasError:
    return MaasError("bad_parameter", f"nothing was stored: {why}")
