"""`maas ads`: the businesses of users, with what connects them to Facebook, amoCRM and WhatsApp."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import asyncpg
import httpx2
import typer

from maas import user_secrets
from maas.assistants.ads import queries, set_up
from maas.assistants.ads.account import crm_secret, facebook_secret
from maas.assistants.ads.clients.amocrm import AmoCrmClient
from maas.assistants.ads.clients.facebook import AdAccount, FacebookClient
from maas.assistants.ads.set_up import MAX_NAME_CHARS, Owner
from maas.assistants.ads.settings import AdsSettings
from maas.assistants.ads.sync import FIRST_DAYS, Failure, Report, Sync
from maas.cli.invocation import read_uuid, with_database
from maas.cli.output import Table, note, progress_bar, show
from maas.settings import Settings
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import Database
from shared.errors import MaasError
from shared.vendors import VendorError

if TYPE_CHECKING:
    from rich.progress import TaskID

MAX_DAYS = 1100  # Facebook keeps figures for 37 months
ACTOR = "cli"
_AD_ACCOUNT = re.compile(r"act_[0-9]{1,20}")
cli = typer.Typer(no_args_is_help=True, add_completion=False)
cli.command("stages", help="List the CRM's stages, or choose from which on leads are qualified.")(set_up.stages)
cli.command("directions", help="List ad sets with their directions, or make a direction of some.")(set_up.directions)
cli.command("rate", help="Set the rate by which revenue of the CRM becomes money of the ad account.")(set_up.rate)
accounts = typer.Typer(no_args_is_help=True, add_completion=False)
cli.add_typer(accounts, name="account", help="Add, list and remove the businesses of a user.")


@dataclass(frozen=True, slots=True)
class Connections:
    """What an account is connected to, and the tokens for it."""

    fb: str | None
    token: str | None
    crm: str | None
    crm_token: str | None
    whatsapp: str | None


@accounts.command("add", help="Add a business, or change the connections of the one with this name.")
def add(
    user: Owner,
    name: Annotated[str, typer.Option(help="name of the business")],
    fb: Annotated[str | None, typer.Option(help="ad account of Facebook, act_NUMBER")] = None,
    token_env: Annotated[str | None, typer.Option(help="variable that holds its access token")] = None,
    crm: Annotated[str | None, typer.Option(help="URL of amoCRM", show_default="AMOCRM_BASE_URL")] = None,
    crm_token_env: Annotated[str | None, typer.Option(help="variable that holds the token of amoCRM")] = None,
    whatsapp: Annotated[
        str | None, typer.Option(help="instance of the Evolution API", show_default="EVOLUTION_INSTANCE")
    ] = None,
) -> None:
    """Tokens are tried before anything is stored. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    if not 0 < len(name.strip()) <= MAX_NAME_CHARS or "\0" in name:
        raise MaasError("bad_parameter", f"--name: 1 to {MAX_NAME_CHARS} characters")
    if fb is not None and not _AD_ACCOUNT.fullmatch(fb):
        raise MaasError("bad_parameter", "--fb: act_ and the number of an ad account, such as act_123")
    if fb is not None and token_env is None:
        raise MaasError("bad_parameter", "--fb needs --token-env NAME, the variable that holds its access token")
    wanted = Connections(fb, _read_variable(token_env), crm, _read_variable(crm_token_env), whatsapp)
    account_id = with_database(
        lambda db, settings: _add(db, settings, user_id, name.strip(), wanted),
        command="ads account add",
        user_id=user_id,
    )
    show(f"account {account_id}")


@accounts.command("list", help="List the businesses of a user.")
def list_accounts(user: Owner) -> None:
    """Print no tokens. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    rows = with_database(
        lambda db, _: db.rows(queries.list_ads_accounts, user_id), command="ads account list", user_id=user_id
    )
    if not rows:
        note("no account; `maas ads account add` adds one")
        return
    table = Table("id", "name", "default", "facebook", "crm", "whatsapp")
    for row in rows:
        is_default = "yes" if row["is_default"] else ""
        ad_accounts = ", ".join(row["ad_accounts"])
        table.add_row(str(row["id"]), row["name"], is_default, ad_accounts, row["crm"] or "", row["whatsapp"] or "")
    show(table)


@accounts.command("remove", help="Delete a business with all its stored data and tokens.")
def remove(
    account: Annotated[str, typer.Argument(help="id of the account, as `maas ads account list` prints it")],
    user: Owner,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Nothing at the services is changed. Raises MaasError."""
    user_id, account_id = read_uuid(user, "--user"), read_uuid(account, "account")
    if not yes:
        typer.confirm("Delete the account, its campaigns, creatives, leads and messages?", abort=True, err=True)
    with_database(lambda db, _: _remove(db, user_id, account_id), command="ads account remove", user_id=user_id)
    show("deleted")


