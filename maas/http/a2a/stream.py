"""The updates of a task, as they are streamed: its state, the text of answers while it is written, and the end."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from uuid import UUID

from maas.conversations.agent_tasks import Task, artifact
from maas.engine.events import EventType
from maas.engine.states import Status
from maas.http.a2a.errors import A2AError
from maas.http.a2a.messages import Sender, read_task
from maas.http.openai.completions import StreamedText
from maas.http.server_sent_events import KEEP_ALIVE_COMMENT, data_line
from maas.http.state import AppState
from maas.runs.event_stream import Event
from shared.db import CONNECTION_LOST


async def stream_task(
    state: AppState, sender: Sender, task: Task, rpc_id: str | int | None
) -> AsyncGenerator[str, None]:
    """Yield a task, then its updates until it has ended or waits for a decision. Disconnecting cancels nothing."""
    yield _line(rpc_id, {"task": task.to_json()})
    followed: set[UUID] = set()
    while runs := [run_id for run_id in task.open_runs if run_id not in followed]:
        for run_id in runs:
            updates = _Updates(task, run_id)
            async with state.follow_run(run_id) as pages:
                async for events in pages:
                    if not events:
                        yield KEEP_ALIVE_COMMENT
                    for event in events:
                        for update in updates.of(event):
                            yield _line(rpc_id, update)
            if not updates.is_over:
                return  # this process is shutting down: SubscribeToTask goes on
        followed.update(runs)
        try:  # what was said may have approved an action
            task = await read_task(state, sender, str(task.id))
        except (A2AError, *CONNECTION_LOST):
            return
    if followed:
        yield _line(rpc_id, {"statusUpdate": _ids(task) | {"status": task.status()}})


class _Updates:
    """Makes updates of the events of one run."""

    def __init__(self, task: Task, run_id: UUID) -> None:
        self.is_over = False
        self._task = task
        self._run_id = str(run_id)
        self._kind = next(run["kind"] for run in task.runs if run["id"] == self._run_id)
        self._text = StreamedText()
        self._has_text = False
        self._is_working = task.state == "WORKING"

    def of(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the updates for one event."""
        data = json.loads(event.data)
        match event.type:
            case "status" if not self._is_working and data["status"] == Status.ANALYZING:
                self._is_working = True
                yield self._working(data["at"])
            case EventType.TEXT:
                yield from self._add(self._text.add(data["attempt"], data["delta"]))
            case EventType.PROGRESS:
                yield self._working(None, f"{data['title']} ({data['ended']} of {data['total']})")
            case "done":
                self.is_over = True
                yield from self._finish(data["final_answer"])
            case "error":
                self.is_over = True

    def _working(self, at: str | None, text: str | None = None) -> dict[str, Any]:
        status: dict[str, Any] = {"state": "TASK_STATE_WORKING"}
        if at is not None:
            status["timestamp"] = at.replace("+00:00", "Z")
        if text is not None:
            status["message"] = self._task.message(f"{self._run_id}-progress", "ROLE_AGENT", [{"text": text}])
        return {"statusUpdate": _ids(self._task) | {"status": status}}

    def _add(self, delta: str) -> Iterator[dict[str, Any]]:
        if delta:
            yield self._update(delta, append=self._has_text, lastChunk=False)
            self._has_text = True

    def _finish(self, answer: str) -> Iterator[dict[str, Any]]:
        """Yield the rest of the text; all of it, if another text was written first."""
        rest = self._text.finish(answer)
        if not self._text.is_exact:
            yield self._update(answer, append=False, lastChunk=True)
        elif rest or self._has_text:
            yield self._update(rest, append=self._has_text, lastChunk=True)

    def _update(self, text: str, **flags: bool) -> dict[str, Any]:
        return {"artifactUpdate": _ids(self._task) | {"artifact": artifact(self._run_id, self._kind, text), **flags}}


def _ids(task: Task) -> dict[str, Any]:
    return {"taskId": str(task.id), "contextId": str(task.context_id)}


def _line(rpc_id: str | int | None, result: dict[str, Any]) -> str:
    return data_line({"jsonrpc": "2.0", "id": rpc_id, "result": result})
