"""The `maas` command: one subcommand a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from maas.commands import (
    ask,
    chat,
    doctor,
    embed,
    export,
    forgetting,
    history,
    keys,
    levels,
    mcp,
    migrate,
    replay,
    runs,
    search,
    tool,
    tools,
    top,
    trace,
    up,
)
from maas.commands.output import note
from maas.commands.session import LOCAL_USER, User
from maas.pipeline.states import ROLE_OF
from shared.errors import MaasError


class _Group(typer.core.TyperGroup):
    """A group in which a MaasError is one line on standard error and exit status 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MaasError as error:
            note(f"maas: {error.message}")
            sys.exit(1)
        except KeyboardInterrupt:
            note("\nstopped")
            sys.exit(130)


def build_cli(
    run_orchestrator: Callable[[str | None, bool], None],
    compact: levels.Compact,
    replays: replay.Replays,
    open_tools: tool.OpenTools,
) -> typer.Typer:
    """All commands; main.py hands over what runs stages, since commands know no worker."""
    cli = typer.Typer(
        cls=_Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
        help="Memory as a service: one row in, one remembered answer out.",
    )  # fmt: skip
    cli.command("up")(up.up)
    cli.command("migrate")(migrate.migrate_database)
    cli.command("ask")(ask.ask)
    cli.command("chat")(chat.chat)
    cli.command("import")(history.import_history)
    cli.command("export")(export.export_user)
    cli.command("forget")(forgetting.forget)
    cli.command("erase")(forgetting.erase)
    cli.command("search")(search.search_memory)
    cli.command("embed")(embed.embed)
    cli.command("runs")(runs.list_runs)
    cli.command("top")(top.top)
    cli.command("tools")(tools.list_tools)
    cli.command("trace")(trace.trace_run)
    cli.command("doctor")(doctor.doctor)
    cli.add_typer(keys.cli, name="keys")
    cli.command("mcp")(mcp.serve_mcp)

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

    @cli.command("replay")
    def replay_run(
        run: Annotated[str, typer.Argument(help="its id")],
        stage: Annotated[str | None, typer.Option(help=f"this one only: {', '.join(ROLE_OF)}")] = None,
        model: Annotated[str | None, typer.Option(help="ask provider:model instead of the configured ones")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
    ) -> None:
        """Run a finished run's stages once more, with today's prompts or another model, and show what differs."""
        replay.replay_run(replays, run, stage, model, as_json)

    @cli.command("tool")
    def call_tool(
        name: Annotated[str, typer.Argument(help="as `maas tools` lists it")],
        arguments: Annotated[str, typer.Option("--args", help="its arguments, a JSON object")] = "{}",
        user: User = LOCAL_USER,
        yes: Annotated[bool, typer.Option("--yes", help="also a tool that changes something")] = False,
    ) -> None:
        """Call one tool by hand and print its result; nothing is recorded."""
        tool.call_tool(open_tools, name, arguments, user, yes)

    return cli
