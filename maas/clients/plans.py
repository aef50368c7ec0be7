"""Every call that the client knows: what it sends and what it makes of the replies, for whoever carries them.

A plan yields requests and is sent their replies; errors come to it as exceptions. MaaS and AsyncMaaS carry it out.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID, uuid4

from maas.clients.calls import Call, NewRun, Plan, to_look, to_submit
from maas.clients.errors import InvalidRequest, NotFound, RunFailed, TimedOut
from maas.clients.filters import Filters, flat, reach_of
from maas.clients.results import (
    Added,
    AddedMemory,
    Answer,
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

ANSWER = 300.0
PAGE = 100
MOST_HITS = 50
PATIENCE = 30.0
PAUSE = 0.1
Moment: TypeAlias = datetime | date | str
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
        conversation_id=None if conversation_id is None else _id(conversation_id), mode=mode, metadata=metadata,
        attachment_ids=tuple(_id(one) for one in attachment_ids),
    )  # fmt: skip
    reply = yield to_submit(run, idempotency_key)
    return str(reply.json["request_id"])


def wait(users: Users, request_id: UserId, *, timeout: float = ANSWER) -> Plan[Answer]:
    """The answer to a request, within `timeout` seconds. Raises RunFailed, TimedOut, NotFound."""
    run_id, end = str(_id(request_id)), time.monotonic() + timeout
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
        yield from _settled(one)
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
    given = {"tags": tags, "scope": scope, "from": _moment(since), "to": _moment(until), "as_of": _moment(as_of)}
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
    return memory_of((yield Call(method="GET", path=f"/v1/memories/{_id(memory_id)}")).json)


def history(users: Users, memory_id: UserId) -> Plan[list[Change]]:
    """How a memory came about and what became of it: its words, then the records made of them. Raises NotFound."""
    rows = (yield Call(method="GET", path=f"/v1/memories/{_id(memory_id)}/history")).json["results"]
    return changes_of(rows, str(memory_id))


def context(
    users: Users, query: str, *, user_id: UserId, max_tokens: int = 2000, as_of: Moment | None = None
) -> Plan[Context]:
    """The best evidence for a question in at most `max_tokens` tokens, for a model of one's own."""
    user = yield from users.find(name_of(user_id))
    if user is None:
        return Context("", 0)
    body = {"user_id": str(user), "query": query, "max_tokens": max_tokens}
    body |= {} if as_of is None else {"as_of": _moment(as_of)}
    found = (yield Call(method="POST", path="/v1/context", body=body)).json
    return Context(found["context"], found["tokens"], tuple(found["sources"]))


def delete(users: Users, memory_id: UserId, *, user_id: UserId | None = None) -> Plan[Deleted]:
    """Forget a memory: its words, and every record made of them. Raises NotFound, also for what is not of `user_id`.

    While its words are being recorded it waits, up to 30 s; then it raises InvalidRequest with the code in_use.
    """
    path, end, pause = f"/v1/memories/{_id(memory_id)}", time.monotonic() + PATIENCE, 0.0
    params: dict[str, Any] = {}
    if user_id is not None:
        owner = yield from users.find(name_of(user_id))
        if owner is None:
            raise NotFound("not_found", f"there is no memory {memory_id}")
        params = {"user_id": str(owner)}
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
        return Deleted(message="Memory deleted successfully!", deleted=deleted)


def delete_all(users: Users, *, user_id: UserId | None = None, filters: Filters | None = None) -> Plan[Deleted]:
    """Erase a user from every table, whatever is in flight, the name too. Needs the scope admin."""
    user = yield from users.find(name_of(user_id, flat(filters)))
    counts: dict[str, int] = {}
    if user is not None:
        reply = yield Call(method="DELETE", path=f"/v1/users/{user}", is_done_if_gone=True)
        counts = reply.json["erased"] if reply.content else {}
        users.forget(user)
    return Deleted(message="Memories deleted successfully!", deleted=counts)


def trace(users: Users, request_id: UserId) -> Plan[dict[str, Any]]:
    """How a request went: stages, model calls, prompts, memories, timings. Needs the scope admin. Raises NotFound."""
    return dict((yield Call(method="GET", path=f"/v1/runs/{_id(request_id)}/trace")).json)


def export(users: Users, *, user_id: UserId) -> Plan[bytes]:
    """Everything that is kept of a user, as lines of JSON that `import_` accepts; empty for a new one."""
    user = yield from users.find(name_of(user_id))
    return b"" if user is None else (yield Call(method="GET", path=f"/v1/users/{user}/export")).content


def import_(users: Users, lines: bytes | str | Iterable[Mapping[str, Any]], *, user_id: UserId) -> Plan[dict[str, Any]]:
    """Take in an export, or turns {role, content, at?, ...}: all of it or, with one clear error, nothing.

    The same again adds nothing. Returns counts and the ids of the runs that make records of it.
    """
    user = yield from users.name(name_of(user_id))
    if isinstance(lines, str):
        lines = lines.encode()
    elif not isinstance(lines, bytes):
        lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    headers = {"content-type": "application/x-ndjson"}
    return dict((yield Call(method="POST", path=f"/v1/users/{user}/import", content=lines, headers=headers)).json)


def _settled(run_id: str) -> Plan[None]:
    """Return when the exchange of a run is in memory."""
    end, pause = time.monotonic() + ANSWER, 0.0
    while (yield to_look(run_id, 30, pause)).json["archive_status"] in ("PENDING", "ARCHIVING"):
        if time.monotonic() > end:
            raise TimedOut("timeout", f"run {run_id} has made no record yet", {"request_id": run_id})
        pause = PAUSE


def _id(given: UserId) -> UUID:
    try:
        return UUID(str(given))
    except ValueError as error:
        raise InvalidRequest("invalid_request", f"{str(given)[:80]!r} is no id; an id is a UUID") from error


def _moment(at: Moment | None) -> str | None:
    return at if isinstance(at, str | None) else at.isoformat()
