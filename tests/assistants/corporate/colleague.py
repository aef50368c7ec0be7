"""An employee, the assistant `corporate`, a server of mail and calendar, and a model that is scripted."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from tests.assistants.corporate.office import DECOMPOSER, PLANNER
from tests.contract.test_mcp import serve
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, free_port

MAIL_SERVER = Path(__file__).with_name("mail_server.py")
SPEAKERS = {  # what stands in the prompt of each
    "router": "главный помощник сотрудника",
    "knowledge": "находишь для сотрудника",
    "interview": "знакомишься с",
    "legacy": "Делаешь всё сам, без коллег",
}
ANSWERS = {
    "competencies": "тендеры, переговоры",
    "communication_style": "коротко",
    "meeting_preferences": "после обеда",
    "focus_time": "с 9 до 11",
}
Calls = list[tuple[str, dict[str, Any]]]


class Colleague:
    """One employee. What the model of an agent says and calls is set for each message, see `say`."""

    def __init__(self, stack: Stack, models: ModelServer, mail_url: str) -> None:
        self.stack = stack
        self.models = models
        self.mail_url = mail_url
        self.user = uuid4()
        self.conversation: UUID | None = uuid4()
        self.plan: list[dict[str, Any]] = []
        self.plan_words = "Готово."
        models.speakers = (*SPEAKERS.values(), PLANNER, DECOMPOSER)
        models.scripts = {PLANNER: self._plan, DECOMPOSER: self._plan}
        for speaker in SPEAKERS.values():
            models.replies[speaker] = "Хорошо, понял вас."

    def settings(self) -> dict[str, str]:
        """Environment of an orchestrator."""
        return (
            self.models.settings()
            | {
                "CORPORATE_MODEL": "openai:responder",
                "CORPORATE_PLANNER_MODEL": "openai:planner",
                "CORPORATE_MCP_URL": self.mail_url,
                "CORPORATE_MCP_TOKEN": "service-token-0123456789",
            }
            | ({"MAAS_TOOLS": os.environ["STUBS"]} if "STUBS" in os.environ else {})
        )

    def start(self, **settings: str) -> None:
        """Start an orchestrator, and wait for the tools of the mail server."""
        self.stack.start_orchestrator(**self.settings() | settings)
        poll(lambda: self.stack.rows("select from tools where name = 'send_email'"), what="the tools are listed")

    def kill(self) -> None:
        for process in list(self.stack._processes):
            self.stack.stop(process, signal.SIGKILL)

    def connect(self, user: UUID | None = None) -> None:
        """Give the user access to a mailbox."""
        whose = user or self.user
        self.stack.rows("select maas_set_secret(%s, 'calendar_token', %s, 'test')", whose, f"mailbox-{whose.hex}")

    def introduce(self, name: str | None = "Мария", position: str | None = "закупки") -> None:
        self.stack.rows("select maas_set_profile(%s, %s, %s, null, null)", self.user, name, position)

    def pass_interview(self) -> None:
        """Make the user one who has answered everything before."""
        self.introduce()
        self.stack.rows("select maas_replace_preferences(%s, %s)", self.user, json.dumps(ANSWERS))
        self.stack.rows("update user_settings set interviewed_at = now() where user_id = %s", self.user)

    def ask(self, query: str) -> UUID:
        (row,) = self.stack.rows(
            "insert into pipeline_runs (user_id, user_query, assistant, conversation_id) "
            "values (%s, %s, 'corporate', %s) returning id",
            self.user,
            query,
            self.conversation,
        )
        return UUID(str(row["id"]))

    def say(self, query: str, **agents: list[Calls | str]) -> dict[str, Any]:
        """The finished run of a message. Each agent named makes these rounds of calls; a text is its last words."""
        self.script(**agents)
        return self.finish(self.ask(query))

    def script(self, **agents: list[Calls | str]) -> None:
        self.models.rounds.clear()
        for agent, rounds in agents.items():
            speaker = SPEAKERS[agent]
            self.models.replies[speaker] = next((one for one in rounds if isinstance(one, str)), "Хорошо, понял вас.")
            self.models.rounds[speaker] = [
                [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in one]
                for one in rounds
                if not isinstance(one, str)
            ]

    def finish(self, run_id: UUID, seconds: float = 40) -> dict[str, Any]:
        query = "select * from pipeline_runs where id = %s and queue_state = 2"
        return dict(poll(lambda: self.stack.rows(query, run_id), seconds, "the run is over")[0])

    def tools(self, run: dict[str, Any]) -> list[str]:
        """The tools in the ledger of a run, in order."""
        rows = self.stack.rows("select tool from tool_executions where run_id = %s order by id", run["id"])
        return [row["tool"] for row in rows]

    def events(self, run: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
        query = "select type, payload from run_events where run_id = %s and type = any(%s) order by n"
        return [dict(row) for row in self.stack.rows(query, run["id"], list(kinds))]

    def _plan(self, messages: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        """What planner and decomposer say: `plan`, then the call of each step with its arguments, then `plan_words`."""
        asked = str(messages[-1]["content"])
        if asked.startswith("<task>"):
            steps = [{"depends_on": [], "items": 1, "prompt": ""} | step for step in self.plan]
            return json.dumps({"steps": steps}, ensure_ascii=False), []
        if not asked.startswith("Шаг"):
            return self.plan_words, []
        step = self.plan[int(asked.split()[1]) - 1]
        return "", [(step["tool"], step["arguments"])]

    def wait_rows(self, query: str, *args: object) -> list[Any]:
        """The rows of a query, as soon as there are some."""
        return poll(lambda: self.stack.rows(query, *args), 30, query)

    def holder(self) -> str | None:
        """Who holds the dialogue: the agent of the last answer."""
        (row,) = self.stack.rows(
            "select agent from pipeline_runs where conversation_id = %s and queue_state = 2 and kind = 'ask' "
            "order by seq desc limit 1",
            self.conversation,
        )
        agent: str | None = row["agent"]
        return agent

    def said_to(self, agent: str) -> list[dict[str, Any]]:
        return self.models.said_to(SPEAKERS[agent])

    def system(self, agent: str) -> str:
        """The system text of the last call of an agent."""
        return str(self.said_to(agent)[-1]["messages"][0]["content"])

    def mail(self, tool: str | None = None) -> list[list[Any]]:
        """The calls that the mail server has seen: mailbox, tool, arguments."""
        path = self.stack.folder / "mail"
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [one for one in calls if tool in (None, one[1])]

    def pending(self) -> list[dict[str, Any]]:
        query = "select id, tool, arguments, status from v_actions where user_id = %s and status = 'pending'"
        return [dict(row) for row in self.stack.rows(query, self.user)]


@contextmanager
def colleague(database: str, folder: Path) -> Iterator[Colleague]:
    """An employee with a running mail server; start an orchestrator with `start()`."""
    with ExitStack() as opened:
        http = opened.enter_context(HTTPServer(threaded=True))
        models = ModelServer(http)
        opened.callback(models.close)
        stack = opened.enter_context(Stack(database, folder))
        port = free_port()
        process = serve(MAIL_SERVER, port, stack.folder)
        opened.callback(process.wait)
        opened.callback(process.kill)
        yield Colleague(stack, models, f"http://127.0.0.1:{port}/mcp")
