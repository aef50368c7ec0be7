"""`maas users`: the accounts of people who sign in with email and password (MAAS_AUTH=local), and who is blocked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated
from uuid import UUID

import typer

from maas import accounts, queries
from maas.accounts.passwords import MAX_PASSWORD_CHARS, check_password, hash_password
from maas.settings import Settings
from maas.terminal.invocation import note_all, read_uuid, with_database
from maas.terminal.output import Table, note, show, write
from shared.db import Database
from shared.errors import MaasError

cli = typer.Typer(no_args_is_help=True, add_completion=False)
Blocked = Annotated[str, typer.Argument(metavar="USER", help="user, a UUID, or the email of an account")]
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
        return await accounts.create_reset_path(db, await _account_of(db, address), "cli")

    write(with_database(create))
    note(f"send it to {address} after the address of your server; it works once, within {accounts.LINK_HOURS} hours")


@cli.command("block", help="Refuse a user's tokens, keys and sign-in from now on; nothing of theirs is deleted.")
def block(user: Blocked) -> None:
    """Raises MaasError for a user who is neither a UUID nor has an account."""
    note(f"{with_database(partial(_set_blocked, user, is_blocked=True))} is blocked")


@cli.command("unblock", help="End the block of a user.")
def unblock(user: Blocked) -> None:
    """Raises MaasError for a user who is neither a UUID nor has an account."""
    note(f"{with_database(partial(_set_blocked, user, is_blocked=False))} is not blocked")


@cli.command("blocked", help="List the users who are blocked, the latest first.")
def list_blocked() -> None:
    """Print a table of users, with the emails of those who have an account."""

    async def read(db: Database, _: Settings) -> Sequence[queries.BlockedUsersRow]:
        await note_all(db, "users blocked", "users_list")
        return await db.rows(queries.blocked_users)

    table = Table("user", "email", "blocked since")
    for row in with_database(read):
        table.add_row(str(row["user_id"]), row["email"] or "", f"{row['granted_at']:%Y-%m-%d %H:%M}")
    show(table)


async def _set_blocked(user: str, db: Database, _: Settings, *, is_blocked: bool) -> UUID:
    user_id = await _account_of(db, user) if "@" in user else read_uuid(user, "USER")
    await db.value(queries.set_roles, user_id, None, is_blocked, "cli")
    return user_id


async def _account_of(db: Database, email: str) -> UUID:
    """Raises MaasError for an email without an account."""
    address = accounts.normalise_email(email)
    row = await db.row(queries.find_account, address)
    if row is None:
        raise MaasError("not_found", f"there is no account {address}; `maas users list` shows all")
    return row["user_id"]


def _read_password() -> str:
    """The first line of standard input; a terminal asks twice and does not show what is typed."""
    if sys.stdin.isatty():
        value: str = typer.prompt("password", hide_input=True, confirmation_prompt=True, err=True)
        return value
    return sys.stdin.readline(MAX_PASSWORD_CHARS + 3).removesuffix("\n").removesuffix("\r")
