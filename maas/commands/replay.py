"""`maas replay`: a finished run's stages once more, and what they write now."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from maas.commands.cost import dollars
from maas.commands.output import Table, say, say_json, show, styled
from maas.commands.session import read_uuid, with_database
from maas.pipeline.replay import Replay, check_stage
from maas.pipeline.work import Work
from shared.db import Database, ReadOnly
from shared.settings import Settings

Replays = Callable[[Database, Settings, UUID, str | None, str | None], Awaitable[list[Replay]]]
COLOURS = {"-": "red", "+": "green", "@": "cyan"}


def replay_run(replays: Replays, run: str, stage: str | None, model: str | None, as_json: bool) -> None:
    """Show each stage then and now; exit status 1 when one fails now. Postgres refuses every write meanwhile."""
    run_id = read_uuid(run, "run")
    check_stage(stage)
    found = with_database(lambda db, settings: replays(db, settings, run_id, stage, model), ReadOnly)
    if as_json:
        whole = {"run_id": run, "stages": [one.to_json() for one in found]}
        say_json(whole)
    else:
        _print(found)
    if any(one.now.wrote is None for one in found):
        sys.exit(1)


def _print(found: Sequence[Replay]) -> None:
    for one in found:
        show(styled(f"{one.stage}: {_verdict(one)}", "bold"))
        table = Table("", "model", "prompt", "requests", "tokens in/out", "ms", "price", "remarks")
        for when, work in (("then", one.then), ("now", one.now)):
            table.add_row(when, *_figures(one, work))
        show(table)
        for note in one.notes:
            show(note)
        for line in one.diff():
            say(line, colour=COLOURS.get(line[:1]))
        show()
    prices = [one.now.price for one in found]
    whole = sum(price for price in prices if price is not None)
    unpriced = " and calls without a price" if None in prices else ""
    show(f"this replay cost {dollars(whole)}{unpriced}; nothing of it is kept")


def _verdict(one: Replay) -> str:
    if one.now.wrote is None:
        words = "fails as it did" if one.then.wrote is None else "fails now"
    else:
        words = "no difference" if one.is_same else "differs"
    if one.is_prompt_changed:
        words += ", the prompt has changed"
    if one.is_same_request is not None:
        words += ", asked the very same" if one.is_same_request else ", asked something else"
    return words


def _figures(one: Replay, work: Work) -> tuple[str, ...]:
    version = "" if work.prompt_version is None else f"{one.role} v{work.prompt_version}"
    remarks = ["by rule"] if work.is_degraded else []
    remarks += ["no model was asked"] if work.wrote is not None and not work.models else []
    remarks += [work.error] if work.error else []
    return (
        " then ".join(work.models), version, str(work.requests), f"{work.tokens_in}/{work.tokens_out}",
        f"{work.ms:.1f}", dollars(work.price), ": ".join(remarks),
    )  # fmt: skip
