"""Who the user is: their profile, whether they have passed the interview, how they want to work, what is connected.

A model may name the user; the one that counts is the run's.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from maas.assistants.corporate import queries
from maas.assistants.corporate.mail import find_mail_server, mail_status
from maas.engine.stages import Deps
from maas.tools.calls import ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Phrase, Wording
from maas.user_secrets import UserSecrets

INFO_TOOL, STATUS_TOOL = "getCurrentUserInfo", "checkInterviewStatus"
OPENING_TOOLS = (INFO_TOOL, STATUS_TOOL)
WORKING_CONTEXT = "getWorkingContext"
PASSED = "interview_passed"  # a member of what STATUS_TOOL and WORKING_CONTEXT give
REQUIRED = ("competencies", "communication_style", "meeting_preferences", "focus_time")
OTHER_USER = "userId is not the user of this dialogue: leave it out"


class UserArguments(BaseModel):
    """Arguments of a tool that names a user."""

    model_config = ConfigDict(populate_by_name=True)

    user_id: str | None = Field(
        None, alias="userId", max_length=100, description="Leave it out: it is the user of this dialogue"
    )


def check_user(arguments: UserArguments, context: ToolContext) -> None:
    """Raises ToolFailure if a model names somebody else."""
    if arguments.user_id not in (None, "", str(context.user_id)):
        raise ToolFailure(OTHER_USER)


def make_user_tools(deps: Deps) -> list[Tool]:
    """The tools that only read the user's profile and preferences."""
    db, secrets, server = deps.db, UserSecrets(deps.db), find_mail_server(deps.settings)

    async def who(context: ToolContext) -> queries.WhoIsUserRow:
        row = await db.row(queries.who_is_user, context.user_id)
        assert row is not None
        return row

    @tool(
        domain="employee",
        effect="read",
        name=INFO_TOOL,
        wording=Wording(Phrase("Look who you are", "Посмотреть, кто вы")),
    )
    async def get_current_user_info(context: ToolContext) -> Any:
        """Say who the user is: id, name, position and department, null where unknown."""
        row = await who(context)
        known = {name: row[name] for name in ("name", "position", "department")}
        return {"userId": str(context.user_id)} | known

    @tool(
        domain="employee",
        effect="read",
        name=STATUS_TOOL,
        wording=Wording(Phrase("Look whether you have been interviewed", "Посмотреть, пройдено ли интервью")),
    )
    async def check_interview_status(arguments: UserArguments, context: ToolContext) -> Any:
        """Say whether the user has answered the questions of the interview that everybody is asked."""
        check_user(arguments, context)
        row = await who(context)
        missing = [] if row["is_interviewed"] else [one for one in REQUIRED if one not in row["preferences"]]
        return {PASSED: row["is_interviewed"], "missing": missing}

    @tool(
        domain="employee",
        effect="read",
        name=WORKING_CONTEXT,
        wording=Wording(Phrase("Look how you want to work", "Посмотреть, как вам удобно работать")),
    )
    async def get_working_context(context: ToolContext) -> Any:
        """Say how the user wants to work, and whether mail and calendar are connected, as it is now."""
        row = await who(context)
        status = await mail_status(server, secrets, context.user_id)
        return {PASSED: row["is_interviewed"], "preferences": row["preferences"], "mail_and_calendar": status}

    return [get_current_user_info, check_interview_status, get_working_context]
