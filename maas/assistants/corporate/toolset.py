"""All tools of the assistant except those of its MCP server."""

from __future__ import annotations

from maas.assistants.corporate.complex_task import make_complex_task_tool
from maas.assistants.corporate.interview import make_interview_tools
from maas.assistants.corporate.knowledge_tools import make_knowledge_tools
from maas.assistants.corporate.planning import make_planning_tool
from maas.assistants.corporate.user_tools import make_user_tools
from maas.engine.stages import Deps
from maas.tools.tool import Tool


def make_tools(deps: Deps) -> list[Tool]:
    """The tools over the database, the vendors and the models of `deps`."""
    return [
        *make_user_tools(deps),
        *make_interview_tools(deps),
        *make_knowledge_tools(deps),
        make_planning_tool(deps),
        make_complex_task_tool(deps),
    ]
