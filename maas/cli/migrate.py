"""`maas migrate`: the database of this version; what doctor says of its schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from maas.cli.up import prepare_database
from maas.plugins import sql_folders
from maas.settings import load_settings
from maas.terminal.output import figures_table, note, show, styled, write_json
from shared import log
from shared.errors import Advice, MaasError
from shared.migrate import search_path_advice
from shared.migration_plan import MigrationPlan, plan
from shared.postgres import find_postgres
from shared.query import SQL
from shared.schema_differences import find_differences
from shared.text import one_line, shorten

MAX_STATEMENT_CHARS = 80
MAX_NAMED_OBJECTS = 10


def migrate(
    is_plan: Annotated[
        bool,
        typer.Option("--plan", help="dry run: print statements, locks and rewritten tables; change nothing"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the plan as JSON")] = False,
) -> None:
    """Print how many files of `sql/` were applied and how many prompts were inserted, or the plan. Raises MaasError."""
    settings = load_settings()
    log.configure("error", settings.diagnostics.log_format)
    if as_json and not is_plan:
        raise MaasError("bad_parameter", "--json belongs to --plan")
    with find_postgres(settings.database, note) as postgres:
        if is_plan:
            found = plan(postgres.query, SQL, sql_folders())
            write_json(asdict(found)) if as_json else _show(found)
            return
        applied, seeded = prepare_database(postgres.query)
        if advice := search_path_advice(postgres.query):
            note(f"the schema maas is not in the search path; to use names without it: {advice};")
    show(f"{len(applied)} files of sql/ applied, {seeded} prompts seeded" if applied or seeded else "up to date")


def _show(found: MigrationPlan) -> None:
    if not found.steps:
        show("up to date")
        return
    steps = figures_table("statement", "ms", "locks", "rewrites")
    for step in found.steps:
        text = shorten(one_line(step.statement), MAX_STATEMENT_CHARS)
        locks = ", ".join(f"{table} {mode}" for table, mode in step.locks)
        steps.add_row(
            f"{step.file}:{step.line} {text}", f"{step.seconds * 1000:,.0f}", locks, ", ".join(step.rewritten)
        )
    show(steps)
    if not found.is_whole:
        show(styled("the last statement takes too long to be rehearsed here: try the rest on a copy", "yellow"))
    if not found.locks:
        show("no table is locked against others")
        return
    locks_table = figures_table("lock until the end", "mode", "stops", "held so far, ms")
    for lock in found.locks:
        locks_table.add_row(lock.table, lock.mode, lock.stops, f"{lock.held_s * 1000:,.0f}")
    show(locks_table)


def describe_schema(dsn: str) -> str:
    """That the tables and functions are those of this version.

    Raises MaasError schema_differs; Advice if others have added to them, or if only the owner could tell.
    """
    try:
        missing, changed, added = find_differences(dsn, SQL, sql_folders())
    except MaasError as error:
        if error.code == "not_owner":
            raise Advice(error.code, error.message) from error
        raise
    if missing or changed:
        found = {"missing": missing, "different": changed}
        named = "; ".join(f"{what}: {_listed(names)}" for what, names in found.items() if names)
        raise MaasError("schema_differs", f"{named}; make it as sql/ of this version has it")
    if added:
        raise Advice("schema_has_more", f"not of this version, nor of a plugin that is on: {_listed(added)}")
    return "as this version has it"


def _listed(names: Sequence[str]) -> str:
    left = len(names) - MAX_NAMED_OBJECTS
    return ", ".join(names[:MAX_NAMED_OBJECTS]) + (f" and {left} more" if left > 0 else "")
