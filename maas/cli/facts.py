"""`maas facts`: what is known of a user, and what a person decides about it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import typer

from maas.cli.invocation import ACTOR, LOCAL_USER, User, read_uuid, with_database
from maas.cli.output import Table, note, show, write
from maas.memory import facts
from maas.memory.dates import local
from maas.memory.facts import HELD, State, Verdict
from maas.settings import Settings
from shared.db import Database
from shared.errors import MaasError
from shared.text import is_blank

MAX_FACT_CHARS, MAX_NAME_CHARS = 500, 100
cli = typer.Typer(no_args_is_help=True, add_completion=False)
Wanted = Literal["held", "all", "true", "uncertain", "replaced", "ended", "corrected", "wrong", "unused"]
FactId = Annotated[str, typer.Argument(metavar="FACT", help="id of a fact, as `maas facts list` prints it")]


@cli.command("list", help="List what is known of a user, newest first: what is true or uncertain.")
def list_facts(
    user: User = LOCAL_USER,
    state: Annotated[Wanted, typer.Option(help="only facts in this state, or all")] = "held",
    about: Annotated[str | None, typer.Option(help="only facts about this name; user: the user")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="maximum number of facts")] = 50,
) -> None:
    """Print a table of facts. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    states: tuple[State, ...] | None = HELD if state == "held" else None if state == "all" else (state,)

    async def read(db: Database, settings: Settings) -> list[tuple[str, facts.Fact]]:
        found = await facts.list_facts(db, user_id, limit, states=states, subject=about)
        return [(f"{local(one.last_said_at, settings.engine.zone):%Y-%m-%d}", one) for one in found]

    rows = with_database(read, command="facts list", user_id=user_id)
    if not rows:
        show("nothing is known")
        return
    table = Table()
    for name in ("said", "about", "fact", "state", "since", "id"):
        table.add_column(name, overflow="fold")
    for said, one in rows:
        shown = f"{one.state}, pinned" if one.is_pinned else one.state
        table.add_row(said, one.subject, one.statement, shown, str(one.since or ""), str(one.id))
    show(table)


@cli.command("decide", help="Say that a fact is wrong, has ended, is unused or pinned, or none of these (free).")
def decide(
    fact: FactId,
    verdict: Annotated[Verdict, typer.Argument(help="what holds from now on, whoever says it again")],
    user: User = LOCAL_USER,
) -> None:
    """Raises MaasError('not_found')."""
    fact_id, user_id = read_uuid(fact, "FACT"), read_uuid(user, "--user")

    async def store(db: Database, _: Settings) -> None:
        await facts.decide_fact(db, user_id, fact_id, verdict, ACTOR)

    with_database(store, command="facts decide", user_id=user_id)
    note(f"{verdict} from now on")


@cli.command("correct", help="Say what is right instead of a fact; print the id of the new fact.")
def correct(
    fact: FactId,
    text: Annotated[str, typer.Argument(help="what is right, as a statement of the user")],
    user: User = LOCAL_USER,
) -> None:
    """Raises MaasError('not_found')."""
    fact_id, user_id = read_uuid(fact, "FACT"), read_uuid(user, "--user")
    _check(text, "TEXT", MAX_FACT_CHARS)

    async def store(db: Database, _: Settings) -> UUID:
        corrected = await facts.correct_fact(db, user_id, fact_id, text, "cli", ACTOR)
        return corrected[1]

    write(str(with_database(store, command="facts correct", user_id=user_id)))


@cli.command("merge", help="Say that two names are one person or thing.")
def merge(
    name: Annotated[str, typer.Argument(help="a name that facts are about, such as sister")],
    same_as: Annotated[str, typer.Argument(help="the name of the same person or thing, such as Anna")],
    user: User = LOCAL_USER,
) -> None:
    """Print how many facts the first name has. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    for text, argument in ((name, "NAME"), (same_as, "SAME_AS")):
        _check(text, argument, MAX_NAME_CHARS)

    async def store(db: Database, _: Settings) -> int:
        return await facts.merge_names(db, user_id, name, same_as)

    count = with_database(store, command="facts merge", user_id=user_id)
    note(f"{count} facts about {name!r} are about {same_as!r}, too")


def _check(text: str, argument: str, max_chars: int) -> None:
    if is_blank(text) or len(text) > max_chars or "\x00" in text:
        raise MaasError("bad_parameter", f"{argument} must be text of 1 to {max_chars} characters")
