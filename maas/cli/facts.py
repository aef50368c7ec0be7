"""`maas facts`: what is true of a user, and what a person decides about it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from maas.cli.fact_rebuild import rebuild
from maas.memory import facts
from maas.memory.dates import local
from maas.memory.facts import HELD, MAX_FACT_CHARS, MAX_NAME_CHARS, Fact, Verdict
from maas.settings import Settings
from maas.terminal.invocation import ACTOR, DATE_FORMATS, LOCAL_USER, User, in_zone, read_uuid, with_database
from maas.terminal.output import Table, show, write, write_json
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable
from shared.text import is_blank, one_line

MAX_SHOWN = 1000
FactId = Annotated[str, typer.Argument(metavar="FACT", help="id of the fact, see `maas facts`")]


class _ListByDefault(TyperGroup):
    """`maas facts USER` is `maas facts list USER`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_list = not args or (args[0] not in self.commands and args[0] != "--help")
        return super().parse_args(ctx, ["list", *args] if is_list else args)


cli = typer.Typer(cls=_ListByDefault, add_completion=False)


@cli.command("list", help="List the facts of a user, newest first; the word `list` may be left out.")
def list_all(
    user: Annotated[
        str, typer.Argument(metavar="USER", help="user, a UUID", show_default="a user of this machine")
    ] = LOCAL_USER,
    state: Annotated[
        str | None, typer.Option(help=f"all, or one of {', '.join(get_args(facts.State))}; true and uncertain if unset")
    ] = None,
    about: Annotated[str | None, typer.Option(help="only facts about this name; `user`: about the user")] = None,
    as_of: Annotated[datetime | None, typer.Option(formats=DATE_FORMATS, help="what was known at this time")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_SHOWN, help="maximum number of facts")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="print everything about each fact as JSON")] = False,
) -> None:
    """Print a table of facts. Raises MaasError."""
    user_id = read_uuid(user, "USER")
    try:
        states = HELD if state is None else facts.to_states(state)
    except ValueError as error:
        raise MaasError("bad_parameter", f"--state: {error}") from error
    subject = None if about is None else _read_text(about, "--about", MAX_NAME_CHARS)

    async def read(db: Database, settings: Settings) -> list[tuple[datetime, Fact]]:
        zone = settings.engine.zone
        found = await facts.list_facts(db, user_id, limit, as_of=in_zone(zone, as_of), states=states, subject=subject)
        return [(local(one.last_said_at, zone), one) for one in found]

    found = with_database(read, command="facts list", user_id=user_id)
    if as_json:
        write_json([_to_json(one) for _, one in found])
        return
    if not found:
        show("no facts")
        return
    table = Table()
    for name in ("fact", "statement", "about", "state", "since", "said"):
        table.add_column(name, no_wrap=name == "fact", overflow="fold")
    for at, one in found:
        pinned = ", pinned" if one.is_pinned else ""
        since = "" if one.since is None else str(one.since)
        table.add_row(str(one.id), one_line(one.statement), one.subject, one.state + pinned, since, f"{at:%Y-%m-%d}")
    show(table)


@cli.command("decide", help="Mark a fact as wrong, ended, unused or pinned, or remove such a mark.")
def decide(
    fact: FactId,
    verdict: Annotated[
        Verdict,
        typer.Argument(
            help="wrong: it was never true; ended: it no longer is; unused: no model may see it; pinned: every model "
            "sees it; free: none of these"
        ),
    ],
    user: User = LOCAL_USER,
) -> None:
    """It counts for the statement, whoever says it again. Raises MaasError."""
    user_id, fact_id = read_uuid(user, "--user"), read_uuid(fact, "FACT")
    with_database(
        lambda db, _: facts.decide_fact(db, user_id, fact_id, verdict, ACTOR), command="facts decide", user_id=user_id
    )
    show(verdict)


@cli.command("correct", help="Correct a fact; the messages that it came from stay readable.")
def correct(
    fact: FactId,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="what is right, as a statement of the user")],
    user: User = LOCAL_USER,
) -> None:
    """Print the id of the new fact. Raises MaasError."""
    user_id, fact_id = read_uuid(user, "--user"), read_uuid(fact, "FACT")
    text = _read_text(statement, "STATEMENT", MAX_FACT_CHARS)
    _, new_id = with_database(
        lambda db, _: facts.correct_fact(db, user_id, fact_id, text, ACTOR, ACTOR),
        command="facts correct",
        user_id=user_id,
    )
    write(str(new_id))


@cli.command("merge", help="Merge two names of one person or thing: facts about either are about both.")
def merge(
    name: Annotated[str, typer.Argument(metavar="NAME", help="name that facts are about, such as sister")],
    same_as: Annotated[str, typer.Argument(metavar="SAME_AS", help="name of the same person or thing, such as Anna")],
    user: User = LOCAL_USER,
) -> None:
    """Print how many facts are about the first name. Raises MaasError."""
    user_id = read_uuid(user, "--user")
    one, other = (_read_text(text, what, MAX_NAME_CHARS) for text, what in ((name, "NAME"), (same_as, "SAME_AS")))
    merged = with_database(
        lambda db, _: facts.merge_names(db, user_id, one, other), command="facts merge", user_id=user_id
    )
    show(f"{merged} facts are about {one}")


cli.command("rebuild", help="Extract the facts of a user from their messages again, and show what would change.")(
    rebuild
)


def _read_text(text: str, name: str, max_chars: int) -> str:
    """Raises MaasError('bad_parameter')."""
    if is_blank(text) or len(text) > max_chars or not is_storable(text):
        raise MaasError("bad_parameter", f"{name}: must be 1 to {max_chars} characters, not all blank")
    return text


def _to_json(fact: Fact) -> dict[str, Any]:
    """Everything about a fact, under the names that the HTTP API has."""
    names = {"statement": "fact", "subject": "about"}
    hidden = ("attribute", "matches", "period", "is_asked")
    fields = {names.get(name, name): _plain(value) for name, value in asdict(fact).items() if name not in hidden}
    return fields | {"origins": [origin.to_json() for origin in fact.origins]}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | bool | None) else str(value)
