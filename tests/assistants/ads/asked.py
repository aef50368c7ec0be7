"""Questions asked of the whole assistant: a model that calls and speaks as it was recorded, and what it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from pytest_httpserver import HTTPServer

from tests.assistants.ads.cases import window_of
from tests.assistants.ads.marketer import SPEAKERS, execute
from tests.assistants.ads.questions import QUESTIONS, Order, Question, Refusal
from tests.assistants.ads.truth import Window
from tests.assistants.ads.year import Year
from tests.demo.services import WHATSAPP_KEY
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

Messages = list[dict[str, Any]]
_NUMBER = re.compile(r"(?:(?<!\d)-)?\d+(?: \d{3})*(?:[.,]\d+)?")
_RESULTS = re.compile(r"<results>\n(.*)\n</results>", re.S)
_PLACE = re.compile(r"\{([^}]+)\}")
_STEP = re.compile(r"([^.\[\]]+)|\[(?:(\d+)|([a-z]+)=([^\]]+))\]")
DOMAINS = {"creative": "Creative", "crm": "Lead Funnel Sales", "whatsapp": "Dialogs"}


class Assistant:
    """The assistant `ads` in a process over the year. `given` are the results that a question brought to the model."""

    def __init__(self, year: Year, stack: Stack, models: ModelServer) -> None:
        self.year, self.stack = year, stack
        self.given: dict[str, list[dict[str, Any]]] = {}
        models.speakers = tuple(SPEAKERS.values())
        models.scripts["responder"] = self._orchestrate
        for speaker in SPEAKERS.values():
            models.scripts[speaker] = self._word

    def ask_all(self) -> dict[str, dict[str, Any]]:
        """The finished runs of all questions, by their texts."""
        ids = {one.text: self._submit(one) for one in QUESTIONS}
        query = "select * from pipeline_runs where id = %s and queue_state = 2"
        return {text: dict(poll(partial(self.stack.rows, query, one), 60, text)[0]) for text, one in ids.items()}

    def _submit(self, one: Question | Refusal | Order) -> UUID:
        metadata = {} if isinstance(one, Order) else {"account": one.account}
        (row,) = self.stack.rows(
            "insert into pipeline_runs (user_id, user_query, assistant, metadata) "
            "values (%s, %s, 'ads', %s) returning id",
            self.year.user,
            one.text,
            json.dumps(metadata),
        )
        return UUID(str(row["id"]))

    def _orchestrate(self, messages: Messages) -> tuple[str, list[tuple[str, str]]]:
        """Open the domain of the tool, call it, and leave the words to the domain."""
        question = _asked(messages)
        turns = [one["role"] for one in messages]
        number = turns[len(turns) - turns[::-1].index("user") :].count("assistant")
        if question is None:
            return "Готово.", []
        if number > 1:
            given = str(messages[-1]["content"])
            return "Нужно ваше согласие." if "approval_required" in given else given, []
        name, arguments = question.call
        if number == 0:
            return "", [("getDomainTools", json.dumps({"domain": _domain(name)}))]
        return "", [execute((name, arguments), question=question.text)]

    def _word(self, messages: Messages) -> tuple[str, list[tuple[str, str]]]:
        """Word what the question brought, as it was recorded."""
        question, text = _asked(messages), str(messages[-1]["content"])
        found = _RESULTS.search(text)
        assert question is not None and found is not None
        results = json.loads(found[1])
        self.given[question.text] = results
        body = results[0]["result"]
        if isinstance(question, Order):
            return str(body["message"]), []
        return _PLACE.sub(lambda place: worded(pick(body["data"], place[1])), question.says), []


@contextmanager
def assistant(year: Year, folder: Path) -> Iterator[Assistant]:
    with ExitStack() as opened:
        models = ModelServer(opened.enter_context(HTTPServer(threaded=True)))
        opened.callback(models.close)
        stack = opened.enter_context(Stack(year.dsn, folder))
        one = Assistant(year, stack, models)
        stack.start_orchestrator(
            **models.settings(),
            META_ORCHESTRATOR_MODEL="openai:responder",
            DOMAIN_AGENT_MODEL="openai:responder",
            FB_BASE_URL=year.facebook.url,
            EVOLUTION_BASE_URL=year.whatsapp.url,
            EVOLUTION_API_KEY=WHATSAPP_KEY,
        )
        yield one


def window(one: Question) -> Window:
    """The days that a question is about."""
    if " " in one.period:
        first, last = map(date.fromisoformat, one.period.split())
        return window_of(one.account, "all")._replace(first=first, last=last)
    if one.period == "yesterday":
        today = window_of(one.account, "last_7d").last
        return window_of(one.account, "all")._replace(first=today - timedelta(days=1), last=today - timedelta(days=1))
    if one.period == "this_year":
        return window_of(one.account, "last_7d")._replace(first=date(2026, 1, 1))
    return window_of(one.account, one.period)


def pick(value: Any, path: str) -> Any:
    """What stands at a path such as `campaigns[name=Spring].spend`."""
    for step in _STEP.finditer(path):
        name, index, key, wanted = step.groups()
        if name is not None:
            value = value[name]
        elif index is not None:
            value = value[int(index)]
        else:
            (value,) = [one for one in value if one[key] == wanted]
    return value


def worded(value: Any) -> str:
    """A number as it is written in Russian."""
    if isinstance(value, int | float):
        return f"{value:,}".replace(",", " ").replace(".", ",")
    return str(value)


def numbers(text: str) -> set[float]:
    """The numbers in a text, however they are written."""
    return {float(one.replace(" ", "").replace(",", ".")) for one in _NUMBER.findall(text)}


def sources(results: list[dict[str, Any]]) -> set[float]:
    return {float(one) for one in re.findall(r"(?:(?<!\d)-)?\d+(?:\.\d+)?", json.dumps(results, ensure_ascii=False))}


def _asked(messages: Messages) -> Question | Refusal | Order | None:
    said = str(next(one["content"] for one in reversed(messages) if one["role"] == "user"))
    return next((one for one in QUESTIONS if one.text in said), None)


def _domain(tool: str) -> str:
    return next((name for name, words in DOMAINS.items() if any(word in tool for word in words.split())), "ads")


def shown(true: Mapping[str, Any]) -> set[float | str]:
    """The figures and the names that an answer must hold."""
    return {one if isinstance(one, str) else float(one) for one in true.values()}
