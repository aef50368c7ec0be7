"""`maas ads stages` and `maas ads directions`: what a person decides once of an account after its first sync."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, TypeVar
from uuid import UUID

import typer

from maas.assistants.ads import queries
from maas.assistants.ads.account import Account, AdAccount, read_account
from maas.assistants.ads.owner import Owner, with_owner
from maas.assistants.ads.tools.arguments import MAX_MONEY, money
from maas.settings import Settings
from maas.terminal.output import Table, note, show
from shared.db import Database
from shared.errors import MaasError

MAX_NAME_CHARS = 200
T = TypeVar("T")
Targets = tuple[Decimal | None, Decimal | None]  # of CPL and of QCPL
Named = Annotated[
    str | None, typer.Option("--account", "-a", help="account or ad account", show_default="the default one")
]


def stages(
    user: Owner,
    account: Named = None,
    qualified: Annotated[
        list[str] | None, typer.Option(help="id of a stage from which on leads are qualified; once for each pipeline")
    ] = None,
) -> None:
    """Without a choice, sold leads alone are qualified. Raises MaasError for a stage that the CRM does not have."""
    rows, changed = _run(user, account, "stages", lambda db, found: choose_stages(db, found, qualified))
    if not rows:
        note("no stage is known; `maas ads sync` reads them from the CRM")
        return
    table = Table("id", "stage", "pipeline", "qualified")
    for row in rows:
        table.add_row(
            row["stage_id"], row["name"], row["pipeline_name"], "from here on" if row["is_qualifying"] else ""
        )
    show(table)
    if qualified is not None:
        note(f"{changed} leads changed")


def directions(
    user: Owner,
    account: Named = None,
    add: Annotated[
        list[str] | None, typer.Option(help="id of an ad set that becomes a direction; more of them belong to it, too")
    ] = None,
    name: Annotated[str | None, typer.Option(help="name of the direction", show_default="that of the ad set")] = None,
    of: Annotated[str | None, typer.Option(help="id or name of a direction whose targets are changed")] = None,
    target_cpl: Annotated[str | None, typer.Option(help="what a lead may cost, in the ad account's currency")] = None,
    target_qcpl: Annotated[str | None, typer.Option(help="what a qualified lead may cost")] = None,
) -> None:
    """Without --add and --of nothing is changed. Raises MaasError for an ad set that is unknown or has a direction."""
    has_target = target_cpl is not None or target_qcpl is not None
    if add is not None and of is not None:
        raise MaasError("bad_parameter", "--add makes a direction and --of changes one: send one of them")
    if (add is None and (name is not None or (has_target and of is None))) or (of is not None and not has_target):
        raise MaasError("bad_parameter", "--name needs --add, a target --add or --of, and --of a target")
    if name is not None and (not 0 < len(name.strip()) <= MAX_NAME_CHARS or "\0" in name):
        raise MaasError("bad_parameter", f"--name: 1 to {MAX_NAME_CHARS} characters")
    targets = (
        None if target_cpl is None else _read_money(target_cpl, "--target-cpl"),
        None if target_qcpl is None else _read_money(target_qcpl, "--target-qcpl"),
    )
    title = name and name.strip()
    ad_account, rows = _run(
        user, account, "directions", lambda db, found: list_directions(db, found, add, title, targets, of)
    )
    if not rows:
        note("no ad set is known; `maas ads sync` reads them from Facebook")
        return
    table = Table("ad set", "name", "campaign", "spend of 30 days", "budget a day", "direction")
    for row in rows:
        budget = money(row["daily_budget_minor"], ad_account.currency)
        table.add_row(
            row["fb_id"],
            row["name"],
            row["campaign"],
            f"{row['spend']:,.2f} {ad_account.currency}",
            "" if budget is None else f"{budget:,.2f}",
            row["direction"] or "proposed",
        )
    show(table)


def rate(
    user: Owner,
    value: Annotated[str, typer.Argument(help="what one unit of the CRM's currency is in the ad account's")],
    account: Named = None,
    day: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="day of the rate", show_default="today")
    ] = None,
) -> None:
    """Revenue is shown in the ad account's currency by this rate. Raises MaasError."""
    amount = _read_money(value, "VALUE")
    on = None if day is None else day.date()
    show(_run(user, account, "rate", lambda db, found: set_rate(db, found, amount, on)))


