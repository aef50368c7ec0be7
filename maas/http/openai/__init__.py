"""Requests, responses and errors of OpenAI's Chat Completions API, as far as MaaS supports them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from maas.http.schemas import Schema, Source, to_source
from maas.memory.health import MemoryState
from maas.runs.answers import AnswerUsage, RunAnswer

OPENAI_PATHS = ("/v1/chat/", "/v1/models", "/v1/responses", "/v1/embeddings")
_USE_CHAT = "use POST /v1/chat/completions"
UNSUPPORTED_ENDPOINTS = {
    "/v1/completions": f"prompts without roles are not supported: {_USE_CHAT}",
}
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
_STATUS = {"unknown_assistant": 404}
_CODES = {
    "unauthenticated": "invalid_api_key",
    "unknown_assistant": "model_not_found",
    "queue_full": "rate_limit_exceeded",
    "query_too_long": "context_length_exceeded",
    "context_exceeded": "context_length_exceeded",
    "rate_limited": "rate_limit_exceeded",
    "filtered": "content_filter",
    "unknown_model": "model_not_found",
    "over_budget": "insufficient_quota",
    "quota_exceeded": "insufficient_quota",
}
_STATUS_OF_FAILED_RUN = {  # those of a provider, as if the client had called it
    "query_too_long": 400,
    "context_exceeded": 400,
    "bad_request": 400,
    "filtered": 400,
    "unauthorized": 401,
    "unknown_model": 404,
    "cancelled": 409,
    "over_budget": 429,
    "rate_limited": 429,
    "provider_error": 503,
    "unreachable": 503,
    "timeout": 504,
    "too_slow": 504,
}
NO_TOOLS = "an assistant calls tools of its own, never those of the client"
Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]


def _only(*values: Any, reason: str) -> Any:
    """A parameter that MaaS cannot honour: any other value than these is refused instead of ignored."""
    return Field(None, description=reason, json_schema_extra={"enum": [None, *values]})


class LenientSchema(Schema):
    """Base of request schemas that accept unknown fields."""

    model_config = ConfigDict(extra="allow")


class ChatMessage(LenientSchema):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = Field(
        None, description="Text, or parts of the types `text` and `image_url` (data: URLs of JPEG, PNG or WebP images)."
    )


class StreamOptions(LenientSchema):
    include_usage: bool | None = None


class ChatRequest(LenientSchema):
    """A chat completion request. Unknown parameters have no effect and are listed in `maas.ignored` of the response."""

    model: str = Field(description="The name of an assistant; GET /v1/models lists them.")
    messages: list[ChatMessage] = Field(
        min_length=1,
        description="The last message, of the user, is the query. System messages are added to the assistant's role "
        "and earlier messages that MaaS has not stored to its memory, for this answer only.",
    )
    user: str | None = Field(
        None, description="The user whose memory is used: any text of 1 to 200 characters, such as an account name."
    )
    safety_identifier: str | None = Field(None, description="Names the user when there is no `user`.")
    metadata: dict[str, Any] | None = Field(
        None,
        description="`conversation_id`: a UUID; a new one opens a conversation. `remember`: on or off, like the "
        "header X-MaaS-Remember.",
    )
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Any = _only(1, reason="there is one answer")
    tool_choice: Any = _only("none", "auto", reason=NO_TOOLS)
    function_call: Any = _only("none", "auto", reason=NO_TOOLS)
    tools: Any = _only([], reason=NO_TOOLS)
    functions: Any = _only([], reason=NO_TOOLS)
    response_format: Any = Field(
        None, description="text, json_object or json_schema: an answer of an assistant is checked, and repaired once."
    )
    modalities: Any = _only(["text"], reason="an answer is text")
    audio: Any = _only(reason="an answer is text")
    logprobs: Any = _only(False, reason="probabilities are unknown")
    top_logprobs: Any = _only(0, reason="probabilities are unknown")
    stop: Any = _only([], reason="an answer is remembered as a whole, so it is never cut")
    web_search_options: Any = _only(reason=NO_TOOLS)


class PromptTokensDetails(Schema):
    cached_tokens: int


class CompletionUsage(Schema):
    """The tokens of all model calls that made the answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails

    @classmethod
    def of(cls, usage: AnswerUsage) -> Self:
        """Return the tokens of an answer, in OpenAI's shape."""
        return cls(
            prompt_tokens=usage.tokens_in,
            completion_tokens=usage.tokens_out,
            total_tokens=usage.tokens_in + usage.tokens_out,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=usage.tokens_cached),
        )


class PendingAction(Schema):
    """A tool call that waits for the user's approval."""

    id: UUID = Field(description="The id for POST /v1/actions/{id}/approve or /reject.")
    tool: str
    arguments: dict[str, Any]
    fingerprint: str = Field(description="Send it with the decision.")
    expires_at: datetime


