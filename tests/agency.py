"""Assistants with agents: their rows, tools of two domains, and a model that speaks for all of them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from maas.tools.calls import ToolAnswer
from maas.tools.tool import ToolContext, Toolset, tool
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack
from tests.toolbox import Line, write_line

ADVISER = {
    "name": "adverts",
    "role_prompt": "Adviser",
    "about": "campaigns, budgets",
    "keywords": ["расходы", "budget"],
}
SELLER = {"name": "clients", "role_prompt": "Seller", "about": "leads, sales", "keywords": ["лиды", "leads"]}
CHOOSING = "pass questions on"  # stands in what the classifier's model is sent


def _mark(name: str) -> None:
    (Path(os.environ["TOOLBOX"]) / name).touch()


async def _wait_for(name: str) -> None:
    while not (Path(os.environ["TOOLBOX"]) / name).exists():
        await asyncio.sleep(0.02)


@tool(domain="adverts", effect="read")
async def get_spend() -> Any:
    """Spend of today; given when somebody asks for leads."""
    _mark("spend")
    await _wait_for("leads")
    return {"spend": 70}


@tool(domain="clients", effect="read")
async def get_leads() -> Any:
    """Leads of today; given when somebody asks for the spend."""
    _mark("leads")
    await _wait_for("spend")
    return {"leads": 3}


async def verify_nothing(_: Line, __: ToolContext, data: Any) -> Any:
    """What the tool has returned: it changes nothing outside."""
    return data


@tool(domain="adverts", effect="dangerous", reason="The campaign stops", verify=verify_nothing)
async def pause_campaign(line: Line) -> Any:
    """Pause a campaign."""
    return {"paused": line.text}


@tool(domain="clients", effect="dangerous", reason="The lead is gone for good", verify=verify_nothing)
async def drop_lead(line: Line) -> Any:
    """Drop a lead."""
    return {"dropped": line.text}


FINAL = "Готово:\n\n  *two  spaces*, a <tag> & 3D ✅"


@tool(domain="adverts", effect="read")
async def speak() -> Any:
    """Say what the user is to read."""
    return ToolAnswer({"said": True}, final=f"\0 {FINAL}\r\n")


@tool(domain="accounts", effect="read")
async def know_balance() -> Any:
    """The balance of the account."""
    return {"balance": 4321}


TOOLS = Toolset([get_spend, get_leads, pause_campaign, drop_lead, write_line, speak, know_balance])


class Agency:
    """One assistant with agents, and everything around it."""

    def __init__(self, stack: Stack, models: ModelServer, user: UUID, assistant: str = "desk") -> None:
        self.stack = stack
        self.models = models
        self.user = user
        self.assistant = assistant
        models.speakers = ("Adviser", "Seller", "Router", CHOOSING)
        models.replies |= {"Adviser": "Ads say seventy.", "Seller": "Sales say three.", "Router": "The router speaks."}

    def open(
        self,
        routing: str,
        agents: Sequence[dict[str, Any]],
        settings: Mapping[str, str] | None = None,
        **definition: Any,
    ) -> None:
        """Write the rows and have an orchestrator."""
        for agent in agents:
            self.stack.rows(
                "insert into system_prompts (role_name, prompt_template) values (%s, %s) on conflict do nothing",
                agent["role_prompt"],
                f"You are the {agent['role_prompt']}.",
            )
        self.stack.rows(
            "insert into assistants (name, role_name, definition) values (%s, 'Mentor', %s)",
            self.assistant,
            json.dumps({"routing": routing, "agents": agents} | definition),
        )
        self.start(**settings or {})

    def start(self, **settings: str) -> None:
        tools = {"MAAS_TOOLS": "tests.agency:TOOLS", "TOOLBOX": str(self.stack.folder)}
        self.stack.keep_orchestrator(**self.models.settings() | tools | settings)

    def kill(self) -> None:
        self.stack.kill()

    def ask(self, query: str, conversation: UUID | None = None, **metadata: Any) -> UUID:
        rows = self.stack.rows(
            "insert into pipeline_runs (user_id, user_query, assistant, conversation_id, metadata) "
            "values (%s, %s, %s, %s, %s) returning id",
            self.user,
            query,
            self.assistant,
            conversation,
            json.dumps(metadata),
        )
        return UUID(str(rows[0]["id"]))

    def answer(self, run_id: UUID) -> str:
        """The answer, or the error."""
        poll(
            lambda: self.stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id),
            30,
            "it is over",
        )
        (row,) = self.stack.rows(
            "select final_answer, error_code, error_message from pipeline_runs where id = %s", run_id
        )
        return str(row["final_answer"] or f"{row['error_code']}: {row['error_message']}")

    def events(self, run_id: UUID, kind: str) -> list[dict[str, Any]]:
        query = "select payload from run_events where run_id = %s and type = %s order by n"
        return [row["payload"] for row in self.stack.rows(query, run_id, kind)]

    def rounds(self, run_id: UUID) -> list[tuple[int, str]]:
        """The number and the prompt of each call of the Responder's model."""
        query = "select round, role_name from llm_calls where run_id = %s and stage = 'final_responder' order by round"
        return [(row["round"], row["role_name"]) for row in self.stack.rows(query, run_id)]