def _run(user: str, named: str | None, command: str, work: Callable[[Database, Account], Awaitable[T]]) -> T:
    async def run(db: Database, _: Settings, user_id: UUID) -> T:
        if (account := await read_account(db, user_id, named)) is None:
            raise MaasError("not_found", "there is no such account; maas ads account list shows them")
        return await work(db, account)

    return with_owner(user, run, f"ads {command}")


async def choose_stages(
    db: Database, account: Account, wanted: list[str] | None
) -> tuple[list[queries.AdsStagesRow], int]:
    """The stages, and how many leads changed by the choice of the wanted ones."""
    ids = (account.user_id, account.id)
    changed = 0
    if wanted is not None:
        known = {row["stage_id"] for row in await db.rows(queries.ads_stages, *ids)}
        if unknown := sorted(set(wanted) - known):
            raise MaasError("not_found", f"the CRM has no stage {unknown[0]}; maas ads stages shows them")
        async with db.transaction() as transaction:
            await transaction.row(queries.ads_set_qualifying, *ids, wanted)
            changed = await transaction.value(queries.ads_qualify_leads, *ids)
    return await db.rows(queries.ads_stages, *ids), changed


async def list_directions(
    db: Database, account: Account, add: list[str] | None, name: str | None, targets: Targets, of: str | None = None
) -> tuple[AdAccount, list[queries.AdsDirectionsAndProposalsRow]]:
    if (ad_account := account.ad_account) is None:
        raise MaasError("not_found", "this account has no ad account; maas ads connect adds one")
    owner = (account.user_id, ad_account.id)
    if add is not None:
        await add_direction(db, account, ad_account, list(dict.fromkeys(add)), name, targets)
    elif of is not None and await db.row(queries.ads_set_targets, *owner, of, *targets) is None:
        raise MaasError("not_found", f"there is no direction {of}; maas ads directions shows them")
    return ad_account, await db.rows(queries.ads_directions_and_proposals, *owner)


async def add_direction(
    db: Database, account: Account, ad_account: AdAccount, adsets: list[str], name: str | None, targets: Targets
) -> UUID:
    """Make a direction of ad sets; what is stored of these, their ads and the leads is its own from then on.

    Raises MaasError('not_found') if an ad set is unknown or belongs to a direction.
    """
    owner = (account.user_id, ad_account.id)
    async with db.transaction() as transaction:
        added = await transaction.row(queries.ads_add_direction, *owner, adsets, name, *targets)
        if added is None:
            raise MaasError("not_found", "an ad set is unknown or has a direction; maas ads directions shows them")
        await transaction.value(queries.ads_sync_direction_days, *owner, date.min, date.max)
        await transaction.value(queries.ads_direct_ads, *owner)
        await transaction.row(queries.ads_attribute_leads, account.user_id, account.id)
    return added["id"]


async def set_rate(db: Database, account: Account, value: Decimal, day: date | None) -> str:
    """Store a rate; what it means, in words. Raises MaasError without two currencies."""
    if account.ad_account is None or account.crm_currency is None:
        raise MaasError("not_found", "the currencies are not known yet: an ad account and a synced CRM tell them")
    if account.currency == account.crm_currency:
        raise MaasError("bad_parameter", f"no rate is needed: ad account and CRM both count in {account.currency}")
    ids = (account.user_id, account.ad_account.id)
    row = await db.row(queries.ads_set_rate, *ids, value, account.crm_currency, day)
    assert row is not None
    return f"1 {row['rate_of']} = {value:f} {account.currency}, rate of {row['rated_on']}"


def _read_money(text: str, option: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or not 0 < amount <= MAX_MONEY:
        raise MaasError("bad_parameter", f"{option}: an amount above 0, such as 5 or 12.50")
    return amount
