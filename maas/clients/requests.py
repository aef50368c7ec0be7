"""Plans about requests: asked, waited for, looked into.

A plan yields calls and is sent their replies; errors come to it as exceptions. MaaS and AsyncMaaS carry it out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from maas.clients.arguments import read_id
from maas.clients.calls import Call, NewRun, Plan, to_look, to_submit
from maas.clients.errors import RunFailed, TimedOut
from maas.clients.results import Answer
from maas.clients.users import UserId, Users, name_of

ANSWER = 300.0  # seconds
PAUSE = 0.1
Mode: TypeAlias = Literal["auto", "plan", "ask"]


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
    idempotency_key: str | None = None,
) -> Plan[str]:
    """Send a request and return its id at once; `wait` for the answer. The same idempotency_key is the same request.

    Raises InvalidRequest, RateLimited when too many requests of the user are unfinished.
    """
    run = NewRun(
        id=uuid4(), user_id=(yield from users.name(name_of(user_id))), query=query, assistant=assistant,
        conversation_id=None if conversation_id is None else read_id(conversation_id), mode=mode, metadata=metadata,
        attachment_ids=tuple(read_id(one) for one in attachment_ids),
    )  # fmt: skip
    reply = yield to_submit(run, idempotency_key)
    return str(reply.json["request_id"])


def wait(users: Users, request_id: UserId, *, timeout: float = ANSWER) -> Plan[Answer]:
    """The answer to a request, within `timeout` seconds. Raises RunFailed, TimedOut, NotFound."""
    run_id, end = str(read_id(request_id)), time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        state = (yield to_look(run_id, left)).json
        if state["status"] == "COMPLETED":
            return Answer.from_state(state)
        if state["status"] == "FAILED":
            message = state["error_message"] or "the request failed"
            raise RunFailed(state["error_code"] or "failed", message, {"request_id": run_id})
        if left <= 0:
            message = f"no answer within {timeout:g} s; the request goes on: wait({run_id!r})"
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
    timeout: float = ANSWER,
) -> Plan[Answer]:
    """Ask an assistant that remembers this user; the answer, within `timeout` seconds. Question and answer are kept.

    Raises RunFailed, TimedOut, InvalidRequest, RateLimited.
    """
    request_id = yield from submit(
        users, query, user_id=user_id, assistant=assistant, conversation_id=conversation_id, mode=mode,
        metadata=metadata, attachment_ids=attachment_ids,
    )  # fmt: skip
    return (yield from wait(users, request_id, timeout=timeout))


def trace(users: Users, request_id: UserId) -> Plan[dict[str, Any]]:
    """How a request went: stages, model calls, prompts, memories, timings. Needs the scope admin. Raises NotFound."""
    return dict((yield Call(method="GET", path=f"/v1/runs/{read_id(request_id)}/trace")).json)


def settle(run_id: str) -> Plan[None]:
    """Return when the exchange of a run is in memory."""
    end, pause = time.monotonic() + ANSWER, 0.0
    while (yield to_look(run_id, 30, pause)).json["archive_status"] in ("PENDING", "ARCHIVING"):
        if time.monotonic() > end:
            raise TimedOut("timeout", f"run {run_id} has made no record yet", {"request_id": run_id})
        pause = PAUSE
