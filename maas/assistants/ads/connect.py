"""`maas ads connect`: a business is connected to its services step by step, and each answers before it is stored."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import httpx2
import typer

from maas.assistants.ads import queries
from maas.assistants.ads.clients.evolution import EvolutionClient
from maas.assistants.ads.clients.facebook_objects import AdAccount
from maas.assistants.ads.connections import (
    AD_ACCOUNT,
    CRM_URL,
    MAX_BUSINESS_CHARS,
    Business,
    ask_crm,
    ask_facebook,
    ask_whatsapp,
)
from maas.assistants.ads.owner import Owner, with_owner
from maas.assistants.ads.settings import AdsSettings
from maas.assistants.ads.sync_commands import sync_now
from maas.settings import Settings
from maas.terminal.output import Table, note, show
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import Database
from shared.errors import MaasError
from shared.vendors import VendorError

ACTOR = "cli"
MAX_INPUT_CHARS = 10_000
PERMISSIONS = {  # of a token of Facebook, and what does not work without
    "ads_management": "nothing can be changed: budgets, pauses, launches",
    "leads_retrieval": "leads by forms are not read",
}
NEXT = (
    "what only a person knows: `maas ads stages` (which stages mean qualified), `maas ads directions` (which ad sets "
    "belong together), `maas ads rate` (if the CRM counts in another currency)"
)


def connect(
    user: Owner,
    name: Annotated[
        str | None, typer.Option(help="name of the business", show_default="the only one, else asked")
    ] = None,
    fb: Annotated[
        list[str] | None, typer.Option(help="ad account of Facebook, act_NUMBER; once for each", show_default="asked")
    ] = None,
    token_env: Annotated[str | None, typer.Option(help="variable that holds its token", show_default="asked")] = None,
    crm: Annotated[str | None, typer.Option(help="URL of amoCRM", show_default="AMOCRM_BASE_URL, else asked")] = None,
    crm_token_env: Annotated[
        str | None, typer.Option(help="variable that holds the token of amoCRM", show_default="asked")
    ] = None,
    whatsapp: Annotated[
        str | None, typer.Option(help="instance of the Evolution API", show_default="EVOLUTION_INSTANCE, else asked")
    ] = None,
    no_sync: Annotated[bool, typer.Option("--no-sync", help="do not read the services now")] = False,
) -> None:
    """Without an option for a service, all are asked about. Tokens are no arguments, which other users could read.

    Answers are lines of standard input; a terminal does not show tokens. Raises MaasError for what a service refuses;
    what was connected before stays.
    """
    if name is not None:
        name = _check_name(name)
    for one in fb or ():
        if not AD_ACCOUNT.fullmatch(one):
            raise MaasError("bad_parameter", "--fb: act_ and the number of an ad account, such as act_123")
    asks_all = all(one is None for one in (fb, token_env, crm, crm_token_env, whatsapp))
    tokens = _read_variable(token_env), _read_variable(crm_token_env)

    async def run(db: Database, settings: Settings, user_id: UUID) -> None:
        own = settings.of(AdsSettings)
        business = Business(db, user_id, await _business(db, user_id, name), ACTOR)
        async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
            steps = _Steps(own, http, business)
            if asks_all or fb or token_env:
                await steps.facebook(tokens[0], fb, is_optional=asks_all)
            if asks_all or crm or crm_token_env:
                await steps.crm(crm, tokens[1], is_optional=asks_all)
            if asks_all or whatsapp or own.evolution_instance:
                await steps.whatsapp(whatsapp or own.evolution_instance)
        if steps.account_id is None:
            raise MaasError("bad_parameter", "nothing was connected")
        show(f"account {steps.account_id}")
        if not no_sync:
            note("reading what the services have; this can be interrupted and goes on by itself")
            await sync_now(db, settings, user_id, str(steps.account_id), None)
        note(NEXT)

    with_owner(user, run, "ads connect")


class _Steps:
    """The services of a business, one after another; each is stored once it has answered."""

    def __init__(self, settings: AdsSettings, http: httpx2.AsyncClient, business: Business) -> None:
        self._settings = settings
        self._http = http
        self._business = business
        self.account_id: UUID | None = None

    async def facebook(self, token: str | None, wanted: Sequence[str] | None, *, is_optional: bool) -> None:
        token = token or _ask("Facebook: access token of a system user", is_optional=is_optional, is_secret=True)
        if not token:
            return
        answer = await ask_facebook(self._http, self._settings, token, wanted)
        if answer.unknown is not None:
            note(f"Facebook: what the token may do is not known: {answer.unknown}")
        for permission in answer.missing:
            note(f"Facebook: the token has no permission {permission}: {PERMISSIONS[permission]}")
        for one in answer.accounts if wanted else _choose(answer.accounts):
            self.account_id = await self._business.add_ad_account(one, token)
            state = "" if one.can_run_ads else f"; it cannot run ads now (status {one.status})"
            note(f"Facebook: {one.fb_id} {one.name}, {one.currency}, {one.timezone} is connected{state}")
        if answer.ends_at is not None:
            note(f"Facebook: the token ends on {answer.ends_at.date()}; one of a system user need not: choose Never")

    async def crm(self, url: str | None, token: str | None, *, is_optional: bool) -> None:
        url = url or self._settings.amocrm_base_url or _ask("amoCRM: its URL", is_optional=is_optional)
        if not url:
            return
        if not CRM_URL.fullmatch(url):
            raise MaasError("bad_parameter", "--crm: a URL such as https://NAME.amocrm.ru")
        token = token or _ask("amoCRM: long-lived token", is_optional=is_optional, is_secret=True)
        if not token:
            return
        answer = await ask_crm(self._http, url, token)
        self.account_id = await self._business.add_crm(url, token)
        end = "" if answer.ends_at is None else f", its token ends on {answer.ends_at.date()}"
        note(f"amoCRM: {url} is connected: {answer.stages} stages, prices in {answer.currency}{end}")

    async def whatsapp(self, instance: str | None) -> None:
        settings = self._settings
        if settings.evolution_base_url is None or settings.evolution_api_key is None:
            note("WhatsApp is not read: EVOLUTION_BASE_URL and EVOLUTION_API_KEY are not set")
            if instance is not None:
                self.account_id = await self._business.add_whatsapp(instance)
            return
        url, key = settings.evolution_base_url, settings.evolution_api_key.get_secret_value()
        if not (instance := instance or await self._ask_instance(EvolutionClient(self._http, url, "", key))):
            return
        state = await ask_whatsapp(self._http, settings, instance)
        self.account_id = await self._business.add_whatsapp(instance)
        hint = "" if state == "open" else ": no telephone is linked to it, scan its QR code"
        note(f"WhatsApp: {instance} is connected, state {state}{hint}")

    @staticmethod
    async def _ask_instance(client: EvolutionClient) -> str:
        """The instance that a person names, of those that the server lists to this key."""
        try:
            known = await client.instances()
        except VendorError as error:  # the key of an instance sees no list
            note(f"WhatsApp: the instances are not listed: {error.message}")
            known = []
        if known:
            table = Table("", "instance", "state")
            for place, one in enumerate(known, 1):
                table.add_row(str(place), one.name, one.state)
            show(table)
        answer = _ask("WhatsApp: instance of the Evolution API, a name or a number of the list", is_optional=True)
        return {str(place): one.name for place, one in enumerate(known, 1)}.get(answer, answer)


async def _business(db: Database, user_id: UUID, name: str | None) -> str:
    """The name of the business: as it was given, that of the user's only one, or as a person answers."""
    if name is not None:
        return name
    rows = await db.rows(queries.list_ads_accounts, user_id)
    if len(rows) == 1:
        note(f"business: {rows[0]['name']}")
        return rows[0]["name"]
    return _check_name(_ask("Name of the business"))


