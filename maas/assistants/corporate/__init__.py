"""The corporate assistant `corporate`: an employee's mail and calendar, documents, plans, and how they want to work.

definition.py has its three agents and who hands over to whom. user_tools.py tells who the user is, interview.py asks
how they work, mail.py names the MCP server of mail and calendar, knowledge_tools.py searches documents, planning.py
hands work on to a planner, complex_task.py to a task, and routes.py takes such work from outside callers.
"""

from __future__ import annotations

from maas.plugins import Plugin

PLUGIN = Plugin(
    name="corporate",
    package=__name__,
    assistants={"corporate": "definition:define_corporate"},
    tools="toolset:make_tools",
    servers="mail:mail_servers",
    server_names="mail:SERVER_NAMES",
    settings="settings:CorporateSettings",
    checks="checks:CHECKS",
    routes="routes:ROUTES",
    tags={
        "supervisor": "Work of a few steps that a planner does at once, for outside callers.",
        "complex-task": "Large tasks that begin in the background once their user has approved the steps.",
    },
)
