"""Operations on requests: ask, wait, cancel."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from .calls import ApiCall, Operation, RunRow, get_run, submit_run
from .messages import Time, isoformat
from .operations import parse_id
from .results import Answer, RunFailed, TimedOut
from .users import UserId, Users, required_user

RUN_TIMEOUT_S = 300.0
Mode: TypeAlias = Literal["auto", "plan", "ask"]
Priority: TypeAlias = Literal["high", "normal", "low"]
Attributes: TypeAlias = Mapping[str, str | bool | int | float]


def submit(
    users: Users,
    query: str,
    *,
    user_id: UserId,
    assistant: str = "mentor",
    conversation_id: UserId | None = None,
    mode: Mode | None = None,
    metadata: Mapping[str, Any] | None = None,
    attachment_ids: Sequence[UserId] = (),
    priority: Priority | None = None,
    run_at: Time | None = None,
    attributes: Attributes | None = None,
    debounce: float | None = None,
    idempotency_key: str | None = None,
) -> Operation[str]:
    """Send a request and return its id without waiting; `wait` returns the answer.

    `priority` decides between users where there is more to do than places. It does not start before `run_at`; without
    an offset that is a time of the server's zone, by SQL of the session's. Lists of runs are filtered by `attributes`,
    at most 16. With `debounce` it waits that many seconds for the next request of its conversation that has one, too:
    both are one request, with one id and one answer. Requests with one idempotency_key are one request. Raises
    InvalidRequest; Forbidden for a priority that the key may not take; RateLimited if too many requests of the user
    are unfinished.
    """
    row = RunRow(
        id=uuid4(),
        user_id=(yield from users.get_or_create(required_user(user_id))),
        query=query,
        assistant=assistant,
        conversation_id=None if conversation_id is None else parse_id(conversation_id),
        mode=mode,
        metadata=metadata,
        attachment_ids=tuple(parse_id(one) for one in attachment_ids),
        priority=priority,
        run_at=isoformat(run_at),
        attributes=attributes,
        debounce=debounce,
    )
    reply = yield submit_run(row, idempotency_key)
    return str(reply.json["request_id"])


def wait(users: Users, request_id: UserId, *, timeout: float = RUN_TIMEOUT_S) -> Operation[Answer]:
    """Wait up to `timeout` seconds for the answer to a request. Raises RunFailed, TimedOut, NotFound."""
    run_id, deadline = str(parse_id(request_id)), time.monotonic() + timeout
    while True:
        left_s = deadline - time.monotonic()
        run = (yield get_run(run_id, left_s)).json
        if run["status"] == "COMPLETED":
            return Answer.from_run(run)
        if run["status"] == "FAILED":
            message = run["error_message"] or "the request failed"
            raise RunFailed(run["error_code"] or "failed", message, {"request_id": run_id})
        if left_s <= 0:
            message = f"no answer within {timeout:g} s; the request is still running: call wait({run_id!r})"
            raise TimedOut("timeout", message, {"request_id": run_id})


def ask(
    users: Users,
    query: str,
    *,
    user_id: UserId,
    assistant: str = "mentor",
    conversation_id: UserId | None = None,
    mode: Mode | None = None,
    metadata: Mapping[str, Any] | None = None,
    attachment_ids: Sequence[UserId] = (),
    priority: Priority | None = None,
    run_at: Time | None = None,
    attributes: Attributes | None = None,
    debounce: float | None = None,
    timeout: float = RUN_TIMEOUT_S,
) -> Operation[Answer]:
    """Ask an assistant that remembers this user, and wait up to `timeout` seconds for the answer.

    Question and answer become memories. Raises RunFailed, TimedOut, InvalidRequest, RateLimited.
    """
    request_id = yield from submit(
        users,
        query,
        user_id=user_id,
        assistant=assistant,
        conversation_id=conversation_id,
        mode=mode,
        metadata=metadata,
        attachment_ids=attachment_ids,
        priority=priority,
        run_at=run_at,
        attributes=attributes,
        debounce=debounce,
    )
    return (yield from wait(users, request_id, timeout=timeout))


def again(users: Users, request_id: UserId, *, idempotency_key: str | None = None) -> Operation[str]:
    """Send the request of a finished run once more and return the id of the new run; `wait` returns the answer.

    Raises NotFound; InvalidRequest with the code `not_replayable` while it is not finished; RateLimited.
    """
    key = idempotency_key or str(uuid4())
    path = f"/v1/runs/{parse_id(request_id)}/again"
    return str((yield ApiCall(method="POST", path=path, headers={"Idempotency-Key": key})).json["request_id"])


def cancel(users: Users, request_id: UserId) -> Operation[None]:
    """Stop a request; `wait` then raises RunFailed, or returns the answer as far as it was written.

    Raises NotFound; InvalidRequest with the code `already_finished`.
    """
    yield ApiCall(method="POST", path=f"/v1/runs/{parse_id(request_id)}/cancel", done_code="already_finished")


def trace(users: Users, request_id: UserId) -> Operation[dict[str, Any]]:
    """The trace of a request: stages, model calls, prompts, memories, timings. Needs the scope `admin`.

    Raises NotFound.
    """
    return dict((yield ApiCall(method="GET", path=f"/v1/runs/{parse_id(request_id)}/trace")).json)
