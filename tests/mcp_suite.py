"""What the conformance suite of MCP asks of a server by name: its tools, resources and prompts, beside our own."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    Tool,
)

from maas.mcp_server import tasks
from maas.mcp_server.assistant_tools import AssistantTools
from maas.mcp_server.context import McpContext
from maas.mcp_server.handlers import McpHandlers, Request
from maas.mcp_server.run_calls import CallReply, RunCall
from maas.mcp_server.server import build_server
from tests.stack import NOBODY

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
TEXT = "text/plain"
ASSISTANT, ELSEWHERE = "suite", "elsewhere"  # of the tools of tests.mcp_suite_tools; the second does not answer here
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
Content = TextContent | ImageContent | AudioContent | EmbeddedResource
Answer = CallToolResult | InputRequiredResult
CallFixture = Callable[[Request, CallToolRequestParams], Awaitable[Answer]]


def text_of(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def resource(uri: str, text: str, mime_type: str = TEXT) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


IMAGE = ImageContent(type="image", data=PIXEL, mime_type="image/png")
CONTENT: Mapping[str, list[Content]] = {
    "test_simple_text": [text_of("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
    "test_embedded_resource": [resource("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text_of("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
    ],
    "json_schema_2020_12_tool": [text_of("json_schema_2020_12_tool")],
}


def elicit(message: str, name: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=text_of(text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=100))


def value(params: CallToolRequestParams | GetPromptRequestParams, key: str, name: str) -> Any:
    """What the client has answered to the request `key`, in the field `name`; None without such an answer."""
    answer = (params.input_responses or {}).get(key)
    return (answer.content or {}).get(name) if isinstance(answer, ElicitResult) else None


def done(text: str) -> CallToolResult:
    return CallToolResult(content=[text_of(text)])


def needs(state: str | None = None, **requests: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=requests, request_state=state)


async def fail(_: Request, __: CallToolRequestParams) -> Answer:
    return CallToolResult(content=[text_of("This tool intentionally returns an error for testing")], is_error=True)


async def progress(request: Request, _: CallToolRequestParams) -> Answer:
    for step in (0, 50, 100):
        await request.session.report_progress(step, 100, f"Completed step {step} of 100")
    return done("done")


async def be_silent(_: Request, __: CallToolRequestParams) -> Answer:
    return done("It logs nothing, because nobody asked for it.")


async def need_sampling(request: Request, _: CallToolRequestParams) -> Answer:
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs the capability sampling", data)
    return done("The client can sample.")


async def ask_name(_: Request, params: CallToolRequestParams) -> Answer:
    if (name := value(params, "user_name", "name")) is not None:
        return done(f"Hello, {name}!")
    return needs(user_name=elicit("What is your name?", "name"))


async def ask_model(_: Request, params: CallToolRequestParams) -> Answer:
    if params.input_responses:
        return done("The model has answered.")
    return needs(capital_question=sample("What is the capital of France?"))


async def ask_roots(_: Request, params: CallToolRequestParams) -> Answer:
    if params.input_responses:
        return done("The roots are known.")
    return needs(client_roots=ListRootsRequest())


async def ask_confirmation(_: Request, params: CallToolRequestParams) -> Answer:
    if params.request_state is not None:
        return done("state-ok: confirmed")
    return needs("waiting", confirm=elicit("Please confirm", "ok", "boolean"))


async def ask_everything(_: Request, params: CallToolRequestParams) -> Answer:
    if len(params.input_responses or {}) == 3:
        return done("All inputs received.")
    return needs(
        "everything",
        user_name=elicit("What is your name?", "name"),
        greeting=sample("Generate a greeting"),
        client_roots=ListRootsRequest(),
    )


async def ask_twice(_: Request, params: CallToolRequestParams) -> Answer:
    state = json.loads(params.request_state or "{}")
    if "name" in state and (color := value(params, "step2", "color")) is not None:
        return done(f"{state['name']} likes {color}.")
    if (name := value(params, "step1", "name")) is not None:
        return needs(json.dumps({"name": name}), step2=elicit("Step 2: What is your favorite color?", "color"))
    return needs(json.dumps({}), step1=elicit("Step 1: What is your name?", "name"))


async def ask_what_the_client_can(request: Request, _: CallToolRequestParams) -> Answer:
    can = request.session.client_capabilities
    requests: dict[str, InputRequest] = {}
    if can is not None and can.sampling is not None:
        requests["sample"] = sample("Say hello")
    if can is not None and can.elicitation is not None:
        requests["ask"] = elicit("What is your name?", "name")
    return needs("capable", **requests)


async def greet(_: Request, params: CallToolRequestParams) -> Answer:
    return done(f"Hello, {(params.arguments or {}).get('name')}!")


CALLS: Mapping[str, CallFixture] = {
    "greet": greet,
    "test_error_handling": fail,
    "test_tool_with_progress": progress,
    "test_logging_tool": be_silent,
    "test_streaming_elicitation": progress,
    "test_missing_capability": need_sampling,
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": ask_model,
    "test_input_required_result_list_roots": ask_roots,
    "test_input_required_result_request_state": ask_confirmation,
    "test_input_required_result_tampered_state": ask_confirmation,
    "test_input_required_result_multiple_inputs": ask_everything,
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_the_client_can,
}
PROMPTS: Mapping[str, Callable[[Mapping[str, str]], list[Content]]] = {
    "test_simple_prompt": lambda _: [text_of("This is a simple prompt for testing.")],
    "test_prompt_with_arguments": lambda args: [
        text_of(f"Prompt with arguments: arg1='{args['arg1']}', arg2='{args['arg2']}'")
    ],
    "test_prompt_with_embedded_resource": lambda args: [
        resource(args["resourceUri"], "Embedded resource content for testing."),
        text_of("Please process the embedded resource above."),
    ],
    "test_prompt_with_image": lambda _: [IMAGE, text_of("Please analyze the image above.")],
}


class SuiteHandlers(McpHandlers):
    """Our handlers, which are asked for whatever is not the suite's."""

    async def list_tools(self, request: Request, params: PaginatedRequestParams | None) -> ListToolsResult:
        ours = await super().list_tools(request, params)
        schemas = {"json_schema_2020_12_tool": SCHEMA_2020_12}
        added = [
            Tool(name=name, description="Of the suite", input_schema=schemas.get(name, {"type": "object"}))
            for name in [*CONTENT, *CALLS, "protocol_error_job", "test_tool_with_task"]
        ]
        return ListToolsResult(tools=[*ours.tools, *added])

    async def call_tool(self, request: Request, params: CallToolRequestParams) -> CallReply:
        if params.name in CONTENT:
            return CallToolResult(content=[*CONTENT[params.name]])
        if params.name in CALLS:
            return await CALLS[params.name](request, params)
        if params.name == "failing_job" and not tasks.is_declared(request):
            data: dict[str, Any] = {"requiredCapabilities": {"extensions": {tasks.EXTENSION: {}}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this is offered as a task only", data)
        if params.name == "protocol_error_job":
            run_id = NOBODY
            for name in (ASSISTANT, ELSEWHERE):  # the second waits for the first, and fails
                arguments = {"seconds": 1, "label": name}
                run_id = await AssistantTools(self.context, name).start(str(NOBODY), "slow_compute", arguments)
            return await RunCall(self.context, request, str(NOBODY), None).wait(run_id, 0)
        if params.name == "test_tool_with_task":
            asked = await ask_name(request, params)
            if isinstance(asked, InputRequiredResult):
                return asked
            arguments = {"seconds": 1, "label": value(params, "user_name", "name")}
            params = CallToolRequestParams(name="slow_compute", arguments=arguments)
        return await super().call_tool(request, params)

    async def read_resource(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = params.uri
        if uri == "test://static-binary":
            blob = BlobResourceContents(uri=uri, mime_type="image/png", blob=base64.b64encode(b"\x89PNG").decode())
            return ReadResourceResult(contents=[blob])
        if uri == "test://static-text":
            text = "This is the content of the static text resource."
        elif uri.startswith("test://template/"):
            text = json.dumps({"id": uri.split("/")[3], "templateTest": True})
        else:
            return await super().read_resource(request, params)
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=TEXT, text=text)])

    async def get_prompt(
        self, request: Request, params: GetPromptRequestParams
    ) -> GetPromptResult | InputRequiredResult:
        content: list[Content]
        if params.name in PROMPTS:
            try:
                content = PROMPTS[params.name](params.arguments or {})
            except KeyError as error:
                raise MCPError(INVALID_PARAMS, f"{error} is required") from error
        elif params.name == "test_input_required_result_prompt":
            if (context := value(params, "user_context", "context")) is None:
                return needs(user_context=elicit("What context should the prompt use?", "context"))
            content = [text_of(f"Use the following context: {context}")]
        else:
            return await super().get_prompt(request, params)
        return GetPromptResult(messages=[PromptMessage(role="user", content=one) for one in content])


STATES = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="suite")


def build_suite_server(context: McpContext, _: str | None) -> Server[Any]:
    """Our server with these handlers. The states that they hand out are sealed: the suite changes one."""
    server = build_server(context, ASSISTANT, SuiteHandlers)
    server.middleware.append(STATES)
    return server
