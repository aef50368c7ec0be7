"""An assistant with the delegation tools beside those of tests.toolbox, and a planner that follows a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from tests.model_server import ModelServer
from tests.stack import Stack

PLANNING, TASK = "delegateToPlanningAgent", "delegateToComplexTaskAgent"
ARGUMENTS = {
    "conversationContext": "Ann plans her week. She has asked about Tuesday.",
    "proposedPlan": "Look, then write.",
    "userIntent": "Write two lines.",
    "complexity": "medium",
}
TASK_ARGUMENTS = {"taskDescription": "Write nine lines for Ann.", "conversationContext": "Ann likes lines."}
PLANNER, DECOMPOSER = "планируешь задачу", "делишь большую задачу"  # stand in their prompts
WORDS = "  Готово: строка 1 <записана>,\r\n\r\nстрока 2 тоже.\n\n"
CLEAN_WORDS = "Готово: строка 1 <записана>,\n\nстрока 2 тоже."


def line(text: str, *needs: int, tool: str = "write_line", **more: Any) -> dict[str, Any]:
    """A step that writes a line, as a plan states it."""
    return {"title": f"Строка {text}", "tool": tool, "depends_on": list(needs), "items": 1} | more


class Office:
    """One assistant, and everything around it. `plan` is what the planner and the decomposer state.

    Step n of a plan then calls its tool with `arguments[n]`, by default with the text of its title; None: it calls
    nothing.
    """

    def __init__(self, stack: Stack, models: ModelServer, user: UUID, name: str = "office") -> None:
        self.stack, self.models, self.user, self.name = stack, models, user, name
        self.plan: Sequence[Mapping[str, Any]] = ()
        self.stated: list[str] | None = None  # the texts of the planner's first replies in place of `plan`
        self.arguments: dict[int, Any] = {}
        models.speakers = (PLANNER, DECOMPOSER)
        models.scripts = {PLANNER: self._plan, DECOMPOSER: self._plan}

    def open(self, settings: Mapping[str, str] | None = None, **definition: Any) -> None:
        """Write the row and have an orchestrator, which may write a built-in one of this name."""
        self._write_row(definition)
        self.start(**settings or {})
        self._write_row(definition)

    def _write_row(self, definition: Mapping[str, Any]) -> None:
        self.stack.rows(
            "insert into assistants (name, role_name, definition) values (%s, 'Mentor', %s) on conflict (name) "
            "do update set definition = excluded.definition, is_active = true, inactive_reason = null",
            self.name,
            json.dumps({"toolset": ["box", "shelf", "delegation"], "language": "ru"} | dict(definition)),
        )

    def start(self, **settings: str) -> None:
        own = {
            "MAAS_TOOLS": "tests.toolbox:TOOLS",
            "TOOLBOX": str(self.stack.folder),
            "CORPORATE_PLANNER_MODEL": "openai:planner",
        }
        self.stack.keep_orchestrator(**self.models.settings() | own | settings)

    def delegate(self, tool: str = PLANNING, conversation: UUID | None = None, **arguments: Any) -> UUID:
        """A run whose model hands the work on."""
        usual = ARGUMENTS if tool == PLANNING else TASK_ARGUMENTS
        self.models.rounds["responder"] = [[(tool, json.dumps(usual | arguments))]]
        return self.ask("Напиши две строки.", conversation)

    def ask(self, query: str, conversation: UUID | None = None) -> UUID:
        insert = (
            "insert into pipeline_runs (user_id, user_query, assistant, conversation_id) values (%s, %s, %s, %s) "
            "returning id"
        )
        return UUID(str(self.stack.rows(insert, self.user, query, self.name, conversation)[0]["id"]))

    def actions(self, run_id: UUID | None = None) -> list[dict[str, Any]]:
        query = "select * from v_actions where user_id = %s and (run_id = %s or %s::uuid is null) order by place"
        return [dict(row) for row in self.stack.rows(query, self.user, run_id, run_id)]

    def calls(self, run_id: UUID) -> list[tuple[str, str, str]]:
        query = "select call_id, tool, status from tool_executions where run_id = %s order by id"
        return [(row["call_id"], row["tool"], row["status"]) for row in self.stack.rows(query, run_id)]

    def results(self, tool: str = PLANNING) -> list[dict[str, Any]]:
        """What the assistant's model read of a tool's calls, as it was sent last."""
        last = self.models.said_to("responder")[-1]["messages"]
        names = {call["id"]: call["function"]["name"] for one in last for call in one.get("tool_calls") or ()}
        return [
            json.loads(one["content"])
            for one in last
            if one["role"] == "tool" and names.get(one["tool_call_id"]) == tool
        ]

    def _plan(self, messages: list[dict[str, Any]]) -> tuple[str, Sequence[tuple[str, str]]]:
        asked = str(messages[-1]["content"])
        corrections = sum(one["role"] == "assistant" for one in messages)
        if asked.startswith(("<task>", "That plan")):
            whole = json.dumps({"steps": list(self.plan)}, ensure_ascii=False)
            return (self.stated[min(corrections, len(self.stated) - 1)] if self.stated else whole), ()
        if not asked.startswith(("Шаг", "Вызов не удался")) or "Инструмент не нужен" in asked:
            return WORDS, ()
        step = [one for one in messages if one["role"] == "user" and str(one["content"]).startswith("Шаг")][-1]
        number = int(str(step["content"]).split()[1])
        stated = self.plan[number - 1]
        arguments = self.arguments.get(number, {"text": stated["title"].partition(" ")[2]})
        if arguments is None:
            return "Не нужно.", ()
        calls = arguments if isinstance(arguments, list) else [(stated["tool"], json.dumps(arguments))]
        return "", calls
