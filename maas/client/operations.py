"""The operations of the client, without I/O: each is a generator that yields calls and is sent their replies.

A client runs an operation: it sends each call over its transport and throws errors into the generator. The docstrings
are those of the methods of MaaS and AsyncMaaS.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID, uuid4

from .calls import MAX_LONG_POLL_S, ApiCall, Operation, RunRow, get_run, read_pages, submit_run
from .messages import Messages, Time, batches, isoformat, normalize
from .results import (
    AddedMemory,
    AddResult,
    Answer,
    Change,
    Context,
    Correction,
    DeleteResult,
    InvalidRequest,
    Memories,
    Memory,
    RunFailed,
    TimedOut,
    history_of,
    memories_of,
    memory_of,
)
from .users import Filters, UserId, Users, flatten_filters, owner_of, required_user

RUN_TIMEOUT_S = 300.0
IN_USE_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.1
MAX_SEARCH_RESULTS = 50
_TIME_BOUNDS = {"gte": "from", "lt": "to"}
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
) -> Operation[str]:
    """Send a request and return its id without waiting; `wait` returns the answer.

    Requests with one idempotency_key are one request. Raises InvalidRequest; RateLimited if too many requests of the
    user are unfinished.
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
    )
    return (yield from wait(users, request_id, timeout=timeout))


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


def add(
    users: Users,
    messages: Messages,
    *,
    user_id: UserId | None = None,
    run_id: str | None = None,
    conversation: str | None = None,
    at: datetime | int | str | None = None,
    timestamp: datetime | int | str | None = None,
    metadata: Mapping[str, Any] | None = None,
    filters: Filters | None = None,
    infer: bool = True,
    wait: bool = False,
) -> Operation[AddResult]:
    """Store a statement or messages {role, content, name?, at?, external_id?} without asking for an answer.

    Searches find them at once. Summaries of them are written in the background, whatever `infer` says; with `wait` they
    are there on return. `run_id` of mem0 is the `conversation`. `at`, or `timestamp`: when it was said, default now.
    """
    if metadata:
        warnings.warn("metadata is not kept: memories are filtered by user, time and tags only", stacklevel=4)
    user = yield from users.get_or_create(required_user(user_id, filters))
    normalized = normalize(messages, at or timestamp)
    conversation, result = conversation or run_id or _today(), AddResult(results=[], request_ids=[])
    for batch in batches(normalized):
        body = {"user_id": str(user), "conversation": conversation, "turns": batch}
        reply = (yield ApiCall(method="POST", path="/v1/memories", body=body)).json
        result["request_ids"].append(reply["request_id"])
        for message, log_id in zip(batch, reply["raw_log_ids"], strict=True):
            result["results"].append(AddedMemory(id=log_id, memory=message["content"], event="ADD"))
    for request_id in result["request_ids"] if wait else ():
        yield from _wait_archived(request_id)
    return result


def search(
    users: Users,
    query: str,
    *,
    user_id: UserId | None = None,
    limit: int = 10,
    top_k: int | None = None,
    filters: Filters | None = None,
    threshold: float | None = None,
    tags: Sequence[str] | None = None,
    scope: Literal["hot", "warm", "cold"] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    as_of: Time | None = None,
    summaries: bool = False,
    facts: bool = False,
    rerank: bool = False,
) -> Operation[Memories]:
    """The memories of a user that match a query, best first, at most 50; none for an unknown user.

    `top_k` is another name for `limit`. `scope` prefers an age: hot up to 3 days, warm up to 14, cold above.
    `since` and `until` bound the time when something was said; `as_of` searches what was known at that time;
    `threshold` is the least score. With `facts`, at most three facts that share its words come first. The server ranks
    in its own way, whatever `rerank` says.
    """
    name, flat = required_user(user_id, filters), flatten_filters(filters)
    user = yield from users.find(name)
    if user is None:
        return Memories(results=[])
    body = {
        "user_id": str(user),
        "query": query,
        "limit": min(top_k or limit, MAX_SEARCH_RESULTS),
        "summaries": summaries,
        "facts": facts,
    }
    optional = {
        "tags": tags,
        "scope": scope,
        "from": isoformat(since),
        "to": isoformat(until),
        "as_of": isoformat(as_of),
    }
    body |= {key: value for key, value in (optional | search_filter(flat)).items() if value is not None}
    rows = (yield ApiCall(method="POST", path="/v1/memories/search", body=body)).json["results"]
    return memories_of([row for row in rows if row["score"] >= (threshold or 0)], name)


def get_all(
    users: Users,
    *,
    user_id: UserId | None = None,
    limit: int = 100,
    top_k: int | None = None,
    filters: Filters | None = None,
) -> Operation[Memories]:
    """The summaries of a user, newest first, at most `limit`; `raw_log_ids` names the messages behind each."""
    flat = flatten_filters(filters)
    if flat.keys() - {"user_id"}:
        raise InvalidRequest("invalid_request", "filters: get_all takes user_id only; search takes the others")
    name, total = required_user(user_id, flat), top_k or limit
    user = yield from users.find(name)
    if user is None:
        return Memories(results=[])
    return memories_of((yield from read_pages("/v1/memories", {"user_id": str(user)}, total)), name)


