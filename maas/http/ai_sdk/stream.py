"""The UI message stream of the AI SDK, version 1: the events of a run as parts of one message of the assistant.

A message has one step. Its id is that of the run, so a stream that is read again continues the same message.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from uuid import UUID

from maas.engine.events import EventType
from maas.http.openai.completions import END_OF_STREAM, StreamedText
from maas.http.schemas import sources_of
from maas.http.server_sent_events import KEEP_ALIVE_COMMENT, data_line, still_answering
from maas.http.state import AppState
from maas.plugins import events_of_plugins
from maas.runs.answers import RunAnswer, read_answer
from maas.runs.event_stream import Event
from shared.db import CONNECTION_LOST
from shared.errors import MaasError

# Events that become parts with data of their own; those of plugins do, too.
DATA_PARTS: dict[str, str] = {
    EventType.APPROVAL_REQUIRED: "approval",
    EventType.BUTTONS: "buttons",
    EventType.REQUEST_PHOTO: "request-photo",
    EventType.PROGRESS: "progress",
}
INTERRUPTED = "the call was interrupted"


async def stream_parts(state: AppState, run_id: UUID) -> AsyncGenerator[str, None]:
    """Yield the answer of a run as parts, up to [DONE]. Disconnecting does not cancel the run."""
    message = _Message(run_id)
    yield message.begin()
    async with state.follow_run(run_id) as pages:
        async for events in pages:
            if not events:
                yield KEEP_ALIVE_COMMENT
            for event in events:
                if event.type == "done":
                    yield message.end(json.loads(event.data), await _read_answer(state, run_id))
                    return
                yield "".join(message.parts_of(event))
                if event.type == "error":
                    return
    yield message.error(still_answering(run_id))


async def _read_answer(state: AppState, run_id: UUID) -> RunAnswer | None:
    """Return the answer with its sources; None while the database does not answer: the text is complete anyway."""
    try:
        return await read_answer(state.db, run_id)
    except (MaasError, *CONNECTION_LOST):
        return None


class _Message:
    """Writes the parts of one message."""

    def __init__(self, run_id: UUID) -> None:
        self._run_id = run_id
        self._parts = DATA_PARTS | events_of_plugins()
        self._text = StreamedText()
        self._texts = 0
        self._is_text_open = False
        self._calls: dict[str, str] = {}  # call that has no result -> id of its part
        self._count = 0

    def begin(self) -> str:
        start = {"type": "start", "messageId": str(self._run_id), "messageMetadata": {"run_id": str(self._run_id)}}
        return data_line(start) + data_line({"type": "start-step"})

    def parts_of(self, event: Event) -> Iterator[str]:
        """Yield the parts of an event that is not the end of an answer."""
        data = json.loads(event.data)
        match event.type:
            case "status":
                yield data_line({"type": "data-status", "data": {"status": data["status"]}, "transient": True})
            case EventType.TEXT:
                yield from self._add_text(self._text.add(data["attempt"], data["delta"]))
            case EventType.TOOL_START:
                yield from self._close_text()
                yield self._start_call(data)
            case EventType.TOOL_RESULT:
                yield from self._close_text()
                yield from self._end_call(data)
            case "error":
                yield self.error(data["message"] or "the run failed", data["code"])
            case kind if kind in self._parts:
                yield from self._close_text()
                yield data_line({"type": f"data-{self._parts[kind]}", "data": data})

    def end(self, data: dict[str, Any], answer: RunAnswer | None) -> str:
        """Return the rest of the text, the sources, and the end of the message."""
        parts = [*self._add_text(self._text.finish(data["final_answer"])), *self._close_text()]
        parts += [_tool("tool-output-error", one, errorText=INTERRUPTED) for one in self._calls.values()]
        metadata = {name: data[name] for name in ("limited", "memory", "memory_reasons")}
        if not self._text.is_exact:
            metadata["final_answer"] = data["final_answer"]
        if answer is not None:
            metadata |= {
                "conversation_id": str(answer.conversation_id),
                "finish": "length" if answer.is_cut else "stop",
            }
            parts.append(data_line({"type": "data-sources", "data": sources_of(answer)}))
        parts += [data_line({"type": "finish-step"}), data_line({"type": "finish", "messageMetadata": metadata})]
        return "".join((*parts, END_OF_STREAM))

    def error(self, message: str, code: str | None = None) -> str:
        """Return the end of a message without an answer."""
        text = f"{message} (run {self._run_id})" if code else message
        return "".join((*self._close_text(), data_line({"type": "error", "errorText": text}), END_OF_STREAM))

    def _add_text(self, delta: str) -> Iterator[str]:
        if not self._is_text_open:
            delta = delta.lstrip("\n")
        if not delta:
            return
        if not self._is_text_open:
            self._is_text_open, self._texts = True, self._texts + 1
            yield data_line({"type": "text-start", "id": f"text-{self._texts}"})
        yield data_line({"type": "text-delta", "id": f"text-{self._texts}", "delta": delta})

    def _close_text(self) -> Iterator[str]:
        if self._is_text_open:
            self._is_text_open = False
            yield data_line({"type": "text-end", "id": f"text-{self._texts}"})

    def _start_call(self, data: dict[str, Any]) -> str:
        self._count += 1
        part_id = self._calls[data["call_id"]] = f"{data['call_id']}.{self._count}"  # ids of models may recur
        return _tool("tool-input-available", part_id, toolName=data["tool"], input={})

    def _end_call(self, data: dict[str, Any]) -> Iterator[str]:
        if data["call_id"] not in self._calls:
            yield self._start_call(data)
        part_id, code = self._calls.pop(data["call_id"]), data["error_code"]
        if data["success"] or code == "approval_required":
            output = {"success": data["success"], "error_code": code, "latency_ms": data["latency_ms"]}
            yield _tool("tool-output-available", part_id, output=output)
        else:
            yield _tool("tool-output-error", part_id, errorText=code or "failed")


def _tool(kind: str, part_id: str, **more: Any) -> str:
    return data_line({"type": kind, "toolCallId": part_id, "providerExecuted": True, "dynamic": True, **more})
