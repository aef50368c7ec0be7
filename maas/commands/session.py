"""What every command needs: settings, the database, a user, an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from uuid import UUID

import typer
import uvloop

from maas.commands.output import note
from maas.pipeline import identities
from shared import log
from shared.db import Database, open_database
from shared.dsn import find_postgres
from shared.errors import MaasError
from shared.settings import Settings, load_settings

Result = TypeVar("Result")
LOCAL_USER = str(identities.LOCAL_USER)
User = Annotated[str, typer.Option("--user", "-u", help="whose memory, a UUID", show_default="a user of this machine")]


def with_database(work: Callable[[Database, Settings], Awaitable[Result]], kind: type[Database] = Database) -> Result:
    """Run `work` against the configured database. Raises MaasError."""
    settings = load_settings()
    log.configure("error", settings.log_format)

    async def run(dsn: str) -> Result:
        async with open_database(dsn, 4, "maas command", kind=kind) as db:
            if not await db.value("schema_is_there"):
                raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate` or `make run`")
            return await work(db, settings)

    with find_postgres(settings, note) as postgres:
        return uvloop.run(run(postgres.query))


def read_uuid(text: str, what: str) -> UUID:
    """Raises MaasError('bad_parameter')."""
    try:
        return UUID(text)
    except ValueError as error:
        raise MaasError("bad_parameter", f"{what}: {text!r} is no UUID") from error
