"""Tool calls that a client makes itself, outside of a dialogue: each is a run of kind `action`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import asyncpg

from maas import queries
from maas.conversations import Mode, queue_full, unknown_assistant
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable


async def list_assistant_tools(db: Database, assistant: str) -> list[queries.AssistantToolsRow]:
    """The tools of an assistant: name, domain, effect, description, parameters, is_idempotent.

    Raises MaasError('unknown_assistant') if it has none and is not active.
    """
    rows = await db.rows(queries.assistant_tools, assistant)
    if not rows and not await db.rows(queries.assistant_definition, assistant):
        raise await unknown_assistant(db, assistant)
    return rows


async def insert_call(
    db: Database,
    user_id: UUID,
    assistant: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    mode: Mode | None,
    account: str | None,
    source: str,
    caller: str,
    key: str | None,
    queue_limit: int | None,
) -> UUID:
    """Insert the run of a call; its answer is what a model would read of the result, as JSON.

    `mode` None stands for that of the assistant. Raises MaasError: `invalid_request`, `unknown_assistant`,
    `queue_full`, `idempotency_conflict` for another call with the same key of this caller.
    """
    if not is_storable(arguments):
        raise MaasError("invalid_request", "arguments: hold NUL, half a surrogate pair or more than 100 levels")
    try:
        row = await db.row(
            queries.insert_call,
            user_id,
            assistant,
            tool,
            dict(arguments),
            mode,
            account,
            source,
            caller,
            key,
            queue_limit,
        )
    except asyncpg.InvalidParameterValueError as error:
        raise MaasError("invalid_request", str(error)) from error
    if row is None:
        raise MaasError("conflict", "the request was erased while it was being repeated; send it again")
    match row["verdict"]:
        case "unknown_assistant":
            raise await unknown_assistant(db, assistant)
        case "queue_full":
            raise queue_full(queue_limit, ": wait for one of the requests")
        case "idempotency_conflict":
            raise MaasError("idempotency_conflict", "this Idempotency-Key was used with another body; take a new key")
    run_id: UUID = row["run_id"]
    return run_id
