"""`maas tool`: one tool called by hand, through the guard that every call goes through."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import UUID, uuid4

from maas.agents.approved import marks
from maas.agents.executor import Executor, Session
from maas.agents.results import ToolResult
from maas.agents.toolbox import Toolbox
from maas.agents.tools import Context, Toolset
from maas.commands.output import say_json
from maas.commands.session import read_uuid, with_database
from shared.db import Database
from shared.errors import MaasError
from shared.models.types import ToolCall

OpenTools = Callable[[Database, Any], AbstractAsyncContextManager[Toolbox]]


def call_tool(open_tools: OpenTools, name: str, arguments: str, user: str, may_change: bool) -> None:
    """Print what the model would read; exit status 1 when the tool gives no data."""
    user_id = read_uuid(user, "--user")

    async def call(db: Database, settings: object) -> ToolResult:
        async with open_tools(db, settings) as toolbox:
            return await _call(await toolbox.reach([name]), name, arguments, user_id, may_change)

    result = with_database(call)
    say_json(result.body)
    if not result.is_success:
        sys.exit(1)


async def _call(tools: Toolset, name: str, arguments: str, user_id: UUID, may_change: bool) -> ToolResult:
    tool = tools.get(name)
    if tool is None:
        raise MaasError("unknown_tool", f"there is no tool {name!r}; `maas tools` lists what there is")
    if tool.effect != "read" and not may_change:
        reason = f": {tool.reason}" if tool.reason else ""
        raise MaasError("not_allowed", f"{name} is {tool.effect}{reason}; add --yes to call it all the same")
    call = ToolCall("by-hand", name, arguments)
    session = Session(frozenset({name}), "auto", 1, marks(tool, call))
    (result,) = await Executor(tools, session, Context(user_id, uuid4()), _first, _unrecorded).run([call])
    return result


async def _first() -> int:
    return 1


async def _unrecorded(_: ToolResult) -> None:
    """There is no run to note it with."""
