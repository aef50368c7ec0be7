"""llm: prompts whole and streamed, a conversation, tools, and a schema, in both of OpenAI's APIs."""

from __future__ import annotations

import json
from functools import partial

import llm
from llm.default_plugins.openai_models import Chat, Responses

from tests.frameworks.cases import Cases, Target, serve

PET_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "legs": {"type": "integer"}},
    "required": ["name", "legs"],
}
Kind = type[Chat] | type[Responses]


def weather(town: str) -> str:
    """The weather of a town."""
    return f"{town}: snow"


def model_of(kind: Kind, target: Target) -> llm.Model:
    """A model as one of extra-openai-models.yaml is made."""
    model: llm.Model = kind(
        model_id="asked",
        model_name=target.model,
        api_base=target.url,
        key="none",
        supports_schema=True,
        supports_tools=True,
    )
    return model


def chat(kind: Kind, target: Target) -> object:
    return model_of(kind, target).prompt(target.text, stream=False).text()


def stream(kind: Kind, target: Target) -> object:
    return {"pieces": list(model_of(kind, target).prompt(target.text))}


def dialogue(kind: Kind, target: Target) -> object:
    conversation = model_of(kind, target).conversation()
    return [conversation.prompt(f"{target.text} {turn}", stream=False).text() for turn in ("first", "second")]


def tool(kind: Kind, target: Target) -> object:
    return model_of(kind, target).chain(target.text, tools=[weather], stream=False).text()


def schema(kind: Kind, target: Target) -> object:
    return json.loads(model_of(kind, target).prompt(target.text, schema=PET_SCHEMA, stream=False).text())


def cases(kind: Kind, prefix: str) -> Cases:
    functions = {"chat": chat, "stream": stream, "dialogue": dialogue, "tool": tool, "schema": schema}
    return {f"{prefix}{name}": partial(function, kind) for name, function in functions.items()}


serve({**cases(Chat, ""), **cases(Responses, "responses ")})
