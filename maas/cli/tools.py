"""`maas tools` and `maas tool`: the tools of assistants listed, and one of them called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from maas import queries
from maas.agents.approvals import approved_fingerprints
from maas.settings import Settings
from maas.terminal.invocation import LOCAL_USER, User, composition_of, read_uuid, with_database
from maas.terminal.output import Table, note, show, styled, write_json
from maas.tools.calls import ToolResult
from maas.tools.executor import Executor
from maas.tools.permissions import Permissions
from maas.tools.tool import ToolContext
from shared.db import Database, ReadOnlyDatabase
from shared.errors import MaasError
from shared.models import ToolCall
from shared.text import one_line, shorten

if TYPE_CHECKING:
    from maas.agents.runtime import Toolbox

COLOURS = {"read": "green", "write": "yellow", "dangerous": "red"}
MAX_DESCRIPTION_CHARS = 100


def list_tools(
    domain: Annotated[str | None, typer.Option(help="only tools of this domain")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, with the schemas of the arguments")] = False,
) -> None:
    """Print the tools that orchestrators have stored."""
    rows = with_database(lambda db, _: db.rows(queries.list_tools, domain), ReadOnlyDatabase)
    if as_json:
        write_json([dict(row) for row in rows])
        return
    if not rows:
        note("no tools; set MAAS_TOOLS and start an orchestrator, which stores their descriptions")
        return
    table = Table("domain", "tool", "effect", "arguments", "description")
    for row in rows:
        arguments = [
            f"{name}{'' if name in row['parameters']['required'] else '?'}" for name in row["parameters"]["properties"]
        ]
        table.add_row(
            row["domain"],
            row["name"],
            styled(row["effect"], COLOURS[row["effect"]]),
            ", ".join(arguments),
            shorten(one_line(row["description"]), MAX_DESCRIPTION_CHARS),
        )
    show(table)


def call_tool(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="name of the tool, as `maas tools` lists it")],
    arguments: Annotated[str, typer.Option("--args", help="arguments of the call, a JSON object")] = "{}",
    user: User = LOCAL_USER,
    account: Annotated[str | None, typer.Option("--account", "-A", help="account that the tool works on")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="allow a tool that changes something")] = False,
) -> None:
    """Call a tool through the policy of every call and print what a model would read; exit status 1 if it fails.

    Raises MaasError: 'unknown_tool', 'not_allowed' without --yes.
    """
    user_id = read_uuid(user, "--user")
    open_tools = composition_of(ctx).open_tools

    async def call(db: Database, settings: Settings) -> ToolResult:
        async with open_tools(db, settings) as toolbox:
            context = ToolContext(user_id, uuid4(), account_id=account)
            return await _call(toolbox, ToolCall("by-hand", name, arguments), context, yes)

    result = with_database(call, command="tool", user_id=user_id)
    write_json(result.body)
    if not result.is_success:
        sys.exit(1)


async def _call(toolbox: Toolbox, call: ToolCall, context: ToolContext, may_change: bool) -> ToolResult:
    name = call.name
    tools = await toolbox.reach([name])
    tool = tools.get(name)
    if tool is None:
        raise MaasError("unknown_tool", f"there is no tool {name!r}; `maas tools` lists all tools")
    if tool.effect != "read" and not may_change:
        reason = f": {tool.reason}" if tool.reason else ""
        raise MaasError("not_allowed", f"{name} is {tool.effect}{reason}; add --yes to call it")
    permissions = Permissions(frozenset({name}), "auto", 1, approved_fingerprints(tool, call))
    domains = toolbox.open_domains(context)
    executor = Executor(tools, permissions, context, _first_attempt, _not_recorded, domains=domains)
    (result,) = await executor.run([call])
    return result


async def _first_attempt() -> int:
    return 1


async def _not_recorded(_: ToolResult) -> None:
    """Discards the result: there is no run to record it with."""
