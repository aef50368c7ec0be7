"""/mem0: the API of mem0's SDKs over memory. Errors have the shape that they read: {"detail", "code"}."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from maas.http.auth import MEM0_PATH
from maas.http.schemas import Schema

UNSUPPORTED_HINT = "MaaS does not serve this part of mem0's API; docs/mem0.md lists what it does"
OTHER_VERSION_HINT = "docs/mem0.md names the versions of mem0's SDKs that MaaS serves"
UNSUPPORTED = (  # by a part of the path; the first one that is there
    (
        "/webhooks/",
        "webhooks of mem0 are not served: POST /v1/webhooks adds one, see docs/webhooks.md",
    ),
    (
        "/organizations/",
        "projects are not served: every user has one memory, and members are keys (maas keys create); custom "
        "instructions and categories have no effect",
    ),
    (
        "/feedback/",
        "feedback is not served: update() corrects a memory, delete() forgets it, and POST /v1/facts/{id}/decide says "
        "that a fact is wrong",
    ),
    (
        "/exports/",
        "exports of mem0 are not served: GET /v1/users/{id}/export has all data of a user",
    ),
)
Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]


class Mem0Error(Schema):
    detail: str = Field(description="What is wrong, and what to do.")
    code: str


def in_mem0_format(handler: Handler) -> Handler:
    """Wrap an error handler so that errors below MEM0_PATH have mem0's shape; what is malformed or invalid is 400."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        response = await handler(request, error)
        return _translate(request, response) if request.url.path.startswith(MEM0_PATH) else response

    return handle


def _translate(request: Request, response: JSONResponse) -> JSONResponse:
    if not response.body:
        return response
    error: dict[str, Any] = json.loads(bytes(response.body))["error"]
    has_route = "route" in request.scope
    detail, code, status = error["message"], error["code"], response.status_code
    if status == 404 and not has_route:
        detail = _unsupported(request.url.path)
    elif status == 404 and _is_malformed(request.path_params.get("id")):
        code, status = "bad_parameter", 400
    elif status == 405:
        detail += f"; {OTHER_VERSION_HINT}"
    status = 400 if status == 422 else status
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return JSONResponse(Mem0Error(detail=detail, code=code).model_dump(), status, headers=headers)


def _is_malformed(memory_id: str | None) -> bool:
    """Whether the id in the path is no UUID, which mem0 answers with 400."""
    try:
        return memory_id is not None and not UUID(memory_id)
    except ValueError:
        return True


def _unsupported(path: str) -> str:
    """What to do instead of a part of mem0's API that is not served."""
    hint = next((text for part, text in UNSUPPORTED if part in path), None)
    return UNSUPPORTED_HINT if hint is None else f"{hint}; docs/mem0.md lists what is served"
