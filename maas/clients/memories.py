"""Plans about memories: added, found, listed, explained, forgotten."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from maas.clients.arguments import Moment, read_id, write_moment
from maas.clients.calls import Call, Plan
from maas.clients.errors import InvalidRequest, NotFound
from maas.clients.filters import Filters, flat, reach_of
from maas.clients.requests import settle
from maas.clients.results import (
    Added,
    AddedMemory,
    Change,
    Context,
    Deleted,
    Memories,
    Memory,
    changes_of,
    memories_of,
    memory_of,
)
from maas.clients.turns import Messages, portions, today, turns_of
from maas.clients.users import UserId, Users, name_of

PAGE = 100
MOST_HITS = 50
PATIENCE = 30.0  # seconds
PAUSE = 0.1


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
) -> Plan[Added]:
    """Remember a statement or messages {role, content, name?, at?, external_id?} without asking.

    They are found at once. Records are made of them in the background, whatever `infer` says; with `wait` they are
    there on return. `run_id` of mem0 is the `conversation` here; `at` and `timestamp`: when it was said, if not now.
    """
    if metadata:
        warnings.warn("metadata is not kept: memories are told apart by user, time and tags", stacklevel=4)
    user = yield from users.name(name_of(user_id, flat(filters)))
    turns = turns_of(messages, at or timestamp)
    where, added = conversation or run_id or today(), Added(results=[], request_ids=[])
    for portion in portions(turns):
        body = {"user_id": str(user), "conversation": where, "turns": portion}
        kept = (yield Call(method="POST", path="/v1/memories", body=body)).json
        added["request_ids"].append(kept["request_id"])
        for turn, log_id in zip(portion, kept["raw_log_ids"], strict=True):
            added["results"].append(AddedMemory(id=log_id, memory=turn["content"], event="ADD"))
    for one in added["request_ids"] if wait else ():
        yield from settle(one)
    return added


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
    since: Moment | None = None,
    until: Moment | None = None,
    as_of: Moment | None = None,
    summaries: bool = False,
    rerank: bool = False,
) -> Plan[Memories]:
    """The memories of a user that fit a question, best first, at most 50 (`top_k` is `limit`); nothing of a new user.

    `scope` prefers up to 3 days, up to 14, older. `since` and `until` bound when it was said, `as_of` what was known
    then, `threshold` the score. The ranking is the server's own, whatever `rerank` says.
    """
    wanted = flat(filters)
    name = name_of(user_id, wanted)
    user = yield from users.find(name)
    if user is None:
        return Memories(results=[])
    body = {"user_id": str(user), "query": query, "limit": min(top_k or limit, MOST_HITS), "summaries": summaries}
    given = {
        "tags": tags,
        "scope": scope,
        "from": write_moment(since),
        "to": write_moment(until),
        "as_of": write_moment(as_of),
    }
    body |= {key: value for key, value in (given | reach_of(wanted)).items() if value is not None}
    rows = (yield Call(method="POST", path="/v1/memories/search", body=body)).json["results"]
    return memories_of([row for row in rows if row["score"] >= (threshold or 0)], name)


def get_all(
    users: Users,
    *,
    user_id: UserId | None = None,
    limit: int = 100,
    top_k: int | None = None,
    filters: Filters | None = None,
) -> Plan[Memories]:
    """The records of a user, newest first, at most `limit`; each stands for the words in its `raw_log_ids`."""
    wanted = flat(filters)
    if wanted.keys() - {"user_id"}:
        raise InvalidRequest("invalid_request", "filters: get_all takes user_id only; search takes the others")
    name, most = name_of(user_id, wanted), top_k or limit
    user = yield from users.find(name)
    rows: list[dict[str, Any]] = []
    before: dict[str, str] | None = {}
    while user is not None and before is not None and len(rows) < most:
        params = {"user_id": str(user), "limit": min(most - len(rows), PAGE), **before}
        page = (yield Call(method="GET", path="/v1/memories", params=params)).json
        rows += page["results"]
        before = {"before": page["next"]} if page["next"] else None
    return memories_of(rows, name)


def get(users: Users, memory_id: UserId) -> Plan[Memory]:
    """One memory. Raises NotFound."""
    return memory_of((yield Call(method="GET", path=f"/v1/memories/{read_id(memory_id)}")).json)


def history(users: Users, memory_id: UserId) -> Plan[list[Change]]:
    """How a memory came about and what became of it: its words, then the records made of them. Raises NotFound."""
    rows = (yield Call(method="GET", path=f"/v1/memories/{read_id(memory_id)}/history")).json["results"]
    return changes_of(rows, str(memory_id))


def context(
    users: Users, query: str, *, user_id: UserId, max_tokens: int = 2000, as_of: Moment | None = None
) -> Plan[Context]:
    """The best evidence for a question in at most `max_tokens` tokens, for a model of one's own."""
    user = yield from users.find(name_of(user_id))
    if user is None:
        return Context("", 0)
    body = {"user_id": str(user), "query": query, "max_tokens": max_tokens}
    body |= {} if as_of is None else {"as_of": write_moment(as_of)}
    found = (yield Call(method="POST", path="/v1/context", body=body)).json
    return Context(found["context"], found["tokens"], tuple(found["sources"]))


def delete(users: Users, memory_id: UserId, *, user_id: UserId | None = None, doubtful: bool = False) -> Plan[Deleted]:
    """Forget a memory: its words, every record made of them, and answers that repeat them.

    Raises NotFound, also for what is not of `user_id`. The result names `doubtful` answers, which were given it and may
    not repeat it: calling again with `doubtful` forgets them, too.
    While its words are being recorded it waits, up to 30 s; then it raises InvalidRequest with the code in_use.
    """
    path, end, pause = f"/v1/memories/{read_id(memory_id)}", time.monotonic() + PATIENCE, 0.0
    params: dict[str, Any] = {}
    if user_id is not None:
        owner = yield from users.find(name_of(user_id))
        if owner is None:
            raise NotFound("not_found", f"there is no memory {memory_id}")
        params = {"user_id": str(owner)}
    if doubtful:
        params["doubtful"] = "true"
    while True:
        try:
            reply = yield Call(method="DELETE", path=path, params=params, is_done_if_gone=True, pause=pause)
        except InvalidRequest as error:
            if error.code != "in_use" or time.monotonic() > end:
                raise
            pause = PAUSE
            continue
        counts = reply.json if reply.content else {}
        deleted = {key: counts[key] for key in ("logs", "records") if key in counts}
        doubted = [str(one["id"]) for one in counts.get("doubtful", ()) if one["id"]]
        return Deleted(message="Memory deleted successfully!", deleted=deleted, doubtful=doubted)
