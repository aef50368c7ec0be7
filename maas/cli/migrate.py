"""`maas migrate`: bring the database to the schema of this version."""

from __future__ import annotations

from maas.cli.ui import note, show
from maas.prompting.prompts import seed_prompts
from shared import log
from shared.db import SQL
from shared.migrate import migrate as apply_migrations
from shared.postgres import find_postgres
from shared.settings import load_settings


def migrate() -> None:
    """Print how many migrations were applied and how many prompts inserted."""
    settings = load_settings()
    log.configure("error", settings.log_format)
    with find_postgres(settings, note) as postgres:
        applied, seeded = prepare_database(postgres.query)
    show(f"{len(applied)} migrations applied, {seeded} prompts seeded" if applied or seeded else "up to date")


def prepare_database(dsn: str) -> tuple[list[str], int]:
    """Migrate and seed; the names of the applied migrations and the number of inserted prompts. Raises MaasError."""
    return apply_migrations(dsn, SQL / "migrations"), seed_prompts(dsn)
