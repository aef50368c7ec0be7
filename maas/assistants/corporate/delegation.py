"""The tools by which a dialogue hands work on: plans of a few steps, executed at once, and tasks in the background."""

from __future__ import annotations

from maas.assistants.corporate.complex_task import make_complex_task_tool
from maas.assistants.corporate.planning import make_planning_tool
from maas.engine.stages import Deps
from maas.tools.tool import Tool


def make_delegation_tools(deps: Deps) -> list[Tool]:
    """delegateToPlanningAgent and delegateToComplexTaskAgent."""
    return [make_planning_tool(deps), make_complex_task_tool(deps)]
