"""The corporate assistant `corporate`: an employee's mail and calendar, documents, plans, and how they want to work.

definition.py has its three agents and who hands over to whom. user_tools.py tells who the user is, interview.py asks
how they work, mail.py names the MCP server of mail and calendar, knowledge_tools.py searches documents, delegation.py
hands work on to a planner and to tasks.
"""

from __future__ import annotations

from maas.agents.tools import Tool
from maas.assistants.corporate.definition import define_corporate
from maas.assistants.corporate.delegation import make_delegation_tools
from maas.assistants.corporate.interview import make_interview_tools
from maas.assistants.corporate.knowledge_tools import make_knowledge_tools
from maas.assistants.corporate.mail import MAIL_TOOLS, SERVER, mail_servers
from maas.assistants.corporate.user_tools import make_user_tools
from maas.engine.stages import Deps

ASSISTANT = define_corporate
SERVERS = mail_servers
SERVER_NAMES = (SERVER, *MAIL_TOOLS)


def make_tools(deps: Deps) -> list[Tool]:
    """All tools of the assistant except those of its MCP server."""
    return [
        *make_user_tools(deps), *make_interview_tools(deps), *make_knowledge_tools(deps), *make_delegation_tools(deps),
    ]  # fmt: skip


TOOLS = make_tools
