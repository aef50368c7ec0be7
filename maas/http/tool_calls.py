"""/v1/tools and /v1/tool_calls: the tools of an assistant, and calls that a client makes itself.

An orchestrator executes each call as a run of kind `action`, under the approvals of the assistant.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.conversations import Mode
from maas.http.authorize import principal_of, read_body
from maas.http.request_input import read_idempotency_key, read_parameter
from maas.http.schemas import AssistantName, JsonObject, Name, RequestBody, RunAccepted, Schema, json_response
from maas.http.state import app_state
from maas.runs.tool_calls import insert_call, list_assistant_tools
from shared.errors import MaasError

ToolName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")]


class NewToolCall(RequestBody):
    user_id: UUID
    assistant: AssistantName
    tool: ToolName
    arguments: JsonObject = Field(default_factory=dict)
    mode: Mode | None = Field(None, description="By default the assistant's own mode.")
    account: Name | None = Field(None, description="The account that the tool works on; by default the user's own.")
    source: Literal["http", "mcp"] = Field("http", description="What the caller names as the source of the call.")


class ToolDescription(Schema):
    name: str
    domain: str
    effect: Literal["read", "write", "dangerous"]
    description: str
    parameters: dict[str, Any] = Field(description="The JSON Schema of the arguments.")
    is_idempotent: bool


class ToolList(Schema):
    results: list[ToolDescription]


def _name(text: str) -> str:
    if not 0 < len(text) <= 50 or "\0" in text:
        raise ValueError("must be the name of an assistant")
    return text


async def get_tools(request: Request) -> Response:
    """List the tools of an assistant that a client may call itself."""
    assistant = read_parameter(request, "assistant", _name)
    if assistant is None:
        raise MaasError("bad_parameter", "assistant: is required")
    rows = await list_assistant_tools(app_state(request).reads, assistant)
    return json_response(
        ToolList(
            results=[
                ToolDescription(
                    name=row["name"],
                    domain=row["domain"],
                    effect=cast(Literal["read", "write", "dangerous"], row["effect"]),
                    description=row["description"],
                    parameters=row["parameters"],
                    is_idempotent=row["is_idempotent"],
                )
                for row in rows
            ]
        )
    )


async def post_tool_call(request: Request) -> Response:
    """Call a tool of an assistant.

    The answer of the run is the result as JSON. A call that needs approval changes nothing: it becomes an action that
    the user decides on, see `GET /v1/actions?run_id=`.
    """
    body = await read_body(request, NewToolCall)
    state = app_state(request)
    run_id = await insert_call(
        state.db,
        body.user_id,
        body.assistant,
        body.tool,
        body.arguments,
        mode=body.mode,
        account=body.account,
        source=body.source,
        caller=principal_of(request).name,
        key=read_idempotency_key(request),
        queue_limit=state.submissions.queue_limit,
    )
    return json_response(RunAccepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}"), 202)
