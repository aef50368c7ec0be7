"""What a terminal shows of a run: its words as they come, its tools a line each."""

from __future__ import annotations

import json
from typing import Any

import typer

from maas.pipeline.following import Told


class Screen:
    """Shows the events of one run, in order; `asked` are the calls that wait for a word, as their events tell them."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self._attempt: str | None = None
        self._said = ""

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
            case "done":
                self._end(data["final_answer"])
            case "error":
                self._line(f"no answer: {data['message']}")

    def _say(self, data: dict[str, Any]) -> None:
        if data["attempt"] != self._attempt:
            self._line()
            self._attempt = data["attempt"]
        self._said += data["delta"]
        typer.echo(data["delta"], nl=False)

    def _line(self, text: str = "") -> None:
        """A line of its own; what comes after it begins anew."""
        if self._said and not self._said.endswith("\n"):
            typer.echo()
        self._said = ""
        if text:
            typer.secho(text, dim=True)

    def _end(self, answer: str) -> None:
        if self._said.strip() == answer.strip():
            self._line()
        else:  # it came in one piece, or not as it was said
            self._line()
            typer.echo(answer)
