"""`maas migrate`: bring the database to the schema of this version."""

from __future__ import annotations

from maas.cli.ui import note, show
from maas.prompting.prompts import seed_prompts
from shared import log
from shared.db import SQL
from shared.migrate import migrate as apply_schema
from shared.migrate import search_path_advice
from shared.postgres import find_postgres
from shared.settings import load_settings


def migrate() -> None:
    """Print how many files of `sql/` were applied and how many prompts were inserted."""
    settings = load_settings()
    log.configure("error", settings.log_format)
    with find_postgres(settings, note) as postgres:
        applied, seeded = prepare_database(postgres.query)
        if advice := search_path_advice(postgres.query):
            note(f"the schema maas is not in the search path; to use names without it: {advice};")
    show(f"{len(applied)} files of sql/ applied, {seeded} prompts seeded" if applied or seeded else "up to date")


def prepare_database(dsn: str) -> tuple[list[str], int]:
    """Migrate and seed; the names of the applied files and the number of inserted prompts. Raises MaasError."""
    return apply_schema(dsn, SQL), seed_prompts(dsn)
