"""Actions that wait for their user: list, edit, approve and reject tool calls, press buttons of a run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Literal
from uuid import UUID

import asyncpg

from maas import queries
from maas.conversations import queue_full
from shared.db import Database
from shared.errors import MaasError
from shared.text import shorten
from shared.transaction import Transaction

Decision = Literal["approve", "reject"]
Schema = Mapping[str, Any]
ArgumentPath = tuple[int | str, ...]
_KEYWORDS = ("type", "items", "enum", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "anyOf")
_MAX_PROBLEM_CHARS = 200
EXPIRY_INTERVAL_S = 60.0


class ActionStatus(StrEnum):
    """The status of an action; the SQL has the same values."""

    PENDING = "pending"  # -> approved, rejected, expired
    APPROVED = "approved"  # -> executing
    REJECTED = "rejected"
    EXPIRED = "expired"
    EXECUTING = "executing"  # -> done, failed, in_doubt
    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


async def list_actions(
    db: Database,
    user_id: UUID,
    *,
    status: ActionStatus | None = None,
    conversation_id: UUID | None = None,
    run_id: UUID | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[queries.ActionRow]:
    """Actions, newest first; with `run_id`, the plan of that run: all of its actions, in the order of its calls."""
    wanted = str(status) if status else None
    if run_id is not None:
        return await db.rows(queries.plan, user_id, run_id, wanted, conversation_id)
    return await db.rows(queries.list_actions, user_id, wanted, conversation_id, *(before or (None, None)), limit)


async def read_action(db: Database | Transaction, action_id: UUID, user_id: UUID | None = None) -> queries.ActionRow:
    """The action as it is now. Raises MaasError('not_found'), also for an action of another user."""
    row = await db.row(queries.action, action_id, user_id)
    if row is None:
        raise not_found(action_id)
    return row


async def decide_action(
    db: Database | Transaction,
    action_id: UUID,
    user_id: UUID,
    decision: Decision,
    by: str,
    queue_limit: int | None = None,
    fingerprint: str | None = None,
) -> queries.ActionRow:
    """Approve or reject an action, once; returns it, with the run that executes an approved one.

    `fingerprint` is that of the action as it was shown. Raises MaasError: `not_found`, `already_decided` and `expired`
    with the present `status`, `changed` when it is not what was shown any more, `queue_full`, or `unknown_assistant`
    when the assistant that proposed it is not active any more.
    """
    try:
        row = await db.row(queries.decide_action, action_id, user_id, decision, by, queue_limit, fingerprint)
    except asyncpg.ForeignKeyViolationError as error:
        raise MaasError("unknown_assistant", str(error)) from error
    assert row is not None
    if row["verdict"] == "queue_full":
        raise queue_full(queue_limit, ": nothing was decided; wait for one and send this again")
    _refuse(row["verdict"], row["status"], action_id)
    return await read_action(db, action_id, user_id)


async def decide_actions(
    db: Database,
    actions: Sequence[tuple[UUID, str]],
    user_id: UUID,
    decision: Decision,
    by: str,
    queue_limit: int | None = None,
) -> list[queries.ActionRow]:
    """Approve or reject actions, each as its fingerprint says it was shown: all of them, or none.

    Raises MaasError as decide_action does; the message names the action that cannot be decided.
    """
    rows = {}
    async with db.transaction() as transaction:
        for action_id, fingerprint in sorted(actions):  # in one order, so that two decisions wait for each other
            try:
                row = await decide_action(transaction, action_id, user_id, decision, by, queue_limit, fingerprint)
            except MaasError as error:
                raise MaasError(
                    error.code, error.message, {**(error.details or {}), "action_id": str(action_id)}
                ) from error
            rows[action_id] = row
    return [rows[action_id] for action_id, _ in actions]


async def keep_expiring(db: Database) -> None:
    """End, until cancelled, the actions that nobody decided in time."""
    while True:
        await db.value(queries.expire_actions)
        await asyncio.sleep(EXPIRY_INTERVAL_S * (0.5 + random.random()))


async def edit_action(
    db: Database, action_id: UUID, user_id: UUID, arguments: dict[str, Any], queue_limit: int | None = None
) -> UUID | None:
    """Replace the arguments of a pending action; returns None, or the run that looks them up first and then does so.

    Raises MaasError: `invalid_request` for arguments that the tool refuses, `conflict` when the tool has changed since
    it was proposed, `not_found`, `already_decided`, `expired` and `queue_full`.
    """
    action = await read_action(db, action_id, user_id)
    if action["status"] == ActionStatus.PENDING:
        tool = await db.row(queries.tool_parameters, action["tool"])
        if tool is None or tool["version"] != action["tool_version"]:
            raise MaasError("conflict", f"{action['tool']} has changed since it was proposed: reject it and ask again")
        check_arguments(arguments, tool["parameters"])
    row = await db.row(queries.edit_action, action_id, user_id, arguments, queue_limit)
    assert row is not None
    if row["verdict"] == "queue_full":
        raise queue_full(queue_limit, ": nothing was changed; wait for one and send this again")
    _refuse(row["verdict"], row["status"], action_id)
    run_id: UUID | None = row["run_id"]
    return run_id


def _refuse(verdict: str, status: str | None, action_id: UUID) -> None:
    match verdict:
        case "not_found":
            raise not_found(action_id)
        case "expired":
            message = f"action {action_id} has expired; ask for it again"
            raise MaasError("expired", message, {"status": status})
        case "changed":
            message = f"action {action_id} is not what was shown: look at it again, then decide on its fingerprint"
            raise MaasError("changed", message, {"status": status})
        case "withdrawn":
            message = f"action {action_id} was withdrawn: its question was asked again, see what the new run proposes"
            raise MaasError("already_decided", message, {"status": status})
        case "already_decided":
            raise MaasError("already_decided", f"action {action_id} is {status} already", {"status": status})


def not_found(action_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no action {action_id} of this user")


async def press_button(db: Database, run_id: UUID, user_id: UUID, button: str, queue_limit: int | None = None) -> UUID:
    """Press a button that a run offered; returns the run that executes it, the same one for a second press.

    Raises MaasError: `not_found`, `not_offered`, `queue_full`.
    """
    row = await db.row(queries.press_button, run_id, user_id, button, queue_limit)
    assert row is not None
    match row["verdict"]:
        case "not_found":
            raise MaasError("not_found", f"there is no run {run_id} of this user")
        case "not_offered":
            raise MaasError("not_offered", f"run {run_id} offers no button {button!r}: press one of its `buttons`")
        case "queue_full":
            raise queue_full(queue_limit, ": wait for one and press again")
    started: UUID = row["run_id"]
    return started


async def find_pressed_button(db: Database, run_id: UUID) -> str | None:
    """The button that started a run of kind `action`; None for an approved action."""
    button: str | None = await db.value(queries.pressed_button, run_id)
    return button


def check_arguments(arguments: Mapping[str, Any], schema: Schema) -> None:
    """Check edited arguments against the schema of a tool; nothing is coerced or dropped.

    The tool's own model checks them again when it is executed. Raises MaasError('invalid_request') with a message for
    each argument.
    """
    problems = {
        ".".join(map(str, ("arguments", *path))): message for path, message in argument_problems(arguments, schema)
    }
    if problems:
        name, message = next(iter(problems.items()))
        raise MaasError("invalid_request", f"{name}: {message}", problems)


def argument_problems(value: Any, schema: Schema) -> list[tuple[ArgumentPath, str]]:
    """The path and a message for each error in arguments. Null means an absent argument; unknown ones are errors.

    `pattern` is not checked: a regular expression of an MCP server could block the process, and the server checks it.
    """
    errors = _validator()(schema).iter_errors(value)
    return [(tuple(error.absolute_path), shorten(error.message, _MAX_PROBLEM_CHARS)) for error in errors]


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator, ValidationError, validators  # slow to load, seldom needed

    def properties(validator: Any, known: Schema, value: Any, schema: Schema) -> Iterator[ValidationError]:
        for name, one in value.items() if isinstance(value, dict) else ():
            if name not in known:
                yield ValidationError("is not an argument of the tool", path=[name])
            elif one is not None or name in schema.get("required", ()):
                yield from validator.descend(one, known[name], path=name, schema_path=name)

    def required(_: Any, names: list[str], value: Any, __: Schema) -> Iterator[ValidationError]:
        yield from (ValidationError("is required", path=[name]) for name in names if name not in value)

    keywords = {keyword: Draft202012Validator.VALIDATORS[keyword] for keyword in _KEYWORDS}
    return validators.create({}, keywords | {"properties": properties, "required": required})
