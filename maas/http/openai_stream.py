"""An answer as OpenAI's clients read it while it comes: lines of chat.completion.chunk."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any
from uuid import UUID

from maas.http.events import KEEP_ALIVE, STILL_HERE, watch
from maas.http.openai_bodies import Given, OpenAIError, Problem, Usage
from maas.http.openai_errors import failure, problem
from maas.http.rooms import Rooms
from maas.pipeline.completions import Completion, read_completion
from maas.pipeline.following import Glance, Place
from shared.db import CONNECTION_LOST
from shared.errors import MaasError

DONE = "data: [DONE]\n\n"


class Spoken:
    """What was sent of an answer, which cannot be taken back.

    A model that begins anew and says the same goes on where it was; one that says something else begins a paragraph.
    Blanks wait for the word behind them, so that the whole is the answer, which has none at its ends.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._attempt = self._said = self._sent = ""

    def hear(self, attempt: str, delta: str) -> str:
        """A piece as it was said; what is to be sent of it."""
        if attempt != self._attempt:
            self._attempt, self._said = attempt, ""
        self._said += delta
        words = self._said.strip()
        return "" if self._sent.startswith(words) else self._send(words)

    def end(self, answer: str) -> str:
        """What is still to be sent."""
        return "" if answer == self._sent else self._send(answer)

    def _send(self, words: str) -> str:
        sent, self._sent = self._sent, words
        if words.startswith(sent):
            return words[len(sent) :]
        self.is_whole = False
        return f"\n\n{words}"


async def stream(
    parts: Rooms,
    run_id: UUID,
    model: str,
    has_usage: bool,
    ignored: Sequence[str] = (),
    keep_alive: float = KEEP_ALIVE,
) -> AsyncGenerator[str, None]:
    """The answer of a run, from its first word to [DONE], or to an error. Who leaves cancels nothing."""
    lines = _Lines(run_id, model, has_usage, ignored)
    spoken = Spoken()
    yield lines.words("", role="assistant")
    first = Glance(Place(), ())
    async with aclosing(watch(parts.following, parts.changes, run_id, first, keep_alive)) as seen:
        async for events in seen:
            if not events:
                yield STILL_HERE
            for event in events:
                data = json.loads(event.data)
                if event.type == "text" and (piece := spoken.hear(data["attempt"], data["delta"])):
                    yield lines.words(piece)
                elif event.type in ("done", "error"):
                    async for line in _end(parts, lines, spoken, data):
                        yield line
                    return
    yield lines.error(problem(503, "leaving", f"this process ends; the answer goes on: GET /v1/runs/{run_id}?wait=60"))


async def _end(parts: Rooms, lines: _Lines, spoken: Spoken, data: dict[str, Any]) -> AsyncGenerator[str, None]:
    if "final_answer" not in data:
        yield lines.error(failure(data["code"], data["message"])[1])
        return
    if rest := spoken.end(data["final_answer"]):
        yield lines.words(rest)
    try:
        done = await read_completion(parts.db, lines.run_id)
    except (MaasError, *CONNECTION_LOST):
        lost = "the answer above is whole; what belongs to it cannot be read at the moment"
        yield lines.error(problem(503, "database_unreachable", lost))
        return
    for line in lines.close(done, None if spoken.is_whole else data["final_answer"]):
        yield line


class _Lines:
    """The lines of one answer."""

    def __init__(self, run_id: UUID, model: str, has_usage: bool, ignored: Sequence[str]) -> None:
        self.run_id = run_id
        self._ignored = ignored
        self._has_usage = has_usage
        self._head = {
            "id": f"chatcmpl-{run_id}", "object": "chat.completion.chunk", "created": int(time.time()), "model": model,
        }  # fmt: skip

    def words(self, content: str, role: str | None = None) -> str:
        return self._chunk({"role": role, "content": content} if role else {"content": content})

    def close(self, done: Completion, final_answer: str | None) -> list[str]:
        """The end, with what MaaS adds (the answer, too, if what was sent is not it), and the usage if asked for."""
        added = Given.of(done, self._ignored).model_dump(mode="json")
        if final_answer:
            added["final_answer"] = final_answer
        lines = [self._chunk({}, "length" if done.is_cut else "stop", maas=added)]
        if self._has_usage:
            lines.append(_line(self._head | {"choices": [], "usage": Usage.of(done.spent).model_dump()}))
        return [*lines, DONE]

    def error(self, error: Problem) -> str:
        return _line(OpenAIError(error=error).model_dump())

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._has_usage else {}
        return _line(self._head | {"choices": [choice]} | usage | more)


def _line(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
