"""OpenAI's Responses API, over chat completions: for assistants, and for pass-through models of any server.

| file       | is about                                                             |
|------------|----------------------------------------------------------------------|
| `items`    | items of an input as messages of a chat, and what came of them       |
| `request`  | a request as one for a chat completion                               |
| `resource` | the response object, and its items as a chat completion gives them   |
| `events`   | the events of a stream, made of the chunks of a chat completion      |
| `stored`   | responses that are kept, and the dialogue that leads to one of them  |
| `handlers` | the routes                                                           |
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from maas.http.openai import LenientSchema
from maas.http.schemas import Schema


class ResponseRequest(LenientSchema):
    """A request for a response. Fields that a pass-through model does not take in a chat completion are refused."""

    model: str = Field(description="The name of an assistant or of a pass-through model.")
    input: str | list[dict[str, Any]] = Field(
        description="Text, or items: messages (text, and images as data: URLs), function_call, function_call_output."
    )
    instructions: str | None = None
    previous_response_id: str | None = Field(
        None, description="A stored response of this user, whose dialogue this one continues."
    )
    store: bool | None = Field(None, description="Whether the response can be read and continued; true by default.")
    stream: bool | None = None
    background: bool | None = Field(None, description="For assistants: answer at once, and GET the response later.")
    tools: list[dict[str, Any]] | None = Field(None, description="Functions; for assistants only one that is demanded.")
    tool_choice: Any = None
    text: dict[str, Any] | None = Field(None, description="`format`: text, json_object or json_schema.")
    user: str | None = Field(None, description="The user whose memory is used.")
    metadata: dict[str, Any] | None = None


class ResponseObject(Schema):
    """A response object of OpenAI's API; `maas` says what memory did."""

    model_config = ConfigDict(extra="allow")

    id: str
    object: Literal["response"] = "response"
    status: str
    model: str
    output: list[dict[str, Any]]


class InputItems(Schema):
    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool


class DeletedResponse(Schema):
    id: str
    object: Literal["response"] = "response"
    deleted: Literal[True] = True
