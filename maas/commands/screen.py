"""What a terminal shows of a run: its words as they come, its tools a line each."""

from __future__ import annotations

import json
from typing import Any

from maas.commands.output import say
from maas.pipeline.following import Told
from shared.visible import visible_line


class Screen:
    """Shows the events of one run, in order.

    `asked` are the calls that wait for a word, `buttons` what may be pressed now, as their events tell them.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.buttons: list[dict[str, str]] = []
        self._offers: list[str] = []
        self._attempt: str | None = None
        self._said = ""
        self._is_open = False

    def show(self, event: Told) -> None:
        """Statuses are not shown."""
        data = json.loads(event.data)
        match event.type:
            case "text":
                self._say(data)
            case "tool_start":
                self._line(f"· {data['tool']} …")
            case "approval_required":
                self.asked.append(data)
            case "tool_result" if data["error_code"] not in (None, "approval_required"):
                self._line(f"· {data['tool']}: {data['error_code'].replace('_', ' ')}")
            case "buttons" | "request_photo" | "sticker":
                self._offer(event.type, data)
            case "done":
                self._end(data["final_answer"])
            case "error":
                self._line(f"no answer: {data['message']}")

    def _offer(self, kind: str, data: dict[str, Any]) -> None:
        """What can be typed now; said after the answer."""
        match kind:
            case "buttons":
                self.buttons = data["buttons"]
                self._offers += [f"· /{place} {button['label']}" for place, button in enumerate(self.buttons, 1)]
            case "request_photo":
                self._offers.append("· /photo FILE sends a photo with your next line")
            case _:
                self._offers.append(f"· /save {data['attachment_id']} FILE keeps the picture")

    def _say(self, data: dict[str, Any]) -> None:
        if data["attempt"] != self._attempt:
            self._line()
            self._attempt, self._said = data["attempt"], ""
        self._said += data["delta"]
        self._is_open = not data["delta"].endswith("\n")
        say(data["delta"], ends=False)

    def _line(self, text: str = "") -> None:
        """A line of its own."""
        if self._is_open:
            say("")
        self._is_open = False
        if text:
            say(visible_line(text), is_dim=True)

    def _end(self, answer: str) -> None:
        self._line()
        if self._said.strip() != answer.strip():  # it came in one piece, or not as it was said
            say(answer)
        for offer in self._offers:
            self._line(offer)
