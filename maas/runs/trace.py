"""The trace of a run: what happened to it, as data for `maas trace` and the HTTP API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from maas import queries
from maas.engine.states import ROLE_OF, ArchiveStatus, Status
from maas.runs.submit import read_run
from shared.db import Database

MEMORY_KINDS = ("summary", "turn", "recent")
STAGE_SPANS = (
    ("queue", "asked_at", "analyzing_at"),
    ("analyzer", "analyzing_at", "analyzed_at"),
    ("draft_builder", "analyzed_at", "assembling_at"),
    ("assembler", "assembling_at", "ready_at"),
    ("final_responder", "responding_at", "completed_at"),
    ("archivist", "completed_at", "archived_at"),
)
SUMMED_FIELDS = ("attempts", "tokens_in", "tokens_cached", "tokens_out", "ms")
TIME_FIELDS = frozenset({"at", "created_at", "ended_at", "occurred_at", "started_at"})
OPAQUE_FIELDS = frozenset({"details", "calls", "arguments", "result"})
Row = Mapping[str, Any]


async def read_trace(db: Database, run_id: UUID) -> dict[str, Any]:
    """Read the trace of a run. Raises MaasError('not_found')."""
    run = await read_run(db, run_id)
    row = await db.row(queries.run_trace, run_id)
    assert row is not None
    return build_trace(run, {name: _utc(value) for name, value in row.items()}, datetime.now(UTC))


def build_trace(run: dict[str, Any], rows: Row, now: datetime) -> dict[str, Any]:
    """In types of JSON: times are ISO 8601 in UTC, spans are milliseconds, prices are millionths of a dollar.

    `run` is a row of the query `run`, `rows` one of `run_trace`. Memory that was erased since is missing.
    """
    asked_at = _asked_at(run, rows["history"])
    before = rows["before"]
    waited = before is not None and (before["ended_at"] is None or _at(before["ended_at"]) > asked_at)
    return {
        "run": {name: _plain(value) for name, value in run.items()},
        "took": {
            "asked_at": asked_at.isoformat(),
            "answer_ms": _ms(asked_at, run["completed_at"] or run["failed_at"]),
            "archive_ms": _ms(asked_at, run["archived_at"]),
        },
        "waited_for": before if waited else None,
        "waiting": rows["waiting"],
        "stages": list(_stages(run | {"asked_at": asked_at}, rows["calls"], now)),
        "history": rows["history"],
        "calls": rows["calls"],
        "costs": _costs(rows["calls"]),
        "tools": rows["tools"],
        "steps": rows["steps"],
        "prompts": rows["prompts"],
        "memories": _memories(run["sources"] or [], rows["records"], rows["words"]),
    }


def _asked_at(run: Row, history: Sequence[Row]) -> datetime:
    """When the present try began: at the last retry, or when the run was created."""
    retries = [_at(one["at"]) for one in history if one["happened"] == "retried"]
    created: datetime = run["created_at"]
    return max([created, *retries])


def _stages(run: Row, calls: Sequence[Row], now: datetime) -> Iterator[dict[str, Any]]:
    """The spans of the stages that the run has begun, relative to the beginning of the try."""
    for stage, start, end in STAGE_SPANS:
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
    """Why the built-in model stood in for the stage's."""
    errors = [str(call["error"]) for call in calls if call["error"]]
    return errors[-1] if errors else "its model's replies could not be used"


def _failure(run: Row, calls: Sequence[Row]) -> str:
    """Why the stage failed, with the last error of the model's provider, which only operators see."""
    if run["status"] == Status.FAILED:
        provider_error = calls[-1]["error"] if calls else None
        return f"{run['error_code']}: {run['error_message']}" + (f" ({provider_error})" if provider_error else "")
    return "no record was made; the next exchange takes these words along"


def _costs(calls: Sequence[Row]) -> list[dict[str, Any]]:
    """The sums over the calls of each try; calls without a known price are counted in `unpriced`."""
    costs: dict[int, dict[str, Any]] = {}
    for call in calls:
        nothing = {"try": call["try"]} | dict.fromkeys(("calls", *SUMMED_FIELDS, "price", "unpriced"), 0)
        cost = costs.setdefault(call["try"], nothing)
        cost["calls"] += call["finish"] != "skipped"
        cost["price"] += call["price"] or 0
        cost["unpriced"] += call["price"] is None
        for name in SUMMED_FIELDS:
            cost[name] += call[name]
    return list(costs.values())


def _memories(sources: Sequence[Row], records: Sequence[Row], messages: Sequence[Row]) -> list[dict[str, Any]]:
    """Summaries, then recalled messages, best first, then recent ones, with their texts where those still exist."""
    logs = {row["id"]: row for row in messages}
    by_id = {row["id"]: row for row in records}
    memories = []
    for source in sorted(sources, key=lambda one: (MEMORY_KINDS.index(one["kind"]), -one["score"])):
        one: dict[str, Any] = dict(source)
        if record := by_id.get(source["id"]):
            one |= {"period": record["period"], "tags": record["tags"], "memory": record["summary"]}
            one["logs"] = [logs[log] for log in record["raw_log_ids"] if log in logs]
        else:
            one["logs"] = [logs[source["id"]]] if source["id"] in logs else []
        memories.append(one)
    return memories


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
    """A JSON value with every time in UTC: Postgres writes JSON in the time zone of its session."""
    if name in OPAQUE_FIELDS:
        return value
    if isinstance(value, list):
        return [_utc(one, name) for one in value]
    if isinstance(value, dict):
        return {key: _utc(one, key) for key, one in value.items()}
    return _at(value).astimezone(UTC).isoformat() if name in TIME_FIELDS and value else value
