"""How far the answer of a run has come, read from its events: its text, the tools at work, and what it asks for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from maas.channels.telegram.client import MAX_CALLBACK_BYTES, Keyboard
from maas.channels.telegram.phrases import Language, say, say_failure
from maas.runs.event_stream import Event
from maas.tools.wording import in_language
from shared.text import visible_line


class Progress:
    """`changed` is set whenever there is something new to show."""

    def __init__(self, run_id: Any, language: Language) -> None:
        self.changed = asyncio.Event()
        self.actions: list[dict[str, Any]] = []  # tool calls that wait for approval
        self.images: list[str] = []  # ids of attachments
        self.is_over = False
        self._run_id = run_id
        self._language = language
        self._text = ""
        self._attempt: str | None = None
        self._tools: dict[tuple[str, str], str] = {}  # calls in progress, by id and name
        self._step = ""  # of a task
        self._buttons: list[dict[str, str]] = []
        self._wants_photo = False
        self._notes: list[str] = []

    @property
    def markdown(self) -> str:
        """What is shown now: the text, then the tools at work or, at the end, notes."""
        at_work = [self._step, *(f"⚙️ {title} …" for title in dict.fromkeys(self._tools.values()))]
        lines = self._notes if self.is_over else [line for line in at_work if line]
        return "\n\n".join(part for part in (self._text, "\n".join(lines)) if part)

    @property
    def keyboard(self) -> Keyboard:
        """The buttons of the answer, each on a row."""
        rows = [(one["label"], f"p:{self._run_id}:{one['id']}") for one in self._buttons]
        return [[(label, data)] for label, data in rows if len(data.encode()) <= MAX_CALLBACK_BYTES]

    def take(self, event: Event) -> None:
        """Take in one event; an attempt that begins anew drops the text of the one before."""
        data = json.loads(event.data)
        match event.type:
            case "text":
                self._add(str(data["attempt"]), data["delta"])
            case "tool_start" | "tool_result":
                self._take_call(event.type, data)
            case "progress":
                self._step = f"⏳ {data['ended']}/{data['total']} {visible_line(data['title'])}"
            case "approval_required":
                self.actions.append(data)
            case "buttons":
                self._buttons = data["buttons"]
            case "request_photo":
                self._wants_photo = True
            case "done":
                self._end(data)
            case "error":
                message = visible_line(data["message"] or "")
                self._text, self.is_over = say_failure(self._language, data.get("code"), message), True
            case _ if "attachment_id" in data:  # of a plugin
                self.images.append(data["attachment_id"])
            case _:
                return
        self.changed.set()

    def _take_call(self, event_type: str, data: dict[str, Any]) -> None:
        call = (data["call_id"], data["tool"])
        if event_type == "tool_start":
            self._tools[call] = visible_line(in_language(data.get("title"), self._language) or data["tool"])
        else:
            self._tools.pop(call, None)

    def _add(self, attempt: str, delta: str) -> None:
        if attempt != self._attempt:
            self._attempt, self._text = attempt, ""
        self._text += delta

    def _end(self, data: dict[str, Any]) -> None:
        self._text, self.is_over = data["final_answer"] or "", True
        for image in self.images:  # it is sent itself
            self._text = self._text.replace(f": {image}", "").replace(image, "")
        if not self._text and self._wants_photo:
            self._text = say(self._language, "send_photo")
        if data.get("limited") == "budget":
            self._notes.append(f"_{say(self._language, 'limited')}_")
        if data.get("memory") not in (None, "ok"):
            self._notes.append(f"_{say(self._language, 'memory')}_")
