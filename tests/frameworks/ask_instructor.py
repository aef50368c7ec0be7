"""Instructor: a pydantic model as the answer, asked for in three ways."""

from __future__ import annotations

import instructor
from openai import OpenAI
from pydantic import BaseModel

from tests.frameworks.cases import Target, serve


class Pet(BaseModel):
    name: str
    legs: int


def structured(target: Target, mode: instructor.Mode) -> object:
    client = instructor.from_openai(OpenAI(base_url=target.url, api_key="none"), mode=mode)
    messages = [{"role": "user", "content": target.text}]
    pet = client.chat.completions.create(model=target.model, response_model=Pet, messages=messages)
    return pet.model_dump()


serve(
    {
        "tools": lambda target: structured(target, instructor.Mode.TOOLS),
        "json": lambda target: structured(target, instructor.Mode.JSON),
        "json schema": lambda target: structured(target, instructor.Mode.JSON_SCHEMA),
    }
)
