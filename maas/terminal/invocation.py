"""One invocation of a command: its settings, its database, its event loop, and what main.py hands over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar
from uuid import UUID

import typer
import uvloop

from maas import queries, users
from maas.settings import Settings, load_settings
from maas.terminal.output import note
from shared import log
from shared.db import Database, open_database
from shared.errors import MaasError
from shared.postgres import find_postgres

if TYPE_CHECKING:
    from maas.agents.runtime import Toolbox
    from maas.facts.rebuild import FactRebuild
    from maas.runs.replay import Replay

Result = TypeVar("Result")
ACTOR = "cli"  # in the audit
DATE_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]  # in MAAS_TIMEZONE
LOCAL_USER = str(users.LOCAL_USER)
User = Annotated[
    str, typer.Option("--user", "-u", help="user whose memory is used, a UUID", show_default="a user of this machine")
]


class Composition(Protocol):
    """What commands need of the module that puts the stages together; commands themselves import no stage."""

    def run_orchestrator(self, stages: str | None, is_alone: bool) -> None: ...

    async def compact(
        self, db: Database, settings: Settings, user_id: UUID | None, on_progress: Callable[[int, int], None]
    ) -> int: ...

    async def replay(
        self, db: Database, settings: Settings, run_id: UUID, stage: str | None, model: str | None
    ) -> list[Replay]: ...

    def open_fact_rebuild(
        self, db: Database, settings: Settings, user_id: UUID, model: str | None
    ) -> AbstractAsyncContextManager[FactRebuild]: ...

    def open_tools(self, db: Database, settings: Settings) -> AbstractAsyncContextManager[Toolbox]: ...


def composition_of(ctx: typer.Context) -> Composition:
    """Load the composition root of this command line; takes most of a second."""
    load: Callable[[], Composition] = ctx.obj
    return load()


def with_database(
    work: Callable[[Database, Settings], Awaitable[Result]],
    kind: type[Database] = Database,
    *,
    command: str = "",
    user_id: UUID | None = None,
) -> Result:
    """Run `work` against the configured database; before, note that `command` uses data of a user. Raises MaasError."""
    settings = load_settings()
    log.configure("error", settings.diagnostics.log_format)

    async def run(dsn: str) -> Result:
        async with open_database(dsn, 4, "maas command", kind=kind) as db:
            if not await db.value(queries.schema_is_there):
                raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate` or `make run`")
            await note_user(db, command, user_id)
            return await work(db, settings)

    with find_postgres(settings.database, note) as postgres:
        return uvloop.run(run(postgres.query))


async def note_user(db: Database, command: str, user_id: UUID | None) -> None:
    """Write to the audit that a command reads or changes data of a user, unless it is the user of this machine."""
    if user_id not in (None, users.LOCAL_USER):
        await db.value(queries.note_audit, "user_access", user_id, None, {"command": f"maas {command}"}, ACTOR)


async def note_all(db: Database, command: str, action: str) -> None:
    """Write to the audit that a command lists data of all users."""
    await db.value(queries.note_audit, action, None, None, {"command": f"maas {command}"}, ACTOR)


def in_zone(zone: tzinfo, at: datetime | None) -> datetime | None:
    """A time that an option named, which has no offset, in a time zone."""
    return at.replace(tzinfo=zone) if at else None


def read_uuid(text: str, name: str) -> UUID:
    """Parse the argument or option `name`. Raises MaasError('bad_parameter')."""
    try:
        return UUID(text)
    except ValueError as error:
        raise MaasError("bad_parameter", f"{name}: {text!r} is not a UUID") from error
