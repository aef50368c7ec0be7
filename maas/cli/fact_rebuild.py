"""`maas facts rebuild`: the facts of a user found again in their words, beside those that are stored."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maas.cli.runs import dollars
from maas.settings import Settings
from maas.terminal.invocation import ACTOR, LOCAL_USER, composition_of, read_uuid, with_database
from maas.terminal.output import note, progress_bar, show, write, write_json
from shared.db import Database
from shared.errors import MaasError

if TYPE_CHECKING:
    from maas.facts.rebuild import Estimate, FactChanges

MAX_FAILURES_SHOWN = 5


def rebuild(
    ctx: typer.Context,
    user: Annotated[
        str, typer.Argument(metavar="USER", help="user, a UUID", show_default="a user of this machine")
    ] = LOCAL_USER,
    model: Annotated[
        str | None,
        typer.Option(help="provider:model that finds facts beside the rules; unset: what MAAS_FACTS says"),
    ] = None,
    is_written: Annotated[bool, typer.Option("--write", help="put the new facts in the place of the old ones")] = False,
    is_agreed: Annotated[bool, typer.Option("--yes", help="do not ask before a model is called")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the changes as JSON")] = False,
) -> None:
    """Print what goes and what comes; exit status 1 where an exchange was not read. Raises MaasError."""
    user_id = read_uuid(user, "USER")
    open_rebuild = composition_of(ctx).open_fact_rebuild

    async def work(db: Database, settings: Settings) -> FactChanges:
        async with open_rebuild(db, settings, user_id, model) as found:
            cost = await found.estimate()
            if cost.calls:
                _agree(cost, is_agreed)
            with progress_bar() as progress:
                task = progress.add_task("exchanges read", total=len(found.exchanges))
                changes = await found.find(lambda done, total: progress.update(task, completed=done, total=total))
            if is_written:
                await found.write(changes, ACTOR)
            return changes

    changes = with_database(work, command="facts rebuild", user_id=user_id)
    if as_json:
        write_json(_to_json(changes, is_written))
    else:
        _print(changes, is_written)
    if changes.failed:
        sys.exit(1)


def _agree(cost: Estimate, is_agreed: bool) -> None:
    """Say what the calls cost, and ask whether they may be made. Raises MaasError('not_agreed')."""
    price = "at an unknown price" if cost.price is None else f"for at most {dollars(cost.price)}"
    note(
        f"{cost.model} is called {cost.calls} times: about {cost.tokens_in:,} tokens in, at most "
        f"{cost.tokens_out:,} out, {price}"
    )
    if is_agreed:
        return
    if not sys.stdin.isatty():
        raise MaasError("not_agreed", "there is no terminal to confirm these calls on; --yes confirms them")
    if not typer.confirm("Call it?", err=True):
        raise MaasError("not_agreed", "no call was made")


def _print(changes: FactChanges, is_written: bool) -> None:
    for line in changes.gone:
        write(f"- {line}", colour="red")
    for line in changes.new:
        write(f"+ {line}", colour="green")
    for cause in changes.failed[:MAX_FAILURES_SHOWN]:
        note(f"not read, its facts stay: {cause}")
    if (more := len(changes.failed) - MAX_FAILURES_SHOWN) > 0:
        note(f"not read, their facts stay: {more} more exchanges")
    counts = f"{changes.kept} facts stay, {len(changes.gone)} go, {len(changes.new)} are new"
    is_open = changes.gone or changes.new
    show(f"{counts}; {'written' if is_written else 'nothing is written, --write does'}" if is_open else counts)


def _to_json(changes: FactChanges, is_written: bool) -> dict[str, Any]:
    gone, new = ([asdict(one) | {"day": str(one.day)} for one in some] for some in (changes.gone, changes.new))
    return {"kept": changes.kept, "gone": gone, "new": new, "failed": list(changes.failed), "is_written": is_written}
