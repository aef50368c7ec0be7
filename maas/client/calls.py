"""One call of the HTTP API and its reply, as values, and the retry policy for calls.

Operations yield calls and know nothing of transports; transports send calls and know nothing of operations.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from tenacity import RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from .results import ClientError, RateLimited, Unavailable

BACKOFF_S, MAX_BACKOFF_S = 0.2, 10.0  # before the second attempt, and between any two
MAX_RETRY_AFTER_S = 60.0  # a longer Retry-After is raised instead of waited for
MAX_LONG_POLL_S = 30.0
PAGE_SIZE = 100
END_STATUSES = ("COMPLETED", "FAILED")
T = TypeVar("T")
_backoff = wait_exponential_jitter(initial=BACKOFF_S, max=MAX_BACKOFF_S, jitter=BACKOFF_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """An idempotent call: it carries the id or key that makes a repetition harmless, unless `is_repeatable` is false.

    Its body is `body` as JSON, `content`, or `form` with a `file` of a name and bytes.
    `delay_s`: seconds to wait before sending it. `long_poll_s`: seconds for which the server may hold the reply.
    `done_code`: after a lost reply, an error with this code means that the lost attempt succeeded.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    form: Mapping[str, str] | None = None
    file: tuple[str, bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    long_poll_s: float = 0.0
    done_code: str | None = None
    is_repeatable: bool = True


@dataclass(frozen=True, slots=True)
class RunRow:
    """The columns of a new run that a client sets."""

    id: UUID
    user_id: UUID
    query: str
    assistant: str
    conversation_id: UUID | None
    mode: str | None
    metadata: Mapping[str, Any] | None
    attachment_ids: tuple[UUID, ...]
    priority: str | None
    run_at: str | None
    attributes: Mapping[str, Any] | None
    debounce: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRun(ApiCall):
    """Create a run. The SQL transports insert `row`."""

    row: RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class GetRun(ApiCall):
    """Read a run, waiting up to `long_poll_s` for its end. The SQL transports select it by `run_id`."""

    run_id: str


@dataclass(frozen=True, slots=True)
class ApiReply:
    """The body of a reply; empty if an earlier attempt had done the work."""

    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


Operation: TypeAlias = Generator[ApiCall, ApiReply, T]


def submit_run(row: RunRow, idempotency_key: str | None) -> SubmitRun:
    """The call that creates a run; calls with one idempotency key create one run."""
    body: dict[str, Any] = {"user_id": str(row.user_id), "query": row.query, "assistant": row.assistant}
    optional = {
        "conversation_id": row.conversation_id and str(row.conversation_id),
        "mode": row.mode,
        "metadata": row.metadata,
        "attachment_ids": [str(one) for one in row.attachment_ids],
        "priority": row.priority,
        "run_at": row.run_at,
        "attributes": row.attributes,
        "debounce": row.debounce,
    }
    body |= {name: value for name, value in optional.items() if value}
    headers = {"Idempotency-Key": idempotency_key or str(row.id)}
    return SubmitRun(method="POST", path="/v1/runs", body=body, headers=headers, row=row)


def get_run(run_id: str, wait_s: float, delay_s: float = 0.0) -> GetRun:
    """The call that reads a run, waiting up to `wait_s` seconds for its end, at most 30."""
    wait_s = round(min(max(wait_s, 0.0), MAX_LONG_POLL_S), 3)
    path, params = f"/v1/runs/{run_id}", {"wait": wait_s}
    return GetRun(method="GET", path=path, params=params, long_poll_s=wait_s, delay_s=delay_s, run_id=run_id)


def read_pages(path: str, params: Mapping[str, Any], limit: int) -> Operation[list[Any]]:
    """At most `limit` rows of a list, page by page."""
    rows: list[Any] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None and len(rows) < limit:
        sent = {**params, "limit": min(limit - len(rows), PAGE_SIZE), **cursor}
        page = (yield ApiCall(method="GET", path=path, params=sent)).json
        rows += page["results"]
        cursor = {"before": page["next"]} if page["next"] else None
    return rows[: max(limit, 0)]


def retry_policy(retries: int, *, is_repeatable: bool = True) -> dict[str, Any]:
    """Arguments of tenacity's Retrying and AsyncRetrying: retry lost replies and temporary refusals.

    A call that is not repeatable is sent again only if it was refused: after a lost reply it may have been carried out.
    """
    return {
        "stop": stop_after_attempt(retries + 1),
        "wait": _wait_s,
        "retry": retry_if_exception(_is_temporary if is_repeatable else _is_refused),
        "reraise": True,
    }


def _is_temporary(error: BaseException) -> bool:
    return isinstance(error, Unavailable) or _is_refused(error)


def _is_refused(error: BaseException) -> bool:
    return isinstance(error, RateLimited) and (error.retry_after or 0) <= MAX_RETRY_AFTER_S


def _wait_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    retry_after = error.retry_after if isinstance(error, ClientError) else None
    return max(retry_after or 0.0, _backoff(state))
