"""The events of one run of AG-UI: those of a run of MaaS, or of the approved actions that it goes on with.

All ids are made of those of MaaS, so a stream that is read again continues the same messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from maas import queries
from maas.conversations.language import Spoken
from maas.engine.events import EventType
from maas.engine.states import Status
from maas.http.ag_ui.resume import CallNames, Rejected, Reviewed, Shown
from maas.http.openai.completions import StreamedText
from maas.http.schemas import sources_of
from maas.http.server_sent_events import data_line
from maas.plugins import events_of_plugins
from maas.runs.answers import RunAnswer
from maas.runs.event_stream import Event

PROTOCOL_VERSION = "1.0"
STEPS = (Status.ANALYZING, Status.ASSEMBLING, Status.RESPONDING)
INTERRUPTED = {"success": False, "error_code": "interrupted"}
NOT_MADE = {"success": False, "error_code": "not_made"}  # the answer says why
REJECTED = {"success": False, "error_code": "rejected"}
DECISION: dict[str, Any] = {"approved": {"type": "boolean"}}


class AgentEvents:
    """Writes the events of one run of the protocol, as `text/event-stream`."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._custom = {EventType.BUTTONS, EventType.REQUEST_PHOTO, *events_of_plugins()}
        self._step: str | None = None
        self.action_ids: list[str] = []  # proposed in this run
        self._calls_of: dict[str, str] = {}  # action -> its call

    def begin(self) -> str:
        """Return the first event."""
        return _line("RUN_STARTED", **self._ids, protocolVersion=PROTOCOL_VERSION)

    def show(self, run: Shown) -> None:
        """Take the events of this run of MaaS from now on."""
        self._run = run
        self._text, self._texts, self._is_text_open = StreamedText(), 0, False
        self._calls = CallNames(run.run_id)
        self._is_resumed = run.tool_call_id is None  # the call that was approved has its result
        self._has_arguments: set[str] = set()

    def events_of(self, event: Event) -> Iterator[str]:
        """Yield the events for one that does not end the run of MaaS."""
        data = json.loads(event.data)
        match event.type:
            case "status":
                yield from self._enter(Status(data["status"]))
            case EventType.TEXT:
                yield from self._add_text(self._text.add(data["attempt"], data["delta"]))
            case EventType.TOOL_START if self._run.tool_call_id is None:
                yield from self._close_text()
                yield from self._start_call(data)
            case EventType.APPROVAL_REQUIRED:
                yield from self._propose(data)
            case EventType.TOOL_RESULT:
                yield from self._close_text()
                yield from self._end_call(data)
            case EventType.PROGRESS:
                steps = f"{self._run.run_id}-steps"
                yield _line("ACTIVITY_SNAPSHOT", messageId=steps, activityType="maas.progress", content=data)
            case kind if kind in self._custom:
                yield _line("CUSTOM", name=f"maas.{kind}", value=data)

    def close(self, final_answer: str) -> Iterator[str]:
        """Yield the rest of the run of MaaS, which is answered."""
        yield from self._add_text(self._text.finish(final_answer))
        yield from self._close_all()

    def answer(self, decided: Rejected | Reviewed) -> str:
        """Return the events for an action that is not executed: one that was reviewed ends the run as an interrupt."""
        call = decided.tool_call_id
        if isinstance(decided, Rejected):
            return _result(call, REJECTED) if call else ""
        self.action_ids.append(str(decided.action_id))
        if call is not None:
            self._calls_of[str(decided.action_id)] = call
        return ""

    def finish(self, answer: RunAnswer | None, actions: Sequence[queries.ActionRow], spoken: Spoken) -> str:
        """Return the end of the run; with `actions` that wait it is an interrupt, in the language of the dialogue."""
        events = []
        result: dict[str, Any] = {}
        outcome: dict[str, Any] = {"type": "success"}
        if answer is not None:
            events.append(_line("CUSTOM", name="maas.sources", value=sources_of(answer)))
            result = {
                "run_id": str(answer.run_id),
                "conversation_id": str(answer.conversation_id),
                "final_answer": answer.answer,
                "limited": answer.limited,
                "memory": answer.memory,
                "memory_reasons": list(answer.memory_reasons),
                "finish": "length" if answer.is_cut else "stop",
            }
            if answer.limited == "stopped":
                outcome = {"type": "cancelled"}
        if actions:
            outcome = {"type": "interrupt", "interrupts": [self._interrupt(one, spoken) for one in actions]}
        return "".join((*events, _line("RUN_FINISHED", **self._ids, outcome=outcome, result=result)))

    def fail(self, message: str, code: str | None) -> str:
        """Return the end of a run without an answer."""
        end = [*self._close_all()]
        if code == "cancelled":
            end.append(_line("RUN_FINISHED", **self._ids, outcome={"type": "cancelled"}))
        else:
            text = f"{message} (run {self._run.run_id})"
            end.append(_line("RUN_ERROR", message=text, **({} if code is None else {"code": code})))
        return "".join(end)

    def _interrupt(self, action: queries.ActionRow, spoken: Spoken) -> dict[str, Any]:
        """The interrupt that an action is; its answer is a `Verdict`."""
        wording: dict[str, Any] = action["wording"]
        described = {name: wording[name] for name in ("title", "reason", "object", "changes") if wording.get(name)}
        parameters = action["parameters"] or {"type": "object"}
        properties = DECISION | {"editedArgs": parameters}
        call = self._calls_of.get(str(action["id"]))
        return {
            "id": str(action["id"]),
            "reason": "tool_call",
            "message": _message(action["tool"], wording, spoken),
            **({} if call is None else {"toolCallId": call}),
            "responseSchema": {"type": "object", "properties": properties, "required": ["approved"]},
            "expiresAt": action["expires_at"].isoformat(),
            "metadata": {
                "tool": action["tool"],
                "arguments": action["arguments"],
                "fingerprint": action["fingerprint"],
                **described,
            },
        }

    def _enter(self, status: Status) -> Iterator[str]:
        yield from self._leave_step()
        if status in STEPS:
            self._step = status.lower()
            yield _line("STEP_STARTED", stepName=self._step)

    def _leave_step(self) -> Iterator[str]:
        if self._step is not None:
            yield _line("STEP_FINISHED", stepName=self._step)
            self._step = None

    def _add_text(self, delta: str) -> Iterator[str]:
        if not self._is_text_open:
            delta = delta.lstrip("\n")
        if not delta:
            return
        if not self._is_text_open:
            self._is_text_open, self._texts = True, self._texts + 1
            yield _line("TEXT_MESSAGE_START", messageId=self._message_id, role="assistant")
        yield _line("TEXT_MESSAGE_CONTENT", messageId=self._message_id, delta=delta)

    def _close_text(self) -> Iterator[str]:
        if self._is_text_open:
            self._is_text_open = False
            yield _line("TEXT_MESSAGE_END", messageId=self._message_id)

    @property
    def _message_id(self) -> str:
        return f"{self._run.run_id}-text-{self._texts}"

    def _start_call(self, data: dict[str, Any]) -> Iterator[str]:
        if (lost := self._calls.find(data)) is not None:  # of a process that died
            yield from self._close_call(lost)
            yield _result(lost, INTERRUPTED)
        yield _line("TOOL_CALL_START", toolCallId=self._calls.begin(data), toolCallName=data["tool"])

    def _propose(self, data: dict[str, Any]) -> Iterator[str]:
        call = self._calls.find(data)
        if call is None:  # a call that a tool made
            call = self._calls.begin(data)
            yield _line("TOOL_CALL_START", toolCallId=call, toolCallName=data["tool"])
        self.action_ids.append(data["action_id"])
        self._calls_of[data["action_id"]] = call
        self._has_arguments.add(call)
        yield _line("TOOL_CALL_ARGS", toolCallId=call, delta=json.dumps(data["arguments"], ensure_ascii=False))

    def _end_call(self, data: dict[str, Any]) -> Iterator[str]:
        result = {name: data[name] for name in ("success", "error_code", "latency_ms")}
        is_begun = self._calls.find(data) is not None
        if self._run.tool_call_id is not None and not is_begun:
            yield from self._resume(result)
            return
        if not is_begun:
            yield from self._start_call(data)
        call = self._calls.end(data)
        yield from self._close_call(call)
        if data["error_code"] != "approval_required":
            yield _result(call, result)

    def _resume(self, result: dict[str, Any]) -> Iterator[str]:
        """Yield the result of the call that was approved, once."""
        if not self._is_resumed and self._run.tool_call_id is not None:
            self._is_resumed = True
            yield _result(self._run.tool_call_id, result)

    def _close_call(self, call: str) -> Iterator[str]:
        if call not in self._has_arguments:  # which only people who decide are shown
            yield _line("TOOL_CALL_ARGS", toolCallId=call, delta="{}")
        yield _line("TOOL_CALL_END", toolCallId=call)

    def _close_all(self) -> Iterator[str]:
        yield from self._close_text()
        for call in self._calls.end_all():
            yield from self._close_call(call)
            yield _result(call, INTERRUPTED)
        yield from self._resume(NOT_MADE)
        yield from self._leave_step()


def _message(tool: str, wording: dict[str, Any], spoken: Spoken) -> str:
    """What a person decides on, in a line."""
    parts = [wording.get(name) for name in ("title", "reason")]
    texts = [part.get(spoken) if isinstance(part, dict) else part for part in parts]
    return ": ".join(filter(None, texts)) or tool


def _result(call: str, content: dict[str, Any]) -> str:
    message_id, text = f"{call}-result", json.dumps(content)
    return _line("TOOL_CALL_RESULT", messageId=message_id, toolCallId=call, content=text, role="tool")


def _line(kind: str, **fields: Any) -> str:
    return data_line({"type": kind, **fields})
