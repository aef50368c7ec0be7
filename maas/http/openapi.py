"""OpenAPI 3.1, written from the doors and the pydantic models behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from maas.http.doors import Door

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "details": {"type": "object"}},
        }
    },
}
REASONS = {
    400: "not understood", 401: "without a valid key or token", 403: "not among the scopes of the key or token",
    404: "not there, or somebody else's", 409: "conflicts with what is there", 413: "too large",
    415: "of another media type", 422: "refused", 429: "too many requests, or unfinished ones", 500: "failed",
    503: "not ready", 504: "not answered yet; it goes on",
}  # fmt: skip
UUID, TEXT = {"type": "string", "format": "uuid"}, {"type": "string"}
RETRY_AFTER = {"Retry-After": {"description": "seconds to wait", "schema": {"type": "integer", "minimum": 1}}}


CHALLENGE = {"WWW-Authenticate": {"description": "how to show who you are", "schema": {"type": "string"}}}
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "a key of `maas keys create`, or a token (JWT)"},
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "a key of `maas keys create`"},
}


def describe(doors: Sequence[Door], version: str) -> dict[str, Any]:
    """The whole document."""
    models = {model for door in doors for model in (door.body, door.reply, door.refusal) if model is not None}
    modes = [(model, "serialization") for model in sorted(models, key=lambda one: one.__name__)]
    _, schemas = models_json_schema(modes, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = {}
    for door in doors:
        paths.setdefault(door.path, {})[door.method.lower()] = _operation(door)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MaaS",
            "version": version,
            "description": "Memory as a service: one row in, one remembered answer out.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": {**schemas.get("$defs", {}), "Error": ERROR}, "securitySchemes": SCHEMES},
    }


def _operation(door: Door) -> dict[str, Any]:
    summary = (door.handler.__doc__ or "").strip()
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": UUID if name == "id" else TEXT}
        for name in re.findall(r"\{(\w+)\}", door.path)
    ]
    parameters += [
        {"name": name, "in": "query", "required": name in door.required, "schema": schema, "description": text}
        for name, (schema, text) in (door.query or {}).items()
    ]
    if door.path in ("/v1/runs", "/v1/chat/completions") and door.method == "POST":
        key = {"type": "string", "minLength": 1, "maxLength": 255}
        text = "the same key and body again give the same run"
        parameters.append({"name": "Idempotency-Key", "in": "header", "schema": key, "description": text})
    operation: dict[str, Any] = {
        "operationId": door.handler.__name__,
        "summary": summary,
        "tags": [door.path.split("/")[2] if door.path.startswith("/v1/") else "operations"],
        "responses": {str(door.status): {"description": "done", **_content(door)}}
        | {str(code): _refusal(door, code) for code in sorted({*door.errors, *_refusals(door)})},
    }
    if door.scope != "open":
        operation["security"] = [{name: [door.scope]} for name in SCHEMES]
    if parameters:
        operation["parameters"] = parameters
    if door.body is not None or door.takes:
        schema = _schema(door.body.__name__) if door.body else {}
        content = {kind: {"schema": schema} for kind in door.takes or ("application/json",)}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _refusals(door: Door) -> tuple[int, ...]:
    """What every door that is not open to all may answer."""
    if door.scope == "open":
        return ()
    takes_user = "user_id" in (door.query or {}) or (door.body is not None and "user_id" in door.body.model_fields)
    return (401, 403, 429, *((400,) if "user_id" in (door.query or {}) else ()), *((404,) if takes_user else ()))


def _refusal(door: Door, code: int) -> dict[str, Any]:
    headers = {401: CHALLENGE, 429: RETRY_AFTER}.get(code)
    shape = door.refusal.__name__ if door.refusal else "Error"
    refusal = {"description": REASONS[code], "content": _json(shape)}
    return refusal | ({"headers": headers} if headers else {})


def _content(door: Door) -> dict[str, Any]:
    given = _json(door.reply.__name__) if door.reply else {}
    if door.gives:
        given[door.gives] = {"schema": {"type": "string"}}
    return {"content": given} if given else {}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _schema(name)}}


def _schema(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
