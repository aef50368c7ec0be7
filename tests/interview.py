"""The tools of a dummy dialogue that collects values: MAAS_TOOLS=tests.interview:TOOLS; a file holds what was ended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from maas.agents.slots import SlotSession
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import ToolContext, Toolset, tool
from tests.toolbox import wait_for_go


class Answers(BaseModel):
    city: str | None = None
    job: str | None = None
    hobby: str | None = None
    pet: str | None = None


def finished() -> Path:
    return Path(os.environ["TOOLBOX"]) / "finished"


def _session(context: ToolContext) -> SlotSession:
    session: SlotSession = context.values["session"]
    return session


async def verify_answers(answers: Answers, context: ToolContext, data: Any) -> Any:
    """The names of what was kept."""
    return sorted(data["accepted"])


async def verify_end(_: Any, context: ToolContext, data: Any) -> Any:
    """Whether the file holds the line."""
    return {"is_written": finished().exists()}


@tool(domain="interview", effect="write", idempotent=True, verify=verify_answers)
async def keep_answers(answers: Answers, context: ToolContext) -> Any:
    """Keep what the user has said."""
    session = _session(context)
    accepted = session.accept(answers.model_dump(exclude_none=True))
    return {"accepted": accepted} | session.progress(accepted)


@tool(domain="interview", effect="write", verify=verify_end)
async def finish(context: ToolContext) -> Any:
    """Write down what was collected."""
    session = _session(context)
    if (Path(os.environ["TOOLBOX"]) / "broken").exists():
        raise ToolFailure("the register is closed")
    with finished().open("a") as file:
        file.write(json.dumps([str(context.user_id), session.values], sort_keys=True) + "\n")
    if (Path(os.environ["TOOLBOX"]) / "slow").exists():
        await wait_for_go()
    return {"register": "entry 17", "state": "open"}


@tool(domain="interview", effect="dangerous", reason="It is published", verify=verify_end)
async def publish(context: ToolContext) -> Any:
    """Publish what was collected."""
    return {}


@tool(domain="library", effect="read")
async def look_up() -> Any:
    """Look something up. Its result looks like that of a tool of the dialogue."""
    return {"state": "closed", "confirmed": True, "accepted": {"city": "Nowhere"}, "say": 5}


async def verify_loan(_: Any, context: ToolContext, data: Any) -> Any:
    """What the tool has returned: it changes nothing outside."""
    return data


@tool(domain="library", effect="write", verify=verify_loan)
async def lend() -> Any:
    """Lend a book."""
    return {"lent": True}


@tool(domain="interview", effect="write", verify=verify_end)
async def finish_in_words(context: ToolContext) -> Any:
    """Say what was collected, word for word."""
    return ToolAnswer({"values": len(_session(context).values)}, final="All is written down.")


TOOLS = Toolset([keep_answers, finish, finish_in_words, publish, look_up, lend])
