"""maas replay: the stages of a run, executed again and compared."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from maas import queries
from maas.cli.runs import dollars
from maas.engine.states import ROLE_OF
from maas.terminal.invocation import composition_of, note_user, read_uuid, with_database
from maas.terminal.output import Table, show, styled, write, write_json
from shared.db import Database, ReadOnlyDatabase

if TYPE_CHECKING:
    from maas.runs.replay import Replay, StageResult


DIFF_COLOURS = {"-": "red", "+": "green", "@": "cyan"}  # of lines of a diff


def replay_run(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(help="id of the run")],
    stage: Annotated[str | None, typer.Option(help=f"only this stage: {', '.join(ROLE_OF)}")] = None,
    model: Annotated[str | None, typer.Option(help="provider:model instead of the configured models")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the result as JSON")] = False,
) -> None:
    """Print each stage then and now; exit status 1 if one fails now. The database refuses all writes meanwhile.

    Raises MaasError.
    """
    from maas.runs.replay import check_stage  # slow to load

    run_id = read_uuid(run, "run")
    check_stage(stage)
    execute = composition_of(ctx).replay
    with_database(lambda db, _: _note_owner(db, run_id))
    replays = with_database(lambda db, settings: execute(db, settings, run_id, stage, model), ReadOnlyDatabase)
    if as_json:
        write_json({"run_id": run, "stages": [replay.to_json() for replay in replays]})
    else:
        _print_replays(replays)
    if any(replay.now.wrote is None for replay in replays):
        sys.exit(1)


async def _note_owner(db: Database, run_id: UUID) -> None:
    await note_user(db, "replay", await db.value(queries.owner_of_run, run_id))


def _print_replays(replays: Sequence[Replay]) -> None:
    for replay in replays:
        show(styled(f"{replay.stage}: {_describe_difference(replay)}", "bold"))
        table = Table("", "model", "prompt", "requests", "tokens in/out", "ms", "price", "remarks")
        for when, work in (("then", replay.then), ("now", replay.now)):
            table.add_row(when, *_figures(replay, work))
        show(table)
        for remark in replay.notes:
            show(remark)
        for line in replay.diff():
            write(line, colour=DIFF_COLOURS.get(line[:1]))
        show()
    prices = [replay.now.price for replay in replays]
    total = sum(price for price in prices if price is not None)
    unpriced = " and calls without a price" if None in prices else ""
    show(f"this replay cost {dollars(total)}{unpriced}; none of it is stored")


def _describe_difference(replay: Replay) -> str:
    if replay.now.wrote is None:
        parts = ["fails as before" if replay.then.wrote is None else "fails now"]
    else:
        parts = ["no difference" if replay.is_same else "differs"]
    if replay.is_prompt_changed:
        parts.append("the prompt has changed")
    if replay.is_same_request is not None:
        parts.append("same request" if replay.is_same_request else "different request")
    return ", ".join(parts)


def _figures(replay: Replay, work: StageResult) -> tuple[str, ...]:
    """The cells of one row: models, prompt, requests, tokens, milliseconds, price, remarks."""
    version = "" if work.prompt_version is None else f"{replay.role} v{work.prompt_version}"
    remarks = ["by rule"] if work.is_degraded else []
    remarks += ["no model call"] if work.wrote is not None and not work.models else []
    remarks += [work.error] if work.error else []
    return (
        " then ".join(work.models),
        version,
        str(work.requests),
        f"{work.tokens_in}/{work.tokens_out}",
        f"{work.ms:.1f}",
        dollars(work.price),
        ": ".join(remarks),
    )
