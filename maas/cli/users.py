"""`maas users`: create, list and help the people who sign in with email and password (MAAS_AUTH=local)."""

from __future__ import annotations

import sys
from typing import Annotated
from uuid import UUID

import typer

from maas import accounts, queries
from maas.accounts.passwords import MAX_PASSWORD_CHARS, check_password, hash_password
from maas.cli.invocation import note_all, read_uuid, with_database
from maas.cli.output import Table, note, show, write
from maas.settings import Settings
from shared.db import Database
from shared.errors import MaasError

cli = typer.Typer(no_args_is_help=True, add_completion=False)
Email = Annotated[str, typer.Argument(metavar="EMAIL", help="email that the person signs in with")]


@cli.command("add", help="Create an account; the password is prompted for, or read from standard input.")
def add(
    email: Email,
    admin: Annotated[bool, typer.Option("--admin", help="give the account administrator rights")] = False,
    name: Annotated[str | None, typer.Option(help="name of the person")] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="existing user whose memory the account gets, a UUID")
    ] = None,
) -> None:
    """The password is no argument: other users of this machine could read it there. Raises MaasError."""
    address, shown_name = accounts.check_new_email(email), accounts.check_name(name)
    user_id = read_uuid(user, "--user") if user is not None else None
    password = _read_password()

    async def create(db: Database, settings: Settings) -> UUID:
        check_password(password, settings.access.password_length, address)
        stored = hash_password(password)
        return await accounts.create_account(db, address, stored, shown_name, user_id, admin, "cli")

    write(str(with_database(create)))
    note(f"{address} may sign in" + (" and administer" if admin else ""))


@cli.command("list", help="List all accounts, oldest first.")
def list_users() -> None:
    """Print a table of accounts without their passwords."""

    async def read(db: Database, _: Settings) -> list[accounts.Account]:
        await note_all(db, "users list", "users_list")
        return await accounts.list_accounts(db)

    table = Table("email", "name", "user", "role", "created", "last sign-in")
    for one in with_database(read):
        last = f"{one.last_sign_in_at:%Y-%m-%d %H:%M}" if one.last_sign_in_at else "never"
        table.add_row(
            one.email,
            one.name or "",
            str(one.user_id),
            "admin" if one.is_admin else "",
            f"{one.created_at:%Y-%m-%d %H:%M}",
            last,
        )
    show(table)


@cli.command("reset", help="Print the path of a one-time link by which a person sets a new password.")
def reset(email: Email) -> None:
    """Raises MaasError for an email without an account."""
    address = accounts.normalise_email(email)

    async def create(db: Database, _: Settings) -> str:
        row = await db.row(queries.find_account, address)
        if row is None:
            raise MaasError("not_found", f"there is no account {address}; `maas users list` shows all")
        return await accounts.create_reset_path(db, row["user_id"], "cli")

    write(with_database(create))
    note(f"send it to {address} after the address of your server; it works once, within {accounts.LINK_HOURS} hours")


def _read_password() -> str:
    """The first line of standard input; a terminal asks twice and does not show what is typed."""
    if sys.stdin.isatty():
        value: str = typer.prompt("password", hide_input=True, confirmation_prompt=True, err=True)
        return value
    return sys.stdin.readline(MAX_PASSWORD_CHARS + 3).removesuffix("\n").removesuffix("\r")
