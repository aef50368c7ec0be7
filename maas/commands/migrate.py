"""`maas migrate`: bring the database to this version."""

from __future__ import annotations

from maas.commands.output import note, show
from maas.pipeline.prompts import seed_prompts
from shared import log
from shared.db import SQL
from shared.dsn import find_postgres
from shared.settings import load_settings


def migrate_database() -> None:
    """Apply pending migrations and seed missing prompts."""
    settings = load_settings()
    log.configure("error", settings.log_format)
    with find_postgres(settings, note) as postgres:
        applied, seeded = prepare(postgres.query)
    show(f"{len(applied)} migrations applied, {seeded} prompts seeded" if applied or seeded else "up to date")


def prepare(dsn: str) -> tuple[list[str], int]:
    """Migrate and seed; the names applied and how many prompts were added. Raises MaasError."""
    from shared.migrate import migrate  # slow to load, and every process loads the commands

    return migrate(dsn, SQL / "migrations"), seed_prompts(dsn)