@cli.command("sync", help="Read campaigns, figures, leads and dialogues of the businesses of a user.")
def sync(
    user: Owner,
    account: Annotated[str | None, typer.Option(help="only this account: its id, or act_NUMBER")] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_DAYS,
            help="read figures and dialogues of so many days again",
            show_default=f"what is new, at first {FIRST_DAYS}",
        ),
    ] = None,
) -> None:
    """It can be interrupted and repeated. Raises MaasError if a service could not be read to the end."""
    user_id = read_uuid(user, "--user")
    counts: Counter[str] = Counter()
    with progress_bar() as progress:
        tasks: dict[str, TaskID] = {}

        def report(kind: str, rows: int) -> None:
            if kind not in tasks:
                tasks[kind] = progress.add_task(kind, total=None)
            progress.advance(tasks[kind], rows)
            counts[kind] += rows

        failures = with_database(
            lambda db, settings: _sync(db, settings, user_id, account, days, report),
            command="ads sync",
            user_id=user_id,
        )
    show(", ".join(f"{kind} {rows:,}" for kind, rows in counts.items()) or "nothing is connected")
    for one in failures:
        note(f"{one.account}, {one.service}: {one.message}")
    if failures:
        raise MaasError(
            "failed", "not everything was read; what was stored is kept, and the next sync continues from there"
        )


async def _sync(
    db: Database, settings: Settings, user_id: UUID, account: str | None, days: int | None, report: Report
) -> list[Failure]:
    sync = Sync(db, settings, user_id, days, report)
    try:
        return await sync.run(account)
    finally:
        await sync.close()


async def _add(db: Database, settings: Settings, user_id: UUID, name: str, wanted: Connections) -> UUID:
    crm_url = wanted.crm or (settings.of(AdsSettings).amocrm_base_url if wanted.crm_token else None)
    whatsapp = wanted.whatsapp or settings.of(AdsSettings).evolution_instance
    if wanted.crm_token and crm_url is None:
        raise MaasError("bad_parameter", "--crm-token-env needs --crm URL, or AMOCRM_BASE_URL")
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        try:
            found = await _try_facebook(http, settings, wanted)
            if crm_url is not None and wanted.crm_token is not None:
                await AmoCrmClient(http, crm_url, wanted.crm_token).currency()
        except VendorError as error:
            raise MaasError("bad_parameter", f"nothing was stored: {error.message}") from error
    shown = (found.fb_id, found.name or found.fb_id, found.currency, found.timezone) if found else (None,) * 4
    try:
        account_id = UUID(str(await db.value(queries.add_ads_account, user_id, name, *shown, crm_url, whatsapp)))
    except asyncpg.CheckViolationError as error:
        raise MaasError("bad_parameter", f"nothing was stored: {error.constraint_name} does not hold") from error
    if found is not None and wanted.token is not None:
        await user_secrets.set_secret(db, user_id, facebook_secret(found.fb_id), wanted.token, ACTOR)
    if wanted.crm_token is not None:
        await user_secrets.set_secret(db, user_id, crm_secret(account_id), wanted.crm_token, ACTOR)
    return account_id


async def _try_facebook(http: httpx2.AsyncClient, settings: Settings, wanted: Connections) -> AdAccount | None:
    """The ad account as the token sees it. Raises VendorError."""
    if wanted.fb is None or wanted.token is None:
        return None
    own = settings.of(AdsSettings)
    return await FacebookClient(http, wanted.token, own.fb_base_url, own.fb_api_version).account(wanted.fb)


async def _remove(db: Database, user_id: UUID, account_id: UUID) -> None:
    row = await db.row(queries.remove_ads_account, user_id, account_id)
    if row is None:
        raise MaasError("not_found", f"user {user_id} has no account {account_id}; see maas ads account list")
    stored = {one["name"] for one in await user_secrets.list_secrets(db, user_id)}
    for name in (crm_secret(account_id), *map(facebook_secret, row["ad_accounts"])):
        if name in stored:
            await user_secrets.delete_secret(db, user_id, name, ACTOR)


def _read_variable(name: str | None) -> str | None:
    """The value of an environment variable. Raises MaasError if it is not set."""
    if name is None:
        return None
    if not (value := os.environ.get(name, "")):
        raise MaasError("bad_parameter", f"the environment variable {name!r} is not set")
    return value
