"""`maas keys`: create, list and revoke API keys."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from maas import queries, users
from maas.settings import Settings
from maas.terminal.invocation import with_database
from maas.terminal.output import Table, note, show, write
from maas.users import get_or_create_user
from shared.db import Database
from shared.errors import MaasError

cli = typer.Typer(no_args_is_help=True, add_completion=False)
_RATE = re.compile(r"([1-9][0-9]{0,6})(/min)?", re.ASCII)


@cli.command("create", help="Create a key and print it; it cannot be printed again.")
def create(
    name: Annotated[str, typer.Argument(help="name of the key")],
    scope: Annotated[
        list[str] | None, typer.Option(help="ask, read, metrics or admin; may be repeated; ask and read if unset")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="bind it to this user, a UUID or any name")] = None,
    prefix: Annotated[str | None, typer.Option(help="bind it to users whose names begin with this prefix")] = None,
    rate: Annotated[str | None, typer.Option(help="requests per minute, such as 60/min", metavar="N/min")] = None,
    expires: Annotated[int | None, typer.Option(help="days until it expires; never if unset", metavar="DAYS")] = None,
) -> None:
    """Print the key to standard output. Raises MaasError('bad_parameter')."""
    if user is not None and prefix is not None:
        raise MaasError("bad_parameter", "--prefix: a key is bound to one user or to a prefix, not to both")
    new = users.NewKey(name, scope or ("ask", "read"), None, prefix, _read_rate(rate), expires)
    new.check()

    async def store(db: Database) -> str:
        user_id = await get_or_create_user(db, user) if user is not None else None
        return await users.create_key(db, replace(new, user_id=user_id), "cli")

    write(with_database(lambda db, _: store(db)))
    note("keep it: only its hash is stored; send it as `Authorization: Bearer KEY`")


@cli.command("list", help="List all keys, oldest first.")
def list_keys() -> None:
    """Print a table of keys without their secrets."""
    table = Table()
    for title in ("name", "id", "scopes", "whose memory", "rate", "created", "last used", "state"):
        table.add_column(title, overflow="fold", no_wrap=title == "id")
    for row in with_database(lambda db, _: users.list_keys(db)):
        rate = f"{row['per_minute']}/min" if row["per_minute"] else ""
        table.add_row(
            row["name"],
            row["id"],
            ", ".join(row["scopes"]),
            _whose(row),
            rate,
            _day(row["created_at"]),
            _day(row["last_used_at"]) or "never",
            row["state"],
        )
    show(table)


@cli.command("revoke", help="Revoke a key; servers refuse it within a second.")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="id of the key, as `maas keys list` prints it")],
) -> None:
    """Raises MaasError for an unknown id."""
    is_new = with_database(lambda db, _: users.revoke_key(db, key_id, "cli"))
    show("revoked" if is_new else "it was revoked before")


async def describe_access(db: Database, settings: Settings) -> str:
    """The clients that may call over HTTP. Raises MaasError('no_key') if there can be none."""
    if settings.access.auth == "none":
        return "all clients on this machine (MAAS_AUTH=none)"
    rows = await users.list_keys(db) if await db.value(queries.schema_is_there) else []
    active = sum(row["state"] == "active" for row in rows)
    if settings.access.auth == "keys":
        if not active:
            raise MaasError("no_key", "MAAS_AUTH=keys and there is no active key; create one: `maas keys create NAME`")
        return f"clients with one of the {active} active keys (MAAS_AUTH=keys)"
    if settings.access.auth == "local":
        people = await db.value(queries.count_accounts) if await db.value(queries.schema_is_there) else 0
        return (
            f"{people} people who sign in with email and password (MAAS_AUTH=local, sign-up is "
            f"{settings.access.signup}), and clients with one of the {active} active keys"
        )
    signer = "MAAS_JWT_SECRET" if settings.access.jwt_secret else "a key of MAAS_JWKS_URL"
    return f"clients with a token signed by {signer} (MAAS_AUTH=jwt), or with one of the {active} active keys"


def _whose(row: queries.ListKeysRow) -> str:
    """The users whose memory a key opens; a key that may only read metrics opens none."""
    if row["user_id"]:
        return str(row["user_id"])
    if set(row["scopes"]) == {"metrics"}:
        return "nobody's"
    return f"{row['prefix']}…" if row["prefix"] else "everybody's"


def _read_rate(text: str | None) -> int | None:
    """Requests per minute. Raises MaasError('bad_parameter')."""
    if text is None:
        return None
    if (match := _RATE.fullmatch(text)) is None:
        raise MaasError("bad_parameter", f"--rate: {text!r} must look like 60/min")
    return int(match[1])


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else ""
