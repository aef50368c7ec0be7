"""`maas backup` and `maas restore`: the whole database in one file."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated

import typer
import uvloop

from maas import queries
from maas.cli.up import prepare_database
from maas.settings import Settings, load_settings
from maas.terminal.output import note, progress_bar, show
from shared import log
from shared.db import open_database
from shared.errors import MaasError
from shared.postgres import dump, find_postgres

APPLICATION = "maas restore"


def backup(
    file: Annotated[Path, typer.Argument(help="file to write; one that exists is replaced when the new one is whole")],
) -> None:
    """Print the size of the file, which only its owner may read. Raises MaasError."""
    settings = _settings()
    try:
        descriptor, part = mkstemp(dir=file.parent, prefix=f".{file.name}.")
        os.close(descriptor)
    except OSError as error:
        raise MaasError("bad_parameter", f"{file} cannot be written: {error}") from error
    try:
        with find_postgres(settings.database, note) as postgres, progress_bar() as progress:
            task = progress.add_task("bytes written", total=None)
            dump.dump(postgres.listen, Path(part), lambda size: progress.update(task, completed=size))
        os.replace(part, file)
    finally:
        Path(part).unlink(missing_ok=True)
    show(f"{file}: {file.stat().st_size:,} bytes; `maas restore` fills an empty database with it")


def restore(
    file: Annotated[Path, typer.Argument(help="what `maas backup` or `pg_dump --format=custom` wrote", exists=True)],
) -> None:
    """Print what the database holds then. Raises MaasError; a database that is not empty stays as it is."""
    settings = _settings()
    with find_postgres(settings.database, note) as postgres:
        dump.check(postgres.listen, file)
        if uvloop.run(_holds_maas(postgres.query)):
            raise MaasError(
                "not_empty",
                "this database holds MaaS already: name an empty one (another DATABASE_URL, or another folder in "
                "MAAS_DATA_DIR)",
            )
        dump.restore(postgres.listen, file, "pre-data")
        uvloop.run(_make_roles(postgres.query))  # policies name them
        dump.restore(postgres.listen, file, "data", "post-data")
        prepare_database(postgres.query)
        counts = uvloop.run(_count(postgres.query))
    show(f"restored: users {counts['users']:,}, requests {counts['runs']:,}, messages {counts['messages']:,}")


def _settings() -> Settings:
    settings = load_settings()
    log.configure("error", settings.diagnostics.log_format)
    return settings


async def _holds_maas(dsn: str) -> bool:
    async with open_database(dsn, 1, APPLICATION) as db:
        return bool(await db.value(queries.schema_exists))


async def _make_roles(dsn: str) -> None:
    async with open_database(dsn, 1, APPLICATION) as db:
        await db.value(queries.make_roles)


async def _count(dsn: str) -> queries.ContentsRow:
    async with open_database(dsn, 1, APPLICATION) as db:
        row = await db.row(queries.contents)
    assert row is not None
    return row
