"""The call that a question needs, chosen by a model within a JSON schema: for models that call no tool by themselves.

First the tool, out of those that only read, then its arguments: short replies that a server can hold to a schema, where
a free call of a small model is often none. What the question itself names of the arguments is read by code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from maas.agents.answer_context import AnswerContext
from maas.agents.meta_tools import execute_call
from maas.conversations.language import Spoken
from maas.prompting.now import today_of
from maas.tools.tool import Tool
from shared.json import json_object
from shared.models import Message, ToolCall
from shared.text import clean

WHICH: dict[Spoken, str] = {
    "ru": "Ты выбираешь инструмент, который даст данные для ответа на вопрос человека. Ответь JSON с именем одного из "
    "них.\n\n{tools}",
    "en": "You choose the tool that gives the data for an answer to the user's question. Answer with JSON: the name of "
    "one of them.\n\n{tools}",
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
    """Return the call that a model chooses for the question of this run; None if there is none to choose.

    Under `meta_tools` it is a call of executeTools. Raises MaasError, LostRun.
    """
    tools = {one.name: one for one in context.tools if one.effect == "read" and not one.is_meta}
    listed = "\n".join(f"{one.name}: {_first_sentence(one.description)}" for one in tools.values())
    names = {"type": "string", "enum": list(tools)}
    named = await _ask(context, WHICH[language].format(tools=listed), _object({"tool": names})) if tools else {}
    chosen = tools.get(str(named.get("tool")))
    if chosen is None:
        return None
    arguments = await _arguments(context, chosen, language)
    if context.definition.routing != "meta_tools":
        return ToolCall("chosen-1", chosen.name, json.dumps(arguments, ensure_ascii=False))
    return execute_call("chosen-1", {chosen.name: arguments}, context.run.user_query)


async def _arguments(context: AnswerContext, tool: Tool, language: Spoken) -> dict[str, object]:
    """The required ones, and those of one of the tool's choices: a model that may fill others in makes them up.

    None is asked for that the question names.
    """
    properties = tool.parameters.get("properties", {})
    named = await _named_in_question(context, tool)
    names = [name for name in tool.parameters.get("required", ()) if name not in named]
    choices: Sequence[Sequence[str]] = () if named else getattr(tool.arguments, "choices", ())
    lines = [f"{name}: {one['description']}" for name, one in properties.items() if one.get("description")]
    system = HOW[language].format(name=tool.name, about="\n".join((tool.description, *lines)))
    if choices:
        firsts = {"type": "string", "enum": [first for first, *_ in choices]}
        first = await _ask(context, f"{system}\n\n{FIRST[language]}", _object({"parameter": firsts}))
        names += next((one for one in choices if one[0] == first.get("parameter")), choices[0])
    asked = await _ask(context, system, _object({name: properties[name] for name in names})) if names else {}
    return asked | named


async def _named_in_question(context: AnswerContext, tool: Tool) -> dict[str, object]:
    read = getattr(tool.arguments, "read_question", None)
    if read is None:
        return {}
    return dict(read(context.run.user_query, await today_of(context.run, context.model.deps)))


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


def _first_sentence(description: str) -> str:
    return description.partition(". ")[0].partition("\n")[0]
