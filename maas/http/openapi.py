"""OpenAPI 3.1, written from the doors and the pydantic models behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from maas.http.attachments import IMAGES
from maas.http.doors import Door
from maas.http.errors import STATUS
from maas.http.events import EVENT_STREAM
from maas.http.examples import BODIES, TURN, USER
from maas.http.links import links_of
from maas.http.patterns import BLANKLESS, KEY, PLACE, STORABLE
from maas.pipeline.events import EventType

TAGS = {
    "runs": "Requests and their answers: a request is a row, answered in the background.",
    "conversations": "Dialogues; what is said in one is a run that names it.",
    "attachments": "Images of a user.",
    "actions": "Tool calls that wait for a word of their user.",
    "memories": "What is remembered of a user, and the words that it comes from.",
    "context": "Evidence for those who call their own model.",
    "users": "A user as a whole: to take along, bring back, or erase.",
    "chat": "For clients of OpenAI's protocol: an answer that remembers.",
    "models": "For the same clients: the assistants that are there.",
    "caller": "What a key or token may do.",
    "operations": "For those who run this.",
}
REASONS = {
    400: "not understood", 401: "without a valid key or token", 403: "not among the scopes of the key or token",
    404: "not there, or somebody else's", 409: "conflicts with what is there", 413: "too large",
    415: "of another media type", 422: "refused", 429: "too many requests, or unfinished ones", 500: "failed",
    503: "no database, or it is not migrated, or this process has no room", 504: "not answered yet; it goes on",
}  # fmt: skip
ELSEWHERE = ("internal", "http_error")  # codes without a status of their own
UUID, TEXT = {"type": "string", "format": "uuid"}, {"type": "string"}
RETRY_AFTER = {"Retry-After": {"description": "seconds to wait", "schema": {"type": "integer", "minimum": 1}}}
REQUEST_ID = {
    "X-Request-Id": {
        "description": "names this request in the log; as the request named itself, if it did",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
    }
}
CHALLENGE = {"WWW-Authenticate": {"description": "how to show who you are", "schema": {"type": "string"}}}
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "a key of `maas keys create`, or a token (JWT)"},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "a key of `maas keys create`"},
}
REPEATABLE = {
    "name": "Idempotency-Key", "schema": {"type": "string", "pattern": KEY}, "example": "order-4711",
    "description": "the same key and body again give the same run",
}  # fmt: skip
REMEMBER = {
    "name": "X-MaaS-Remember", "schema": {"type": "string", "enum": ["on", "off"]},
    "description": "off: the exchange is answered and logged, and nothing recalls it",
}  # fmt: skip
HEADERS: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {
    ("POST", "/v1/runs"): (REPEATABLE,),
    ("POST", "/v1/chat/completions"): (REPEATABLE, REMEMBER),
    ("GET", "/v1/runs/{id}/events"): ({
        "name": "Last-Event-ID", "example": "1.6.12",
        "schema": {"type": "string", "format": "event-id", "pattern": PLACE},
        "description": "the id of the last event that was read: go on after it",
    },),
    ("GET", "/v1/attachments/{id}/content"): ({
        "name": "If-None-Match", "schema": {"type": "string"}, "description": "the ETag of what the client has",
    },),
}  # fmt: skip
GIVEN_HEADERS: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/chat/completions"): {
        "X-MaaS-Ignored": {
            "description": "what of the request had no effect, where there is anything", "schema": {"type": "string"},
        }
    },
}  # fmt: skip
BESIDE = {
    "get_events": {204: "the run is over, and nothing comes after the event that was named"},
    "get_content": {304: "the client has it"},
}
SECONDS = {  # the years 2 to 9998
    "type": "number", "minimum": -62104060800, "exclusiveMaximum": 253370764800, "description": "since 1970",
}  # fmt: skip
ONE_TURN = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "role": {"enum": ["user", "human", "assistant", "ai"]},
        "content": {"type": "string", "pattern": BLANKLESS},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}, SECONDS]},
        "speaker": {"type": ["string", "integer", "null"], "maxLength": 200},
        "conversation": {"type": ["string", "integer", "null"], "maxLength": 200},
        "external_id": {"type": ["string", "number", "null"], "description": "the same id again is the same turn"},
    },
    "examples": [TURN],
}
JSON = {
    "description": "any JSON without NUL characters",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", "pattern": STORABLE},
        {"type": "array", "items": {"$ref": "#/components/schemas/Json"}},
        {
            "type": "object",
            "propertyNames": {"pattern": STORABLE},
            "additionalProperties": {"$ref": "#/components/schemas/Json"},
        },
    ],
}
ONE_CONVERSATION = {
    "description": "of a ChatGPT export: nodes by id, each with its `message` and its `parent`",
    "type": "object",
    "required": ["mapping"],
    "properties": {"mapping": {"type": "object", "additionalProperties": {"type": "object"}}},
}
IMPORT = {
    "description": "turns, or the conversations of a ChatGPT export",
    "anyOf": [
        {"$ref": "#/components/schemas/ImportedTurn"},
        {"type": "array", "items": {"$ref": "#/components/schemas/ImportedTurn"}},
        {"type": "array", "items": {"$ref": "#/components/schemas/ImportedConversation"}},
    ],
}
SHAPES = {
    EVENT_STREAM: {
        "description": "one event; a comment is sent when nothing else was for 15 s",
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {
            "id": {"type": "string", "pattern": PLACE},
            "event": {"type": "string", "enum": [*EventType, "status", "done", "error"]},
            "data": {"type": "string", "contentMediaType": "application/json"},
        },
    },
    "application/json": {"type": "object"},
}
COMPLETION_STREAM = {
    "description": "one event of OpenAI's protocol; a comment is sent when nothing else was for 15 s",
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string", "description": "a chat.completion.chunk or an error in JSON, or [DONE]"}},
}
OTHER_SHAPES = {("post_chat_completion", EVENT_STREAM): COMPLETION_STREAM}
LINES = {"type": "string", "description": "turns, or an export of ours, an object a line"}


def describe(doors: Sequence[Door], version: str, is_guarded: bool) -> dict[str, Any]:
    """The whole document; `is_guarded`: whoever calls must say who they are."""
    paths: dict[str, dict[str, Any]] = {}
    for door in doors:
        paths.setdefault(door.path, {})[door.method.lower()] = _operation(door, is_guarded and door.scope != "open")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MaaS",
            "version": version,
            "description": "Memory as a service: one row in, one remembered answer out.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {"schemas": _schemas(doors), **({"securitySchemes": SCHEMES} if is_guarded else {})},
    }


def _schemas(doors: Sequence[Door]) -> dict[str, Any]:
    """Of every model, as it is read or as it is written."""
    modes: list[tuple[type[BaseModel], Any]] = [
        *((door.body, "validation") for door in doors if door.body is not None),
        *((model, "serialization") for door in doors for model in (door.reply, door.refusal) if model is not None),
    ]
    modes = sorted(dict.fromkeys(modes), key=lambda one: one[0].__name__)
    _, schemas = models_json_schema(modes, ref_template="#/components/schemas/{model}")
    found: dict[str, Any] = json.loads(json.dumps(schemas["$defs"]).replace('"x-ref"', '"$ref"'))
    for name, example in BODIES.items():
        found[name]["examples"] = [example]
    imported = {"ImportedTurn": ONE_TURN, "ImportedConversation": ONE_CONVERSATION}
    return {**found, **imported, "Error": _error(), "Json": JSON}


def _error() -> dict[str, Any]:
    codes = {"type": "string", "enum": sorted({*STATUS, *ELSEWHERE})}
    inner = {"code": codes, "message": {"type": "string"}, "details": {"type": "object"}}
    error = {"type": "object", "required": ["code", "message"], "properties": inner}
    return {"type": "object", "required": ["error"], "properties": {"error": error}}


def _operation(door: Door, is_guarded: bool) -> dict[str, Any]:
    name = door.handler.__name__
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": (door.handler.__doc__ or "").strip(),
        "tags": [door.path.split("/")[2] if door.path.startswith("/v1/") else "operations"],
        "responses": _responses(door, is_guarded),
    }
    if parameters := _parameters(door, is_guarded):
        operation["parameters"] = parameters
    if door.body is not None or door.takes:
        operation["requestBody"] = {"required": True, "content": _request(door)}
    if is_guarded:
        operation["security"] = [{name: [door.scope]} for name in SCHEMES]
    return operation


def _parameters(door: Door, is_guarded: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": UUID if name == "id" else TEXT}
        for name in re.findall(r"\{(\w+)\}", door.path)
    ]
    for name, (schema, text) in (door.query or {}).items():
        example = {"example": USER} if name == "user_id" else {}
        is_needed = name in door.required and not (is_guarded and name == "user_id")  # a bound caller means its own
        found.append(
            {"name": name, "in": "query", "required": is_needed, "schema": schema, "description": text, **example}
        )
    return found + [{**header, "in": "header"} for header in HEADERS.get((door.method, door.path), ())]


def _request(door: Door) -> dict[str, Any]:
    if door.body is None:
        return {kind: {"schema": IMPORT if kind == "application/json" else LINES} for kind in door.takes}
    content: dict[str, Any] = {"schema": _schema(door.body.__name__)}
    if door.takes:
        content["encoding"] = {"file": {"contentType": ", ".join(IMAGES)}}
    return {kind: content for kind in door.takes or ("application/json",)}


def _responses(door: Door, is_guarded: bool) -> dict[str, Any]:
    done = {"description": "done", **_content(door)}
    if links := links_of(door.handler.__name__):
        done["links"] = links
    if headers := GIVEN_HEADERS.get((door.method, door.path)):
        done["headers"] = headers
    responses: dict[str, dict[str, Any]] = {str(door.status): done}
    for status, text in BESIDE.get(door.handler.__name__, {}).items():
        responses[str(status)] = {"description": text}
    errors = {*door.errors, *_refusals(door, is_guarded)}
    responses |= {str(status): _refusal(door, status) for status in sorted(errors)}
    return {status: reply | {"headers": reply.get("headers", {}) | REQUEST_ID} for status, reply in responses.items()}


def _refusals(door: Door, is_guarded: bool) -> tuple[int, ...]:
    """What no handler says: that the database is lost, or that the caller is not let in."""
    lost = () if door.scope == "open" else (503,)
    takes_user = "user_id" in (door.query or {}) or (door.body is not None and "user_id" in door.body.model_fields)
    return (*lost, *((400, 401, 403, 429, *((404,) if takes_user else ())) if is_guarded else ()))


def _refusal(door: Door, status: int) -> dict[str, Any]:
    codes = ", ".join(f"`{code}`" for code, its in STATUS.items() if its == status)
    shape = door.refusal.__name__ if door.refusal else "Error"
    refusal = {"description": REASONS[status] + (f": {codes}" if codes else ""), "content": _json(shape)}
    headers = {401: CHALLENGE, 429: RETRY_AFTER, 503: RETRY_AFTER}.get(status)
    return refusal | ({"headers": headers} if headers else {})


def _content(door: Door) -> dict[str, Any]:
    given = _json(door.reply.__name__) if door.reply else {}
    if door.gives:
        name = door.handler.__name__
        shapes = {kind: OTHER_SHAPES.get((name, kind)) or SHAPES.get(kind, {"type": "string"}) for kind in door.gives}
        given |= {kind: {"schema": shape} for kind, shape in shapes.items()}
    return {"content": given} if given else {}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _schema(name)}}


def _schema(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
