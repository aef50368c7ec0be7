"""Pydantic AI: outputs of all three kinds, a tool, and a dialogue that goes on."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.frameworks.cases import Target, serve


class Pet(BaseModel):
    name: str
    legs: int


def agent(target: Target, kind: Any = OpenAIChatModel, **more: Any) -> Any:
    return Agent(kind(target.model, provider=OpenAIProvider(base_url=target.url, api_key="none")), **more)


def chat(target: Target, kind: Any = OpenAIChatModel) -> object:
    result = agent(target, kind, instructions="Be brief.").run_sync(target.text)
    return [result.output, result.usage.input_tokens]


def stream(target: Target, kind: Any = OpenAIChatModel) -> object:
    result = agent(target, kind).run_stream_sync(target.text)
    return {"pieces": list(result.stream_text(delta=True, debounce_by=None))}


def structured(target: Target, output_type: Any, kind: Any = OpenAIChatModel) -> object:
    pet = agent(target, kind, output_type=output_type).run_sync(target.text).output
    return pet.model_dump()


def tool(target: Target, kind: Any = OpenAIChatModel) -> object:
    asked = agent(target, kind)

    @asked.tool_plain
    def weather(town: str) -> str:
        """The weather of a town."""
        return f"snow in {town}"

    @asked.tool_plain
    def height(town: str) -> int:
        """How high a town lies, in metres."""
        return len(town)

    return asked.run_sync(target.text).output


def history(target: Target, kind: Any = OpenAIChatModel) -> object:
    asked = agent(target, kind)
    first = asked.run_sync(target.text)
    second = asked.run_sync(f"{target.text} And then?", message_history=first.all_messages())
    return [first.output, second.output]


serve(
    {
        "chat": chat,
        "stream": stream,
        "tool output": lambda target: structured(target, ToolOutput(Pet)),
        "native output": lambda target: structured(target, NativeOutput(Pet)),
        "prompted output": lambda target: structured(target, PromptedOutput(Pet)),
        "tool": tool,
        "history": history,
        "responses": lambda target: chat(target, OpenAIResponsesModel),
        "responses stream": lambda target: stream(target, OpenAIResponsesModel),
        "responses tool output": lambda target: structured(target, ToolOutput(Pet), OpenAIResponsesModel),
        "responses native output": lambda target: structured(target, NativeOutput(Pet), OpenAIResponsesModel),
        "responses tool": lambda target: tool(target, OpenAIResponsesModel),
        "responses history": lambda target: history(target, OpenAIResponsesModel),
    }
)