def _check_name(name: str) -> str:
    if not 0 < len(name.strip()) <= MAX_BUSINESS_CHARS or "\0" in name:
        raise MaasError("bad_parameter", f"--name: 1 to {MAX_BUSINESS_CHARS} characters")
    return name.strip()


def _choose(accounts: Sequence[AdAccount]) -> list[AdAccount]:
    """Those that a person names, of the ad accounts that a token sees; the only one is not asked about."""
    if len(accounts) == 1:
        return list(accounts)
    table = Table("", "ad account", "name", "currency", "time zone", "can run ads")
    for place, one in enumerate(accounts, 1):
        table.add_row(str(place), one.fb_id, one.name, one.currency, one.timezone, "yes" if one.can_run_ads else "no")
    show(table)
    answer = _ask("Which of them? Numbers or act_..., separated by commas, or all")
    if answer.lower() == "all":
        return list(accounts)
    known = {one.fb_id: one for one in accounts} | {str(place): one for place, one in enumerate(accounts, 1)}
    names = [part.strip() for part in answer.split(",") if part.strip()]
    if not names or (unknown := [one for one in names if one not in known]):
        raise MaasError(
            "bad_parameter", f"nothing was stored: the list has no {unknown[0] if names else 'such account'}"
        )
    return list({known[one].fb_id: known[one] for one in names}.values())


def _ask(question: str, *, is_optional: bool = False, is_secret: bool = False) -> str:
    """The next line of standard input, without blanks around it. Raises MaasError where there is none."""
    if is_optional:
        question += " (empty: none)"
    if sys.stdin.isatty():
        return str(typer.prompt(question, default="", show_default=False, hide_input=is_secret, err=True)).strip()
    note(question)
    if not (line := sys.stdin.readline(MAX_INPUT_CHARS)):
        raise MaasError("bad_parameter", f"standard input ends before an answer to: {question}")
    return line.strip()


def _read_variable(name: str | None) -> str | None:
    """The value of an environment variable. Raises MaasError if it is not set."""
    if name is None:
        return None
    if not (value := os.environ.get(name, "")):
        raise MaasError("bad_parameter", f"the environment variable {name!r} is not set")
    return value
