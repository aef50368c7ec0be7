"""The `maas` command: one subcommand a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from maas.commands import ask, doctor, embed, export, forgetting, history, levels, migrate, runs, search, top, trace, up
from shared.errors import MaasError


class _Group(typer.core.TyperGroup):
    """A group in which a MaasError is one line on standard error and exit status 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MaasError as error:
            typer.echo(f"maas: {error.message}", err=True)
            sys.exit(1)
        except KeyboardInterrupt:
            typer.echo("\nstopped", err=True)
            sys.exit(130)


def build_cli(run_orchestrator: Callable[[str | None, bool], None], compact: levels.Compact) -> typer.Typer:
    """All commands; main.py hands over the orchestrator and the Compactor, since commands know no worker."""
    cli = typer.Typer(
        cls=_Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
        help="Memory as a service: one row in, one remembered answer out.",
    )  # fmt: skip
    cli.command("up")(up.up)
    cli.command("migrate")(migrate.migrate_database)
    cli.command("ask")(ask.ask)
    cli.command("import")(history.import_history)
    cli.command("export")(export.export_user)
    cli.command("forget")(forgetting.forget)
    cli.command("erase")(forgetting.erase)
    cli.command("search")(search.search_memory)
    cli.command("embed")(embed.embed)
    cli.command("runs")(runs.list_runs)
    cli.command("top")(top.top)
    cli.command("trace")(trace.trace_run)
    cli.command("doctor")(doctor.doctor)

    @cli.command("orchestrator")
    def orchestrator(
        stages: Annotated[str | None, typer.Option(help="run these stages only, separated by commas")] = None,
        alone: Annotated[bool, typer.Option("--alone", help="execute suspects one by one, then end")] = False,
    ) -> None:
        """Run one orchestrator process; `maas up` starts one."""
        run_orchestrator(stages, alone)

    @cli.command("compact")
    def compact_levels(
        user: Annotated[str | None, typer.Option("--user", "-u", help="whose memory, a UUID; all if none")] = None,
    ) -> None:
        """Merge the records that have grown old, as orchestrators do in the background."""
        levels.compact_levels(compact, user)

    return cli
