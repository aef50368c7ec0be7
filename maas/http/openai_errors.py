"""Errors as OpenAI's clients know them: {"error": {"message", "type", "param", "code"}}, with their status."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from maas.http.openai_bodies import OpenAIError, Problem

PATHS = ("/v1/chat/", "/v1/models")
_CHAT = "use POST /v1/chat/completions"
INSTEAD = {
    "/v1/responses": f"the Responses API is not spoken here: {_CHAT}, with metadata.conversation_id for a dialogue",
    "/v1/completions": f"prompts without roles are not completed here: {_CHAT}",
    "/v1/embeddings": "embeddings are not given away here: use POST /v1/memories/search or POST /v1/context",
}
Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]
_TYPES = {
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
    "over_budget": "insufficient_quota",
}
_FAILED = {"query_too_long": 400, "cancelled": 409, "over_budget": 429}


def in_dialect(handler: Handler) -> Handler:
    """What `handler` answers, said again for those who came through a door of OpenAI's."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        response = await handler(request, error)
        instead = INSTEAD.get("/".join(request.url.path.split("/")[:3]))
        if instead and response.status_code == 404:
            return refuse(request, 404, problem(404, "unsupported_endpoint", instead), {})
        return _translated(request, response) if request.url.path.startswith(PATHS) else response

    return handle


def problem(status: int, code: str, message: str, param: str | None = None) -> Problem:
    """The error that goes with a status."""
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    return Problem(message=message, type=kind, param=param, code=_CODES.get(code, code))


def failure(code: str | None, message: str | None) -> tuple[int, Problem]:
    """Status and error of a run that FAILED."""
    status = _FAILED.get(code or "", 500)
    return status, problem(status, code or "failed", message or "the run failed")


def refuse(request: Request, status: int, error: Problem, headers: dict[str, str]) -> JSONResponse:
    """An error that the clients' own retries leave alone where they would ask, and be remembered, once more."""
    if status in (409, 500, 504):
        same = status == 504 and "idempotency-key" in request.headers  # who asks again gets the same run
        headers = headers | {"x-should-retry": "true" if same else "false"}
    return JSONResponse(OpenAIError(error=error).model_dump(), status, headers=headers | echo(request))


def echo(request: Request) -> dict[str, str]:
    """The client's own name for its request, if it is one that OpenAI would take."""
    name = request.headers.get("x-client-request-id", "")
    return {"x-client-request-id": name} if name and len(name) <= 512 and name.isascii() and name.isprintable() else {}


def _translated(request: Request, response: JSONResponse) -> JSONResponse:
    found: dict[str, Any] = json.loads(bytes(response.body))["error"]
    code, details = found["code"], found.get("details") or {}
    status = _STATUS.get(code, 400 if response.status_code == 422 else response.status_code)
    param = next(iter(details), None) if code == "invalid_request" else details.get("param")
    headers = {name: text for name, text in response.headers.items() if not name.startswith("content-")}
    return refuse(request, status, problem(status, code, found["message"], param), headers)
