"""The OpenAPI 3.1 document, generated from the routes and their pydantic schemas."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from maas.engine.events import event_types
from maas.http import knowledge
from maas.http.attachments import FORM_TYPE, IMAGE_TYPES
from maas.http.errors import STATUS
from maas.http.examples import EXAMPLE_USER, request_examples
from maas.http.oauth import OAUTH_PATH, STATUS_OF_OAUTH_CODE, OAuthError
from maas.http.openapi_events import JSON_VALUE, OTHER_RESPONSES, RUN_EVENT
from maas.http.openapi_links import links_of
from maas.http.request_input import IDEMPOTENCY_KEY_PATTERN
from maas.http.route import Route
from maas.http.server_sent_events import EVENT_ID_PATTERN
from maas.http.sign_in import STATUS_OF_CODE, AuthError
from maas.http.users import IMPORT_COMPONENTS, IMPORT_SCHEMAS
from maas.plugins import tags_of_plugins
from maas.runs.user_events import USER_CURSOR_PATTERN

TAGS = {
    "runs": "Requests and their answers. A request is one row, which is answered in the background.",
    "conversations": "Dialogues of a user. A message in a dialogue is a run that names it.",
    "apps": "Apps that a user has connected: clients of MCP that sign in by OAuth (MAAS_AUTH=local).",
    "oauth": "OAuth 2.1 for these apps, in the shapes of RFC 6749, 7009 and 7591.",
    "links": "Links by which anybody may read a conversation.",
    "shared": "What anybody may read by such a link.",
    "attachments": "Images of a user.",
    "actions": "Tool calls that wait for the decision of their user.",
    "assistants": "The assistants that requests may name.",
    "tools": "The tools of an assistant.",
    "tool_calls": "Calls of tools that a client makes itself.",
    "facts": "What is true of a user, and what a person decides about it.",
    "memories": "What is remembered about a user, and the messages that it was made of.",
    "knowledge": "Documents of a user, and what is found in them.",
    "context": "Evidence for clients that call their own model.",
    "webhooks": "Where events of a user are sent, and what came of each.",
    "schedules": "Requests of a user that are sent by the clock.",
    "users": "Users by external id, and the export, import and erasure of all data of one user.",
    "chat": "OpenAI's Chat Completions API, with memory.",
    "responses": "OpenAI's Responses API, with memory.",
    "embeddings": "OpenAI's embeddings.",
    "messages": "Anthropic's Messages API to pass-through models, with memory.",
    "ui": "The stream that useChat of the AI SDK reads, with memory.",
    "a2a": "Assistants as agents of A2A 1.0 (MAAS_A2A), with memory.",
    "ag-ui": "Assistants as agents of AG-UI 1.0, with memory.",
    "mem0": "The API of mem0's SDKs: their base URL is /mem0.",
    "models": "The assistants, as models of OpenAI's API.",
    "admin": "What administrators of all users see and change.",
    "caller": "The rights of a key or token.",
    "auth": "Sign-in with email and password (MAAS_AUTH=local), in the shapes of GoTrue, the auth server of Supabase.",
    "operations": "Health, metrics and documentation of this server.",
}
ERROR_DESCRIPTIONS = {
    400: "The request is malformed",
    401: "The request has no valid key or token",
    403: "The key or token lacks the scope",
    404: "The resource does not exist, or belongs to another user",
    409: "The request conflicts with the current state",
    413: "The body is too large",
    415: "The body has an unsupported media type",
    422: "The body is invalid",
    429: "There are too many requests, requests in progress, or unfinished runs",
    500: "The run failed",
    503: "The database does not answer or is not migrated, or this process is at capacity",
    504: "There is no answer yet; the run continues",
}
_STATUSES: dict[type[BaseModel] | None, dict[str, int]] = {AuthError: STATUS_OF_CODE, OAuthError: STATUS_OF_OAUTH_CODE}
CODES_WITHOUT_STATUS = ("internal", "http_error")
UUID_SCHEMA, TEXT_SCHEMA = {"type": "string", "format": "uuid"}, {"type": "string"}
ASSISTANT_SCHEMA = {"type": "string", "format": "assistant"}
RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}}
REQUEST_ID = {
    "X-Request-Id": {
        "description": "The id of this request in the log: the client's own, if it sent one.",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
    }
}
CHALLENGE = {"WWW-Authenticate": {"description": "How to authenticate.", "schema": TEXT_SCHEMA}}
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key of `maas keys create`, or a token (JWT)."},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "A key of `maas keys create`."},
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "schema": {"type": "string", "pattern": IDEMPOTENCY_KEY_PATTERN},
    "example": "order-4711",
    "description": "A repeated key with the same body returns the same run.",
}
PATH_PARAMETERS = {
    "model": "The name of an assistant.",
    "chat": "The `id` of a chat of useChat.",
    "role": "The role of a prompt.",
    "key": "The id of a key.",
    "set": "The name of a set.",
    "list": "runs or users.",
    "filter": "The name of filters.",
    "limit": "The name of a quota or a rate, as user_images.",
    "entity_type": "user: nothing else can be deleted.",
    "entity": "The name of a user.",
    "document": "The id of a document of everybody's.",
}
REMEMBER = {
    "name": "X-MaaS-Remember",
    "schema": {"type": "string", "enum": ["on", "off"]},
    "description": "off: the exchange is answered and logged, but never recalled.",
}
IGNORE = {
    "name": "X-MaaS-Ignore",
    "example": "tools, images",
    "schema": {"type": "string", "pattern": r"^\s*((tools|images)\s*(,\s*(tools|images)\s*)*)?$"},
    "description": "What the client agrees to have left out where the assistant cannot use it.",
}
REQUEST_HEADERS: dict[str, tuple[dict[str, Any], ...]] = {
    "post_run": (IDEMPOTENCY_KEY,),
    "post_chat_completion": (IDEMPOTENCY_KEY, REMEMBER, IGNORE),
    "post_a2a": (
        {
            "name": "A2A-Version",
            "example": "1.0",
            "schema": TEXT_SCHEMA,
            "description": "1.0; without it the call is one of 0.3, which is refused.",
        },
    ),
    "get_events": (
        {
            "name": "Last-Event-ID",
            "example": "1.6.12",
            "schema": {"type": "string", "format": "event-id", "pattern": EVENT_ID_PATTERN},
            "description": "The id of the last event that was read; the stream resumes after it.",
        },
    ),
    "get_user_events": (
        {
            "name": "Last-Event-ID",
            "example": "4711",
            "schema": {"type": "string", "format": "user-event-id", "pattern": USER_CURSOR_PATTERN},
            "description": "The id of the last event that was read; the stream resumes after it.",
        },
    ),
    "get_content": (
        {"name": "If-None-Match", "schema": TEXT_SCHEMA, "description": "The ETag of the image that the client has."},
    ),
}
RESPONSE_HEADERS: dict[str, dict[str, Any]] = {
    "post_chat_completion": {
        "X-MaaS-Ignored": {"description": "Parameters that had no effect, if there are any.", "schema": TEXT_SCHEMA},
        "X-MaaS-Memory": {
            "description": "ok, degraded or unavailable, then the reasons; not in a stream, whose last chunk has them.",
            "schema": TEXT_SCHEMA,
        },
    },
}
UI_HEADER = {"X-Vercel-AI-UI-Message-Stream": {"description": "v1", "schema": TEXT_SCHEMA}}
RESPONSE_HEADERS |= {"post_ui_chat": UI_HEADER, "get_ui_stream": UI_HEADER}
IGNORED_HEADER = {"X-MaaS-Ignored": RESPONSE_HEADERS["post_chat_completion"]["X-MaaS-Ignored"]}
RESPONSE_HEADERS |= dict.fromkeys(
    ("post_mem0_memories", "post_mem0_search", "post_mem0_list", "put_mem0_memory", "put_mem0_batch"), IGNORED_HEADER
)
OTHER_STATUSES = {
    "get_events": {204: "The run is finished and has no event after the given one."},
    "get_ui_stream": {204: "The chat waits for no answer."},
    "get_content": {304: "The client has the current image."},
}


def describe(routes: Sequence[Route], version: str, is_authenticated: bool) -> dict[str, Any]:
    """Return the whole document; with `is_authenticated` every route but the open ones needs a credential."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operation = _operation(route, is_authenticated and route.scope != "open")
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    security = {"securitySchemes": SECURITY_SCHEMES} if is_authenticated else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MaaS",
            "version": version,
            "description": "Memory as a service: one row in, one remembered answer out.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in (TAGS | tags_of_plugins()).items()],
        "paths": paths,
        "components": {"schemas": _component_schemas(routes), **security},
    }


