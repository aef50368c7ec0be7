"""Every tool of a built-in assistant in words: what waits, is at work, or was done reads in the user's language."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any, cast, get_args
from uuid import uuid4

import pytest

from maas.agents.approvals import ActionOutcome, ActionStatus, outcome_sentence
from maas.agents.meta_tools import meta_tools
from maas.agents.optional_slots import TOOL as OPTIONAL
from maas.agents.optional_tool import OPTIONAL_QUESTIONS
from maas.assistants.ads.account import DOMAINS
from maas.assistants.ads.toolset import make_tools as make_ads_tools
from maas.assistants.corporate.mail import mail_servers
from maas.assistants.corporate.toolset import make_tools as make_corporate_tools
from maas.assistants.stickers.tools import make_tools as make_sticker_tools
from maas.channels.telegram.progress import Progress
from maas.channels.telegram.rendering import describe_action
from maas.conversations.language import Spoken
from maas.engine.stages import Deps
from maas.runs.event_stream import Event
from maas.settings import load_settings
from maas.tools.calls import refused
from maas.tools.tool import Tool, Toolset
from maas.tools.waiting_actions import describe
from maas.tools.wording import Wording, in_language, stored_wording

CODE = re.compile(r"`[^`\n]*`")
WORD = re.compile(r"[A-Za-zА-Яа-яЁё]{2,}")
CYRILLIC = re.compile(r"[А-Яа-яЁё]")
NAMES = {"CRM", "Facebook", "WhatsApp", "ROI", "CPL"}
SETTINGS = load_settings(corporate_mcp_url="http://127.0.0.1:9/mcp")
DEPS = cast(Deps, SimpleNamespace(settings=SETTINGS, db=None, query_embedder=None))
SAMPLES: dict[str, Any] = {"string": "7", "integer": 7, "number": 7.5, "boolean": True, "object": {"to": "7"}}


async def execute(_: Any) -> list[Any]:
    return []


def declared() -> list[Tool]:
    tools = [one for one in make_ads_tools(DEPS) if one.domain in DOMAINS]
    tools += [*make_corporate_tools(DEPS), *make_sticker_tools(DEPS), *meta_tools((), Toolset(()), execute)]
    return [*tools, OPTIONAL_QUESTIONS]


TOOLS = declared()
LANGUAGES: tuple[Spoken, ...] = get_args(Spoken)
WAITING = [one for one in TOOLS if not one.is_meta]
each_waiting_tool = pytest.mark.parametrize("tool", WAITING, ids=[one.name for one in WAITING])
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=[one.name for one in TOOLS])
each_language = pytest.mark.parametrize("language", LANGUAGES)


def strange(text: str, language: Spoken) -> list[str]:
    """The words of a text that are not of a language; names and values stand in code spans."""
    words = [word for word in WORD.findall(CODE.sub("", text)) if word not in NAMES]
    return [word for word in words if bool(CYRILLIC.search(word)) != (language == "ru")]


def sample(schema: dict[str, Any]) -> Any:
    """A value that has no words of its own."""
    options = schema.get("anyOf") or [schema]
    kind = next((one.get("type", "string") for one in options if one.get("type") != "null"), "string")
    return [sample(options[0].get("items", {"type": "string"}))] if kind == "array" else SAMPLES[kind]


def worded(tool: Tool) -> dict[str, Any]:
    return stored_wording(tool.name, tool.wording, tool.description, tool.reason, None)


def row(tool: Tool) -> Any:
    arguments = {name: sample(one) for name, one in tool.parameters.get("properties", {}).items()}
    return {
        "id": uuid4(),
        "tool": tool.name,
        "arguments": arguments,
        "effect": tool.effect,
        "wording": worded(tool),
        "number": 1,
    }


def test_there_are_all_tools() -> None:
    names = {one.name for one in TOOLS}
    assert len(names) == len(TOOLS) > 55
    assert {"getSpendReport", "lightrag_query", "confirm_and_generate", "executeTools", OPTIONAL} <= names


@each_language
@each_waiting_tool
def test_a_call_that_waits_is_in_the_language_of_who_decides(tool: Tool, language: Spoken) -> None:
    """The arguments, too: in `ask` a person decides on calls that only read."""
    shown = describe([row(tool)], language, is_dialogue=True)
    labels = re.findall(r"^- ([^:]+):", shown, re.MULTILINE)
    assert all(not one.startswith("`") for one in labels), labels
    assert strange(shown, language) == []
    shown_by_bot = describe_action(language, row(tool)).text
    assert strange(shown_by_bot.replace(tool.name, ""), language) == []


@each_language
@each_tool
def test_a_call_at_work_is_in_the_language_of_who_waits(tool: Tool, language: Spoken) -> None:
    progress = Progress(uuid4(), language)
    title = tool.wording.title
    assert title is not None
    started = {"call_id": "1", "tool": tool.name, "title": title.to_json()}
    progress.take(cast(Event, SimpleNamespace(type="tool_start", data=json.dumps(started))))
    assert in_language(started["title"], language) in progress.markdown
    assert strange(progress.markdown, language) == []


@pytest.mark.parametrize("status", get_args(ActionStatus))
@each_language
@each_waiting_tool
def test_what_came_of_a_call_is_in_the_language_of_who_decided(
    tool: Tool, language: Spoken, status: ActionStatus
) -> None:
    body = {"data": {}} if status == "done" else refused("failed", "the service answers 503", say="Сервис занят")
    outcome = ActionOutcome(tool.name, row(tool)["arguments"], worded(tool), None, status, body, "?", False)
    assert strange(outcome_sentence(outcome, language), language) == []


def test_what_a_mail_server_does_is_in_both_languages() -> None:
    (server,) = mail_servers(SETTINGS)
    wordings: dict[str, Wording] = dict(server.wordings)
    assert wordings.keys() == server.effects.keys()
    for language in LANGUAGES:
        titles = [in_language(one.title.to_json(), language) for one in wordings.values() if one.title]
        assert len(titles) == len(wordings) and strange(" ".join(titles), language) == []
