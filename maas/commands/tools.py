"""`maas tools`: what assistants can call."""

from __future__ import annotations

from typing import Annotated

import typer

from maas.commands.output import Table, note, say_json, show, styled
from maas.commands.session import with_database
from shared.db import ReadOnly
from shared.text import one_line, shorten

COLOURS = {"read": "green", "write": "yellow", "dangerous": "red"}


def list_tools(
    domain: Annotated[str | None, typer.Option(help="of this domain only")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="with the schemas of their arguments, as JSON")] = False,
) -> None:
    """List the tools that the orchestrators have, and what calling one does."""
    found = [dict(row) for row in with_database(lambda db, _: db.rows("list_tools", domain), ReadOnly)]
    if as_json:
        say_json(found)
        return
    if not found:
        note("no tools; MAAS_TOOLS names yours, and an orchestrator that has started with them writes them down")
        return
    table = Table("domain", "tool", "effect", "arguments", "what it does")
    for row in found:
        arguments = [
            f"{name}{'' if name in row['parameters']['required'] else '?'}" for name in row["parameters"]["properties"]
        ]
        table.add_row(
            row["domain"], row["name"], styled(row["effect"], COLOURS[row["effect"]]), ", ".join(arguments),
            shorten(one_line(row["description"]), 100),
        )  # fmt: skip
    show(table)