def _component_schemas(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the JSON schemas of all models: request bodies as they are validated, responses as they are written."""
    modes: list[tuple[type[BaseModel], Any]] = [
        *((route.body, "validation") for route in routes if route.body is not None),
        *(
            (model, "serialization")
            for route in routes
            for model in (route.response, route.accepted, route.error_schema)
            if model is not None
        ),
    ]
    modes = sorted(dict.fromkeys(modes), key=lambda mode: mode[0].__name__)
    _, document = models_json_schema(modes, ref_template="#/components/schemas/{model}")
    schemas: dict[str, Any] = json.loads(json.dumps(document["$defs"]).replace('"x-ref"', '"$ref"'))
    for name, example in request_examples(routes).items():
        schemas[name]["examples"] = [example]
    return {**schemas, **IMPORT_COMPONENTS, "Error": _error_schema(), "Json": JSON_VALUE}


def _error_schema() -> dict[str, Any]:
    codes = {"type": "string", "enum": sorted({*STATUS, *CODES_WITHOUT_STATUS})}
    inner = {"code": codes, "message": {"type": "string"}, "details": {"type": "object"}}
    error = {"type": "object", "required": ["code", "message"], "properties": inner}
    return {"type": "object", "required": ["error"], "properties": {"error": error}}


def _operation(route: Route, is_authenticated: bool) -> dict[str, Any]:
    summary, _, description = inspect.cleandoc(route.handler.__doc__ or "").partition("\n\n")
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "summary": summary,
        "tags": [_tag(route.path)],
        "responses": _responses(route, is_authenticated),
    }
    if description:
        operation["description"] = description
    if parameters := _parameters(route, is_authenticated):
        operation["parameters"] = parameters
    if route.body is not None or route.request_types:
        operation["requestBody"] = {"required": True, "content": _request_content(route)}
    if is_authenticated:
        operation["security"] = [{name: [route.scope]} for name in SECURITY_SCHEMES]
    return operation


def _tag(path: str) -> str:
    if path.startswith("/auth/"):
        return "auth"
    if path.startswith(OAUTH_PATH):
        return "oauth"
    if path.startswith("/mem0/"):
        return "mem0"
    return path.split("/")[2] if path.startswith(("/v1/", "/api/")) else "operations"


def _parameters(route: Route, is_authenticated: bool) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": UUID_SCHEMA if name == "id" else ASSISTANT_SCHEMA if name == "model" else TEXT_SCHEMA,
            "description": f"The id of the {route.resource}." if name == "id" else PATH_PARAMETERS[name],
        }
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    for name, (schema, text) in (route.query or {}).items():
        example = {"example": EXAMPLE_USER} if name == "user_id" and not route.names_users else {}
        has_default = is_authenticated and name == "user_id"  # the user that the principal is bound to
        parameters.append(
            {
                "name": name,
                "in": "query",
                "required": name in route.required and not has_default,
                "schema": schema,
                "description": text,
                **example,
            }
        )
    headers = (*REQUEST_HEADERS.get(route.handler.__name__, ()), *route.headers)
    return parameters + [{**header, "in": "header"} for header in headers]


def _request_content(route: Route) -> dict[str, Any]:
    if route.body is None:
        return {media_type: {"schema": IMPORT_SCHEMAS[media_type]} for media_type in route.request_types}
    content: dict[str, Any] = {"schema": _reference(route.body.__name__)}
    if FORM_TYPE in route.request_types:
        file_types = knowledge.DOCUMENT_TYPES if route.handler in knowledge.UPLOADS else IMAGE_TYPES
        content["encoding"] = {"file": {"contentType": ", ".join(file_types)}}
    return {media_type: content for media_type in route.request_types or ("application/json",)}


def _responses(route: Route, is_authenticated: bool) -> dict[str, Any]:
    name = route.handler.__name__
    success: dict[str, Any] = {"description": "Success.", **_response_content(route)}
    if links := links_of(name):
        success["links"] = links
    if headers := RESPONSE_HEADERS.get(name):
        success["headers"] = headers
    responses: dict[str, dict[str, Any]] = {str(route.status): success}
    if route.accepted is not None:
        content = _json_content(route.accepted.__name__)
        responses["202"] = {"description": "It takes longer than wait and continues.", "content": content}
    for status, text in OTHER_STATUSES.get(name, {}).items():
        responses[str(status)] = {"description": text}
    errors = {*route.errors, *_common_errors(route, is_authenticated)}
    responses |= {str(status): _error_response(route, status) for status in sorted(errors)}
    return {status: one | {"headers": one.get("headers", {}) | REQUEST_ID} for status, one in responses.items()}


def _common_errors(route: Route, is_authenticated: bool) -> tuple[int, ...]:
    """Return the statuses that no handler raises: a lost database, a refused principal."""
    lost = () if route.scope == "open" else (503,)
    takes_user = "user_id" in (route.query or {}) or (route.body is not None and "user_id" in route.body.model_fields)
    return (*lost, *((400, 401, 403, 429, *((404,) if takes_user else ())) if is_authenticated else ()))


def _error_response(route: Route, status: int) -> dict[str, Any]:
    statuses = _STATUSES.get(route.error_schema, STATUS)
    codes = ", ".join(f"`{code}`" for code, code_status in statuses.items() if code_status == status)
    schema = route.error_schema.__name__ if route.error_schema else "Error"
    description = ERROR_DESCRIPTIONS[status] + (f": {codes}." if codes else ".")
    headers = {401: CHALLENGE, 429: RETRY_AFTER, 503: RETRY_AFTER}.get(status)
    return {"description": description, "content": _json_content(schema)} | ({"headers": headers} if headers else {})


def _response_content(route: Route) -> dict[str, Any]:
    content = _json_content(route.response.__name__) if route.response else {}
    for media_type in route.response_types:
        content[media_type] = {"schema": route.event or _other_schema(route.handler.__name__, media_type)}
    return {"content": content} if content else {}


def _other_schema(operation: str, media_type: str) -> dict[str, Any]:
    """Return the schema of a response that is no JSON of a model; plugins that are on add types of events."""
    schema = OTHER_RESPONSES.get((operation, media_type), TEXT_SCHEMA)
    if schema is not RUN_EVENT:
        return schema
    kinds = {"type": "string", "enum": [*event_types(), "status", "done", "error"]}
    return {**schema, "properties": {**RUN_EVENT["properties"], "event": kinds}}


def _json_content(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _reference(name)}}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
