"""Anthropic's Messages API for pass-through models. Errors have the shape that its SDKs read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from maas.http.openai import LenientSchema
from maas.http.schemas import Schema

PATH = "/v1/messages"
UNSUPPORTED_HINT = "MaaS serves POST /v1/messages of Anthropic's API, neither batches nor counts of tokens"
_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]


class AnthropicTurn(LenientSchema):
    role: str
    content: str | list[dict[str, Any]]


class MessageRequest(LenientSchema):
    """A request of Anthropic's Messages API; the provider gets all of it, and memory in the last question."""

    model: str = Field(min_length=1, description="A pass-through model, such as `anthropic:claude-sonnet-4-5`.")
    messages: list[AnthropicTurn] = Field(min_length=1)
    stream: bool | None = None
    user: str | None = Field(None, description="The user whose memory is used; not sent to the provider.")
    metadata: dict[str, Any] | None = Field(
        None, description="`user_id` names the user where neither `user`, a header nor the key does."
    )
    maas: dict[str, Any] | None = Field(
        None, description="`memory_tokens`, `conversation_id` and `remember`; not sent to the provider."
    )


class AnthropicMessage(LenientSchema):
    """The provider's message as it wrote it, and what MaaS says of it."""

    type: Literal["message"]
    content: list[dict[str, Any]]
    maas: dict[str, Any]


class AnthropicErrorDetail(Schema):
    type: str = Field(description="invalid_request_error, not_found_error, rate_limit_error, api_error, ...")
    message: str
    code: str = Field(description="What MaaS calls it; not a field of Anthropic's.")


class AnthropicError(Schema):
    type: Literal["error"] = "error"
    error: AnthropicErrorDetail


def in_anthropic_format(handler: Handler) -> Handler:
    """Wrap an error handler so that errors of /v1/messages have Anthropic's shape; what is invalid is 400."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        response = await handler(request, error)
        is_ours = request.url.path == PATH or request.url.path.startswith(f"{PATH}/")
        return _translate(request, response) if is_ours and response.body else response

    return handle


def _translate(request: Request, response: JSONResponse) -> JSONResponse:
    error: dict[str, Any] = json.loads(bytes(response.body))["error"]
    has_route = "route" in request.scope
    message = error["message"] if has_route or response.status_code != 404 else UNSUPPORTED_HINT
    status = 404 if error["code"] == "unknown_assistant" else response.status_code
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return anthropic_error_response(400 if status == 422 else status, error["code"], message, headers)


def anthropic_error_response(status: int, code: str, message: str, headers: Mapping[str, str]) -> JSONResponse:
    """Return an error of this HTTP status."""
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error = AnthropicError(error=AnthropicErrorDetail(type=kind, message=message, code=code))
    return JSONResponse(error.model_dump(), status, headers=dict(headers))
