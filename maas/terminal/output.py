"""Terminal output of commands. All text passes here: control characters are escaped, markup is printed as it is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import rich.table
import typer
from rich.console import Console, RenderableType
from rich.text import Text

from shared.text import visible, visible_json, visible_line

if TYPE_CHECKING:
    from rich.progress import Progress

PIPE_WIDTH = 200  # columns of a table that is not printed to a terminal


class Table(rich.table.Table):
    """A table without borders whose cells are single lines."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, box=None, pad_edge=False)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*(styled(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def figures_table(first: str, *names: str) -> Table:
    """A table whose columns, but for the first, are aligned to the right."""
    table = Table()
    table.add_column(first, overflow="fold")
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    return table


def readable_duration(seconds: float) -> str:
    """A time in at most two units, such as `3 h 20 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"
    for unit, size, smaller, less in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            rest = int(seconds % size // less)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds:.0f} s"


def stdout_console() -> Console:
    """A console on standard output as it is now: the terminal's width, or PIPE_WIDTH."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def progress_bar() -> Progress:
    """A progress bar on standard error: description, bar, count, rate and remaining time."""
    from rich import progress  # slow to load

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:,.0f}/s")

    bar, count, remaining = progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn()
    columns = (progress.TextColumn("{task.description}"), bar, count, Rate(), remaining)
    return progress.Progress(*columns, console=Console(stderr=True))


def styled(text: str, style: str = "") -> Text:
    """One line of text for `show` or a table."""
    return Text(visible_line(text), style)


def show(part: RenderableType = "") -> None:
    """Print a table, or text that is wrapped at words."""
    stdout_console().print(Text(visible(part)) if isinstance(part, str) else part)


def write(text: str, *, ends: bool = True, colour: str | None = None, is_dim: bool = False) -> None:
    """Print text that is not wrapped; `ends`: add a newline."""
    typer.secho(visible(text), nl=ends, fg=colour, dim=is_dim or None)


def write_json(value: Any) -> None:
    """Print a value as indented JSON."""
    typer.echo(visible_json(json.dumps(value, ensure_ascii=False, indent=1)))


def note(text: str) -> None:
    """Print a remark to standard error, apart from the result."""
    typer.echo(visible(text), err=True)
