"""LangChain: a model, its structured outputs, and an agent with a tool."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from tests.frameworks.cases import Target, serve


class Pet(BaseModel):
    name: str
    legs: int


@tool
def weather(town: str) -> str:
    """The weather of a town."""
    return f"snow in {town}"


@tool
def height(town: str) -> int:
    """How high a town lies, in metres."""
    return len(town)


def model(target: Target, **more: Any) -> Any:
    return ChatOpenAI(base_url=target.url, api_key="none", model=target.model, **more)


def chat(target: Target, **more: Any) -> object:
    reply = model(target, **more).invoke([("system", "Be brief."), ("user", target.text)])
    return [reply.text, reply.usage_metadata]


def stream(target: Target, **more: Any) -> object:
    return {"pieces": [one.text for one in model(target, **more).stream(target.text)]}


def structured(target: Target, method: str, **more: Any) -> object:
    pet = model(target, **more).with_structured_output(Pet, method=method).invoke(f"{target.text} In JSON.")
    return pet.model_dump()


def agent(target: Target, **more: Any) -> object:
    messages = create_agent(model(target, **more), [weather, height]).invoke({"messages": [("user", target.text)]})[
        "messages"
    ]
    return [[one.type, one.text] for one in messages]


serve(
    {
        "chat": chat,
        "stream": stream,
        "function calling": lambda target: structured(target, "function_calling"),
        "json mode": lambda target: structured(target, "json_mode"),
        "json schema": lambda target: structured(target, "json_schema"),
        "agent": agent,
        "responses": lambda target: chat(target, use_responses_api=True),
        "responses stream": lambda target: stream(target, use_responses_api=True),
        "responses json schema": lambda target: structured(target, "json_schema", use_responses_api=True),
        "responses agent": lambda target: agent(target, use_responses_api=True),
    }
)