class MaasExtension(Schema):
    """What MaaS adds to a chat completion."""

    request_id: UUID = Field(description="The id of the run: GET /v1/runs/{id}.")
    conversation_id: UUID | None
    sources: list[Source] = Field(description="The memories that were used as evidence for the answer.")
    usage_is_estimated: bool = Field(description="Whether MaaS counted the tokens because no model reported them.")
    ignored: list[str] = Field(
        description="Parameters of the request that had no effect, as in the header X-MaaS-Ignored."
    )
    degraded: list[str] = Field(description="Stages that used the built-in rules because their model did not answer.")
    limited: Literal["budget", "stopped"] | None = Field(
        description="budget: the user's daily budget was spent, so rules did what models would have done. "
        "stopped: the run was cancelled while its answer was being written, and this is what there was."
    )
    memory: MemoryState = Field(description="Whether the memory behind the answer was complete.")
    memory_reasons: list[str] = Field(description="Why it was not: codes such as embedder_unavailable.")
    actions: list[PendingAction] = Field(description="Tool calls of the assistant that wait for the user's approval.")

    @classmethod
    def of(cls, completion: RunAnswer, ignored: Sequence[str]) -> Self:
        """Return what OpenAI's shape has no place for; `ignored` are parameters without effect."""
        return cls(
            request_id=completion.run_id,
            conversation_id=completion.conversation_id,
            sources=[to_source(one) for one in completion.sources],
            usage_is_estimated=completion.usage.is_estimated,
            ignored=list(ignored),
            degraded=list(completion.degraded),
            limited=completion.limited,
            memory=completion.memory,
            memory_reasons=list(completion.memory_reasons),
            actions=[PendingAction(**action) for action in completion.actions],
        )


class FunctionCall(Schema):
    name: str
    arguments: str = Field(description="JSON that fits the schema of the tool.")


class DemandedCall(Schema):
    """A call of the tool that the request demands."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatAnswer(Schema):
    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: None = None


class DemandedAnswer(ChatAnswer):
    tool_calls: list[DemandedCall]


class Choice(Schema):
    index: Literal[0] = 0
    message: DemandedAnswer | ChatAnswer
    finish_reason: Literal["stop", "length", "tool_calls"]
    logprobs: None = None


class ChatCompletion(Schema):
    id: str = Field(description="`chatcmpl-` and the id of the run.")
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage
    maas: MaasExtension


class ModelInfo(Schema):
    """An assistant, or a model of a provider that is passed through, as a model of OpenAI's API."""

    id: str = Field(description="The name of the assistant or of the model.")
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["maas", "provider"] = "maas"


class InactiveModel(Schema):
    """An assistant that cannot be used."""

    id: str = Field(description="The name of the assistant.")
    reason: str = Field(description="What is not configured.")


class ModelList(Schema):
    object: Literal["list"] = "list"
    data: list[ModelInfo]
    inactive: list[InactiveModel] = Field(
        description="Built-in assistants that cannot be used, because something is not configured."
    )


class OpenAIErrorDetail(Schema):
    message: str
    type: str = Field(description="invalid_request_error, not_found_error, rate_limit_error, server_error, ...")
    param: str | None = None
    code: str | None = None


class OpenAIError(Schema):
    error: OpenAIErrorDetail


def in_openai_format(handler: Handler) -> Handler:
    """Wrap an error handler so that errors of OpenAI's endpoints have OpenAI's shape."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        response = await handler(request, error)
        hint = UNSUPPORTED_ENDPOINTS.get("/".join(request.url.path.split("/")[:3]))
        if hint and response.status_code == 404:
            return openai_error_response(request, 404, error_detail(404, "unsupported_endpoint", hint), {})
        return _translate(request, response) if request.url.path.startswith(OPENAI_PATHS) else response

    return handle


def error_detail(status: int, code: str, message: str, param: str | None = None) -> OpenAIErrorDetail:
    """Return the body of an error of this HTTP status; MaaS codes become OpenAI's where there is one."""
    kind = "server_error" if status >= 500 else _ERROR_TYPES.get(status, "invalid_request_error")
    return OpenAIErrorDetail(message=message, type=kind, param=param, code=_CODES.get(code, code))


def error_of_failed_run(code: str | None, message: str | None) -> tuple[int, OpenAIErrorDetail]:
    """Return the HTTP status and the error of a run that FAILED."""
    status = _STATUS_OF_FAILED_RUN.get(code or "", 500)
    return status, error_detail(status, code or "failed", message or "the run failed")


def openai_error_response(
    request: Request, status: int, error: OpenAIErrorDetail, headers: dict[str, str]
) -> JSONResponse:
    """Return an error; `x-should-retry` stops the SDK's own retries where each would insert and remember a new run."""
    if "x-should-retry" not in headers and status in (409, 500, 504):
        is_same_run = status == 504 and "idempotency-key" in request.headers  # a retry with a key gets the same run
        headers = headers | {"x-should-retry": "true" if is_same_run else "false"}
    return JSONResponse(OpenAIError(error=error).model_dump(), status, headers=headers | client_request_id(request))


def client_request_id(request: Request) -> dict[str, str]:
    """Return the header with the client's own request id, if OpenAI would accept it."""
    name = request.headers.get("x-client-request-id", "")
    return {"x-client-request-id": name} if name and len(name) <= 512 and name.isascii() and name.isprintable() else {}


def _translate(request: Request, response: JSONResponse) -> JSONResponse:
    error: dict[str, Any] = json.loads(bytes(response.body))["error"]
    code, details = error["code"], error.get("details") or {}
    status = _STATUS.get(code, 400 if response.status_code == 422 else response.status_code)
    param = next(iter(details), None) if code == "invalid_request" else details.get("param")
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return openai_error_response(request, status, error_detail(status, code, error["message"], param), headers)
