"""What commands print. All text passes here: none of it steers the terminal, and none is taken for markup."""

from __future__ import annotations

import json
import sys
from typing import Any

import rich.table
import typer
from rich.console import Console, RenderableType
from rich.text import Text

from shared.visible import visible, visible_json, visible_line

console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
errors = Console(stderr=True)


class Table(rich.table.Table):
    """Cells are single lines."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, box=None, pad_edge=False)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*(styled(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def styled(text: str, style: str = "") -> Text:
    """One line for `show` or a table."""
    return Text(visible_line(text), style)


def show(part: RenderableType = "") -> None:
    """Print a table or text, which is wrapped at words."""
    console.print(Text(visible(part)) if isinstance(part, str) else part)


def say(text: str, *, ends: bool = True, colour: str | None = None, is_dim: bool = False) -> None:
    """Print text that is not wrapped; `ends`: with a line end."""
    typer.secho(visible(text), nl=ends, fg=colour, dim=is_dim or None)


def say_json(value: Any) -> None:
    """Print a value as indented JSON."""
    typer.echo(visible_json(json.dumps(value, ensure_ascii=False, indent=1)))


def note(text: str) -> None:
    """A remark that is not the result: to standard error."""
    typer.echo(visible(text), err=True)
