"""`maas ads`: the businesses of users, with what connects them to Facebook, amoCRM and WhatsApp."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer

from maas import user_secrets
from maas.assistants.ads import connect, queries, set_up, sync_commands
from maas.assistants.ads.connections import crm_secret, facebook_secret
from maas.assistants.ads.owner import Owner, with_owner
from maas.terminal.invocation import read_uuid
from maas.terminal.output import Table, note, show
from shared.db import Database
from shared.errors import MaasError

ACTOR = "cli"
cli = typer.Typer(no_args_is_help=True, add_completion=False)
cli.command("connect", help="Connect a business to Facebook, amoCRM and WhatsApp, or renew a token.")(connect.connect)
cli.command("sync", help="Read campaigns, figures, leads and dialogues of the businesses of a user now.")(
    sync_commands.sync
)
cli.command("syncs", help="List when each connection was read, or set how often it is read by itself.")(
    sync_commands.syncs
)
cli.command("stages", help="List the CRM's stages, or choose from which on leads are qualified.")(set_up.stages)
cli.command("directions", help="List ad sets with their directions, or make a direction of some.")(set_up.directions)
cli.command("rate", help="Set the rate by which revenue of the CRM becomes money of the ad account.")(set_up.rate)
accounts = typer.Typer(no_args_is_help=True, add_completion=False)
cli.add_typer(accounts, name="account", help="List and remove the businesses of a user.")


@accounts.command("list", help="List the businesses of a user.")
def list_accounts(user: Owner) -> None:
    """Print no tokens. Raises MaasError."""
    rows = with_owner(user, lambda db, _, user_id: db.rows(queries.list_ads_accounts, user_id), "ads account list")
    if not rows:
        note("no account; `maas ads connect` adds one")
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
    account_id = read_uuid(account, "account")
    if not yes:
        typer.confirm("Delete the account with its campaigns, creatives, leads and messages?", abort=True, err=True)
    with_owner(user, lambda db, _, user_id: _remove(db, user_id, account_id), "ads account remove")
    show("deleted")


async def _remove(db: Database, user_id: UUID, account_id: UUID) -> None:
    row = await db.row(queries.remove_ads_account, user_id, account_id)
    if row is None:
        raise MaasError("not_found", f"user {user_id} has no account {account_id}; see maas ads account list")
    stored = {one["name"] for one in await user_secrets.list_secrets(db, user_id)}
    for name in (crm_secret(account_id), *map(facebook_secret, row["ad_accounts"])):
        if name in stored:
            await user_secrets.delete_secret(db, user_id, name, ACTOR)
