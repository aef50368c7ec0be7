"""What a model server at home does, tried for `maas doctor --live`: speed, kept prompts, tool calls, context window."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Literal

from maas.settings import Settings
from maas.settings.profiles import MAX_SMALL_PARAMETERS
from shared.json import json_object
from shared.models import Message, ModelError, Reply, Request, ToolSpec, spec_of
from shared.models.context_window import ServerWindow
from shared.models.local_model import LocalModel
from shared.models.remedies import cause_of
from shared.models.retry import once

Calls = Literal["calls", "text", "none", "refused"]
SHELF_LINES = 24  # some 400 tokens, which are the same in both requests
KEPT_SHARE = 0.5  # of the tokens or of the time of the first request
WANTED_TOKENS = 8192
PROBE_TIMEOUT_S = 300.0
CLOCK = ToolSpec("clock", "Tells the time of the day.")
_SHELF = "\n".join(f"Shelf {number}: {number * 3} red books, {number * 7} blue books." for number in range(SHELF_LINES))
_BY_CALLS: dict[Calls, str] = {
    "calls": "calls tools",
    "text": "writes tool calls as text",
    "none": "called no tool when asked to",
    "refused": "takes no tools",
}


@dataclass(frozen=True, slots=True)
class Timed:
    """A streamed reply: seconds until its first text and until its end."""

    reply: Reply
    first_s: float
    whole_s: float


@dataclass(frozen=True, slots=True)
class ServerTraits:
    """What was found; speeds in tokens a second, None where the server counts none."""

    read_speed: float | None
    write_speed: float | None
    keeps_prefix: bool
    calls: Calls
    window: ServerWindow | None

    def describe(self) -> str:
        """Return the traits as a part of a sentence."""
        speeds = [
            f"{verb} {speed:.0f} tokens a second"
            for verb, speed in (("reads", self.read_speed), ("writes", self.write_speed))
            if speed
        ]
        kept = "keeps what prompts begin with" if self.keeps_prefix else "reads every prompt from its beginning"
        window = "" if self.window is None else f"context window {self.window.tokens:,} tokens"
        if self.window is not None and self.window.is_assumed:
            window += " unless it is loaded with another one"
        return ", ".join(part for part in (*speeds, kept, _BY_CALLS[self.calls], window) if part)


def advise(traits: ServerTraits, settings: Settings) -> list[str]:
    """Return what could be set otherwise for a server with these traits."""
    window, advice = traits.window, []
    if window is not None and window.tokens < WANTED_TOKENS:
        how = (
            "start Ollama with OLLAMA_CONTEXT_LENGTH=16384" if window.kind == "ollama" else "load it with a larger one"
        )
        advice.append(f"its context window leaves little room for memory: {how}")
    size = window.parameters if window is not None else None
    if size is not None and size <= MAX_SMALL_PARAMETERS and settings.profile != "small":
        advice.append(f"it has {size / 1e9:.1f} billion parameters: set MAAS_MODEL_PROFILE=small")
    return advice


async def try_server(model: LocalModel) -> ServerTraits:
    """Ask a server that answers: twice with the same beginning, then for a tool call. Raises ModelError."""
    system = f"List {time.time_ns()} of the library.\n{_SHELF}"  # no server has kept it yet
    first, second = await _time_reply(model, system, 5), await _time_reply(model, system, 11)
    usage = first.reply.usage
    fresh, writing_s = usage.tokens_in - usage.tokens_cached, first.whole_s - first.first_s
    return ServerTraits(
        fresh / first.first_s if fresh > 0 else None,
        (usage.tokens_out - 1) / writing_s if usage.tokens_out > 1 and writing_s > 0 else None,
        _is_kept(first, second),
        await _try_tool(model),
        await model.window(),
    )


async def _time_reply(model: LocalModel, system: str, number: int) -> Timed:
    question = f"How many red and how many blue books has shelf {number}? Answer in one sentence."
    request = Request("FinalResponder", (Message("user", question),), system, temperature=0.0, max_tokens=60)
    began, first_s = time.monotonic(), None

    async def stream(limit: float) -> Timed:
        nonlocal first_s
        async with aclosing(model.stream(request, limit)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    whole_s = time.monotonic() - began
                    return Timed(piece, whole_s if first_s is None else first_s, whole_s)
                first_s = time.monotonic() - began if first_s is None else first_s
        raise ModelError("unreachable", f"{spec_of(model)}: the stream ended early")

    return await once(model, stream, PROBE_TIMEOUT_S)


def _is_kept(first: Timed, second: Timed) -> bool:
    usage = second.reply.usage
    if usage.tokens_cached:
        return usage.tokens_cached >= KEPT_SHARE * usage.tokens_in
    return second.first_s < KEPT_SHARE * first.first_s


async def _try_tool(model: LocalModel) -> Calls:
    question = Message("user", "What time is it? Call the tool clock to find out.")
    request = Request("FinalResponder", (question,), temperature=0.0, max_tokens=100, tools=(CLOCK,))
    try:
        reply = await once(model, partial(model.complete, request), PROBE_TIMEOUT_S)
    except ModelError as error:
        if cause_of(error.code, error.message) == "tools":
            return "refused"
        raise
    if reply.calls:
        return "calls"
    written = json_object(reply.text)
    is_text = "<tool_call>" in reply.text or (written is not None and written.get("name") == CLOCK.name)
    return "text" if is_text else "none"
