"""The call that a message needs, chosen by a model within a JSON schema: for models that call no tool by themselves.

First the tool, out of those that only read, or of those whose act is ordered and waits for consent; then its arguments:
short replies that a server can hold to a schema, where a free call of a small model is often none. What the message
itself names of the arguments, such as a period or an object in quotes, is read by code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from maas.agents.answer_context import AnswerContext
from maas.agents.figures import GivenFigures
from maas.agents.message_objects import is_of_its_kind, named_objects, quoted_object
from maas.agents.meta_tools import execute_call
from maas.conversations.language import Spoken
from maas.prompting.now import today_of
from maas.tools.consent.orders import objects_ordered
from maas.tools.tool import Tool
from maas.tools.wording import in_language, spoken_words
from shared.json import json_object
from shared.models import Message, ToolCall
from shared.text import clean

WHICH: dict[Spoken, str] = {
    "ru": "Ты выбираешь инструмент для сообщения человека: тот, что даст данные для ответа или сделает то, о чём он "
    "просит. Ответь JSON с именем одного из них.\n\n{tools}",
    "en": "You choose the tool for the user's message: the one that gives the data for an answer, or does what is "
    "asked. Answer with JSON: the name of one of them.\n\n{tools}",
}
HOW: dict[Spoken, str] = {
    "ru": "Ты пишешь параметры вызова инструмента {name} для вопроса человека. Ответь JSON.\n\n{about}",
    "en": "You write the parameters of a call of the tool {name} for the user's question. Answer with JSON.\n\n{about}",
}
FIRST: dict[Spoken, str] = {
    "ru": "Сначала назови параметр, который здесь подходит.",
    "en": "Begin with the parameter that fits here.",
}


async def choose_call(context: AnswerContext, language: Spoken) -> ToolCall | None:
    """Return the call that a model chooses for the message of this run; None if there is none to choose.

    An act with a figure that nobody named is none, even though its user would be asked. Under `meta_tools` it is a call
    of executeTools. Raises MaasError, LostRun.
    """
    tools = ordered_tools(context) or _readers(context)
    chosen = tools[0] if len(tools) == 1 else await _choose_tool(context, tools, language)
    if chosen is None:
        return None
    arguments = await _arguments(context, chosen, language)
    if chosen.effect != "read" and _invented(context, arguments):
        return None
    if context.definition.routing != "meta_tools":
        return ToolCall("chosen-1", chosen.name, json.dumps(arguments, ensure_ascii=False))
    return execute_call("chosen-1", {chosen.name: arguments}, context.run.user_query)


def _invented(context: AnswerContext, arguments: Mapping[str, object]) -> list[str]:
    given = [context.request.system, *(one.text for one in context.request.messages)]
    return GivenFigures().invented(json.dumps(arguments, ensure_ascii=False), given)


def ordered_tools(context: AnswerContext) -> list[Tool]:
    """The tools whose act the message of this run orders, as far as its words tell; each waits for consent."""
    message = context.run.user_query
    dangerous = [one for one in context.tools if one.effect == "dangerous" and not one.is_meta]
    named = {one.name: objects_ordered(message, *spoken_words(one.name, one.wording)) for one in dangerous}
    most = max(named.values(), default=0)
    return [one for one in dangerous if 0 < most == named[one.name]]


def _readers(context: AnswerContext) -> list[Tool]:
    """The tools that read, without those that want another object than the one that the message quotes."""
    message = context.run.user_query
    return [
        one
        for one in context.tools
        if one.effect == "read" and not one.is_meta
        if is_of_its_kind(message, one.parameters.get("required", ()))
    ]


def is_elsewhere(context: AnswerContext) -> bool:
    """Whether calls gave data, and none of it is of the period or of an object that the message of this run names.

    A day more or less counts as the same: today is another where the account is than where its user is.
    """
    message, day, calls = context.run.user_query, context.run.created_at.date(), context.figures.reads
    if not calls:
        return False
    days = [day + timedelta(days=shift) for shift in (-1, 0, 1)]
    others = [not any(_is_asked(tool, values, message, one) for one in days) for tool, values in calls]
    return all(others) or any(not context.figures.holds(one) for one in named_objects(message))


def _is_asked(tool: Tool, values: Mapping[str, Any], message: str, today: date) -> bool:
    """Whether the arguments of a call are those that a message names; True where it names none of this tool."""
    read, is_same = _read_by(tool, message, today), getattr(tool.arguments, "is_same", None)
    return not read or is_same is None or is_same(values, read, today)


async def _choose_tool(context: AnswerContext, tools: Sequence[Tool], language: Spoken) -> Tool | None:
    listed = "\n".join(f"{one.name}: {_in_words(one, language)}" for one in tools)
    names = {"type": "string", "enum": [one.name for one in tools]}
    named = await _ask(context, WHICH[language].format(tools=listed), _object({"tool": names})) if tools else {}
    return next((one for one in tools if one.name == named.get("tool")), None)


async def _arguments(context: AnswerContext, tool: Tool, language: Spoken) -> dict[str, object]:
    """The required ones, and those of one of the tool's choices: a model that may fill others in makes them up.

    None is asked for that the message names.
    """
    properties = tool.parameters.get("properties", {})
    required = list(tool.parameters.get("required", ()))
    read = _read_by(tool, context.run.user_query, await today_of(context.run, context.model.deps))
    choices: Sequence[Sequence[str]] = () if read else getattr(tool.arguments, "choices", ())
    named = read | quoted_object(context.run.user_query, properties, required)
    names = [name for name in required if name not in named]
    lines = [f"{name}: {one['description']}" for name, one in properties.items() if one.get("description")]
    system = HOW[language].format(name=tool.name, about="\n".join((tool.description, *lines)))
    if choices:
        firsts = {"type": "string", "enum": [first for first, *_ in choices]}
        first = await _ask(context, f"{system}\n\n{FIRST[language]}", _object({"parameter": firsts}))
        names += next((one for one in choices if one[0] == first.get("parameter")), choices[0])
    asked = await _ask(context, system, _object({name: properties[name] for name in names})) if names else {}
    return asked | named


def asks_with_arguments(context: AnswerContext) -> bool:
    """Whether the message of this run asks with arguments of a tool that reads, such as the period of a report."""
    asked, day = context.run.user_query, context.run.created_at.date()
    return "?" in asked and any(_read_by(one, asked, day) for one in context.tools if one.effect == "read")


def _read_by(tool: Tool, message: str, today: date) -> dict[str, object]:
    """What the tool reads of its arguments out of a message."""
    read = getattr(tool.arguments, "read_question", None)
    return {} if read is None else dict(read(message, today))


async def _ask(context: AnswerContext, system: str, schema: dict[str, object]) -> dict[str, object]:
    """The object of a reply, which is pinned; empty for one that is no object."""
    request = replace(
        context.request,
        system=system,
        messages=(Message("user", context.run.user_query),),
        tools=(),
        json_schema=schema,
        temperature=0.0,
    )
    reply = await context.model.without_listener().ask(request)
    await context.model.pin()
    return json_object(clean(reply.text)) or {}


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _in_words(tool: Tool, language: Spoken) -> str:
    """What a tool does, as people read it where it says so, and the first sentence of its description."""
    first = tool.description.partition(". ")[0].partition("\n")[0]
    return first if tool.wording.title is None else f"{in_language(tool.wording.title.to_json(), language)}. {first}"
