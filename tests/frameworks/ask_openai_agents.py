"""OpenAI's Agents SDK: its default, the Responses API, and chat completions; tools, handoffs and streams of both."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.frameworks.cases import Target, serve

set_tracing_disabled(True)


class Pet(BaseModel):
    name: str
    legs: int


@function_tool
def weather(town: str) -> str:
    """The weather of a town."""
    return f"snow in {town}"


@function_tool
def height(town: str) -> int:
    """How high a town lies, in metres."""
    return len(town)


def agent(target: Target, kind: Any, name: str = "first", **more: Any) -> Any:
    client = AsyncOpenAI(base_url=target.url, api_key="none")
    return Agent(name=name, model=kind(model=target.model, openai_client=client), **more)


async def chat(target: Target, kind: Any) -> object:
    return (await Runner.run(agent(target, kind, instructions="Be brief."), target.text)).final_output


async def output(target: Target, kind: Any) -> object:
    pet = (await Runner.run(agent(target, kind, output_type=Pet), target.text)).final_output
    return pet.model_dump()


async def tool(target: Target, kind: Any) -> object:
    result = await Runner.run(agent(target, kind, tools=[weather, height]), target.text)
    return [result.final_output, [type(one).__name__ for one in result.new_items]]


async def handoff(target: Target, kind: Any) -> object:
    second = agent(target, kind, "second", instructions="You are the second.")
    result = await Runner.run(agent(target, kind, handoffs=[second]), target.text)
    return [result.last_agent.name, result.final_output]


async def stream(target: Target, kind: Any) -> object:
    result = Runner.run_streamed(agent(target, kind, tools=[weather, height]), target.text)
    names = [one.name async for one in result.stream_events() if one.type == "run_item_stream_event"]
    return [result.final_output, names]


CASES = {"chat": chat, "output": output, "tool": tool, "handoff": handoff, "stream": stream}
KINDS = {"": OpenAIChatCompletionsModel, "responses ": OpenAIResponsesModel}
serve(
    {
        f"{prefix}{name}": lambda target, case=case, kind=kind: asyncio.run(case(target, kind))  # type: ignore[misc]
        for prefix, kind in KINDS.items()
        for name, case in CASES.items()
    }
)
