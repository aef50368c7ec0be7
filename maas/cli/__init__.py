"""The `maas` command line: the table of all commands; a command's module is imported when it is called."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from maas.terminal.output import note
from shared.errors import MaasError

if TYPE_CHECKING:
    from maas.terminal.invocation import Composition


class Entry(NamedTuple):
    """One command: its name, `module:attribute` of its function or its typer group, its heading in the help, and its
    help text."""

    name: str
    target: str
    group: str
    help: str


COMMANDS = (
    Entry(
        "up",
        "maas.cli.up:up",
        "Start",
        "Start Postgres (unless DATABASE_URL is set), the HTTP server and one orchestrator; Ctrl-C stops everything.",
    ),
    Entry(
        "migrate",
        "maas.cli.migrate:migrate",
        "Start",
        "Migrate the database to the current schema and insert missing prompts.",
    ),
    Entry(
        "doctor",
        "maas.cli.doctor:doctor",
        "Start",
        "Check database, LISTEN, prompts, models and access; print problems with their remedies, then the settings.",
    ),
    Entry("orchestrator", "maas.cli.up:orchestrator", "Start", "Run one orchestrator process; `maas up` starts one."),
    Entry(
        "mcp",
        "maas.cli.up:serve_mcp",
        "Start",
        "Serve memory as MCP tools over standard input and output; an MCP client starts this command.\n\n"
        "It needs a running MaaS (`make run`). The API key, if one is needed, is read from MAAS_API_KEY.\n"
        "The HTTP server offers the same tools at /mcp.",
    ),
    Entry("ask", "maas.cli.chat:ask", "Talk", "Ask one question, wait for the answer and print it."),
    Entry("chat", "maas.cli.chat:chat", "Talk", "Chat with an assistant; /help lists the commands of the chat."),
    Entry("search", "maas.cli.memories:search_memory", "Memory", "Search a user's memory and print the best matches."),
    Entry(
        "facts",
        "maas.cli.facts:cli",
        "Memory",
        "List what is true of a user (`maas facts USER`), mark what is wrong, has ended or is always "
        "shown, and extract all of it from the messages again.",
    ),
    Entry(
        "import",
        "maas.cli.transfer:import_history",
        "Memory",
        "Import a chat history or an export. Run it again after an interruption: nothing is imported twice.",
    ),
    Entry(
        "export",
        "maas.cli.transfer:export_user",
        "Memory",
        "Write all data of a user as NDJSON that `maas import` accepts: messages, summaries, conversations, images, "
        "runs.",
    ),
    Entry(
        "forget",
        "maas.cli.memories:forget",
        "Memory",
        "Delete one memory: its text, every summary made from it, and answers that repeat it.",
    ),
    Entry(
        "erase",
        "maas.cli.memories:erase",
        "Memory",
        "Delete a user from every table and print the number of deleted rows.",
    ),
    Entry(
        "compact",
        "maas.cli.memories:compact",
        "Memory",
        "Merge all summaries that are due, as orchestrators do in the background.",
    ),
    Entry(
        "embed",
        "maas.cli.embed:embed",
        "Memory",
        "Compute all missing vectors for MAAS_EMBEDDING_MODEL. Run it again after an interruption: nothing is embedded "
        "twice.",
    ),
    Entry(
        "knowledge",
        "maas.cli.knowledge:cli",
        "Memory",
        "Add, list, search and remove documents that answers may draw on, for one user or for all.",
    ),
    Entry("runs", "maas.cli.runs:list_runs", "Operate", "List runs, newest first."),
    Entry(
        "trace", "maas.cli.runs:trace_run", "Operate", "Show one run: stages, model calls, tools, memory and answer."
    ),
    Entry(
        "replay",
        "maas.cli.replay:replay_run",
        "Operate",
        "Run the stages of a finished run again, with the current prompts or another model, and show what differs.",
    ),
    Entry(
        "cancel",
        "maas.cli.run_control:cancel",
        "Operate",
        "Cancel runs by their ids, or all unfinished ones that match the options; they are counted first.",
    ),
    Entry(
        "retry",
        "maas.cli.run_control:retry",
        "Operate",
        "Try failed runs again, by their ids or all that match the options; they are counted first.",
    ),
    Entry(
        "again",
        "maas.cli.run_control:again",
        "Operate",
        "Send the request of a finished run once more, as a new run, and print its id.",
    ),
    Entry(
        "pause",
        "maas.cli.run_control:pause",
        "Operate",
        "Pause an assistant, an API key, a model or a user: their requests wait, none is lost. Without arguments, list "
        "what is paused.",
    ),
    Entry("resume", "maas.cli.run_control:resume", "Operate", "End a pause; the requests come back in their order."),
    Entry(
        "schedules",
        "maas.cli.schedules:cli",
        "Operate",
        "Send requests of a user at set times: add, list, pause, resume and delete schedules.",
    ),
    Entry(
        "top", "maas.cli.top:top", "Operate", "Show queue, rates, stages, orchestrators and stuck runs until Ctrl-C."
    ),
    Entry(
        "backup",
        "maas.cli.backup:backup",
        "Operate",
        "Write a consistent copy of the whole database to a file, while requests go on.",
    ),
    Entry("capacity", "maas.cli.capacity:capacity", "Operate", "Compute the machines that a number of users needs."),
    Entry(
        "move",
        "maas.cli.move:move",
        "Operate",
        "Move a user with all their data to another database; their requests wait meanwhile. Run it again after "
        "an interruption.",
    ),
    Entry("restore", "maas.cli.backup:restore", "Operate", "Restore a backup into an empty database, and migrate it."),
    Entry(
        "load",
        "maas.cli.load:load",
        "Operate",
        "Load rows for tools into a table that is open for loading. Run it again after an "
        "interruption: the same rows change nothing.",
    ),
    Entry(
        "tools",
        "maas.cli.tools:list_tools",
        "Operate",
        "List the tools of the orchestrators and what each of them does.",
    ),
    Entry("tool", "maas.cli.tools:call_tool", "Operate", "Call one tool and print its result; no run is created."),
    Entry(
        "users",
        "maas.cli.users:cli",
        "Access",
        "Manage the accounts of people who sign in with email and password (MAAS_AUTH=local); block users.",
    ),
    Entry(
        "keys", "maas.cli.keys:cli", "Access", "Manage the API keys of programs that call over HTTP (MAAS_AUTH=keys)."
    ),
    Entry("secrets", "maas.cli.secrets:cli", "Access", "Manage the tokens of users for MCP servers."),
)


def build_cli(load_composition: Callable[[], Composition]) -> typer.Typer:
    """The application. `load_composition` is called by the commands that run stages or tools."""
    cli = typer.Typer(
        cls=_LazyGroup,
        no_args_is_help=True,
        add_completion=False,
        help="Memory as a service: one row in, one remembered answer out.",
        context_settings={"obj": load_composition},
    )
    cli.callback()(_options)
    for entry in COMMANDS:
        cli.command(entry.name, help=entry.help, rich_help_panel=entry.group)(_not_loaded)
    return cli


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version  # slow to load

        from maas.terminal.output import write

        write(f"maas {version('maas')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def execute(cli: typer.Typer, argv: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    An exception that no command expects is printed with its traceback, control characters escaped; the status is 1.
    """
    try:
        get_command(cli).main(list(argv), prog_name="maas")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        note(traceback.format_exc().rstrip())
        return 1
    return 0


