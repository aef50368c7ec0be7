"""One request to a server and its reply, as values: whoever carries them knows nothing of what they mean."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Done twice it is done once: it carries what makes it so.

    `pause`: seconds to let pass before it is sent; `waits`: seconds that the server may take on purpose.
    `is_done_if_gone`: a 404 after a lost reply means that the lost request did it.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    waits: float = 0.0
    is_done_if_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(Call):
    """Insert a run: by HTTP, or the row itself by SQL."""

    run: NewRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Look(Call):
    """Where a run is, after at most `waits` seconds: by HTTP or by SQL."""

    run_id: str


@dataclass(frozen=True, slots=True)
class NewRun:
    """A request as its row holds it."""

    id: UUID
    user_id: UUID
    query: str
    assistant: str
    conversation_id: UUID | None
    mode: str | None
    metadata: Mapping[str, Any] | None
    attachment_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; `content` is empty where the request had been done before."""

    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


Plan: TypeAlias = Generator[Call, Reply, T]


def to_submit(run: NewRun, key: str | None) -> Submit:
    """The key makes a repeated request the same run."""
    body: dict[str, Any] = {"user_id": str(run.user_id), "query": run.query, "assistant": run.assistant}
    optional = {"conversation_id": run.conversation_id and str(run.conversation_id), "mode": run.mode,
                "metadata": run.metadata, "attachment_ids": [str(one) for one in run.attachment_ids]}  # fmt: skip
    body |= {name: value for name, value in optional.items() if value}
    headers = {"Idempotency-Key": key or str(run.id)}
    return Submit(method="POST", path="/v1/runs", body=body, headers=headers, run=run)


def to_look(run_id: str, waits: float, pause: float = 0.0) -> Look:
    """Wait for an answer up to so many seconds, at most 30 at a time."""
    waits = round(min(max(waits, 0.0), 30.0), 3)
    path, params = f"/v1/runs/{run_id}", {"wait": waits}
    return Look(method="GET", path=path, params=params, waits=waits, pause=pause, run_id=run_id)
