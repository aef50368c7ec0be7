"""`python -m learning_agent.emulator`: play scenarios, list them, serve the REST API."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from learning_agent.emulator.batch import AT_ONCE, BUILTIN, Order, play
from learning_agent.emulator.errors import EmulatorError, ExitStatus
from learning_agent.emulator.report import MARKS, to_text, write_reports
from learning_agent.emulator.results import Result
from learning_agent.emulator.scenario import FOLDER, choose, read_scenarios
from shared.log import configure

cli = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)
Names = Annotated[list[str] | None, typer.Argument(help="scenarios or kinds; all if none is named")]
Folder = Annotated[Path, typer.Option(help="folder of scenarios, or one file")]
Language = Annotated[str | None, typer.Option(help="en or ru; both if unset")]


@cli.command()
def run(
    names: Names = None,
    folder: Folder = FOLDER,
    language: Language = None,
    model: Annotated[str, typer.Option(help="model of the MaaS that is started, as provider:model")] = BUILTIN,
    roles: Annotated[str, typer.Option(help="roles that it plays, separated by commas; empty: all")] = "",
    judge: Annotated[str | None, typer.Option(help="model that judges answers, openai:NAME")] = None,
    person: Annotated[str | None, typer.Option(help="model that plays people; unset: the judge")] = None,
    url: Annotated[str | None, typer.Option(help="a MaaS that runs already; with --dsn")] = None,
    dsn: Annotated[str | None, typer.Option(help="its database")] = None,
    purge: Annotated[bool, typer.Option("--purge", help="let scenarios delete old messages of ALL its users")] = False,
    record: Annotated[Path | None, typer.Option(help="write the replies of the model into this file")] = None,
    replay: Annotated[Path | None, typer.Option(help="take the replies from this file")] = None,
    at_once: Annotated[int, typer.Option(min=1, max=32, help="scenarios played at the same time")] = AT_ONCE,
    out: Annotated[Path | None, typer.Option(help="write OUT.json and OUT.html")] = None,
) -> None:
    """Play scenarios and print the report; status 0: all passed, 1: some failed, 2: not played, 3: old recording."""
    scenarios = choose(read_scenarios(folder), names or [], language)
    parts = tuple(part.strip() for part in roles.split(",") if part.strip())
    order = Order(scenarios, model, parts, judge, person or judge, url, dsn, record, replay, at_once, purge)
    report = play(order, _note)
    print(to_text(report))
    if out is not None:
        print(f"the whole report is in {' and '.join(map(str, write_reports(report, out)))}")
    raise SystemExit(report.status)


@cli.command("list")
def list_scenarios(names: Names = None, folder: Folder = FOLDER, language: Language = None) -> None:
    """List scenarios."""
    for one in choose(read_scenarios(folder), names or [], language):
        needed = "" if one.builtin else "  (needs a model)"
        print(f"{one.name:<34}{one.language}  {one.kind:<11}{one.title}{needed}")


@cli.command()
def serve(
    port: Annotated[int, typer.Option(help="port of 127.0.0.1")] = 8090,
    folder: Folder = FOLDER,
) -> None:
    """Serve the REST API: POST /runs starts scenarios, GET /runs/ID tells the result."""
    import uvicorn

    from learning_agent.emulator.api import make_app

    uvicorn.run(make_app(folder), host="127.0.0.1", port=port, log_level="warning")


def _note(result: Result) -> None:
    print(f"{MARKS[result.outcome]}  {result.name}", file=sys.stderr, flush=True)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run a command; an error is one line and the status 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        cli()
    except EmulatorError as error:
        print(f"emulator: {error}", file=sys.stderr)
        sys.exit(ExitStatus.UNUSABLE)


if __name__ == "__main__":
    configure("warning")
    main()