class _LazyGroup(TyperGroup):
    """Lists commands by their help texts, and replaces the one that is called by the command of its module.

    A MaasError is printed as one line on standard error, with exit status 1.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command for lists; plugins are looked for where there is none of ours. Raises MaasError."""
        return super().get_command(ctx, cmd_name) or next(
            (
                TyperCommand(one.name, help=one.help, rich_help_panel=one.group)
                for one in commands_of_plugins()
                if one.name == cmd_name
            ),
            None,
        )

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of our commands, then of those of plugins that are on."""
        try:
            return list(dict.fromkeys([*super().list_commands(ctx), *(one.name for one in commands_of_plugins())]))
        except MaasError as error:
            note(f"maas: {error.message}")
            return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, _load(name), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MaasError as error:
            note(f"maas: {error.message}")
            sys.exit(1)
        except KeyboardInterrupt:
            note("\nstopped")
            sys.exit(130)


def _load(name: str | None) -> Any:
    """The command of this name with its arguments and options; None if there is none, which completion asks for."""
    entry = next((entry for entry in COMMANDS if entry.name == name), None)
    entry = entry or next((entry for entry in commands_of_plugins() if entry.name == name), None)
    if entry is None:
        return None
    module, _, attribute = entry.target.partition(":")
    target = getattr(import_module(module), attribute)
    if isinstance(target, typer.Typer):
        group = target
    else:
        group = typer.Typer(add_completion=False)
        group.command()(target)
    command = get_command(group)
    command.name, command.help = entry.name, entry.help
    return command


def commands_of_plugins() -> list[Entry]:
    """The commands of the plugins that are on. Raises MaasError."""
    from maas.plugins import active  # takes a moment, and most commands are ours

    return [
        Entry(one.name, f"{plugin.package}.{one.part}", "Plugins", one.help)
        for plugin in active()
        for one in plugin.commands
    ]


def _not_loaded() -> None:
    """Stands for every command in the list of commands."""
