"""A run as a terminal shows it while it is executed."""

from __future__ import annotations

import json
from typing import Any

from maas.runs.event_stream import Event
from maas.terminal.output import write
from shared.text import visible_line


class RunPrinter:
    """Prints the events of one run in order: the answer as it streams, each tool call on a line.

    `approvals` are the tool calls that wait for a decision, `buttons` the buttons of the answer, as in their events.
    """

    def __init__(self) -> None:
        self.approvals: list[dict[str, Any]] = []
        self.buttons: list[dict[str, str]] = []
        self._hints: list[str] = []
        self._attempt: str | None = None
        self._printed = ""  # of the answer, in this attempt
        self._is_mid_line = False

    def show(self, event: Event) -> None:
        """Print one event; statuses are not printed."""
        data = json.loads(event.data)
        match event.type:
            case "text":
                self._print_delta(data)
            case "tool_start":
                self._print_line(f"· {data['tool']} …")
            case "approval_required":
                self.approvals.append(data)
            case "tool_result" if data["error_code"] not in (None, "approval_required"):
                self._print_line(f"· {data['tool']}: {data['error_code'].replace('_', ' ')}")
            case "buttons" | "request_photo":
                self._add_hints(event.type, data)
            case "done":
                self._end(data["final_answer"])
            case "error":
                self._print_line(f"no answer: {data['message']}")
            case _ if "attachment_id" in data:  # of a plugin
                self._add_hints(event.type, data)

    def _add_hints(self, event_type: str, data: dict[str, Any]) -> None:
        """Collect what can be typed next; printed after the answer."""
        match event_type:
            case "buttons":
                self.buttons = data["buttons"]
                self._hints += [f"· /{number} {button['label']}" for number, button in enumerate(self.buttons, 1)]
            case "request_photo":
                self._hints.append("· /photo FILE sends a photo with your next message")
            case _:
                self._hints.append(f"· /save {data['attachment_id']} FILE saves the image")

    def _print_delta(self, data: dict[str, Any]) -> None:
        if data["attempt"] != self._attempt:
            self._print_line()
            self._attempt, self._printed = data["attempt"], ""
        self._printed += data["delta"]
        self._is_mid_line = not data["delta"].endswith("\n")
        write(data["delta"], ends=False)

    def _print_line(self, text: str = "") -> None:
        """End the current line; print `text`, if there is any, on a line of its own."""
        if self._is_mid_line:
            write("")
        self._is_mid_line = False
        if text:
            write(visible_line(text), is_dim=True)

    def _end(self, answer: str) -> None:
        self._print_line()
        if self._printed.strip() != answer.strip():  # it was not streamed, or the final answer differs
            write(answer)
        for hint in self._hints:
            self._print_line(hint)
