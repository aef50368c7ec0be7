"""Rounds of one answer: a model is asked, its calls are made, it is asked again, until it has words for the user."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

import structlog

from maas.agents.executor import Executor
from maas.agents.results import ToolResult
from maas.pipeline.layers import layers
from maas.pipeline.ledger import ask, pin
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Run
from maas.pipeline.stages import Deps
from shared.models.policy import Listener
from shared.models.types import Message, Reply, Request, ToolCall
from shared.text import clean, is_blank

STAGE = "final_responder"
IN_WORDS = "Tell the user in words what came of it."
SILENCE = {
    "ru": "Я выполнил запрос, но не могу описать результат словами. Спросите меня о нём ещё раз.",
    "en": "I have worked on your request but found no words for the result. Please ask me about it again.",
}
Language = Literal["auto", "ru", "en"]
Announce = Callable[[ToolCall], Awaitable[None]]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks the Responder's model for one run, until `end` of the monotonic clock; `listener` hears it speak."""

    run: Run
    deps: Deps
    prompt: Prompt
    end: float
    listener: Listener | None = None

    async def ask(self, request: Request) -> Reply:
        """Raises MaasError, LostRun."""
        left = self.end - monotonic()
        return await ask(self.run, self.deps, STAGE, self.prompt, request, left, self.listener)

    def quietly(self) -> Asker:
        """The same with nobody to hear it: what it says is not the answer."""
        return replace(self, listener=None)

    async def pin(self) -> None:
        """Store what was answered so far: a crash repeats none of it. Raises LostRun."""
        await pin(self.run, self.deps)


@dataclass(frozen=True, slots=True)
class Exchange:
    """How rounds ended: the last reply, all turns that were sent for it, and how many rounds it took."""

    reply: Reply
    messages: tuple[Message, ...]
    rounds: int


def never() -> bool:
    """Rounds end with words."""
    return False


async def converse(
    asker: Asker, request: Request, executor: Executor, announce: Announce, most: int, language: Language,
    is_over: Callable[[], bool] = never,
) -> Exchange:  # fmt: skip
    """Ask at most `most` times, or until a round of calls `is_over`. Replies are pinned before their calls are made.

    Who falls silent after its tools is asked once more if it still may be, then a sentence of ours stands in.
    """
    for number in range(1, most + 1):
        if number == most:
            request = replace(request, tool_choice="none")
        reply = await asker.ask(request)
        if not reply.calls or request.tool_choice == "none":
            break
        await asker.pin()
        await layers().info(3, "round", {"number": number, "calls": [call.name for call in reply.calls]})
        for call in reply.calls:
            await announce(call)
        results = await executor.run(reply.calls)
        request = replace(request, messages=(*request.messages, reply.turn(), *map(result_turn, results)))
        if is_over():
            return Exchange(reply, request.messages, number)
    if number == 1 or not is_blank(clean(reply.text)):
        return Exchange(reply, request.messages, number)
    messages = request.messages
    if number < most:
        await asker.pin()
        messages = (*messages, Message("user", IN_WORDS))
        reply = await asker.ask(replace(request, messages=messages, tool_choice="none"))
    if is_blank(clean(reply.text)):
        log.warning("silent_after_tools", assistant=asker.run.assistant)
        reply = replace(reply, text=SILENCE[language_of(language, asker.run.user_query)])
    return Exchange(reply, messages, number)


def language_of(language: Language, query: str) -> Literal["ru", "en"]:
    """`auto` is what the user writes in."""
    if language == "auto":
        return "ru" if re.search("[А-Яа-яЁё]", query) else "en"
    return language


def result_turn(result: ToolResult) -> Message:
    """What the model is told, without the time it took: a read that is made again should give the very same words."""
    return result.call.result(replace(result, body=result.untimed()).text(), is_error=not result.is_success)
