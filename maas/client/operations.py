"""Operations on memory, without I/O: each is a generator that yields calls and is sent their replies.

A client runs an operation: it sends each call over its transport and throws errors into the generator. The docstrings
are those of the methods of MaaS and AsyncMaaS.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from .calls import MAX_LONG_POLL_S, ApiCall, Operation, get_run, read_pages
from .messages import Messages, Time, batches, isoformat, normalize
from .results import (
    AddedMemory,
    AddResult,
    Change,
    Context,
    Correction,
    DeleteResult,
    InvalidRequest,
    Memories,
    Memory,
    TimedOut,
    history_of,
    memories_of,
    memory_of,
)
from .users import Filters, UserId, Users, flatten_filters, owner_of, required_user, server_filters

ARCHIVE_TIMEOUT_S = 300.0
IN_USE_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.1
MAX_SEARCH_RESULTS = 50
_TIME_BOUNDS = {"gte": "from", "lt": "to"}


def add(
    users: Users,
    messages: Messages,
    *,
    user_id: UserId | None = None,
    run_id: str | None = None,
    agent_id: str | None = None,
    app_id: str | None = None,
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
    are there on return. `run_id` of mem0 is the `conversation`, too. Searches filter by it, by `agent_id`, `app_id` and
    `metadata`. `at`, or `timestamp`: when it was said, default now.
    """
    user = yield from users.get_or_create(required_user(user_id, filters))
    normalized = normalize(messages, at or timestamp)
    entities = {"agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    conversation, result = conversation or run_id or _today(), AddResult(results=[], request_ids=[])
    for batch in batches(normalized):
        body: dict[str, Any] = {"user_id": str(user), "conversation": conversation, "turns": batch}
        body |= {"metadata": dict(metadata)} if metadata else {}
        body |= {name: value for name, value in entities.items() if value is not None}
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
        "filters": server_filters(filters),
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
    params: dict[str, Any] = {}
    if user_id is not None:
        params = {"user_id": str((yield from owner_of(users, user_id, f"memory {memory_id}")))}
    if doubtful:
        params["doubtful"] = "true"
    counts = yield from delete_unused(f"/v1/memories/{parse_id(memory_id)}", params)
    deleted: dict[str, int] = {key: counts[key] for key in ("logs", "records") if key in counts}
    doubtful_ids = [str(one["id"]) for one in counts.get("doubtful", ()) if one["id"]]
    return DeleteResult(message="Memory deleted successfully!", deleted=deleted, doubtful=doubtful_ids)


def delete_unused(path: str, params: dict[str, Any]) -> Operation[dict[str, Any]]:
    """Delete what is at a path, and wait for up to 30 s for what is being written of it; return the counts.

    They are empty where a first attempt, whose reply was lost, has deleted it. Raises NotFound, InvalidRequest.
    """
    deadline, delay_s = time.monotonic() + IN_USE_TIMEOUT_S, 0.0
    while True:
        try:
            reply = yield ApiCall(method="DELETE", path=path, params=params, done_code="not_found", delay_s=delay_s)
        except InvalidRequest as error:
            if error.code != "in_use" or time.monotonic() > deadline:
                raise
            delay_s = POLL_INTERVAL_S
            continue
        counts: dict[str, Any] = reply.json if reply.content else {}
        return counts


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
    deadline, delay_s = time.monotonic() + ARCHIVE_TIMEOUT_S, 0.0
    while (yield get_run(run_id, MAX_LONG_POLL_S, delay_s)).json["archive_status"] in ("PENDING", "ARCHIVING"):
        if time.monotonic() > deadline:
            raise TimedOut("timeout", f"run {run_id} has no summary yet", {"request_id": run_id})
        delay_s = POLL_INTERVAL_S


def _today() -> str:
    """The conversation of messages that name none: one a day."""
    return datetime.now(UTC).date().isoformat()
