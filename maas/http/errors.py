"""Errors as responses of one shape: {"error": {"code", "message", "details"?}}, never with a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from maas import queries
from maas.http.anthropic import in_anthropic_format
from maas.http.mem0 import in_mem0_format
from maas.http.oauth import in_oauth_format
from maas.http.openai import in_openai_format
from maas.http.sign_in import in_sign_in_format
from maas.http.state import app_state
from maas.plugins import sql_folders
from shared.db import CONNECTION_LOST, UNDEFINED_IN_SCHEMA, read_only
from shared.errors import MaasError
from shared.query import SQL
from shared.schema_files import fingerprint

STATUS = {
    "invalid_json": 400,
    "bad_parameter": 400,
    "unsupported_parameter": 400,
    "user_required": 400,
    "query_too_long": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "quota_exceeded": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "idempotency_conflict": 409,
    "conflict": 409,
    "cancelled": 409,
    "already_finished": 409,
    "not_failed": 409,
    "in_use": 409,
    "links_off": 409,
    "already_decided": 409,
    "expired": 409,
    "changed": 409,
    "not_offered": 409,
    "not_replayable": 409,
    "not_executed": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid_request": 422,
    "unknown_assistant": 422,
    "bad_import": 422,
    "bad_image": 422,
    "bad_user": 422,
    "queue_full": 429,
    "over_budget": 429,
    "rate_limited": 429,
    "share_used": 429,
    "run_failed": 500,
    "busy": 503,
    "statement_timeout": 503,
    "unconfirmed": 503,
    "database_unreachable": 503,
    "database_read_only": 503,
    "commit_timeout": 503,
    "no_schema": 503,
    "answer_timeout": 504,
}
CODES_OF_FAILED_RUNS = ("query_too_long", "cancelled", "over_budget")
log = structlog.get_logger()


def error_response(error: MaasError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the response of a MaasError: the status of its code, or 500 for a code that is not in STATUS."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        body["details"] = dict(error.details)
    return JSONResponse({"error": body}, STATUS.get(error.code, 500), headers=dict(headers or {}))


def headers_of(error: MaasError) -> dict[str, str]:
    """Return the headers of an error: how to authenticate, how many seconds to wait."""
    if error.code == "unauthenticated":
        return {"WWW-Authenticate": 'Bearer realm="maas"'}
    if error.code == "timeout":
        return {"Connection": "close"}  # the rest of the body may still arrive
    seconds = (error.details or {}).get("retry_after")
    return {"Retry-After": str(seconds)} if seconds else {}


def error_of_failed_run(run_id: UUID, code: str | None, message: str | None) -> MaasError:
    """The error of a run that FAILED, for a client that waited for it."""
    known = code if code in CODES_OF_FAILED_RUNS else "run_failed"
    return MaasError(known, f"{message or 'the run failed'} (run {run_id})", {"runId": str(run_id), "error_code": code})


async def on_maas_error(_: Request, error: Exception) -> JSONResponse:
    """Answer with the code, the message and the status of the error."""
    assert isinstance(error, MaasError)
    return error_response(error, headers_of(error))


async def on_http_exception(request: Request, error: Exception) -> JSONResponse:
    """Answer for Starlette: a path without a route, or a method that its route does not have."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        message = f"{request.method} is not allowed on {request.url.path}"
        return error_response(MaasError("method_not_allowed", message), error.headers)
    if error.status_code == 404:
        return error_response(MaasError("not_found", f"there is nothing at {request.url.path}; see /docs"))
    return JSONResponse({"error": {"code": "http_error", "message": error.detail}}, error.status_code)


async def on_connection_lost(_: Request, error: Exception) -> JSONResponse:
    """Answer 503 with `Retry-After` while Postgres is unavailable."""
    log.warning("database_lost", cause=repr(error))
    lost = MaasError("database_unreachable", "Postgres does not answer at the moment; send the request again")
    return error_response(lost, {"Retry-After": "1"})


async def on_read_only(_: Request, error: Exception) -> JSONResponse:
    """Answer 503 with `Retry-After` while the database accepts no changes."""
    log.warning("database_read_only", cause=repr(error))
    return error_response(read_only(), headers_of(read_only()))


@cache
def schema_fingerprint() -> str:
    """The hash of all files that a migrated database records; an argument of the query `is_migrated_to`."""
    return fingerprint(SQL, sql_folders())


async def on_missing_relation(request: Request, error: Exception) -> JSONResponse:
    """A table or function does not exist: the server runs on a database that is not migrated, or there is a bug."""
    db = app_state(request).db
    if not await db.value(queries.schema_is_there):
        cause = "the database holds no MaaS schema"
    elif not await db.value(queries.is_migrated_to, schema_fingerprint(), [*sql_folders()]):
        cause = "the database holds the schema of an earlier version"
    else:
        raise error
    return error_response(MaasError("no_schema", f"{cause}; run `maas migrate`"), {"Retry-After": "5"})


async def on_client_disconnect(_: Request, error: Exception) -> Response:
    """The client closed the connection while it sent its body; only the metrics see this response."""
    return Response(status_code=400)


async def on_bug(request: Request, error: Exception) -> JSONResponse:
    """Answer 500 for an exception that nobody expected, and log it with its traceback."""
    log.error("request_crashed", path=request.url.path, exc_info=error)
    body = {"error": {"code": "internal", "message": "an internal error; the log has the details"}}
    return JSONResponse(body, 500, headers={"Connection": "close"})  # uvicorn closes it after an exception


_HANDLERS: dict[Any, Any] = {
    MaasError: on_maas_error,
    HTTPException: on_http_exception,
    **{kind: on_connection_lost for kind in CONNECTION_LOST},
    asyncpg.ReadOnlySQLTransactionError: on_read_only,
    **{kind: on_missing_relation for kind in UNDEFINED_IN_SCHEMA},
    Exception: on_bug,
}
HANDLERS = {
    kind: in_anthropic_format(in_mem0_format(in_sign_in_format(in_oauth_format(in_openai_format(handler)))))
    for kind, handler in _HANDLERS.items()
} | {ClientDisconnect: on_client_disconnect}
