"""What happened to a run, as data: the page, the JSON and the HTTP door all show this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from maas.pipeline.states import ROLE_OF, ArchiveStatus, Status
from maas.pipeline.submissions import read_run
from shared.db import Database

KINDS = ("summary", "turn", "recent")
SPANS = (
    ("queue", "asked_at", "analyzing_at"),
    ("analyzer", "analyzing_at", "analyzed_at"),
    ("draft_builder", "analyzed_at", "assembling_at"),
    ("assembler", "assembling_at", "ready_at"),
    ("final_responder", "responding_at", "completed_at"),
    ("archivist", "completed_at", "archived_at"),
)
SUMS = ("attempts", "tokens_in", "tokens_cached", "tokens_out", "ms")
TIMES = frozenset({"at", "created_at", "ended_at", "occurred_at"})
OPAQUE = frozenset({"details", "calls"})
Row = Mapping[str, Any]


async def read_trace(db: Database, run_id: UUID) -> dict[str, Any]:
    """Everything that is known of a run. Raises MaasError('not_found')."""
    run = await read_run(db, run_id)
    row = await db.row("run_trace", run_id)
    assert row is not None
    return build_trace(run, {name: _utc(value) for name, value in row.items()}, datetime.now(UTC))


def build_trace(run: dict[str, Any], found: Row, now: datetime) -> dict[str, Any]:
    """In types of JSON: times are ISO 8601 in UTC, spans are milliseconds, prices are millionths of a dollar.

    `run` is a row of the query `run`, `found` one of `run_trace`. What was forgotten since has no memory and no logs.
    """
    asked = _asked_at(run, found["history"])
    before = found["before"]
    waited = before is not None and (before["ended_at"] is None or _at(before["ended_at"]) > asked)
    return {
        "run": {name: _plain(value) for name, value in run.items()},
        "took": {
            "asked_at": asked.isoformat(),
            "answer_ms": _ms(asked, run["completed_at"] or run["failed_at"]),
            "archive_ms": _ms(asked, run["archived_at"]),
        },
        "waited_for": before if waited else None,
        "waiting": found["waiting"],
        "stages": list(_stages(run | {"asked_at": asked}, found["calls"], now)),
        "history": found["history"],
        "calls": found["calls"],
        "costs": _costs(found["calls"]),
        "tools": found["tools"],
        "prompts": found["prompts"],
        "memories": _memories(run["sources"] or [], found["records"], found["words"]),
    }


def _asked_at(run: Row, history: Sequence[Row]) -> datetime:
    """When the present try began: a retry asks anew."""
    retries = [_at(one["at"]) for one in history if one["happened"] == "retried"]
    created: datetime = run["created_at"]
    return max([created, *retries])


def _stages(run: Row, calls: Sequence[Row], now: datetime) -> Iterator[dict[str, Any]]:
    """The spans that the run has begun, from the moment that it was asked."""
    for stage, start, end in SPANS:
        began, ended, state = run[start], run[end], "done"
        if began is None or (stage == "archivist" and run["archive_status"] == ArchiveStatus.SKIPPED):
            continue
        if ended is None:
            is_over = run["archive_status"] == ArchiveStatus.FAILED if stage == "archivist" else run["failed_at"]
            state = "failed" if is_over else "running"
            ended = run["failed_at"] if state == "failed" else now
        own = [call for call in calls if call["stage"] == stage and call["try"] == run["try"]]
        is_degraded = ROLE_OF.get(stage) in run["degraded"]
        yield {
            "stage": stage,
            "state": state,
            "began_ms": _ms(run["asked_at"], began),
            "ms": _ms(began, ended),
            "calls": len(own),
            "model_ms": round(sum(call["ms"] for call in own), 2),
            "is_degraded": is_degraded,
            "why": _cause(own) if is_degraded else _failure(run, own) if state == "failed" else None,
        }


def _cause(calls: Sequence[Row]) -> str:
    """Why a stage came to its rules."""
    errors = [str(call["error"]) for call in calls if call["error"]]
    return errors[-1] if errors else "its model's replies could not be used"


def _failure(run: Row, calls: Sequence[Row]) -> str:
    """For operators: with what the model's provider said last, which the user is not told."""
    if run["status"] == Status.FAILED:
        said = calls[-1]["error"] if calls else None
        return f"{run['error_code']}: {run['error_message']}" + (f" ({said})" if said else "")
    return "no record was made; the next exchange takes these words along"


def _costs(calls: Sequence[Row]) -> list[dict[str, Any]]:
    """The calls of each try together; what has no price is counted in `unpriced`."""
    costs: dict[int, dict[str, Any]] = {}
    for call in calls:
        nothing = {"try": call["try"]} | dict.fromkeys(("calls", *SUMS, "price", "unpriced"), 0)
        cost = costs.setdefault(call["try"], nothing)
        cost["calls"] += call["finish"] != "skipped"
        cost["price"] += call["price"] or 0
        cost["unpriced"] += call["price"] is None
        for name in SUMS:
            cost[name] += call[name]
    return list(costs.values())


def _memories(sources: Sequence[Row], records: Sequence[Row], words: Sequence[Row]) -> list[dict[str, Any]]:
    """Summaries, then turns, best first, then recent turns: {id, kind, score, period, tags, memory, logs}."""
    logs = {row["id"]: row for row in words}
    found = {row["id"]: row for row in records}
    given = []
    for source in sorted(sources, key=lambda one: (KINDS.index(one["kind"]), -one["score"])):
        one: dict[str, Any] = dict(source)
        if record := found.get(source["id"]):
            one |= {"period": record["period"], "tags": record["tags"], "memory": record["summary"]}
            one["logs"] = [logs[log] for log in record["raw_log_ids"] if log in logs]
        else:
            one["logs"] = [logs[source["id"]]] if source["id"] in logs else []
        given.append(one)
    return given


def _ms(since: datetime, until: datetime | None) -> float | None:
    return None if until is None else round(max((until - since).total_seconds(), 0.0) * 1000, 2)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, UUID) else value


def _utc(value: Any, name: str = "") -> Any:
    """The same with every time in UTC; Postgres writes JSON in the zone of its session."""
    if name in OPAQUE:
        return value
    if isinstance(value, list):
        return [_utc(one, name) for one in value]
    if isinstance(value, dict):
        return {key: _utc(one, key) for key, one in value.items()}
    return _at(value).astimezone(UTC).isoformat() if name in TIMES and value else value
