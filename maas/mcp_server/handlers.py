"""What the server of one caller does for each method of the protocol; a failure is one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from maas.client.results import ClientError
from maas.mcp_server import prompts, resources, subscriptions, tasks
from maas.mcp_server.assistant_tools import AssistantTools
from maas.mcp_server.context import McpContext, ReportProgress, protocol_errors
from maas.mcp_server.run_calls import CallReply, RunCall
from maas.mcp_server.run_progress import failure, success
from maas.mcp_server.schemas import DEFAULT_WAIT_S, AskInput, output_schema
from maas.mcp_server.tools import TOOLS, MemoryTool, submit
from shared.errors import problems_of

MAX_COMPLETED_CHARS = 100

Request = ServerRequestContext[Any]


@dataclass(frozen=True, slots=True)
class McpHandlers:
    """The methods for one caller: only tools that the caller may use, those of `assistant` after those of memory."""

    context: McpContext
    assistant: str | None

    @property
    def acting(self) -> AssistantTools | None:
        return AssistantTools(self.context, self.assistant) if self.assistant else None

    async def list_tools(self, _: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        rights = await self.context.rights()
        allowed = [tool for tool in TOOLS.values() if rights.allow(tool.scope)]
        tools = [describe(tool, rights.user is not None) for tool in allowed]
        if self.acting is not None and rights.user is not None and rights.allow("ask"):
            with protocol_errors():
                tools += [tool for tool in await self.acting.list() if tool.name not in TOOLS]
        return ListToolsResult(tools=tools)

    async def call_tool(self, request: Request, params: CallToolRequestParams) -> CallReply:
        has_token = request.meta is not None and request.meta.get("progress_token") is not None
        report = request.session.report_progress if has_token else None
        try:
            return await self._call(request, params, report)
        except ValidationError as error:
            first = problems_of(error)[0]
            return failure(f"{first.field or 'arguments'}: {first.message}")
        except ClientError as error:
            return failure(error.message)

    async def _call(self, request: Request, params: CallToolRequestParams, report: ReportProgress | None) -> CallReply:
        tool = TOOLS.get(params.name)
        if tool is None and self.acting is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:80]!r}; there are {', '.join(TOOLS)}")
        args = tool.input.model_validate(params.arguments or {}) if tool is not None else None
        user = await self.context.authorize(tool.scope if tool else "ask", args.user_id if args else None)
        if tool is not None and tool.run is not None:
            return success(await tool.run(self.context, args, user, report))
        call = RunCall(self.context, request, user, report)
        if params.request_state is not None:
            return await call.go_on(params)
        if isinstance(args, AskInput):
            return await call.wait(await submit(self.context, args, user), args.wait)
        assert self.acting is not None
        run_id = await self.acting.start(user, params.name, params.arguments or {})
        return await call.wait(run_id, DEFAULT_WAIT_S)

    async def get_task(self, request: Request, params: tasks.TaskParams) -> dict[str, Any]:
        return await tasks.get_task(self.context, request, params)

    async def update_task(self, request: Request, params: tasks.TaskUpdateParams) -> dict[str, Any]:
        return await tasks.update_task(self.context, request, params)

    async def cancel_task(self, request: Request, params: tasks.TaskParams) -> dict[str, Any]:
        return await tasks.cancel_task(self.context, request, params)

    async def list_resources(self, _: Request, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return await resources.list_resources(self.context, params.cursor if params else None)

    async def list_templates(self, _: Request, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return resources.list_templates()

    async def read_resource(self, _: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await resources.read_resource(self.context, params.uri)

    async def listen(self, request: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        return await subscriptions.listen(self.context, request, params)

    async def list_prompts(self, _: Request, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return prompts.list_prompts()

    async def get_prompt(self, _: Request, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        return await prompts.get_prompt(self.context, params.name, params.arguments or {})

    async def complete(self, _: Request, params: CompleteRequestParams) -> CompleteResult:
        start = params.argument.value[:MAX_COMPLETED_CHARS]
        if isinstance(params.ref, PromptReference):
            values = await prompts.complete(self.context, params.argument.name, start)
        else:
            values = await resources.complete(self.context, params.ref.uri, start)
        return CompleteResult(completion=Completion(values=values, total=len(values), has_more=False))


def describe(tool: MemoryTool, is_user_known: bool) -> Tool:
    """A tool in the form of tools/list."""
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input.schema_for(is_user_known),
        output_schema=output_schema(tool.output),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.scope == "read",
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_idempotent or tool.scope == "read",
            open_world_hint=False,
        ),
    )