def get(users: Users, memory_id: UserId) -> Operation[Memory]:
    """One memory by its id. Raises NotFound."""
    return memory_of((yield ApiCall(method="GET", path=f"/v1/memories/{parse_id(memory_id)}")).json)


def history(users: Users, memory_id: UserId) -> Operation[list[Change]]:
    """How a memory came about and what became of it: its messages, then their summaries. Raises NotFound."""
    rows = (yield ApiCall(method="GET", path=f"/v1/memories/{parse_id(memory_id)}/history")).json["results"]
    return history_of(rows, str(memory_id))


def correct(users: Users, memory_id: UserId, text: str, *, user_id: UserId) -> Operation[Correction]:
    """Say what is right instead of a memory, as a statement of the user, which is found first; both stay visible.

    The same text again is the same correction. Raises NotFound, also if the memory is not of `user_id`.
    """
    path = f"/v1/memories/{parse_id(memory_id)}/correct"
    user = yield from owner_of(users, user_id, f"memory {memory_id}")
    reply = (yield ApiCall(method="POST", path=path, body={"user_id": str(user), "memory": text})).json
    return Correction(id=reply["id"], request_id=reply["request_id"])


def context(
    users: Users, query: str, *, user_id: UserId, max_tokens: int = 2000, as_of: Time | None = None
) -> Operation[Context]:
    """The best evidence for a query within `max_tokens` tokens, to put into the prompt of your own model."""
    user = yield from users.find(required_user(user_id))
    if user is None:
        return Context("", 0)
    body = {"user_id": str(user), "query": query, "max_tokens": max_tokens}
    body |= {} if as_of is None else {"as_of": isoformat(as_of)}
    reply = (yield ApiCall(method="POST", path="/v1/context", body=body)).json
    return Context(reply["context"], reply["tokens"], tuple(reply["sources"]))


def delete(
    users: Users, memory_id: UserId, *, user_id: UserId | None = None, doubtful: bool = False
) -> Operation[DeleteResult]:
    """Erase a memory: its messages, every summary made from them, and the answers that repeat them.

    The result lists `doubtful` answers, which had the memory as evidence and may repeat it; call again with `doubtful`
    to erase those, too. Raises NotFound, also if the memory is not of `user_id`. If a summary of it is being written,
    retries for 30 s, then raises InvalidRequest with the code `in_use`.
    """
    path, deadline, delay_s = f"/v1/memories/{parse_id(memory_id)}", time.monotonic() + IN_USE_TIMEOUT_S, 0.0
    params: dict[str, Any] = {}
    if user_id is not None:
        params = {"user_id": str((yield from owner_of(users, user_id, f"memory {memory_id}")))}
    if doubtful:
        params["doubtful"] = "true"
    while True:
        try:
            reply = yield ApiCall(method="DELETE", path=path, params=params, done_code="not_found", delay_s=delay_s)
        except InvalidRequest as error:
            if error.code != "in_use" or time.monotonic() > deadline:
                raise
            delay_s = POLL_INTERVAL_S
            continue
        counts = reply.json if reply.content else {}
        deleted = {key: counts[key] for key in ("logs", "records") if key in counts}
        doubtful_ids = [str(one["id"]) for one in counts.get("doubtful", ()) if one["id"]]
        return DeleteResult(message="Memory deleted successfully!", deleted=deleted, doubtful=doubtful_ids)


def parse_id(value: UserId) -> UUID:
    """Raises InvalidRequest for what is not a UUID."""
    try:
        return UUID(str(value))
    except ValueError as error:
        raise InvalidRequest("invalid_request", f"{str(value)[:80]!r} is not an id; ids are UUIDs") from error


def search_filter(flat: Filters) -> dict[str, Any]:
    """Tags and times of flattened filters, as the body of a search has them. Raises InvalidRequest."""
    fields: dict[str, Any] = {}
    if "tags" in flat:
        tags = flat["tags"]
        fields["tags"] = [tags] if isinstance(tags, str) else tags["in"] if isinstance(tags, Mapping) else list(tags)
    for operator, moment in flat.get("created_at", {}).items():
        if operator not in _TIME_BOUNDS:
            raise InvalidRequest("invalid_request", f"filters: created_at takes gte and lt, not {operator}")
        fields[_TIME_BOUNDS[operator]] = moment
    return fields


def _wait_archived(run_id: str) -> Operation[None]:
    """Wait until the archivist has written the summaries of a run. Raises TimedOut after 300 s."""
    deadline, delay_s = time.monotonic() + RUN_TIMEOUT_S, 0.0
    while (yield get_run(run_id, MAX_LONG_POLL_S, delay_s)).json["archive_status"] in ("PENDING", "ARCHIVING"):
        if time.monotonic() > deadline:
            raise TimedOut("timeout", f"run {run_id} has no summary yet", {"request_id": run_id})
        delay_s = POLL_INTERVAL_S


def _today() -> str:
    """The conversation of messages that name none: one a day."""
    return datetime.now(UTC).date().isoformat()
