"""Whose business a command is about: a user, named in any way in which users are known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from uuid import UUID

import typer

from maas import accounts, queries
from maas.settings import Settings
from maas.terminal.invocation import note_user, with_database
from maas.users import TELEGRAM, find_user
from shared.db import Database
from shared.errors import MaasError

T = TypeVar("T")
Owner = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        help="user whose business it is: a UUID, an email, a name, or telegram: and the number of a chat",
    ),
]
OF_TELEGRAM = f"{TELEGRAM}:"


def with_owner(user: str, work: Callable[[Database, Settings, UUID], Awaitable[T]], command: str) -> T:
    """Run `work` for a user; before, note that `command` uses data of the user. Raises MaasError."""

    async def run(db: Database, settings: Settings) -> T:
        user_id = await find_owner(db, user)
        await note_user(db, command, user_id)
        return await work(db, settings, user_id)

    return with_database(run)


async def find_owner(db: Database, text: str) -> UUID:
    """The user with this UUID, email of an account, name in the API or `telegram:NUMBER`.

    Raises MaasError: 'not_found' for one who is not known, 'bad_user'.
    """
    if text.startswith(OF_TELEGRAM):
        found = await find_user(db, text.removeprefix(OF_TELEGRAM).strip(), TELEGRAM)
    elif "@" in text and (row := await db.row(queries.find_account, accounts.normalise_email(text))) is not None:
        found = row["user_id"]
    else:
        found = await find_user(db, text)
    if found is None:
        raise MaasError("not_found", f"--user: there is no user {text!r}; users exist from their first request on")
    return found
