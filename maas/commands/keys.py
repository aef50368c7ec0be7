"""`maas keys`: who may call over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer

from maas.commands.output import Table, note, say, show
from maas.commands.session import with_database
from maas.pipeline import keys
from maas.pipeline.identities import name_user
from shared.db import Database
from shared.errors import MaasError
from shared.settings import Settings

cli = typer.Typer(no_args_is_help=True, help="Keys of programs that call over HTTP (MAAS_AUTH=keys).")
_RATE = re.compile(r"([1-9][0-9]{0,6})(/min)?", re.ASCII)


@cli.command("create")
def create(
    name: Annotated[str, typer.Argument(help="what you call it")],
    scope: Annotated[
        list[str] | None, typer.Option(help="ask, read, metrics or admin; may be repeated; ask and read if none")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="bound to this user, a UUID or any name")] = None,
    prefix: Annotated[str | None, typer.Option(help="bound to users who have a name that begins so")] = None,
    rate: Annotated[str | None, typer.Option(help="requests a minute, such as 60/min", metavar="N/min")] = None,
    expires: Annotated[int | None, typer.Option(help="days that it lasts; for ever if none", metavar="DAYS")] = None,
) -> None:
    """Make a key and print it; it is shown this once."""
    if user is not None and prefix is not None:
        raise MaasError("bad_parameter", "--prefix: a key is bound to one user or to a prefix, not to both")
    new = keys.NewKey(name, scope or ("ask", "read"), None, prefix, _read_rate(rate), expires)
    new.check()

    async def make(db: Database) -> str:
        user_id = await name_user(db, user) if user is not None else None
        return await keys.create_key(db, replace(new, user_id=user_id), "cli")

    say(with_database(lambda db, _: make(db)))
    note("keep it: it is stored as a hash only; send it as `Authorization: Bearer KEY`")


@cli.command("list")
def list_keys() -> None:
    """List keys, the oldest first."""
    table = Table()
    for title in ("name", "id", "scopes", "whose memory", "rate", "created", "last used", "state"):
        table.add_column(title, overflow="fold", no_wrap=title == "id")
    for row in with_database(lambda db, _: keys.list_keys(db)):
        rate = f"{row['per_minute']}/min" if row["per_minute"] else ""
        table.add_row(
            row["name"], row["id"], ", ".join(row["scopes"]), _whose(row), rate, _day(row["created_at"]),
            _day(row["last_used_at"]) or "never", row["state"],
        )  # fmt: skip
    show(table)


@cli.command("revoke")
def revoke(key_id: Annotated[str, typer.Argument(metavar="ID", help="as `maas keys list` shows it")]) -> None:
    """End a key; servers refuse it within a second."""
    is_new = with_database(lambda db, _: keys.revoke_key(db, key_id, "cli"))
    show("revoked" if is_new else "it was revoked before")


async def describe_access(db: Database, settings: Settings) -> str:
    """Who may call, in words. Raises MaasError('no_key') where nobody can."""
    if settings.auth == "none":
        return "everybody on this machine (MAAS_AUTH=none)"
    rows = await keys.list_keys(db) if await db.value("schema_is_there") else []
    active = sum(row["state"] == "active" for row in rows)
    if settings.auth == "keys":
        if not active:
            raise MaasError("no_key", "MAAS_AUTH=keys and there is no active key; make one: `maas keys create NAME`")
        return f"who has one of the {active} active keys (MAAS_AUTH=keys)"
    signed = "MAAS_JWT_SECRET" if settings.jwt_secret else "a key of MAAS_JWKS_URL"
    return f"who has a token signed by {signed} (MAAS_AUTH=jwt), or one of the {active} active keys"


def _whose(row: Mapping[str, Any]) -> str:
    """Whose memory a key opens: that of metrics alone opens none."""
    if row["user_id"]:
        return str(row["user_id"])
    if set(row["scopes"]) == {"metrics"}:
        return "nobody's"
    return f"{row['prefix']}…" if row["prefix"] else "everybody's"


def _read_rate(text: str | None) -> int | None:
    if text is None:
        return None
    if (found := _RATE.fullmatch(text)) is None:
        raise MaasError("bad_parameter", f"--rate: {text!r} is not like 60/min")
    return int(found[1])


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else ""
